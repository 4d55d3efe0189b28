"""Objects for discriminators that the schema does not know."""

from __future__ import annotations

import json
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError, decode, encode
from tests.codec.instances import TYPES

SMELL = '{"type":"smell","strength":5,"_meta":3,"nested":{"n":null,"f":1.50}}'


def catch_alls() -> list[tuple[int, str, str, str]]:
    """Version, union, discriminator and class of every catch-all."""
    return [
        (version, name, fact["tag"], fact["other"])
        for version in (1, 2)
        for name, fact in TYPES[version].items()
        if fact.get("other")
    ]


def test_an_unknown_discriminator_keeps_tag_and_all_members() -> None:
    block = decode(2, "ContentBlock", SMELL)
    assert type(block) is v2.OtherContentBlock
    assert block.type == "smell"
    assert block.model_extra == {"strength": 5, "_meta": 3, "nested": {"n": None, "f": 1.5}}
    assert list(block.model_extra) == ["strength", "_meta", "nested"]
    assert json.loads(encode(block)) == json.loads(SMELL)


def test_the_members_are_part_of_what_the_object_is() -> None:
    block = decode(2, "ContentBlock", SMELL)
    assert block == decode(2, "ContentBlock", SMELL)
    assert block != v2.OtherContentBlock(type="smell")
    assert block != decode(2, "ContentBlock", SMELL.replace("5", "6"))
    assert block.model_fields_set == {"type", "strength", "_meta", "nested"}
    assert next(iter(block)) == ("type", "smell")
    assert "strength=5" in repr(block)


def test_the_constructor_keeps_unknown_keywords() -> None:
    block = v2.OtherContentBlock(type="smell", strength=5, nested=None)
    assert block.model_extra == {"strength": 5, "nested": None}
    assert encode(block) == b'{"type":"smell","strength":5,"nested":null}'


def test_the_members_can_be_changed_in_place() -> None:
    block: Any = v2.OtherContentBlock(type="smell")
    assert block.model_extra == {}
    block.model_extra["strength"] = 5
    assert encode(block) == b'{"type":"smell","strength":5}'
    block.weakness = None
    assert block.model_extra == {"strength": 5, "weakness": None}
    block.type = "taste"
    assert encode(block) == b'{"type":"taste","strength":5,"weakness":null}'


def test_a_member_of_a_fields_name_does_not_hide_the_field() -> None:
    block: Any = v2.OtherContentBlock(type="smell")
    block.model_extra["type"] = "text"
    assert encode(block, version=2, type_name="ContentBlock") == b'{"type":"smell"}'
    idle: Any = v2.IdleStateUpdate(stop_reason="boredom", since=1)
    idle.model_extra.update(state="running", sessionUpdate="plan", stopReason="x")
    assert json.loads(encode(idle, version=2, type_name="SessionUpdate")) == {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "boredom",
        "since": 1,
    }


@pytest.mark.parametrize(("version", "union", "tag", "name"), catch_alls())
def test_a_known_discriminator_is_refused_by_every_catch_all(
    version: int, union: str, tag: str, name: str
) -> None:
    cls: Any = getattr({1: v1, 2: v2}[version], name)
    known = TYPES[version][union]["v"][0][0]
    for make in (
        lambda: cls(**{tag: known}),
        lambda: cls.model_validate({tag: known}),
        lambda: cls.model_validate_json(json.dumps({tag: known})),
    ):
        with pytest.raises(ValidationError) as caught:
            make()
        assert ((tag,), "known_variant") in {
            (row["loc"], row["type"]) for row in caught.value.errors()
        }


@pytest.mark.parametrize(("version", "union", "tag", "name"), catch_alls())
def test_a_malformed_known_variant_never_becomes_a_catch_all(
    version: int, union: str, tag: str, name: str
) -> None:
    for known, _ in TYPES[version][union]["v"]:
        try:
            value = decode(version, union, json.dumps({tag: known, "\x00": 1}))
        except ValidationError:
            continue
        assert type(value).__name__ != name


def test_a_discriminator_is_needed_and_is_a_string() -> None:
    make: Any = v2.OtherContentBlock
    with pytest.raises(ValidationError) as caught:
        make(strength=5)
    assert [(row["loc"], row["type"]) for row in caught.value.errors()] == [(("type",), "missing")]
    with pytest.raises(ValidationError):
        make(type=5)
    assert make(type="").type == ""


def test_closed_unions_have_no_catch_all() -> None:
    for text in (SMELL, '{"type":"Text","text":"t"}', '{"type":"","text":"t"}'):
        with pytest.raises(ValidationError) as caught:
            decode(1, "ContentBlock", text)
        assert [row["type"] for row in caught.value.errors()] == ["unknown_variant"]


def test_an_object_with_an_open_reason_keeps_members_for_unknown_reasons_only() -> None:
    text = '{"sessionUpdate":"state_update","state":"idle","stopReason":"%s","since":1}'
    known = decode(2, "SessionUpdate", text % "end_turn")
    unknown = decode(2, "SessionUpdate", text % "boredom")
    assert known.model_extra is None
    assert unknown.model_extra == {"since": 1}
    assert encode(unknown, version=2, type_name="SessionUpdate").decode() == text % "boredom"
    assert b"since" not in encode(known, version=2, type_name="SessionUpdate")
    assert v2.IdleStateUpdate(stop_reason="boredom", since=1) == unknown
    assert v2.IdleStateUpdate(stop_reason="end_turn", since=1) == known


def test_members_of_known_objects_that_no_field_has_are_no_part_of_them() -> None:
    with_more = decode(1, "ContentBlock", '{"type":"text","text":"t","more":{"a":1}}')
    assert with_more == v1.TextContentBlock(text="t")
    assert with_more.model_extra is None
    assert encode(with_more) == b'{"type":"text","text":"t"}'
    assert "more" not in repr(with_more)
    assert "more" not in with_more.model_dump()
    assert list(with_more) == list(v1.TextContentBlock(text="t"))


def test_an_error_object_keeps_further_members() -> None:
    text = '{"code":1,"message":"m","more":{"a":[null]}}'
    error = decode(1, "McpError", text)
    assert error.model_extra == {"more": {"a": [None]}}
    assert json.loads(encode(error)) == json.loads(text)
