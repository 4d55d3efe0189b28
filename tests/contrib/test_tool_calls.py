"""`ToolCallTracker`: what an agent tells of its calls, and what it has told."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp
from acp.contrib.session_state import SessionAccumulator
from acp.contrib.tool_calls import UNSET, ToolCallTracker, TrackedToolCallView
from acp.schema import ToolCallLocation, ToolCallProgress, ToolCallStart, ToolCallUpdate
from tests.contrib.session_steps import notification

SHOWN = [acp.tool_content(acp.text_block("shown"))]
PLACES = [ToolCallLocation(path="/a")]
GIVEN: dict[str, Any] = {
    "title": "Read",
    "kind": "read",
    "status": "pending",
    "content": SHOWN,
    "locations": PLACES,
    "raw_input": {"path": ["/a"]},
    "raw_output": [1],
}

_TEXTS = st.text(max_size=4)
_MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "title": _TEXTS,
    "kind": st.sampled_from(["read", "edit"]),
    "status": st.sampled_from(["pending", "in_progress", "completed", "failed"]),
    "content": st.sampled_from([[], SHOWN, SHOWN * 2]),
    "locations": st.sampled_from([[], PLACES]),
    "raw_input": st.sampled_from([{}, {"a": [1]}, "x", 0]),
    "raw_output": st.sampled_from([[], [1], "y", False]),
}
_NEWS = {
    name: st.one_of(values, st.just(None), st.just(UNSET)) for name, values in _MEMBERS.items()
}
_AT_START = {name: st.one_of(values, st.none()) for name, values in _MEMBERS.items()}
_NAMES = st.sampled_from(["one", "two"])
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("start"),
            _NAMES,
            st.fixed_dictionaries(
                {"title": _TEXTS},
                optional={name: of for name, of in _AT_START.items() if name != "title"},
            ),
        ),
        st.tuples(st.just("progress"), _NAMES, st.fixed_dictionaries({}, optional=_NEWS)),
        st.tuples(st.just("append_stream_text"), _NAMES, st.fixed_dictionaries({"text": _TEXTS})),
        st.tuples(st.just("forget"), _NAMES, st.just({})),
    ),
    max_size=15,
)


class Model:
    """What was told of each call, in the simplest form."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, str] = {}

    def take(self, step: str, name: str, members: dict[str, Any]) -> None:
        if step == "start":
            self.calls[name] = dict.fromkeys(GIVEN) | {"status": "in_progress"} | members
            self.texts[name] = ""
        elif step == "forget":
            self.calls.pop(name, None)
        elif step == "progress":
            said = {key: value for key, value in members.items() if value not in (None, UNSET)}
            self.calls[name] |= said
        else:
            self.texts[name] += members["text"]
            block = acp.text_block(self.texts[name])
            self.calls[name]["content"] = [acp.tool_content(block)]


def members_of(view: Any) -> dict[str, Any]:
    return {name: getattr(view, name) for name in GIVEN}


def viewed(members: dict[str, Any]) -> dict[str, Any]:
    """Members as a view tells them."""
    lists = {name: tuple(members[name] or ()) or None for name in ("content", "locations")}
    return {**members, **lists}


@given(STEPS)
def test_any_steps_tell_what_a_simple_model_has_and_what_a_client_folds(steps: list[Any]) -> None:
    ids = iter(range(100))
    tracker = ToolCallTracker(id_factory=lambda: f"id-{next(ids)}")
    model, client = Model(), SessionAccumulator()
    for step, name, members in steps:
        if step in ("progress", "append_stream_text") and name not in model.calls:
            with pytest.raises(KeyError):
                getattr(tracker, step)(name, **members)
            continue
        told = getattr(tracker, step)(name, **members)
        model.take(step, name, members)
        if told is None:
            continue
        view = tracker.view(name)
        assert members_of(view) == viewed(model.calls[name])
        folded = client.apply(notification(told)).tool_calls[view.tool_call_id]
        assert members_of(folded) == members_of(view)
        asked = tracker.tool_call_model(name)
        assert viewed(members_of(asked)) == members_of(view)


def test_the_start_of_a_call_tells_all_that_was_given() -> None:
    tracker = ToolCallTracker()
    told = tracker.start("x", **GIVEN)
    assert isinstance(told, ToolCallStart)
    assert told.session_update == "tool_call"
    assert members_of(told) == GIVEN
    view = tracker.view("x")
    assert isinstance(view, TrackedToolCallView)
    assert view.tool_call_id == told.tool_call_id
    asked = tracker.tool_call_model("x")
    assert type(asked) is ToolCallUpdate
    assert asked.tool_call_id == told.tool_call_id


def test_a_call_is_in_progress_unless_something_else_is_said() -> None:
    tracker = ToolCallTracker()
    assert tracker.start("x", title="t").status == "in_progress"
    assert tracker.start("y", title="t", status=None).status is None
    assert tracker.view("y").status is None


