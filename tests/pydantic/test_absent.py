"""Objects in programs without pydantic: nothing looks for it, and nothing of it is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = "import sys; sys.modules['pydantic'] = None\n"


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("prelude", ["", BLOCKED], ids=["not imported", "not installed"])
def test_what_does_not_fit_is_an_exception_of_ours(prelude: str) -> None:
    program = """
import acp, acp.schema as schema
for act in (
    lambda: schema.PlanEntry(content=5, priority="high", status="pending"),
    lambda: schema.PlanEntry.model_validate({"content": 5}),
    lambda: schema.PlanEntry.model_validate_json("[]"),
):
    try:
        act()
    except acp.ValidationError as error:
        assert error.__cause__ is None
        print(type(error).__module__, end=" ")
"""
    assert run(prelude + program) == "acp._core acp._core acp._core"


@pytest.mark.parametrize("prelude", ["", BLOCKED], ids=["not imported", "not installed"])
def test_an_object_shows_its_own_class_and_nothing_of_pydantic(prelude: str) -> None:
    program = """
import inspect, sys
from acp.schema import TextContentBlock
block = TextContentBlock(text="t")
assert block.__class__ is TextContentBlock
assert not hasattr(block, "__pydantic_validator__")
assert not hasattr(TextContentBlock, "__pydantic_serializer__")
assert TextContentBlock.model_fields["field_meta"].alias == "_meta"
assert inspect.signature(TextContentBlock) is not None
print(sys.modules.get("pydantic"))
"""
    assert run(prelude + program) == "None"


@pytest.mark.parametrize("version", ["1.10.17", "2.6.4", "nonsense"])
def test_beside_an_older_pydantic_objects_are_what_they_are_without(version: str) -> None:
    program = f"""
import sys, types
from importlib.machinery import ModuleSpec
sys.modules["pydantic"] = old = types.ModuleType("pydantic")
old.VERSION, old.__spec__ = "{version}", ModuleSpec("pydantic", None)
import acp
from acp.schema import TextContentBlock
assert TextContentBlock(text="t").__class__ is TextContentBlock
try:
    TextContentBlock(text=5)
except acp.ValidationError:
    print("ours")
"""
    assert run(program) == "ours"


def test_a_json_schema_needs_pydantic_and_says_so() -> None:
    program = """
from acp.schema import PlanEntry
try:
    PlanEntry.model_json_schema()
except RuntimeError as error:
    print(error)
"""
    assert run(BLOCKED + program) == "JSON Schemas are made by pydantic: import it first"


def test_a_subclass_with_annotations_is_a_plain_subclass() -> None:
    program = """
from acp.schema import TextContentBlock
class Noted(TextContentBlock):
    note: str = "none"
noted = Noted(text="t", note="n")
print(noted.text, noted.note, noted.model_dump(exclude_none=True))
"""
    assert run(BLOCKED + program) == "t none {'text': 't', 'type': 'text'}"
