"""`SessionAccumulator`: what the updates of a session amount to."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import pickle
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp
from acp.contrib.session_state import (
    SessionAccumulator,
    SessionNotificationMismatchError,
    SessionSnapshot,
    SessionSnapshotUnavailableError,
    ToolCallView,
)
from acp.helpers import update_available_commands, update_current_mode
from acp.schema import AvailableCommand, ToolCallLocation
from tests.contrib.session_steps import UPDATES, Model, notification, told

SHOWN = [acp.tool_content(acp.text_block("shown"))]

ONE_OF_EACH: list[Any] = [
    acp.start_tool_call(
        "c",
        "Read",
        kind="read",
        status="pending",
        content=SHOWN,
        locations=[ToolCallLocation(path="/a")],
        raw_input={"path": ["/a"]},
    ),
    acp.update_tool_call("c", status="completed", raw_output={"lines": [1]}),
    acp.update_plan([acp.plan_entry("step")]),
    update_current_mode("code"),
    update_available_commands([AvailableCommand(name="go", description="on")]),
    acp.update_user_message_text("asked"),
    acp.update_agent_message_text("said"),
    acp.update_agent_thought_text("thought"),
]


def accumulated(*updates: Any) -> SessionAccumulator:
    accumulator = SessionAccumulator()
    for update in updates:
        accumulator.apply(notification(update))
    return accumulator


@given(st.lists(UPDATES, max_size=20))
def test_any_updates_amount_to_what_a_simple_model_has(updates: list[Any]) -> None:
    accumulator, model = SessionAccumulator(), Model()
    snapshots: list[tuple[SessionSnapshot, Any]] = []
    for update in updates:
        snapshot = accumulator.apply(notification(update))
        model.fold(update)
        snapshots.append((snapshot, model.told()))
        assert told(snapshot) == model.told()
        assert told(accumulator.snapshot()) == model.told()
    # Also those that nobody has looked at before: they tell of their moment.
    assert [told(snapshot) for snapshot, _ in snapshots] == [state for _, state in snapshots]


@given(st.lists(st.tuples(UPDATES, st.booleans()), max_size=20))
def test_a_snapshot_tells_of_its_moment_whenever_it_is_read(
    steps: list[tuple[Any, bool]],
) -> None:
    accumulator, model = SessionAccumulator(), Model()
    kept: list[tuple[SessionSnapshot, Any]] = []
    for update, keep in steps:
        snapshot = accumulator.apply(notification(update))
        model.fold(update)
        if keep:
            kept.append((snapshot, model.told()))
    accumulator.reset()
    for snapshot, state in kept:
        assert told(snapshot) == state


def test_news_of_a_call_without_a_start_makes_it_known() -> None:
    snapshot = accumulated(acp.update_tool_call("c", status="failed")).snapshot()
    assert snapshot.tool_calls["c"] == ToolCallView(
        tool_call_id="c",
        title=None,
        kind=None,
        status="failed",
        content=None,
        locations=None,
        raw_input=None,
        raw_output=None,
    )


def test_a_second_start_of_a_call_replaces_all_of_it_in_its_place() -> None:
    accumulator = accumulated(
        acp.start_tool_call("c", "one", kind="read", content=SHOWN, raw_input=1),
        acp.start_tool_call("d", "other"),
        acp.start_tool_call("c", "two"),
    )
    calls = accumulator.snapshot().tool_calls
    assert list(calls) == ["c", "d"]
    assert (calls["c"].title, calls["c"].kind, calls["c"].content) == ("two", None, None)
    assert calls["c"].raw_input is None


def test_an_empty_list_in_news_takes_away_what_was_shown() -> None:
    accumulator = accumulated(
        acp.start_tool_call("c", "t", content=SHOWN, locations=[ToolCallLocation(path="/a")]),
        acp.update_tool_call("c", content=[], locations=[]),
    )
    view = accumulator.snapshot().tool_calls["c"]
    assert (view.content, view.locations) == (None, None)


def test_updates_that_are_no_part_of_the_state_change_nothing() -> None:
    accumulator = accumulated(*ONE_OF_EACH)
    before = accumulator.snapshot()
    unknown = acp.schema.SessionNotification.model_construct(
        session_id="s", update={"sessionUpdate": "later", "text": "x"}
    )
    assert accumulator.apply(unknown) == before
    usage = {"sessionUpdate": "usage_update", "used": 1, "size": 2}
    assert accumulator.apply(notification(usage)) == before


@pytest.mark.parametrize("update", ONE_OF_EACH, ids=lambda update: update.session_update)
def test_neither_what_was_given_nor_what_was_read_shares_anything_with_the_state(
    update: Any,
) -> None:
    given_update = copy.deepcopy(update)
    accumulator = accumulated(given_update)
    expected = told(accumulator.snapshot())
    spoil(given_update)
    assert told(accumulator.snapshot()) == expected
    early, late = accumulator.snapshot(), accumulator.snapshot()
    for name in [field.name for field in dataclasses.fields(SessionSnapshot)]:
        spoil(getattr(early, name))
    assert told(late) == expected
    assert told(accumulator.snapshot()) == expected


def spoil(value: Any) -> None:
    """Changes whatever in it can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoilt"] = None
    elif isinstance(value, list | tuple):
        for item in value:
            spoil(item)
        if isinstance(value, list):
            value.append(None)
    elif isinstance(value, ToolCallView):
        for field in dataclasses.fields(value):
            spoil(getattr(value, field.name))
    elif isinstance(value, acp.schema.BaseModel):
        for name in list(type(value).model_fields):
            spoil(getattr(value, name))
        if "text" in type(value).model_fields:
            value.text = "spoilt"
        if "content" in type(value).model_fields:
            value.content = None


