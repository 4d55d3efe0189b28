"""What single updates mean for a session: states, pieces, entities, responses."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import acp.v2.schema as v2
from acp._core import UNSET
from acp.v2 import SessionProjection
from tests.v2.told import call, chunk, made, state, texts, whole
from tests.v2.wire import params, read, text, written

# States.


@pytest.mark.parametrize(
    ("updates", "idle"),
    [
        ([], True),
        ([state("idle")], True),
        ([state("idle", stopReason="_acme.odd")], True),
        ([state("running")], False),
        ([state("requires_action")], False),
        ([state("unknown")], False),
        ([state("_acme.asleep")], False),
        ([state("idle"), state("later")], False),
        ([state("later"), state("idle")], True),
    ],
)
def test_only_a_state_that_says_so_is_idle(updates: list[Any], idle: bool) -> None:
    """C-231: an unknown state is kept, and never treated as idle."""
    projection = made(*updates)
    assert projection.is_idle is idle
    if updates:
        assert projection.state is not None
        assert written(projection.state, "SessionUpdate") == updates[-1]


@pytest.mark.parametrize(
    ("names", "completions"),
    [
        ("", 0),
        ("idle", 0),
        ("idle idle", 0),
        ("running idle", 1),
        ("running idle idle idle", 1),
        ("running running idle", 1),
        ("requires_action idle", 1),
        ("running requires_action running idle", 1),
        ("running idle running idle", 2),
        ("running unknown idle", 1),
        ("running _acme.asleep idle", 1),
        ("unknown idle", 0),
        ("_acme.asleep idle", 0),
        ("running unknown", 0),
    ],
)
def test_a_repeated_snapshot_is_no_further_completion(names: str, completions: int) -> None:
    """C-231, C-232: snapshots are idempotent, with the same stop reason and usage, too; a state
    that is not known completes nothing."""
    usage = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
    members: dict[str, Any] = {"idle": {"stopReason": "cancelled", "usage": usage}}
    projection = made(*(state(name, **members.get(name, {})) for name in names.split()))
    assert projection.completions == completions


def test_a_state_before_the_response_to_the_setup_stays() -> None:
    """C-233: a new session is idle by default, which overwrites nothing that was reported."""
    projection = SessionProjection("s")
    assert projection.state is None
    assert projection.is_idle
    projection.apply(params(state("running")))
    projection.apply(v2.NewSessionResponse(session_id="s"))
    assert type(projection.state) is v2.RunningStateUpdate
    projection.apply(v2.ResumeSessionResponse())
    assert not projection.is_idle


# Messages.


def test_a_chunk_appends_to_the_message_that_it_names() -> None:
    """C-245: a message chunk appends to the message with its id, whatever comes in between."""
    projection = made(
        chunk("a", text("1")),
        chunk("b", text("2")),
        chunk("a", text("3")),
        chunk("a", text("4"), kind="agent_thought"),
        chunk("a", text("5"), kind="user_message"),
        chunk("b", text("6")),
    )
    assert texts(projection) == ["13", "26", "4", "5"]


def test_a_whole_message_replaces_and_later_chunks_append_to_it() -> None:
    """C-245: a message upsert replaces content, streamed content included."""
    projection = made(chunk("a", text("old")), whole("a", content=[text("new")]))
    assert texts(projection) == ["new"]
    projection.apply(params(chunk("a", text("er"))))
    assert texts(projection) == ["newer"]
    projection.apply(params(whole("a", content=None)))
    assert texts(projection) == [""]
    projection.apply(params(chunk("a", text("again"))))
    assert texts(projection) == ["again"]


def test_an_empty_primer_clears_the_message_that_it_names_and_no_other() -> None:
    """C-245: empty content before the pieces of a replay clears only the id it names."""
    projection = made(
        whole("a", content=[text("one")]),
        whole("b", content=[text("two")]),
        whole("a", content=[]),
        chunk("a", text("o")),
        chunk("a", text("ne")),
    )
    assert texts(projection) == ["one", "two"]


def test_neighbouring_plain_texts_are_one_and_others_are_not() -> None:
    """C-245: of a text that came in pieces the whole counts; what has annotations or metadata is a
    block of its own, and so is everything that is no text."""
    noted = text("n") | {"annotations": {"priority": 1.0}}
    tagged = text("t") | {"_meta": {"k": 1}}
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    parts = [text("a"), text("b"), text(""), noted, text(""), tagged, text("c"), image, text("d")]
    after = [text("ab"), noted, tagged, text("c"), image, text("d")]
    streamed = made(*(chunk("m", part) for part in parts))
    at_once = made(whole("m", content=parts))
    for projection in (streamed, at_once):
        (message,) = projection.timeline()
        assert written(message, "AgentMessage") == {"messageId": "m", "content": after}
    assert streamed.timeline() == at_once.timeline()


def test_the_metadata_of_a_chunk_is_the_chunks() -> None:
    """C-244: metadata of chunks, content, snapshots and plans patches no entity."""
    projection = made(
        whole("a", _meta={"k": 1}, content=[]),
        chunk("a", text("x"), _meta={"k": None, "l": 2}),
        call("c", _meta={"k": 1}),
        {
            "sessionUpdate": "tool_call_content_chunk",
            "toolCallId": "c",
            "content": {"type": "content", "content": text("x"), "_meta": {"k": 5}},
            "_meta": {"k": 3},
        },
        state("idle", _meta={"k": 9}),
        {
            "sessionUpdate": "plan_update",
            "plan": {"type": "markdown", "planId": "p", "content": "x"},
            "_meta": {"k": 7},
        },
    )
    message, tool = projection.get("agent_message", "a"), projection.get("tool_call", "c")
    assert message is not None
    assert tool is not None
    assert message.field_meta == tool.field_meta == {"k": 1}
    plan = projection.get("plan", "p")
    assert isinstance(plan, v2.PlanUpdateMarkdown)
    assert plan.field_meta is None
    assert projection.info is None


def test_a_full_replay_under_new_ids_rebuilds_what_was_cleared() -> None:
    """C-241: ids of the agent's messages may differ in a replay, ids of the user's stay."""
    live = made(
        whole("u1", kind="user_message", content=[text("hi")]),
        chunk("a1", text("Hel")),
        chunk("a1", text("lo")),
    )
    live.clear()
    for update in (
        whole("u1", kind="user_message", content=[text("hi")]),
        whole("r77", content=[text("Hello")]),
        {"sessionUpdate": "replay_complete"},
    ):
        live.apply(params(update))
    assert texts(live) == ["hi", "Hello"]
    assert live.ids("agent_message") == ["r77"]
    assert live.stats().replays == 1


# Entities that are no messages.


def test_what_was_first_told_of_comes_first_and_keeps_its_place() -> None:
    """The timeline has messages, tool calls, compactions and updates of unknown kinds."""
    projection = made(
        chunk("a", text("1")),
        call("c"),
        {"sessionUpdate": "_acme.mark", "n": 1},
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k", "content": text("s")},
        {"sessionUpdate": "terminal_update", "terminalId": "t"},
        whole("a", content=[text("2")]),
        {"sessionUpdate": "session_message_chunk", "messageId": "x", "content": text("3")},
        {"sessionUpdate": "compaction_update", "compactionId": "k", "status": "completed"},
    )
    assert [type(entry) for entry in projection.timeline()] == [
        v2.AgentMessage,
        v2.ToolCallUpdate,
        v2.OtherSessionUpdate,
        v2.CompactionUpdate,
        v2.SessionMessage,
    ]
    compaction = projection.get("compaction", "k")
    assert compaction is not None
    assert compaction.status == "completed"
    assert compaction.summary == [v2.TextContentBlock(text="s")]


def test_an_unknown_update_is_kept_whole_and_a_notice_is_counted() -> None:
    """What is no part of the session's state is told apart from what is not understood."""
    data = {"sessionUpdate": "_acme.mark", "deep": [None, {"n": 1.5}], "_meta": 3}
    projection = made(data, {"sessionUpdate": "notice", "severity": "info", "title": "t"}, data)
    assert [written(entry, "SessionUpdate") for entry in projection.timeline()] == [data, data]
    assert (projection.stats().others, projection.stats().notices) == (2, 1)


