"""What is asked of the objects of version 2: states, messages, the answer to a prompt.

One test for each sentence of the second list of wishes that says how the wire looks; the sentence
is the docstring. Terminals, diffs, permissions and the rest are in the files beside this one.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp import _core
from acp._core import UNSET, ValidationError, encode
from acp.v2 import SessionProjection
from tests.v2.wire import params, read, text, update, written

# States.


def test_a_turn_ends_when_the_session_is_idle_and_tells_a_stop_reason() -> None:
    """The response to a prompt is a bare acknowledgement; a turn ends when the agent reports idle
    carrying a stop reason."""
    assert "stop_reason" not in v2.PromptResponse.model_fields
    ended = update("state_update", state="idle", stopReason="end_turn")
    assert type(ended) is v2.IdleStateUpdate
    assert ended.stop_reason == "end_turn"


@pytest.mark.parametrize("state", ["paused", "_acme.busy", "", "IDLE", "idle "])
def test_any_string_is_a_state_and_is_written_as_it_was_read(state: str) -> None:
    """Any state string is valid; unknown values, those without an underscore too, round-trip
    verbatim instead of being downgraded."""
    data = {
        "sessionUpdate": "state_update",
        "state": state,
        "since": [1, None, {"deep": 1.5}],
        "background": "not a list",
        "_meta": 3,
    }
    kept = read("SessionUpdate", data)
    assert type(kept) is v2.OtherStateUpdate
    assert kept.state == state
    assert written(kept, "SessionUpdate") == data


@pytest.mark.parametrize(
    ("state", "cls"),
    [
        ("running", v2.RunningStateUpdate),
        ("idle", v2.IdleStateUpdate),
        ("requires_action", v2.RequiresActionStateUpdate),
        ("unknown", v2.UnknownStateUpdate),
    ],
)
def test_a_state_has_two_discriminators_side_by_side(state: str, cls: type[Any]) -> None:
    """The wire form is doubly flattened: the state and its payload are siblings of the outer
    discriminator."""
    data: Any = {"sessionUpdate": "state_update", "state": state, "background": []}
    made = read("SessionUpdate", data)
    assert type(made) is cls
    assert (made.session_update, made.state, made.background) == ("state_update", state, [])
    assert written(made, "SessionUpdate") == data


def test_a_state_is_read_and_written_within_the_params_around_it() -> None:
    """The variant is read and written by the containing params; on its own it has only its own
    discriminator."""
    notification = params({"sessionUpdate": "state_update", "state": "running"})
    assert type(notification.update) is v2.RunningStateUpdate
    assert json.loads(encode(notification))["update"] == {
        "sessionUpdate": "state_update",
        "state": "running",
    }
    assert written(notification.update, "StateUpdate") == {"state": "running"}


def test_a_state_is_not_written_to_a_peer_of_version_1() -> None:
    """Writing is fail-closed on the negotiated version: a state does not exist in version 1, so a
    version 1 peer never gets one."""
    state = v2.IdleStateUpdate(stop_reason="end_turn")
    connection = _core.Connection("agent", version=1, guard=False)
    around: Any = v1.SessionNotification.model_construct(session_id="s", update=state)
    of_its_own = v2.UpdateSessionNotification(session_id="s", update=state)
    for message in (around, of_its_own):
        with pytest.raises(TypeError, match="another protocol version"):
            connection.notify("session/update", message)
    assert connection.take_output() == b""
    negotiated = _core.Connection("agent", version=2, guard=False)
    negotiated.notify("session/update", of_its_own)
    assert b'"state":"idle"' in negotiated.take_output()


def test_reading_does_not_ask_what_was_negotiated() -> None:
    """Reading stays version-agnostic: the forms of either version are read wherever an object of
    this version has them."""
    assert read("SessionConfigOption", OPTION | {"id": "c"}).config_id == "c"
    assert read("SessionConfigOption", OPTION | {"configId": "c"}, version=1).id == "c"
    flat = {"type": "diff", "path": "/p", "newText": "n"}
    assert written(read("ToolCallContent", flat), "ToolCallContent") == flat
    assert read("PromptResponse", {}).message_id is UNSET


OPTION = {"type": "boolean", "name": "n", "currentValue": True}


@pytest.mark.parametrize("malformed", [5, True, [], {}, {"stopReason": "end_turn"}])
def test_a_malformed_stop_reason_is_no_stop_reason_and_the_session_is_idle(malformed: Any) -> None:
    """A malformed stop reason degrades to none reported: losing the reason is recoverable, dropping
    the end of the turn is not."""
    idle = update("state_update", state="idle", stopReason=malformed)
    assert type(idle) is v2.IdleStateUpdate
    assert idle.stop_reason is None


@pytest.mark.parametrize("members", [{}, {"stopReason": None}])
def test_an_absent_stop_reason_is_not_the_end_of_a_turn(members: dict[str, Any]) -> None:
    """Omitted and null are kept distinct from `end_turn`, which would fabricate a completed
    turn."""
    idle = update("state_update", state="idle", **members)
    assert idle.stop_reason is None
    assert written(idle, "StateUpdate") == {"state": "idle"}


def test_an_unknown_stop_reason_is_kept_with_its_members() -> None:
    """Unknown values round-trip verbatim."""
    data = {"state": "idle", "stopReason": "_acme.budget", "spent": {"usd": 1.5, "left": None}}
    assert written(read("StateUpdate", data), "StateUpdate") == data


# Messages.

WHOLE = ["user_message", "agent_message", "agent_thought"]
MESSAGES = (v2.UserMessage, v2.AgentMessage, v2.AgentThought)


@pytest.mark.parametrize("kind", WHOLE)
def test_a_message_can_be_sent_whole(kind: str) -> None:
    """Version 2 adds updates that carry a complete message rather than one streamed fragment."""
    made = update(kind, messageId="m", content=[text("a"), text("b")])
    assert made.message_id == "m"
    assert [block.text for block in made.content] == ["a", "b"]


@pytest.mark.parametrize("kind", WHOLE)
def test_fragments_and_whole_messages_can_be_mixed(kind: str) -> None:
    """The updates with whole messages do not replace the chunks: an agent may stream fragments,
    send whole messages, or mix the two in one session."""
    projection = SessionProjection("s")
    for each in (
        {"sessionUpdate": f"{kind}_chunk", "messageId": "m", "content": text("a")},
        {"sessionUpdate": kind, "messageId": "m", "content": [text("b")]},
        {"sessionUpdate": f"{kind}_chunk", "messageId": "m", "content": text("c")},
        {"sessionUpdate": kind, "messageId": "n", "content": [text("d")]},
    ):
        assert projection.apply(params(each))
    assert [entry.content for entry in projection.timeline() if isinstance(entry, MESSAGES)] == [
        [v2.TextContentBlock(text="bc")],
        [v2.TextContentBlock(text="d")],
    ]


@pytest.mark.parametrize(
    ("members", "after"),
    [
        ({}, [v2.TextContentBlock(text="chunks")]),
        ({"content": None}, None),
        ({"content": []}, []),
        ({"content": [text("new")]}, [v2.TextContentBlock(text="new")]),
    ],
)
def test_content_is_absent_null_or_an_array(members: dict[str, Any], after: Any) -> None:
    """Content is three-state: absent leaves the message unchanged, null clears it, and an array
    replaces the whole array including content accumulated from earlier chunks."""
    projection = SessionProjection("s")
    for words in ("chu", "nks"):
        chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text(words)}
        projection.apply(params(chunk))
    projection.apply(params({"sessionUpdate": "agent_message", "messageId": "m", **members}))
    message = projection.get("agent_message", "m")
    assert message is not None
    assert message.content == after


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize(
    ("members", "value"), [({}, UNSET), ({"content": None}, None), ({"content": []}, [])]
)
def test_presence_is_told_by_the_value_and_is_no_member(
    kind: str, members: dict[str, Any], value: Any
) -> None:
    """Presence is reported apart from the value and stays off the wire: without it a clear could
    not be told from a no-op."""
    made = update(kind, messageId="m", **members)
    assert made.content is value or made.content == value
    assert (made.content is UNSET) == (not members)
    assert written(made, "SessionUpdate") == {"sessionUpdate": kind, "messageId": "m", **members}


def test_the_update_of_the_user_message_has_the_id_that_the_agent_gave_it() -> None:
    """The update that tells where the user's prompt landed is the source of truth for the id of
    the message; the response to the prompt has the same one."""
    inserted = update("user_message", messageId="u7", content=[text("hi")])
    assert inserted.message_id == read("PromptResponse", {"messageId": "u7"}).message_id


# The answer to a prompt.


def test_the_answer_to_a_prompt_has_no_stop_reason_and_none_is_made_up() -> None:
    """Prompt responses no longer carry a stop reason, and an empty acknowledgement cannot silently
    fabricate an `end_turn`."""
    for data in ({}, {"messageId": "m"}, {"stopReason": "end_turn"}, {"stopReason": None}):
        answer = read("PromptResponse", data)
        assert not hasattr(answer, "stop_reason")
        assert answer.message_id == data.get("messageId", UNSET)


def test_an_answer_without_an_id_is_read_and_never_written() -> None:
    """The bare acknowledgement is readable; what cannot be written in the negotiated version is
    not."""
    bare = read("PromptResponse", {})
    connection = _core.Connection("agent", version=2, guard=False)
    (request,) = connection.receive(
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":'
        b'{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}\n'
    )
    assert isinstance(request, _core.RequestReceived)
    with pytest.raises(ValidationError, match="messageId"):
        connection.respond(request.token, bare)
    # A stop reason of version 1 has no place in it either.
    with pytest.raises(TypeError, match="another protocol version"):
        connection.respond(request.token, v1.PromptResponse(stop_reason="end_turn"))
    assert connection.take_output() == b""


def test_the_answer_of_version_1_has_a_stop_reason_or_is_malformed() -> None:
    """The reader tells whether a version 1 stop reason was actually present."""
    assert read("PromptResponse", {"stopReason": "cancelled"}, version=1).stop_reason == "cancelled"
    for data in ({}, {"stopReason": None}, {"messageId": "m"}):
        with pytest.raises(ValidationError, match="stopReason"):
            read("PromptResponse", data, version=1)
