"""The annotations of `acp.contrib`: whoever looks them up finds each name."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

from acp import contrib
from acp.contrib import permissions, session_state, tool_calls
from acp.schema import AvailableCommand, PlanEntry, ToolCallLocation, ToolCallStatus, ToolKind

VIEWS = [
    session_state.SessionSnapshot,
    session_state.ToolCallView,
    tool_calls.TrackedToolCallView,
]


def public() -> Iterator[Any]:
    """Classes and functions of the modules, and the methods of the classes, those of bases too."""
    for module in (contrib, permissions, session_state, tool_calls):
        for name, value in vars(module).items():
            if name.startswith("_") or not str(getattr(value, "__module__", "")).startswith(
                contrib.__name__
            ):
                continue
            yield value
            if inspect.isclass(value):
                yield from (
                    method
                    for _, method in inspect.getmembers(value, inspect.isfunction)
                    if method.__module__.startswith(contrib.__name__)
                )


def test_each_annotation_of_each_class_function_and_method_can_be_looked_up() -> None:
    looked_up = {value.__qualname__: get_type_hints(value) for value in public()}
    assert {*contrib.__all__, "View.model_copy", "SessionAccumulator.apply"} <= set(looked_up)
    assert looked_up["PermissionBroker.__init__"]["session_id"] is str


@pytest.mark.parametrize("view", VIEWS)
def test_the_type_of_each_member_of_a_view_is_found(view: type[Any]) -> None:
    hints = get_type_hints(view)
    assert set(hints) == {field.name for field in dataclasses.fields(view)}
    assert not [kind for kind in hints.values() if isinstance(kind, str)]


def test_the_types_of_members_are_those_of_the_schema() -> None:
    snapshot = get_type_hints(session_state.SessionSnapshot)
    assert snapshot["plan_entries"] == tuple[PlanEntry, ...]
    assert snapshot["available_commands"] == tuple[AvailableCommand, ...]
    assert snapshot["tool_calls"] == dict[str, session_state.ToolCallView]
    for view in VIEWS[1:]:
        call = get_type_hints(view)
        assert call["kind"] == ToolKind | None
        assert call["status"] == ToolCallStatus | None
        assert call["locations"] == tuple[ToolCallLocation, ...] | None