def test_a_plan_is_replaced_whole_and_removed_by_its_id() -> None:
    """A plan of an unknown kind replaces one of a known kind; an unknown id removes nothing."""
    markdown = {"type": "markdown", "planId": "p", "content": "x", "path": "/p.md"}
    projection = made({"sessionUpdate": "plan_update", "plan": markdown})
    projection.apply(params({"sessionUpdate": "plan_removed", "planId": "q"}))
    assert projection.ids("plan") == ["p"]
    other = {"type": "_acme.gantt", "planId": "p", "rows": [None]}
    projection.apply(params({"sessionUpdate": "plan_update", "plan": other}))
    assert written(projection.get("plan", "p"), "PlanUpdateContent") == other
    projection.apply(params({"sessionUpdate": "plan_removed", "planId": "p"}))
    assert projection.get("plan", "p") is None


def test_a_permission_request_tells_of_its_tool_call() -> None:
    """The subject of a permission request is an update of the tool call that it names."""
    projection = made(call("c", title="Old", status="pending"))
    request = read(
        "RequestPermissionRequest",
        {
            "sessionId": "s",
            "title": "May I?",
            "subject": {"type": "tool_call", "toolCall": {"toolCallId": "c", "title": "New"}},
            "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
        },
    )
    assert projection.apply(request)
    found = projection.get("tool_call", "c")
    assert found is not None
    assert (found.title, found.status) == ("New", "pending")
    request.subject = v2.CommandPermissionSubject(command="ls", cwd="/")
    assert projection.apply(request)
    request.session_id = "other"
    assert not projection.apply(request)