def test_another_session_starts_anew_and_keeps_the_subscribers() -> None:
    accumulator = accumulated(*ONE_OF_EACH)
    old = accumulator.snapshot()
    seen: list[str] = []
    accumulator.subscribe(lambda snapshot, _: seen.append(snapshot.session_id))
    new = accumulator.apply(notification(acp.update_agent_message_text("b"), "s2"))
    assert accumulator.session_id == "s2"
    assert new.tool_calls == {}
    assert new.plan_entries == new.available_commands == new.user_messages == ()
    assert new.current_mode_id is None
    assert [chunk.content.text for chunk in new.agent_messages] == ["b"]
    assert [chunk.content.text for chunk in old.agent_messages] == ["said"]
    assert seen == ["s2"]


def test_another_session_is_refused_where_that_is_wanted_and_changes_nothing() -> None:
    accumulator = SessionAccumulator(auto_reset_on_session_change=False)
    accumulator.apply(notification(acp.update_user_message_text("a")))
    before = accumulator.snapshot()
    seen: list[Any] = []
    accumulator.subscribe(lambda *told: seen.append(told))
    with pytest.raises(SessionNotificationMismatchError) as caught:
        accumulator.apply(notification(acp.update_user_message_text("b"), "secret-session"))
    assert isinstance(caught.value, ValueError)
    assert (caught.value.expected, caught.value.actual) == ("s", "secret-session")
    assert "secret-session" not in str(caught.value)
    assert accumulator.snapshot() == before
    assert not seen
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.expected, again.actual) == ("s", "secret-session")


def test_there_is_no_snapshot_before_the_first_notification_nor_after_a_reset() -> None:
    accumulator = SessionAccumulator()
    with pytest.raises(SessionSnapshotUnavailableError):
        accumulator.snapshot()
    accumulator.apply(notification(acp.update_user_message_text("a")))
    accumulator.reset()
    assert accumulator.session_id is None
    with pytest.raises(RuntimeError, match="nothing"):
        accumulator.snapshot()


def test_subscribers_are_called_in_order_until_they_end_it() -> None:
    accumulator = SessionAccumulator()
    seen: list[tuple[str, Any, Any]] = []
    end_first = accumulator.subscribe(lambda *args: seen.append(("first", *args)))
    accumulator.subscribe(lambda *args: seen.append(("second", *args)))
    message = notification(acp.update_user_message_text("a"))
    snapshot = accumulator.apply(message)
    assert seen == [("first", snapshot, message), ("second", snapshot, message)]
    end_first()
    end_first()
    accumulator.apply(message)
    assert [name for name, *_ in seen] == ["first", "second", "second"]


def test_the_same_callback_can_be_subscribed_twice_and_ended_once() -> None:
    accumulator = SessionAccumulator()
    seen: list[Any] = []

    def callback(snapshot: Any, message: Any) -> None:
        seen.append(snapshot)

    end = accumulator.subscribe(callback)
    accumulator.subscribe(callback)
    end()
    end()
    accumulator.apply(notification(acp.update_user_message_text("a")))
    assert len(seen) == 1


