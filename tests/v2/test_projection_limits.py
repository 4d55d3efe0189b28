"""How much a projection keeps, and what becomes of the rest."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pytest

import acp.v2.schema as v2
from acp.v2 import ProjectionLimits, SessionProjection
from tests.v2.wire import params, text


def chunk(name: str, words: str) -> Any:
    content = text(words)
    return params({"sessionUpdate": "agent_message_chunk", "messageId": name, "content": content})


def whole(name: str, **members: Any) -> Any:
    return params({"sessionUpdate": "agent_message", "messageId": name, **members})


def output(name: str, data: bytes) -> Any:
    encoded = base64.b64encode(data).decode()
    return params({"sessionUpdate": "terminal_output_chunk", "terminalId": name, "data": encoded})


def plan(name: str, content: str = "x") -> Any:
    content_update = {"type": "markdown", "planId": name, "content": content}
    return params({"sessionUpdate": "plan_update", "plan": content_update})


def other(number: int) -> Any:
    return params({"sessionUpdate": "_acme.mark", "n": number})


def words(projection: SessionProjection, name: str) -> str | None:
    message = projection.get("agent_message", name)
    if message is None:
        return None
    return "".join(getattr(block, "text", "") for block in message.content or [])


def test_of_too_many_entities_those_without_an_update_for_longest_go() -> None:
    """Entities are dropped whole, least recently updated first, of whatever kind."""
    projection = SessionProjection("s", limits=ProjectionLimits(entities=3))
    for message in (chunk("a", "1"), plan("p"), chunk("b", "2"), chunk("a", "3")):
        projection.apply(message)
    projection.apply(chunk("c", "4"))
    assert projection.ids("plan") == []
    assert projection.ids("agent_message") == ["a", "b", "c"]
    projection.apply(chunk("d", "5"))
    assert projection.ids("agent_message") == ["a", "c", "d"]
    assert projection.stats().dropped == 2
    assert projection.stats().entities == 3


def test_what_comes_later_for_a_dropped_entity_is_counted_and_ignored() -> None:
    """The beginning of it is missing; the last dropped ones are known as such."""
    projection = SessionProjection("s", limits=ProjectionLimits(entities=2))
    for name in "abc":
        projection.apply(chunk(name, name))
    assert projection.ids("agent_message") == ["b", "c"]
    projection.apply(chunk("a", "more"))
    projection.apply(whole("a", content=[]))
    assert projection.ids("agent_message") == ["b", "c"]
    assert projection.stats().late == 2
    # Two more go, and with them the memory of the first.
    for name in "de":
        projection.apply(chunk(name, name))
    projection.apply(chunk("a", "again"))
    assert words(projection, "a") == "again"
    assert projection.stats().late == 2


def test_a_plan_that_was_dropped_comes_back_with_its_next_update() -> None:
    """An update that replaces a whole entity needs nothing of what was before."""
    projection = SessionProjection("s", limits=ProjectionLimits(entities=1))
    for message in (plan("p"), chunk("a", "1"), plan("p", "new")):
        projection.apply(message)
    found = projection.get("plan", "p")
    assert isinstance(found, v2.PlanUpdateMarkdown)
    assert found.content == "new"
    assert projection.stats().late == 0


def test_of_too_many_bytes_those_without_an_update_for_longest_go() -> None:
    """The limit is on all entities together; what was updated just now stays."""
    limits = ProjectionLimits(bytes=10_000, entity_bytes=10_000, terminal_bytes=10_000)
    projection = SessionProjection("s", limits=limits)
    projection.apply(chunk("a", "x" * 3000))
    projection.apply(chunk("b", "x" * 3000))
    assert projection.stats().dropped == 0
    projection.apply(chunk("c", "x" * 3000))
    assert projection.ids("agent_message") == ["b", "c"]
    projection.apply(whole("b", content=[text("x" * 8000)]))
    assert projection.ids("agent_message") == ["b"]
    assert 9000 < projection.stats().bytes <= 10_000
    projection.apply(whole("b", content=None))
    assert projection.stats().bytes < 2000


def test_the_bytes_that_are_counted_come_and_go_with_the_entities() -> None:
    """After everything is removed or cleared nothing is counted."""
    projection = SessionProjection("s")
    projection.apply(plan("p", "x" * 1000))
    grown = projection.stats().bytes
    assert 2000 < grown < 3000
    projection.apply(plan("p", "x" * 500))
    assert projection.stats().bytes == grown - 500
    projection.apply(params({"sessionUpdate": "plan_removed", "planId": "p"}))
    assert projection.stats().bytes == 0
    for _ in range(100):
        projection.apply(chunk("a", "x" * 100))
    streamed = projection.stats().bytes
    assert 10_000 < streamed < 20_000
    projection.apply(whole("a", _meta={"k": 1}))
    assert 0 < projection.stats().bytes - streamed < 100
    projection.apply(whole("a", content=[text("x")]))
    assert projection.stats().bytes < 2000
    projection.clear()
    assert (projection.stats().bytes, projection.stats().entities) == (0, 0)


@pytest.mark.parametrize(
    ("grow", "shrink"),
    [
        ({"title": "x" * 1000}, {"title": ""}),
        ({"title": "x" * 1000}, {"title": None}),
        ({"rawInput": ["x" * 1000]}, {"rawInput": 0}),
        ({"_meta": {"a": "x" * 1000, "b": 1}}, {"_meta": {"a": None}}),
        ({"_meta": {"a": "x" * 1000, "b": 1}}, {"_meta": {"a": 2}}),
        ({"_meta": {"a": "x" * 1000}}, {"_meta": None}),
        ({"content": [{"type": "_a", "x": "x" * 1000}]}, {"content": []}),
        ({"content": [{"type": "_a", "x": "x" * 1000}]}, {"content": None}),
    ],
)
def test_what_takes_the_place_of_something_is_counted_in_its_place(
    grow: dict[str, Any], shrink: dict[str, Any]
) -> None:
    """However often members change, what counts is what is there."""
    projection = SessionProjection("s")
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "c"}
    projection.apply(params(call | shrink))
    small = projection.stats().bytes
    for _ in range(3):
        projection.apply(params(call | grow))
        assert 900 < projection.stats().bytes - small < 1200
        projection.apply(params(call | shrink))
        assert abs(projection.stats().bytes - small) < 100


def test_the_anchor_of_a_cursor_counts_once() -> None:
    """What the first update sets is there, and what later ones repeat is not."""
    projection = SessionProjection("s")
    anchor = {"type": "_acme.far", "x": "x" * 1000}
    for _ in range(3):
        update = {"sessionUpdate": "cursor_update", "cursorId": "c", "anchor": anchor}
        projection.apply(params(update))
        assert 1500 < projection.stats().bytes < 2500


def test_an_update_that_would_make_an_entity_too_large_is_left_out() -> None:
    """The entity stays as it was, in all of its members, and later updates count again."""
    limits = ProjectionLimits(entity_bytes=3000, terminal_bytes=1000)
    projection = SessionProjection("s", limits=limits)
    projection.apply(chunk("a", "x" * 1000))
    projection.apply(chunk("a", "y" * 1000))
    projection.apply(whole("a", content=[text("z" * 3000)], _meta={"k": 1}))
    projection.apply(whole("a", _meta={"k": "v" * 3000}))
    projection.apply(chunk("b", "y" * 3000))
    assert projection.stats().refused == 4
    assert words(projection, "a") == "x" * 1000
    message = projection.get("agent_message", "a")
    assert message is not None
    assert not message.field_meta
    assert projection.ids("agent_message") == ["a"]
    projection.apply(chunk("a", "end"))
    assert words(projection, "a") == "x" * 1000 + "end"


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "session_info_update", "_meta": {"k": "v" * 3000}},
        {"sessionUpdate": "usage_update", "used": 1, "size": 2, "_meta": {"k": "v" * 3000}},
        {"sessionUpdate": "state_update", "state": "running", "_meta": {"k": "v" * 3000}},
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"type": "command", "name": "n", "description": "d" * 3000}],
        },
        {"sessionUpdate": "_acme.mark", "n": "v" * 3000},
        {"sessionUpdate": "plan_update", "plan": {"type": "_a", "planId": "p", "n": "v" * 3000}},
    ],
)
def test_values_of_the_whole_session_have_the_same_limit(update: dict[str, Any]) -> None:
    """Patches of metadata cannot make a session grow without end either."""
    limits = ProjectionLimits(entity_bytes=2000, terminal_bytes=1000)
    projection = SessionProjection("s", limits=limits)
    projection.apply(params(update))
    assert projection.stats().refused == 1
    assert (projection.state, projection.info, projection.usage) == (None, None, None)
    assert (projection.available_commands, projection.timeline()) == ([], [])


UNKNOWN = {"unknown": "x" * 5000}
HIDDEN: list[dict[str, Any]] = [
    {"sessionUpdate": "agent_message", "messageId": "m", **UNKNOWN},
    {
        "sessionUpdate": "user_message",
        "messageId": "m",
        "content": [{"type": "resource_link", "name": "n", "uri": "u", **UNKNOWN}],
    },
    {
        "sessionUpdate": "agent_message_chunk",
        "messageId": "m",
        "content": {"type": "image", "data": "", "mimeType": "image/png", **UNKNOWN},
    },
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "content": [{"type": "terminal", "terminalId": "t", **UNKNOWN}],
        "locations": [{"path": "/", **UNKNOWN}],
        "capabilities": {"cancel": UNKNOWN, **UNKNOWN},
    },
    {
        "sessionUpdate": "tool_call_content_chunk",
        "toolCallId": "c",
        "content": {"type": "content", "content": text("t") | UNKNOWN, **UNKNOWN},
    },
    {"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": UNKNOWN},
    {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": "p", "entries": [], **UNKNOWN},
    },
    {"sessionUpdate": "session_info_update", "title": "T", **UNKNOWN},
    {"sessionUpdate": "state_update", "state": "running", **UNKNOWN},
    {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"type": "command", "name": "n", "description": "d", **UNKNOWN}],
    },
]


@pytest.mark.parametrize("update", HIDDEN)
def test_unknown_members_of_known_objects_are_not_kept(update: dict[str, Any]) -> None:
    """They mean nothing, and would be room that nobody counts."""
    message = params(update)
    # A pickle has what no attribute shows.
    assert b"xxx" in pickle.dumps(message)
    projection = SessionProjection("s")
    assert projection.apply(message)
    kept: list[Any] = [*projection.timeline(), projection.state, projection.info]
    kept += [*projection.available_commands]
    kept += [projection.get("terminal", "t"), projection.get("plan", "p")]
    assert any(kept)
    assert b"xxx" not in pickle.dumps(kept)
    # What was applied is left as it is.
    assert b"xxx" in pickle.dumps(message)


def test_a_response_that_is_too_large_is_left_out() -> None:
    """Lists have the limit whichever message brings them."""
    limits = ProjectionLimits(entity_bytes=2000, terminal_bytes=1000)
    projection = SessionProjection("s", limits=limits)
    command = v2.Command(name="n", description="d" * 3000)
    assert projection.apply(v2.ResumeSessionResponse(available_commands=[command]))
    assert projection.available_commands == []
    assert projection.stats().refused == 1


def test_a_tool_call_at_its_limit_can_be_marked_as_cancelled() -> None:
    """Small members are covered by what every entity costs."""
    limits = ProjectionLimits(entity_bytes=2000, terminal_bytes=1000)
    projection = SessionProjection("s", limits=limits)
    for size in range(900, 1200):
        call = {"sessionUpdate": "tool_call_update", "toolCallId": str(size)}
        projection.apply(params(call | {"rawInput": "x" * size}))
    cancelled = projection.cancel_active_work()
    assert cancelled == projection.ids("tool_call")
    assert 50 < len(cancelled) < 300
    assert projection.stats().refused == 300 - len(cancelled)
    found = [projection.get("tool_call", name) for name in cancelled]
    assert {each and each.status for each in found} == {"cancelled"}


def test_metadata_that_grows_patch_by_patch_is_bounded() -> None:
    """Patches of metadata cannot make a session grow without end."""
    limits = ProjectionLimits(entity_bytes=4000, terminal_bytes=1000)
    projection = SessionProjection("s", limits=limits)
    for number in range(100):
        meta = {f"key {number}": "v" * 100}
        projection.apply(params({"sessionUpdate": "session_info_update", "_meta": meta}))
    assert projection.info is not None
    assert isinstance(projection.info.field_meta, dict)
    assert 10 < len(projection.info.field_meta) < 20
    assert projection.stats().refused == 100 - len(projection.info.field_meta)


def test_of_the_output_of_a_terminal_the_end_is_kept() -> None:
    """Bytes before it are counted; a new output begins anew."""
    projection = SessionProjection("s", limits=ProjectionLimits(terminal_bytes=10))
    for data in (b"0123456", b"789ab", b"", b"c"):
        projection.apply(output("t", data))
    terminal = projection.get("terminal", "t")
    assert terminal is not None
    assert (terminal.output, terminal.cut) == (b"3456789abc", 3)
    size = projection.stats().bytes
    projection.apply(output("t", b"x" * 1000))
    terminal = projection.get("terminal", "t")
    assert terminal is not None
    assert (terminal.output, terminal.cut) == (b"x" * 10, 1003)
    assert projection.stats().bytes == size
    data = base64.b64encode(b"new").decode()
    update = {"sessionUpdate": "terminal_update", "terminalId": "t", "output": {"data": data}}
    projection.apply(params(update))
    terminal = projection.get("terminal", "t")
    assert terminal is not None
    assert (terminal.output, terminal.cut) == (b"new", 0)
    assert projection.stats().bytes == size - 7
    projection.apply(output("t", b"y" * 20))
    assert projection.stats().bytes == size


@pytest.mark.parametrize("data", ["a", "aGk", "aGk=\n", "aG k=", "é", "=", "aGk=aGk="])
def test_output_that_is_no_base64_costs_only_itself(data: str) -> None:
    """A malformed piece is counted; the rest of its update, and what was there, stay."""
    projection = SessionProjection("s")
    projection.apply(output("t", b"hi"))
    bad = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": data}
    assert projection.apply(params(bad))
    update = {
        "sessionUpdate": "terminal_update",
        "terminalId": "t",
        "output": {"data": data},
        "command": "ls",
    }
    projection.apply(params(update))
    terminal = projection.get("terminal", "t")
    assert terminal is not None
    assert (terminal.output, terminal.terminal.command) == (b"hi", "ls")
    assert projection.stats().malformed == 2
    projection.apply(params(bad | {"terminalId": "new"}))
    assert projection.get("terminal", "new") is None


def test_of_updates_of_unknown_kinds_the_latest_are_kept() -> None:
    """They have a limit of their own, so that they push nothing else out."""
    projection = SessionProjection("s", limits=ProjectionLimits(others=3))
    projection.apply(chunk("a", "1"))
    for number in range(10):
        projection.apply(other(number))
    kept = [entry for entry in projection.timeline() if isinstance(entry, v2.OtherSessionUpdate)]
    assert [entry.model_extra for entry in kept] == [{"n": 7}, {"n": 8}, {"n": 9}]
    assert words(projection, "a") == "1"
    assert (projection.stats().others, projection.stats().dropped) == (10, 7)


def test_a_flood_keeps_to_the_limits() -> None:
    """Whatever a peer sends, counts and bytes stay within what was said."""
    limits = ProjectionLimits(
        entities=50, bytes=100_000, entity_bytes=20_000, terminal_bytes=5_000, others=10
    )
    projection = SessionProjection("s", limits=limits)
    stats = projection.stats()
    for number in range(3000):
        projection.apply(chunk(f"m{number % 37}", "\u20ac" * (number % 997)))
        projection.apply(output(f"t{number % 7}", b"z" * (number % 3001)))
        projection.apply(other(number))
        projection.apply(plan(f"p{number}", "x" * (number % 503)))
        stats = projection.stats()
        assert stats.entities <= 50
        assert stats.bytes <= 100_000
    assert stats.messages == 12_000
    assert stats.dropped > 1000
    assert stats.late > 1000


@pytest.mark.parametrize(
    "limits",
    [
        {"entities": 0},
        {"bytes": 0},
        {"others": -1},
        {"terminal_bytes": 0},
        {"bytes": 1 << 20},
        {"entity_bytes": 1 << 10},
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, int]) -> None:
    """A limit is at least 1, and not above the one around it."""
    with pytest.raises(ValueError, match=r"limit|order"):
        ProjectionLimits(**limits)
