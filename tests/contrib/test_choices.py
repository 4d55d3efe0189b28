"""`include` and `exclude` of views: which members are dumped, on every level."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp
from acp.contrib import SessionAccumulator, SessionSnapshot, ToolCallTracker
from acp.schema import ToolCallLocation
from tests.contrib.session_steps import notification

CALL: dict[str, Any] = {
    "kind": "read",
    "content": [acp.tool_content(acp.text_block("shown"))],
    "locations": [ToolCallLocation(path="/a", line=1), ToolCallLocation(path="/b")],
    "raw_input": {"paths": ["/a", "/b"], "deep": {"x": 1, "y": None}},
}
UPDATES: list[Any] = [
    acp.start_tool_call("c", "Read", **CALL),
    acp.start_tool_call("d", "Other"),
    acp.update_plan([acp.plan_entry("one"), acp.plan_entry("two")]),
    acp.update_user_message_text("asked"),
]


def snapshot() -> SessionSnapshot:
    accumulator = SessionAccumulator()
    for update in UPDATES:
        accumulator.apply(notification(update))
    return accumulator.snapshot()


WHOLE = snapshot().model_dump(mode="json")
NAMES = sorted(WHOLE)
ONE, TWO = WHOLE["plan_entries"]
C, D = WHOLE["tool_calls"]["c"], WHOLE["tool_calls"]["d"]
A, B = C["locations"]


def without(members: dict[str, Any], *names: str) -> dict[str, Any]:
    assert set(names) <= set(members)
    return {name: value for name, value in members.items() if name not in names}


@given(st.sets(st.sampled_from(NAMES)), st.sampled_from([set, frozenset, list, tuple]))
def test_sets_of_names_choose_members_and_leave_the_others_whole(
    names: set[str], kind: Any
) -> None:
    view, others = snapshot(), set(NAMES) - names
    chosen = {name: WHOLE[name] for name in WHOLE if name in names}
    for choices in (
        {"include": kind(names)},
        {"exclude": kind(others)},
        {"include": kind(names), "exclude": kind(others)},
        {"include": dict.fromkeys(names, True)},
        {"exclude": dict.fromkeys(others, ...)},
    ):
        dumped = view.model_dump(mode="json", **choices)
        assert dumped == chosen
        assert list(dumped) == list(chosen)
        assert json.loads(view.model_dump_json(**choices)) == chosen


@pytest.mark.parametrize(
    ("member", "choice", "included", "excluded"),
    [
        ("plan_entries", {0}, [ONE], [TWO]),
        ("plan_entries", {-1}, [TWO], [ONE]),
        ("plan_entries", {0: True, -1: ...}, [ONE, TWO], []),
        ("plan_entries", {"__all__"}, [ONE, TWO], []),
        ("plan_entries", {"__all__": True}, [ONE, TWO], []),
        ("plan_entries", set(), [], [ONE, TWO]),
        ("plan_entries", {}, [], [ONE, TWO]),
        ("plan_entries", {"content"}, [], [ONE, TWO]),
        ("plan_entries", None, [ONE, TWO], [ONE, TWO]),
        (
            "plan_entries",
            {0: {"content"}},
            [{"content": "one"}],
            [without(ONE, "content"), TWO],
        ),
        (
            "plan_entries",
            {"__all__": {"content"}},
            [{"content": "one"}, {"content": "two"}],
            [without(ONE, "content"), without(TWO, "content")],
        ),
        (
            "plan_entries",
            {"__all__": {"content"}, 0: {"status": True}},
            [{"content": "one", "status": "pending"}, {"content": "two"}],
            [without(ONE, "content", "status"), without(TWO, "content")],
        ),
        (
            "plan_entries",
            {"__all__": {"content"}, 0: True},
            [ONE, {"content": "two"}],
            [without(TWO, "content")],
        ),
        (
            "plan_entries",
            {"__all__": True, 0: {"content"}},
            [{"content": "one"}, TWO],
            [without(ONE, "content")],
        ),
        ("tool_calls", {"c"}, {"c": C}, {"d": D}),
        ("tool_calls", {"nobody"}, {}, {"c": C, "d": D}),
        (
            "tool_calls",
            {"c": {"title"}},
            {"c": {"title": "Read"}},
            {"c": without(C, "title"), "d": D},
        ),
        (
            "tool_calls",
            {"__all__": {"title"}},
            {"c": {"title": "Read"}, "d": {"title": "Other"}},
            {"c": without(C, "title"), "d": without(D, "title")},
        ),
        (
            "tool_calls",
            {"c": {"locations": {"__all__": {"path"}}}},
            {"c": {"locations": [{"path": "/a"}, {"path": "/b"}]}},
            {"c": {**C, "locations": [without(A, "path"), without(B, "path")]}, "d": D},
        ),
        (
            "tool_calls",
            {"c": {"content": {0: {"content": {"text"}}}}},
            {"c": {"content": [{"content": {"text": "shown"}}]}},
            {
                "c": {
                    **C,
                    "content": [
                        {
                            **C["content"][0],
                            "content": without(C["content"][0]["content"], "text"),
                        }
                    ],
                },
                "d": D,
            },
        ),
        (
            "tool_calls",
            {"c": {"raw_input": {"paths": {0}, "deep": {"y"}}}},
            {"c": {"raw_input": {"paths": ["/a"], "deep": {"y": None}}}},
            {"c": {**C, "raw_input": {"paths": ["/b"], "deep": {"x": 1}}}, "d": D},
        ),
        # What has no members is not looked into.
        ("session_id", {"x"}, "s", "s"),
        ("session_id", False, "s", "s"),
        ("current_mode_id", {"x": True}, None, None),
    ],
)
def test_choices_go_into_calls_lists_objects_and_open_values(
    member: str, choice: Any, included: Any, excluded: Any
) -> None:
    view, given_choice = snapshot(), copy.deepcopy(choice)
    dumped = view.model_dump(mode="json", include={member: choice})
    assert dumped == {member: included}
    assert view.model_dump(mode="json", exclude={member: choice}) == {**WHOLE, member: excluded}
    assert json.loads(view.model_dump_json(include={member: choice})) == dumped
    assert choice == given_choice


@pytest.mark.parametrize(
    ("include", "exclude", "dumped"),
    [
        ({"plan_entries": {0}}, {"plan_entries": {0}}, {"plan_entries": []}),
        ({"plan_entries": {0}}, {"plan_entries"}, {}),
        ({"plan_entries": {0}}, {"plan_entries": {1}}, {"plan_entries": [ONE]}),
        (
            {"plan_entries": {0: {"content", "status"}}, "session_id": True},
            {"plan_entries": {"__all__": {"content"}}},
            {"session_id": "s", "plan_entries": [{"status": "pending"}]},
        ),
        ({"tool_calls"}, {"tool_calls": {"c"}}, {"tool_calls": {"d": D}}),
    ],
)
def test_what_is_excluded_is_left_out_of_what_is_included(
    include: Any, exclude: Any, dumped: Any
) -> None:
    assert snapshot().model_dump(mode="json", include=include, exclude=exclude) == dumped


def test_choices_go_by_attribute_names_together_with_the_other_options() -> None:
    dumped = snapshot().model_dump(
        mode="json",
        include={"tool_calls": {"d"}, "user_messages": {0: {"session_update", "message_id"}}},
        by_alias=True,
        exclude_none=True,
    )
    assert dumped == {
        "tool_calls": {"d": {"tool_call_id": "d", "title": "Other"}},
        "user_messages": [{"sessionUpdate": "user_message_chunk"}],
    }


def test_the_views_of_a_tracker_and_of_single_calls_take_choices_too() -> None:
    tracker = ToolCallTracker(id_factory=lambda: "c")
    tracker.start("x", title="Read", status=None, **CALL)
    for view in (tracker.view("x"), snapshot().tool_calls["c"]):
        assert view.model_dump(include={"title"}) == {"title": "Read"}
        kept = view.model_dump(exclude={"content": True, "locations": {0}, "raw_input": {"deep"}})
        assert isinstance(kept["locations"], tuple)
        kept["locations"] = list(kept["locations"])
        assert kept == {
            **without(C, "content"),
            "locations": [B],
            "raw_input": {"paths": ["/a", "/b"]},
        }


@pytest.mark.parametrize(
    "choice",
    [
        *(5, True, False, ...),
        *({"plan_entries": wrong} for wrong in (5, False)),
        *({"plan_entries": {key: wrong}} for key in (0, "__all__") for wrong in (5, False)),
        {"plan_entries": {0: {"content"}, "__all__": 5}},
        {"tool_calls": {"c": 5}},
        {"tool_calls": {"c": {"raw_input": {"deep": 5}}}},
    ],
)
@pytest.mark.parametrize("keyword", ["include", "exclude"])
def test_a_choice_that_names_nothing_is_a_type_error(keyword: str, choice: Any) -> None:
    view = snapshot()
    for dump in (view.model_dump, view.model_dump_json):
        with pytest.raises(TypeError):
            dump(**{keyword: choice})


def test_members_that_are_not_chosen_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    view = snapshot()
    copied: list[Any] = []
    genuine = copy.deepcopy

    def counted(value: Any, *rest: Any) -> Any:
        copied.append(value)
        return genuine(value, *rest)

    monkeypatch.setattr(copy, "deepcopy", counted)
    view.model_dump(include={"session_id", "current_mode_id"})
    view.model_dump(exclude=set(NAMES))
    assert not copied
    view.model_dump(include={"available_commands"})
    assert copied == [()]
