"""`model_validate`, `model_validate_json` and `model_construct`."""

from __future__ import annotations

import types
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError, encode


def kinds(error: pytest.ExceptionInfo[ValidationError]) -> set[tuple[Any, str]]:
    return {(row["loc"], row["type"]) for row in error.value.errors()}


def test_an_object_of_the_class_validates_as_itself() -> None:
    block = v1.TextContentBlock(text="t")
    assert v1.TextContentBlock.model_validate(block) is block
    assert v1.TextContent.model_validate(block) is block


def test_an_object_of_another_class_does_not_validate() -> None:
    for wrong in (v1.TextContent(text="t"), v1.Annotations(), v2.TextContentBlock(text="t")):
        with pytest.raises(ValidationError) as caught:
            v1.TextContentBlock.model_validate(wrong)
        assert kinds(caught) == {((), "object_type")}


def test_a_mapping_validates_by_both_kinds_of_names() -> None:
    expected = v1.PromptRequest(session_id="s", prompt=[])
    for members in (
        {"session_id": "s", "prompt": []},
        {"sessionId": "s", "prompt": ()},
        types.MappingProxyType({"sessionId": "s", "prompt": []}),
        {"sessionId": "s", "prompt": [], "more": object(), 5: 6, None: 7},
    ):
        assert v1.PromptRequest.model_validate(members) == expected


@pytest.mark.parametrize("wrong", [None, 5, "text", [], ["a"], object(), b"{}"])
def test_other_things_do_not_validate(wrong: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.TextContentBlock.model_validate(wrong)
    assert kinds(caught) == {((), "object_type")}


def test_none_validates_where_null_is_an_empty_object() -> None:
    assert v1.SetSessionModeResponse.model_validate(None) == v1.SetSessionModeResponse()
    assert v1.SetSessionModeResponse.model_validate_json("null") == v1.SetSessionModeResponse()

    class Own(v1.SetSessionModeResponse):
        pass

    assert Own.model_validate(None) == Own()


def test_validation_leaves_the_given_dict_as_it_is() -> None:
    members: Any = {"type": "text", "text": "t", "_meta": {"a": 1}}
    made = v1.TextContentBlock.model_validate(members)
    assert members == {"type": "text", "text": "t", "_meta": {"a": 1}}
    assert made.field_meta is not None
    made.field_meta["b"] = 2
    assert members["_meta"] == {"a": 1}


@pytest.mark.parametrize("text", ['{"text":"t"}', b'{"text":"t"}', bytearray(b'{"text":"t"}')])
def test_json_text_of_every_kind_validates(text: Any) -> None:
    assert v1.TextContentBlock.model_validate_json(text) == v1.TextContentBlock(text="t")


def test_json_text_validates_by_both_kinds_of_names() -> None:
    expected = v1.PromptRequest(session_id="s", prompt=[v1.TextContentBlock(text="t")])
    for name in ("session_id", "sessionId"):
        text = f'{{"{name}":"s","prompt":[{{"type":"text","text":"t"}}]}}'
        assert v1.PromptRequest.model_validate_json(text) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "json_invalid"),
        ("{", "json_invalid"),
        (b"\xff", "json_invalid"),
        ('{"text":NaN}', "json_invalid"),
        ("[" * 1025 + "]" * 1025, "depth"),
        ("[]", "object_type"),
        ("null", "object_type"),
        ('{"text":5}', "string_type"),
        ('{"type":"image","text":"t"}', "unknown_variant"),
        ("{}", "missing"),
    ],
)
def test_json_text_that_does_not_fit_is_refused(text: Any, kind: str) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.TextContentBlock.model_validate_json(text)
    assert [row["type"] for row in caught.value.errors()] == [kind]
    assert caught.value.title == "TextContentBlock"


def test_things_that_are_no_text_are_no_json() -> None:
    for wrong in (None, 5, {"text": "t"}, memoryview(b"{}")):
        with pytest.raises(TypeError):
            v1.TextContentBlock.model_validate_json(wrong)


def test_construction_without_validation_takes_everything_as_it_is() -> None:
    text: Any = 5
    made: Any = v1.TextContentBlock.model_construct(text=text, annotations="x")
    assert (made.text, made.annotations, made.field_meta, made.type) == (5, "x", None, "text")
    assert made.model_fields_set == {"annotations", "text", "type"}
    assert v1.PromptRequest.model_construct(sessionId="s").session_id == "s"


def test_construction_without_validation_can_say_which_fields_were_set() -> None:
    made = v1.TextContentBlock.model_construct({"text"}, text="t", annotations=None)
    assert made.model_fields_set == {"text", "type"}
    assert v1.PromptRequest.model_construct({"sessionId"}).model_fields_set == {"session_id"}


def test_construction_without_validation_gives_defaults_and_leaves_out_what_has_none() -> None:
    made: Any = v1.InitializeRequest.model_construct()
    assert made.client_capabilities == v1.ClientCapabilities()
    assert not hasattr(made, "protocol_version")
    assert "protocol_version" not in repr(made)
    with pytest.raises(ValidationError) as caught:
        encode(made)
    assert kinds(caught) == {(("protocolVersion",), "missing")}


def test_construction_without_validation_keeps_other_members_in_catch_alls_only() -> None:
    made: Any = v2.OtherContentBlock.model_construct(type="smell", strength=5)
    assert made.model_extra == {"strength": 5}
    plain: Any = v1.TextContentBlock.model_construct(text="t", strength=5)
    assert plain.model_extra is None
    assert not hasattr(plain, "strength")


def test_construction_without_validation_refuses_another_discriminator() -> None:
    with pytest.raises(ValidationError):
        v1.TextContentBlock.model_construct(text="t", type="image")
    assert v1.TextContentBlock.model_construct(text="t", type="text").type == "text"


def test_a_subclass_with_a_constructor_is_made_by_it() -> None:
    class Own(v1.TextContentBlock):
        def __init__(self, **members: Any) -> None:
            super().__init__(**{**members, "text": members["text"].upper()})

    assert Own.model_validate({"text": "t"}).text == "T"
    assert Own.model_validate_json('{"type":"text","text":"t"}').text == "T"
    own = Own(text="t")
    assert Own.model_validate(own) is own
