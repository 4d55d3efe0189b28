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


@pytest.mark.parametrize("prelude", ["", BLOCKED], ids=["not imported", "not installed"])
@pytest.mark.parametrize(
    "fields",
    [
        "note: str",
        "note: str = 'none'",
        "note: 'list[Unknown] | None' = None",
        "text: str = 'hello'",
        "text: str",
        "_own: int = 0; note: int = 1; known: ClassVar[int] = 2",
    ],
)
def test_a_subclass_with_fields_needs_pydantic_and_says_so(prelude: str, fields: str) -> None:
    name = "text" if fields.startswith("text") else "note"
    program = f"""
from typing import ClassVar
from acp.schema import TextContentBlock
try:
    class Noted(TextContentBlock):
        {fields}
except TypeError as error:
    print(error)
"""
    assert run(prelude + program) == (
        f"Noted declares fields of its own ({name}): "
        "import pydantic, 2.7 or newer, before the class is defined"
    )


def test_so_do_a_subclass_of_the_base_of_all_classes_and_one_of_version_2() -> None:
    program = """
import acp.schema, acp.v2.schema
for base in (acp.schema.BaseModel, acp.v2.schema.TextContentBlock):
    try:
        class Noted(base):
            note: int = 0
    except TypeError:
        print("refused", end=" ")
"""
    assert run(BLOCKED + program) == "refused refused"


def test_beside_an_older_pydantic_it_is_refused_as_well() -> None:
    program = """
import sys, types
from importlib.machinery import ModuleSpec
sys.modules["pydantic"] = old = types.ModuleType("pydantic")
old.VERSION, old.__spec__ = "2.6.4", ModuleSpec("pydantic", None)
from acp.schema import TextContentBlock
try:
    class Noted(TextContentBlock):
        note: int = 0
except TypeError as error:
    print("2.7 or newer" in str(error))
"""
    assert run(program) == "True"


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize("prelude", ["", BLOCKED], ids=["not imported", "not installed"])
def test_a_subclass_that_adds_no_field_is_a_plain_one(prelude: str, future: str) -> None:
    program = """
import typing
from typing import Any, ClassVar, Final, Literal
from acp.schema import BaseModel, TextContentBlock
class Named(TextContentBlock):
    __slots__ = ("cache", "__dict__")
    cache: dict[str, Any]
    type: Literal["text"] = "text"
    known: ClassVar[int] = 7
    other: "typing.ClassVar[list[int]]" = []
    final: Final = 1
    last: typing.Final[int] = 2
    plain = 5
    _hidden: int = 3
    @property
    def loud(self) -> str:
        return self.text.upper()
    def described(self) -> str:
        return f"{self.text} {self.known} {self.plain} {self._hidden} {self.final + self.last}"
class Base(BaseModel):
    def shout(self) -> str:
        return "!"
named = Named(text="t")
named.cache = {"a": 1}
print(named.described(), named.loud, named.cache, named.model_dump(exclude_none=True))
"""
    assert run(future + prelude + program) == ("t 7 5 3 3 T {'a': 1} {'text': 't', 'type': 'text'}")


def test_names_of_version_1_of_pydantic_work_and_warn() -> None:
    program = """
import warnings
from acp.schema import TextContentBlock as Block
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    block = Block.parse_obj({"text": "t"})
    assert block == Block.parse_raw('{"text":"t"}') == Block.construct(text="t") == block.copy()
    assert block.dict() == block.model_dump()
    assert block.json() == block.model_dump_json()
    assert list(Block.__fields__) == list(Block.model_fields)
print(len(caught), {str(one.category.__name__) for one in caught})
"""
    assert run(BLOCKED + program) == "7 {'DeprecationWarning'}"