def test_a_callback_may_end_subscriptions_while_it_is_called() -> None:
    accumulator = SessionAccumulator()
    seen: list[str] = []
    ends: list[Any] = []

    def once(snapshot: Any, message: Any) -> None:
        seen.append("once")
        for end in ends:
            end()

    ends.append(accumulator.subscribe(once))
    accumulator.subscribe(lambda *_: seen.append("always"))
    for _ in range(2):
        accumulator.apply(notification(acp.update_user_message_text("a")))
    assert seen == ["once", "always", "always"]


def test_what_a_callback_raises_comes_out_and_the_notification_is_applied() -> None:
    accumulator = SessionAccumulator()

    def failing(snapshot: Any, message: Any) -> None:
        raise LookupError

    accumulator.subscribe(failing)
    with pytest.raises(LookupError):
        accumulator.apply(notification(acp.update_user_message_text("a")))
    assert len(accumulator.snapshot().user_messages) == 1


def test_a_snapshot_cannot_be_changed() -> None:
    snapshot = accumulated(*ONE_OF_EACH).snapshot()
    with pytest.raises(dataclasses.FrozenInstanceError):
        snapshot.session_id = "t"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        snapshot.tool_calls["c"].title = "t"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="no_such_member"):
        _ = snapshot.no_such_member  # type: ignore[attr-defined]


def test_a_snapshot_is_a_value_that_compares_copies_and_dumps() -> None:
    accumulator = accumulated(*ONE_OF_EACH)
    snapshot = accumulator.snapshot()
    for other in (
        accumulator.snapshot(),
        pickle.loads(pickle.dumps(snapshot)),
        copy.deepcopy(accumulator.snapshot()),
        copy.copy(accumulator.snapshot()),
        snapshot.model_copy(),
        snapshot.model_copy(deep=True),
        dataclasses.replace(snapshot),
    ):
        assert other == snapshot
        assert repr(other) == repr(snapshot)
    changed = snapshot.model_copy(update={"current_mode_id": "ask"})
    assert changed != snapshot
    assert changed.current_mode_id == "ask"
    shallow, deep = snapshot.model_copy(), snapshot.model_copy(deep=True)
    assert shallow.plan_entries is snapshot.plan_entries
    assert deep.plan_entries[0] is not snapshot.plan_entries[0]
    assert isinstance(snapshot.model_dump()["agent_messages"], tuple)
    dumped = snapshot.model_dump(mode="json", exclude_none=True)
    assert json.loads(snapshot.model_dump_json(exclude_none=True)) == dumped
    assert dumped["tool_calls"]["c"]["raw_input"] == {"path": ["/a"]}
    assert "title" in snapshot.tool_calls["c"].model_dump()


def test_a_view_of_a_call_can_be_made_by_hand() -> None:
    with pytest.raises(TypeError):
        ToolCallView(tool_call_id="c")  # type: ignore[call-arg]
    view = ToolCallView(
        tool_call_id="c",
        title=None,
        kind=None,
        status=None,
        content=None,
        locations=None,
        raw_input=None,
        raw_output=None,
    )
    assert view.model_dump(exclude_none=True) == {"tool_call_id": "c"}
    assert len({view, copy.copy(view)}) == 1


@pytest.mark.parametrize("update", ONE_OF_EACH, ids=lambda update: update.session_update)
def test_one_more_update_copies_nothing_of_what_came_before(
    update: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cost by number of deep copies: the same behind 10 and behind 1,000 updates of each kind."""
    counts: list[int] = []
    genuine = copy.deepcopy
    for size in (10, 1000):
        accumulator = SessionAccumulator()
        for number in range(size):
            accumulator.apply(notification(acp.start_tool_call(f"{number}", "t", content=SHOWN)))
            accumulator.apply(notification(acp.update_agent_message_text("m")))
        counts.append(0)

        def counted(value: Any, *rest: Any) -> Any:
            counts[-1] += 1
            return genuine(value, *rest)

        message = notification(update)
        with monkeypatch.context() as patch:
            patch.setattr(copy, "deepcopy", counted)
            accumulator.apply(message)
    assert counts[0] == counts[1]


def test_snapshots_that_nobody_keeps_leave_nothing_behind() -> None:
    accumulator = SessionAccumulator()
    kept: list[weakref.ref[SessionSnapshot]] = []
    for _ in range(100):
        message = notification(acp.update_tool_call("c", status="completed"))
        kept.append(weakref.ref(accumulator.apply(message)))
    gc.collect()
    assert not any(ref() for ref in kept)
    assert len(accumulator.snapshot().tool_calls) == 1
