"""Names of version 1 of pydantic on schema classes and users' subclasses: each works and warns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pydantic
import pytest

import acp.schema as schema
import acp.v2.schema as v2


class Noted(schema.TextContentBlock):
    note: str = "n"


CLASSES: list[Any] = [schema.TextContentBlock, v2.TextContentBlock, Noted]
TEXT = {"text": "t", "type": "text"}


@contextmanager
def told(former: str, name: str) -> Iterator[None]:
    said = f"`{former}` is deprecated; use `{name}`."
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(said)}$") as caught:
        yield
    (warning,) = caught
    assert warning.filename == __file__


@pytest.mark.parametrize("cls", CLASSES)
def test_dict_and_json_dump_with_the_same_options(cls: Any) -> None:
    made = cls(**TEXT)
    with told("dict", "model_dump"):
        assert made.dict() == made.model_dump()
    with told("dict", "model_dump"):
        assert made.dict(exclude_none=True, include={"text"}) == {"text": "t"}
    with told("json", "model_dump_json"):
        assert json.loads(made.json(exclude_unset=True, by_alias=True)) == TEXT


@pytest.mark.parametrize("cls", CLASSES)
def test_copy_replaces_members_and_is_deep_when_asked(cls: Any) -> None:
    made = cls(**TEXT, field_meta={"a": []})
    with told("copy", "model_copy"):
        changed = made.copy(update={"text": "u"})
    assert (type(changed), changed.text, made.text) == (cls, "u", "t")
    assert changed.field_meta is made.field_meta
    with told("copy", "model_copy"):
        deep = made.copy(deep=True)
    assert deep == made
    assert deep.field_meta is not made.field_meta


@pytest.mark.parametrize("cls", CLASSES)
def test_data_and_json_are_parsed_and_refused(cls: Any) -> None:
    with told("parse_obj", "model_validate"):
        assert cls.parse_obj(TEXT) == cls(**TEXT)
    for text in (json.dumps(TEXT), json.dumps(TEXT).encode()):
        with told("parse_raw", "model_validate_json"):
            assert cls.parse_raw(text) == cls(**TEXT)
    with told("parse_obj", "model_validate"), pytest.raises(pydantic.ValidationError):
        cls.parse_obj({"text": 5})


@pytest.mark.parametrize("cls", CLASSES)
def test_construct_takes_values_as_they_are(cls: Any) -> None:
    with told("construct", "model_construct"):
        made = cls.construct(text=5)
    assert (made.text, made.model_fields_set - {"type"}) == (5, {"text"})
    with told("construct", "model_construct"):
        assert "text" not in cls.construct(set(), text="t").model_fields_set


@pytest.mark.parametrize("cls", CLASSES)
def test_fields_are_told_by_class_and_object(cls: Any) -> None:
    with told("__fields__", "model_fields"):
        assert cls.__fields__ is cls.model_fields
    with told("__fields__", "model_fields"):
        assert set(cls(**TEXT).__fields__) == set(cls.model_fields)


def test_a_field_or_method_of_that_name_in_a_subclass_wins() -> None:
    class Own(schema.TextContentBlock):
        __slots__ = ("json",)

        def copy(self) -> str:  # type: ignore[override]
            return "mine"

    made = Own(**TEXT)
    made.json = 5  # type: ignore[method-assign,assignment]
    assert (made.json, made.copy()) == (5, "mine")


def test_no_class_of_the_schema_has_a_member_of_such_a_name() -> None:
    former = {"dict", "json", "copy", "construct", "parse_obj", "parse_raw", "__fields__"}
    for module in (schema, v2):
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, schema.BaseModel):
                assert not former & set(found.model_fields), found
