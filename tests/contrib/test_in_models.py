"""Views as members of models that programs make with pydantic, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST = {"pydantic first": "import pydantic, acp", "acp first": "import acp, acp.contrib, pydantic"}
PROGRAM = """
import json, warnings
warnings.simplefilter("error")
from acp.contrib import SessionSnapshot, ToolCallTracker, ToolCallView, TrackedToolCallView
from acp.schema import PlanEntry
from tests.contrib.test_choices import CALL, NAMES, snapshot

class Held(pydantic.BaseModel):
    snapshot: SessionSnapshot
    call: ToolCallView | None = None
    tracked: TrackedToolCallView | None = None

def held():
    tracker = ToolCallTracker(id_factory=lambda: "c")
    tracker.start("x", title="Read", **CALL)
    view = snapshot()
    return Held(snapshot=view, call=view.tool_calls["c"], tracked=tracker.view("x"))
"""


def run(first: str, program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST[first] + PROGRAM + program + "\nprint('done')"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("first", list(FIRST))
def test_a_model_holds_views_and_dumps_them_as_they_dump_themselves(first: str) -> None:
    program = """
view = snapshot()
assert Held(snapshot=view).snapshot is view
for options in ({}, {"mode": "json"}, {"exclude_none": True}, {"by_alias": True}):
    model = held()
    dumped = model.model_dump(**options)
    for name in ("snapshot", "call", "tracked"):
        assert dumped[name] == getattr(held(), name).model_dump(**options), (name, options)
text = held().model_dump_json()
assert json.loads(text) == held().model_dump(mode="json")
assert held().model_copy(deep=True) == held()
"""
    run(first, program)


@pytest.mark.parametrize("first", list(FIRST))
def test_a_model_makes_views_of_plain_data_and_refuses_what_is_none(first: str) -> None:
    program = """
made = Held.model_validate(held().model_dump())
# Content may be anything, so it stays the dicts that it was.
assert made.model_dump() == held().model_dump()
assert type(made.snapshot.tool_calls["c"]) is ToolCallView
assert type(made.snapshot.plan_entries[0]) is PlanEntry
text = held().model_dump_json()
assert Held.model_validate_json(text).model_dump_json() == text
lacking = snapshot().model_dump(exclude={"plan_entries"})
for wrong in (5, lacking, held().call):
    try:
        Held(snapshot=wrong)
    except pydantic.ValidationError:
        continue
    raise AssertionError(wrong)
schema = Held.model_json_schema()["$defs"]
assert sorted(schema["SessionSnapshot"]["required"]) == NAMES
"""
    run(first, program)


def test_views_take_the_choices_that_pydantic_takes() -> None:
    """What is right is told by pydantic's serializer, which goes through the view by itself."""
    program = """
PARTS = [
    True, ..., None, set(), {}, {0}, {-1}, {"__all__"}, {"content"}, {"c"}, {"title", "locations"},
    {"__all__": {"content"}}, {"__all__": {"content"}, 0: {"status"}}, {0: ..., "__all__": True},
    {"__all__": {"content"}, -1: True}, {"__all__": True, 0: {"content"}}, {0: None},
    {"__all__": {"title": True, "raw_input": {"deep": {"x"}}}, "c": {"kind", "raw_input"}},
    {"c": {"locations": {1}}}, {"c": {"raw_input": {"paths": {"__all__"}}}}, [0], ("c",),
]
CHOICES = [{name: part} for name in NAMES for part in PARTS]
CHOICES += [set(), {}, set(NAMES), {"__all__"}, {"__all__": {0}}, {"__all__": {"c", "d"}}]
for choice in CHOICES:
    for keyword in ("include", "exclude"):
        for mode in ("python", "json"):
            ours = snapshot().model_dump(mode=mode, **{keyword: choice})
            theirs = Held(snapshot=snapshot()).model_dump(
                mode=mode, **{keyword: {"snapshot": choice, "call": ..., "tracked": ...}}
            )["snapshot"]
            assert ours == theirs, (keyword, mode, choice, ours, theirs)
"""
    run("pydantic first", program)