def test_responses_bring_options_commands_and_the_title() -> None:
    """The lists of a response replace those before, as their updates do."""
    option = v2.SessionConfigOptionBoolean(config_id="c", name="n", current_value=True)
    command = v2.Command(name="n", description="d")
    projection = SessionProjection("s")
    setup = v2.NewSessionResponse(
        session_id="s", config_options=[option], available_commands=[command]
    )
    assert projection.apply(setup)
    assert (projection.config_options, projection.available_commands) == ([option], [command])
    assert projection.apply(v2.SetSessionConfigOptionResponse(config_options=[]))
    assert (projection.config_options, projection.available_commands) == ([], [command])
    assert projection.apply(v2.ResumeSessionResponse(config_options=[option]))
    assert (projection.config_options, projection.available_commands) == ([option], [])
    assert projection.apply(v2.SetSessionTitleResponse(title="T"))
    assert projection.info is not None
    assert (projection.info.title, projection.info.updated_at) == ("T", UNSET)
    assert not projection.apply(v2.ForkSessionResponse(session_id="other", config_options=[]))
    assert projection.config_options == [option]


@pytest.mark.parametrize("message", [object(), None, {}, v2.PromptResponse(message_id="m")])
def test_what_says_nothing_about_a_session_is_refused(message: Any) -> None:
    """A projection takes the messages that it lists, and no others."""
    with pytest.raises(TypeError, match=type(message).__name__):
        SessionProjection("s").apply(message)
    wrong = v2.UpdateSessionNotification.model_construct(session_id="s", update=message)
    with pytest.raises(TypeError, match=type(message).__name__):
        SessionProjection("s").apply(wrong)


def test_updates_of_another_session_change_nothing() -> None:
    """A projection is of one session, whatever a connection carries besides."""
    projection = made(chunk("a", text("1")))
    assert not projection.apply(params(chunk("a", text("2")), "other"))
    assert texts(projection) == ["1"]
    assert projection.stats().messages == 1


def test_a_snapshot_does_not_change_with_what_comes_later() -> None:
    """What was read stays, and changing it changes nothing in the projection."""
    first = call("c", content=[], _meta={"j": 0})
    projection = made(chunk("a", text("1")), first, state("running"))
    projection.apply(params({"sessionUpdate": "session_info_update", "title": "T"}))
    terminal = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "aGk="}
    projection.apply(params(terminal))
    command = {"type": "command", "name": "n", "description": "d"}
    commands = {"sessionUpdate": "available_commands_update", "availableCommands": [command]}
    projection.apply(params(commands))
    seen = [*projection.timeline(), projection.state, projection.info]
    seen += [projection.get("terminal", "t"), projection.available_commands]
    before = copy.deepcopy(seen)
    later: list[Any] = [
        chunk("a", text("2")),
        call("c", status="failed", _meta={"k": 1}),
        {
            "sessionUpdate": "tool_call_content_chunk",
            "toolCallId": "c",
            "content": {"type": "terminal", "terminalId": "t"},
        },
        state("idle"),
        {"sessionUpdate": "session_info_update", "title": None},
        terminal,
        {"sessionUpdate": "available_commands_update", "availableCommands": []},
    ]
    for update in later:
        projection.apply(params(update))
    assert seen == before
    found: Any = projection.get("tool_call", "c")
    found.content.clear()
    projection.available_commands.append(v2.Command(name="n", description="d"))
    again: Any = projection.get("tool_call", "c")
    assert len(again.content) == 1
    assert projection.available_commands == []


def test_what_was_applied_is_not_kept_in_a_way_that_lets_it_change() -> None:
    """Lists that an update had are the projection's own afterwards."""
    setup = v2.NewSessionResponse(session_id="s", available_commands=[])
    message = v2.AgentMessage(message_id="m", content=[v2.TextContentBlock(text="a")])
    whole_call = v2.ToolCallProgress(tool_call_id="c", content=[], locations=[], field_meta={})
    projection = SessionProjection("s")
    projection.apply(setup)
    for update in (message, whole_call):
        projection.apply(v2.UpdateSessionNotification(session_id="s", update=update))
    before = copy.deepcopy([*projection.timeline(), projection.available_commands])
    setup.available_commands.append(v2.Command(name="n", description="d"))
    for update in (message, whole_call):
        assert isinstance(update.content, list)
        update.content.clear()
    assert isinstance(whole_call.locations, list)
    whole_call.locations.append(v2.ToolCallLocation(path="/"))
    whole_call.field_meta = {"k": 1}
    assert [*projection.timeline(), projection.available_commands] == before