def test_news_tell_what_is_new_and_nothing_else() -> None:
    tracker = ToolCallTracker()
    tracker.start("x", **GIVEN)
    told = tracker.progress("x", status="completed", raw_output=None)
    assert isinstance(told, ToolCallProgress)
    dumped = told.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert dumped == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": tracker.view("x").tool_call_id,
        "status": "completed",
    }
    assert members_of(tracker.view("x")) == viewed({**GIVEN, "status": "completed"})


def test_ids_on_the_wire_are_different_ones() -> None:
    tracker = ToolCallTracker()
    ids = {tracker.start("x", title="t").tool_call_id for _ in range(100)}
    assert len(ids) == 100
    assert tracker.view("x").tool_call_id in ids


def test_text_is_told_whole_with_each_piece() -> None:
    tracker = ToolCallTracker()
    tracker.start("x", title="t", content=SHOWN)
    tracker.append_stream_text("x", "a")
    told = tracker.append_stream_text("x", "b", title="T", status="completed")
    assert told.content == [acp.tool_content(acp.text_block("ab"))]
    view = tracker.view("x")
    assert (view.title, view.status, view.content) == ("T", "completed", tuple(told.content))


def test_the_text_of_a_call_that_is_started_again_begins_anew() -> None:
    tracker = ToolCallTracker()
    for _ in range(2):
        tracker.start("x", title="t")
        told = tracker.append_stream_text("x", "a")
        assert told.content == [acp.tool_content(acp.text_block("a"))]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("title", 17), ("kind", 17), ("status", "lost"), ("content", [17]), ("locations", [17])],
)
def test_what_does_not_fit_is_not_remembered_either(name: str, wrong: Any) -> None:
    tracker, client = ToolCallTracker(), SessionAccumulator()
    client.apply(notification(tracker.start("x", **GIVEN)))
    news = {"raw_output": "new", name: wrong}
    folded = client.apply(notification(tracker.progress("x", **news)))
    view = tracker.view("x")
    assert members_of(folded.tool_calls[view.tool_call_id]) == members_of(view)
    assert view.raw_output == "new"
    if name != "title":
        started = client.apply(notification(tracker.start("y", **{**GIVEN, **news})))
        view = tracker.view("y")
        assert members_of(started.tool_calls[view.tool_call_id]) == members_of(view)


def test_a_start_that_does_not_fit_is_refused_and_leaves_the_call_before_it() -> None:
    tracker = ToolCallTracker()
    wrong: Any = 17
    with pytest.raises(ValueError, match="title"):
        tracker.start("x", title=wrong)
    with pytest.raises(KeyError):
        tracker.view("x")
    first = tracker.start("x", title="t")
    with pytest.raises(ValueError, match="title"):
        tracker.start("x", title=wrong)
    assert tracker.view("x").tool_call_id == first.tool_call_id


def test_nothing_that_was_given_or_told_is_shared_with_the_tracker() -> None:
    tracker = ToolCallTracker()
    given_members = copy.deepcopy(GIVEN)
    started = tracker.start("x", **given_members)
    news = {name: given_members[name] for name in ("content", "locations", "raw_input")}
    told = tracker.progress("x", **news)
    everything: list[Any] = [
        given_members,
        members_of(started),
        members_of(told),
        members_of(tracker.tool_call_model("x")),
        members_of(tracker.view("x")),
    ]
    for members in everything:
        members["content"][0].content.text = "spoilt"
        members["locations"][0].path = "spoilt"
        members["raw_input"]["path"].append("spoilt")
        for name in ("content", "locations"):
            if isinstance(members[name], list):
                members[name].clear()
    assert members_of(tracker.view("x")) == viewed(GIVEN)


@pytest.mark.parametrize(
    "use",
    [
        lambda tracker: tracker.progress("x", status="completed"),
        lambda tracker: tracker.append_stream_text("x", "a"),
        lambda tracker: tracker.view("x"),
        lambda tracker: tracker.tool_call_model("x"),
    ],
)
@pytest.mark.parametrize("forgotten", [False, True])
def test_a_call_that_is_not_tracked_is_a_key_error_that_names_it(use: Any, forgotten: bool) -> None:
    tracker = ToolCallTracker()
    if forgotten:
        tracker.start("x", title="t")
        tracker.forget("x")
        tracker.forget("x")
    with pytest.raises(KeyError, match="'x'") as caught:
        use(tracker)
    assert "start()" in str(caught.value)


def test_content_may_be_any_sequence_and_plain_data() -> None:
    tracker = ToolCallTracker()
    plain: Any = ({"type": "content", "content": {"type": "text", "text": "shown"}},)
    tracker.start("x", title="t", content=plain, locations=tuple(PLACES))
    view = tracker.view("x")
    assert (view.content, view.locations) == (tuple(SHOWN), tuple(PLACES))
