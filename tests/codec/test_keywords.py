"""Constructors take keywords by a short cut: what comes of it is what reading a dict gives."""

from __future__ import annotations

import enum
import gc
from collections.abc import Iterator
from typing import Any

import pytest

import acp.v1.schema
import acp.v2.schema
from acp import ValidationError
from acp._core import UNSET, encode
from acp._schema import v1, v2
from acp._schema.base import BaseModel
from acp._schema.v1 import former
from tests.codec.rows import rows
from tests.codec.test_corpus import strictly_read

CLASSES: list[type[BaseModel]] = [*v1.RECORDS, *former.RECORDS, *v2.RECORDS]


class Text(str):
    __slots__ = ()


class Kind(str, enum.Enum):
    READ = "read"


class Items(list[Any]):
    __slots__ = ()


class Members(dict[str, Any]):
    pass


BLOCK = acp.v1.schema.TextContentBlock(text="a")
ODD: list[Any] = [
    None,
    UNSET,
    "",
    "a",
    "read",
    "text",
    "\ud800",
    Text("read"),
    Kind.READ,
    True,
    0,
    1,
    -1,
    2**70,
    1.5,
    float("nan"),
    b"a",
    [],
    ["a"],
    [None],
    [{}],
    [BLOCK],
    [BLOCK, "a"],
    Items([BLOCK]),
    (BLOCK,),
    {},
    {"a": 1},
    Members(a=1),
    BLOCK,
    acp.v2.schema.TextContentBlock(text="a"),
    type("Mine", (acp.v1.schema.TextContentBlock,), {})(text="a"),
    acp.v1.schema.TextContent(text="a"),
    acp.v1.schema.Annotations(),
    acp.v1.schema.Error(code=1, message="a"),
    acp.v2.schema.Error(code=1, message="a"),
    object(),
]


def outcome(make: Any) -> Any:
    """Everything that can be told of an object, or of why there is none."""
    try:
        value = make()
    except ValidationError as error:
        return error.errors()
    except UnicodeError as error:
        return type(error)
    shown = {name: getattr(value, name) for name in type(value).model_fields}
    kinds = {name: (type(member), kinds_in(member)) for name, member in shown.items()}
    return type(value), repr(value), value.model_fields_set, kinds, written(value)


def kinds_in(member: Any) -> list[type]:
    return [type(item) for item in member] if isinstance(member, list) else []


def written(value: BaseModel) -> Any:
    try:
        return encode(value, version=2 if "v2" in type(value).__module__ else 1)
    except (ValueError, TypeError) as error:
        return str(error)


def samples() -> Iterator[tuple[type[BaseModel], dict[str, Any]]]:
    """Members by attribute name, from values that the corpus has."""
    for row in rows():
        if (read := strictly_read(row)) is not None:
            cls, value = read
            own = cls.model_fields.keys() & value.model_fields_set
            yield cls, {**(value.model_extra or {}), **{name: getattr(value, name) for name in own}}


def test_keywords_make_what_a_dict_makes_of_every_value_of_the_corpus() -> None:
    compared = 0
    for cls, members in samples():
        by_keyword = outcome(lambda cls=cls, members=members: cls(**members))
        assert by_keyword == outcome(lambda cls=cls, members=members: cls.model_validate(members))
        compared += 1
    assert compared > 3_000


def starts() -> Iterator[tuple[type[BaseModel], dict[str, Any]]]:
    """Members of two objects of each class: as few and as many as the corpus knows."""
    few: dict[type[BaseModel], dict[str, Any]] = {}
    many: dict[type[BaseModel], dict[str, Any]] = {cls: {} for cls in CLASSES}
    for cls, members in samples():
        few[cls] = min(few.get(cls, members), members, key=len)
        many[cls] = max(many[cls], members, key=len)
    yield from few.items()
    yield from many.items()


@pytest.mark.parametrize("of", ["acp._schema.v1", "acp._schema.v2"])
def test_keywords_make_what_a_dict_makes_whatever_a_member_is(of: str) -> None:
    compared = 0
    for cls, members in starts():
        if not cls.__module__.startswith(of):
            continue
        for name, info in cls.model_fields.items():
            for odd in ODD:
                for given in ({**members, name: odd}, {name: odd}, {**members, info.alias: odd}):
                    if None in given:
                        continue
                    by_keyword = outcome(lambda: cls(**given))  # noqa: B023
                    by_dict = outcome(lambda: cls.model_validate(given))  # noqa: B023
                    assert repr(by_keyword) == repr(by_dict), (cls, name, odd)
                    compared += 1
        without = [{k: v for k, v in members.items() if k != left} for left in members]
        for given in [*without, {**members, "more": 1}]:
            by_keyword = outcome(lambda: cls(**given))  # noqa: B023
            assert repr(by_keyword) == repr(outcome(lambda: cls.model_validate(given)))  # noqa: B023
    assert compared > 50_000


def test_lists_that_are_given_stay_the_callers() -> None:
    blocks: list[Any] = [BLOCK]
    request = acp.v1.schema.PromptRequest(session_id="s", prompt=blocks)
    assert request.prompt == blocks
    assert request.prompt is not blocks
    blocks.append(BLOCK)
    assert len(request.prompt) == 1
    assert request.prompt[0] is BLOCK


def test_a_second_construction_forgets_the_first() -> None:
    value = acp.v1.schema.TextContentBlock(
        text="a", annotations=acp.v1.schema.Annotations(priority=0.5), field_meta={"a": 1}
    )
    value.__init__(text="b")
    assert (value.text, value.annotations, value.field_meta) == ("b", None, None)
    assert value.model_fields_set == {"text", "type"}
    with pytest.raises(ValidationError):
        value.__init__(text=1)


def test_an_object_of_nothing_but_strings_costs_the_collector_nothing_until_it_holds_more() -> None:
    value = acp.v1.schema.TextContentBlock(text="a")
    assert not gc.is_tracked(value)
    value.field_meta = {"self": value}
    assert gc.is_tracked(value)
    assert gc.is_tracked(acp.v1.schema.AgentMessageChunk(content=BLOCK))
