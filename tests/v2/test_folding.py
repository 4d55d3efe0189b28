"""How an update changes what is stored: members, and the patches of `_meta`."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import acp.v2.schema as v2
from acp._core import UNSET, encode
from acp.v2 import apply_meta_update, apply_update
from tests.v2.wire import read, update, written

CALL = "tool_call_update"
FULL: dict[str, dict[str, Any]] = {
    CALL: {
        "toolCallId": "c",
        "name": "read",
        "title": "Read",
        "kind": "read",
        "status": "pending",
        "content": [{"type": "terminal", "terminalId": "t"}],
        "locations": [{"path": "/a", "line": 1}],
        "rawInput": {"a": [None]},
        "rawOutput": 0,
        "capabilities": {"cancel": {}},
    },
    "terminal_update": {
        "terminalId": "t",
        "command": "ls",
        "cwd": "/",
        "output": {"data": "aGk="},
        "exitStatus": {},
        "size": {"cols": 1, "rows": 2},
        "capabilities": {},
    },
    "user_message": {"messageId": "m", "content": [{"type": "text", "text": "t"}]},
    "agent_message": {"messageId": "m", "content": [{"type": "text", "text": "t"}]},
    "agent_thought": {"messageId": "m", "content": [{"type": "text", "text": "t"}]},
    "session_message": {
        "messageId": "m",
        "senderSessionId": "a",
        "recipientSessionId": "b",
        "senderMessageId": "c",
        "recipientMessageId": "d",
        "content": [],
    },
    "session_info_update": {"title": "T", "updatedAt": "2026-01-02T03:04:05Z"},
    "compaction_update": {
        "compactionId": "c",
        "status": "failed",
        "summary": [{"type": "text", "text": "t"}],
        "error": "e",
    },
    "subagent_update": {
        "sessionId": "s",
        "title": "T",
        "description": "D",
        "capabilities": {"cancel": {}},
        "state": {"state": "running"},
        "cwd": "/",
        "additionalDirectories": ["/x"],
    },
    "cursor_update": {"cursorId": "c", "capabilities": {"fork": {}}},
}
"""Every member that an upsert patches, by kind, and its id."""
IDS = {"toolCallId", "terminalId", "messageId", "compactionId", "sessionId", "cursorId"}
MEMBERS = [(kind, name) for kind, full in FULL.items() for name in full if name not in IDS]


def changed(stored: Any, kind: str, /, **members: Any) -> Any:
    """Stored state, as plain data, after an update; the update stays as it was."""
    given = update(kind, **members)
    before = copy.deepcopy(given)
    apply_update(stored, given)
    assert given == before
    assert given.model_fields_set == before.model_fields_set
    return written(stored, "SessionUpdate")


def id_of(kind: str) -> dict[str, Any]:
    return {name: value for name, value in FULL[kind].items() if name in IDS}


# Members.


@pytest.mark.parametrize("kind", FULL)
def test_members_that_an_update_does_not_have_stay(kind: str) -> None:
    """C-242: absent means keep."""
    stored = update(kind, **FULL[kind])
    assert changed(stored, kind, **id_of(kind)) == {"sessionUpdate": kind, **FULL[kind]}


@pytest.mark.parametrize(("kind", "member"), MEMBERS)
def test_null_is_stored_as_null(kind: str, member: str) -> None:
    """C-242: an explicit null clears, and is told apart from what was never said."""
    stored = update(kind, **FULL[kind])
    after = changed(stored, kind, **id_of(kind), **{member: None})
    assert after == {"sessionUpdate": kind, **FULL[kind], member: None}


@pytest.mark.parametrize(("kind", "member"), MEMBERS)
def test_a_value_takes_the_place_of_whatever_was_there(kind: str, member: str) -> None:
    """C-242: a value replaces the stored one whole."""
    value = FULL[kind][member]
    for before in ({}, {member: None}):
        stored = update(kind, **id_of(kind), **before)
        after = changed(stored, kind, **id_of(kind), **{member: value})
        assert after == {"sessionUpdate": kind, **id_of(kind), member: value}


def test_lists_are_replaced_and_not_merged() -> None:
    """C-242: a collection is replaced whole, and an empty one clears it."""
    stored = update(CALL, **FULL[CALL])
    new = [{"path": "/b"}, {"path": "/a"}]
    assert changed(stored, CALL, toolCallId="c", locations=new)["locations"] == new
    assert changed(stored, CALL, toolCallId="c", locations=[])["locations"] == []


def test_the_name_of_a_tool_is_cleared_by_null_in_version_2() -> None:
    """C-246: version 2 tells an absent name from a null one; version 1 reads both as unchanged."""
    stored = update(CALL, toolCallId="c", name="read")
    assert changed(stored, CALL, toolCallId="c")["name"] == "read"
    assert changed(stored, CALL, toolCallId="c", name=None)["name"] is None
    for members in ({}, {"name": None}):
        old = read("ToolCallUpdate", {"toolCallId": "c", **members}, version=1)
        assert old.name is None
        assert "name" not in old.model_fields_set


def test_usage_has_its_numbers_anew_each_time_and_keeps_the_cost() -> None:
    """C-242: members of two states are replaced, those of three are patched."""
    cost = {"amount": 1.5, "currency": "EUR"}
    stored = update("usage_update", used=1, size=10, cost=cost)
    after = changed(stored, "usage_update", used=2, size=20)
    assert after == {"sessionUpdate": "usage_update", "used": 2, "size": 20, "cost": cost}
    assert changed(stored, "usage_update", used=0, size=0, cost=None)["cost"] is None


def test_the_anchor_of_a_cursor_is_the_first_one() -> None:
    """A cursor never moves: later updates repeat its anchor or leave it out."""
    first = {"type": "tool_call", "toolCallId": "a", "position": "after"}
    stored = update("cursor_update", cursorId="c")
    assert changed(stored, "cursor_update", cursorId="c", anchor=first)["anchor"] == first
    assert changed(stored, "cursor_update", cursorId="c")["anchor"] == first
    moved = first | {"toolCallId": "b"}
    assert changed(stored, "cursor_update", cursorId="c", anchor=moved)["anchor"] == first


def test_ids_are_the_callers_affair() -> None:
    """C-242: that both are of one entity is not checked, and the stored one keeps its id."""
    stored = update(CALL, toolCallId="c", title="T")
    after = changed(stored, CALL, toolCallId="other", status="failed")
    assert (after["toolCallId"], after["status"]) == ("c", "failed")


def test_a_tool_call_is_the_same_with_and_without_its_discriminator() -> None:
    """C-242: a permission request tells of a tool call, too, without being a session update."""
    bare = v2.ToolCallUpdate(tool_call_id="c", title="T")
    apply_update(bare, update(CALL, toolCallId="c", status="completed"))
    assert encode(bare) == b'{"toolCallId":"c","title":"T","status":"completed"}'
    whole = update(CALL, toolCallId="c")
    apply_update(whole, bare)
    assert (whole.title, whole.status) == ("T", "completed")


def test_a_stored_list_is_no_list_of_the_update() -> None:
    """What is appended to the stored content later is nothing that the update said."""
    stored = v2.AgentMessage(message_id="m")
    given = v2.AgentMessage(message_id="m", content=[v2.TextContentBlock(text="a")])
    apply_update(stored, given)
    assert isinstance(stored.content, list)
    stored.content.append(v2.TextContentBlock(text="b"))
    assert given.content == [v2.TextContentBlock(text="a")]


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        (v2.AgentMessage(message_id="m"), v2.UserMessage(message_id="m")),
        (v2.ToolCallUpdate(tool_call_id="c"), v2.TerminalUpdate(terminal_id="c")),
        (v2.RunningStateUpdate(), v2.RunningStateUpdate()),
        (v2.Notice(severity="info", title="t"), v2.Notice(severity="info", title="t")),
        ({}, {}),
    ],
)
def test_updates_that_do_not_belong_together_are_refused(stored: Any, given: Any) -> None:
    """C-244: only upserts change a stored entity, and only one of their own kind."""
    before = copy.deepcopy(stored)
    with pytest.raises(TypeError, match=type(given).__name__):
        apply_update(stored, given)
    assert stored == before


# Metadata.


@pytest.mark.parametrize(
    ("stored", "patch", "after"),
    [
        (UNSET, UNSET, UNSET),
        (None, UNSET, None),
        ({"a": 1}, UNSET, {"a": 1}),
        ({"a": 1}, None, None),
        (UNSET, None, None),
        ({"a": 1}, {}, {"a": 1}),
        (UNSET, {}, {}),
        (None, {}, {}),
        (None, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"y": 2}}),
        ({"a": 1}, {"a": {"x": None}}, {"a": {"x": None}}),
        ({"a": 1}, {"a": [None]}, {"a": [None]}),
        (UNSET, {"a": None, "b": False}, {"b": False}),
    ],
)
def test_metadata_is_patched_key_by_key(stored: Any, patch: Any, after: Any) -> None:
    """C-243: absent keeps all, null clears all; of an object each null removes its key and any
    other value replaces the whole one, whose own nulls are data."""
    before = copy.deepcopy((stored, patch))
    result = apply_meta_update(stored, patch)
    assert result == after
    assert (result is UNSET) == (after is UNSET)
    assert (stored, patch) == before
    if patch is not UNSET and patch is not None:
        # The same once more changes nothing: a replay may tell it again.
        assert apply_meta_update(result, patch) == after


def test_keys_that_stay_keep_their_order() -> None:
    """C-243: a value that is replaced stays in its place, new ones come last."""
    stored: Any = {"a": 1, "b": 2, "c": 3, "d": 4}
    after = apply_meta_update(stored, {"e": 5, "c": 30, "b": None, "a": 10})
    assert isinstance(after, dict)
    assert list(after.items()) == [("a", 10), ("c", 30), ("d", 4), ("e", 5)]


@pytest.mark.parametrize("kind", [*FULL, "usage_update"])
def test_the_metadata_of_every_upsert_is_patched(kind: str) -> None:
    """C-243, C-244: the rule is that of all updates that change a stored entity."""
    members = FULL.get(kind, {"used": 1, "size": 2})
    needed = {name: members[name] for name in members if name in {*IDS, "used", "size"}}
    stored = update(kind, **members, _meta={"a": 1, "b": {"c": None}})
    assert changed(stored, kind, **needed)["_meta"] == {"a": 1, "b": {"c": None}}
    assert changed(stored, kind, **needed, _meta={"a": None, "d": 2})["_meta"] == {
        "b": {"c": None},
        "d": 2,
    }
    assert changed(stored, kind, **needed, _meta=None)["_meta"] is None
    assert changed(stored, kind, **needed, _meta={})["_meta"] == {}
