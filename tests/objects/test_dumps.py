"""Objects as plain data: which members `model_dump` and `model_dump_json` give."""

from __future__ import annotations

import json
from typing import Any, get_origin

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import encode


def request() -> v1.PromptRequest:
    return v1.PromptRequest(
        session_id="s", prompt=[v1.TextContentBlock(text="t"), v1.TextContentBlock(text="u")]
    )


def meta(value: Any) -> Any:
    return v1.TextContentBlock(text="t", field_meta={"v": value})


# -- which members --


def test_every_member_is_dumped_by_attribute_name_unless_asked_otherwise() -> None:
    assert v1.TextContentBlock(text="t").model_dump() == {
        "annotations": None,
        "text": "t",
        "field_meta": None,
        "type": "text",
    }


def test_by_alias_uses_wire_names_at_all_levels() -> None:
    note = v1.SessionNotification(
        session_id="s",
        update=v1.ToolCallStart(
            tool_call_id="c", title="t", locations=[v1.ToolCallLocation(path="/p", field_meta={})]
        ),
    )
    assert note.model_dump(by_alias=True, exclude_unset=True) == {
        "sessionId": "s",
        "update": {
            "toolCallId": "c",
            "title": "t",
            "locations": [{"path": "/p", "_meta": {}}],
            "sessionUpdate": "tool_call",
        },
    }


def test_unset_members_can_be_left_out() -> None:
    made = v1.TextContentBlock(text="t", annotations=v1.Annotations(priority=1))
    assert made.model_dump(exclude_unset=True) == {
        "annotations": {"priority": 1.0},
        "text": "t",
        "type": "text",
    }


def test_members_that_are_none_can_be_left_out_but_not_within_open_values() -> None:
    made = v1.TextContentBlock(text="t", field_meta={"n": None, "l": [None, {"m": None}]})
    assert made.model_dump(exclude_none=True) == {
        "text": "t",
        "field_meta": {"n": None, "l": [None, {"m": None}]},
        "type": "text",
    }


def test_members_that_equal_their_defaults_can_be_left_out() -> None:
    made = v1.InitializeRequest(
        protocol_version=1, client_capabilities=v1.ClientCapabilities(terminal=False)
    )
    assert made.model_dump(exclude_defaults=True) == {"protocol_version": 1}
    made.client_capabilities.terminal = True
    assert made.model_dump(exclude_defaults=True) == {
        "protocol_version": 1,
        "client_capabilities": {"terminal": True},
    }


EMPTY: dict[type, Any] = {list: [], dict: {}, str: "", bool: False, int: 0}


@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_a_member_that_has_to_be_there_is_no_default_whatever_it_is(module: Any) -> None:
    """What is written without defaults can be read again."""
    seen = 0
    for name in module.__all__:
        cls = getattr(module, name)
        for field, info in getattr(cls, "model_fields", {}).items():
            kind = get_origin(info.annotation) or info.annotation
            if not info.required or kind not in EMPTY:
                continue
            value = cls.model_construct(**{field: EMPTY[kind]})
            dumped = value.model_dump(exclude_defaults=True, include={field})
            assert dumped == {field: EMPTY[kind]}, (name, field)
            seen += 1
    assert seen > 100


def test_what_stands_where_its_plain_form_is_declared_has_no_discriminator() -> None:
    call = v1.ToolCallProgress(tool_call_id="1", title="t")
    asked = v1.RequestPermissionRequest(session_id="s", tool_call=call, options=[])
    plain = {"toolCallId": "1", "title": "t"}
    assert json.loads(encode(asked))["toolCall"] == plain
    assert asked.model_dump(by_alias=True, exclude_none=True)["toolCall"] == plain
    tag = {"sessionUpdate": "tool_call_update"}
    told = v1.SessionNotification(session_id="s", update=call)
    assert json.loads(encode(told))["update"] == {**tag, **plain}
    assert told.model_dump(by_alias=True, exclude_none=True)["update"] == {**tag, **plain}
    assert call.model_dump(by_alias=True, exclude_none=True) == {**tag, **plain}


def test_unset_three_state_members_are_never_dumped() -> None:
    assert v2.SessionInfoUpdate().model_dump() == {"session_update": "session_info_update"}
    assert v2.SessionInfoUpdate(title=None).model_dump() == {
        "title": None,
        "session_update": "session_info_update",
    }


def test_both_discriminators_of_a_state_are_dumped() -> None:
    assert v2.RunningStateUpdate().model_dump(by_alias=True, exclude_none=True) == {
        "sessionUpdate": "state_update",
        "state": "running",
    }


def test_the_members_of_a_catch_all_are_dumped_after_its_fields() -> None:
    made = v2.OtherContentBlock(type="smell", strength=5, note=None)
    assert list(made.model_dump().items()) == [("type", "smell"), ("strength", 5), ("note", None)]
    assert made.model_dump(exclude_none=True) == {"type": "smell", "strength": 5}
    assert made.model_dump(exclude={"strength"}) == {"type": "smell", "note": None}


def test_extra_options_of_other_libraries_are_accepted() -> None:
    made = request()
    expected = made.model_dump()
    options: Any = {
        "warnings": False,
        "round_trip": True,
        "context": None,
        "serialize_as_any": True,
    }
    assert made.model_dump(**options) == expected
    assert json.loads(made.model_dump_json(**options)) == expected
    assert v1.TextContentBlock.model_validate(
        {"text": "t"}, strict=True, context={}, from_attributes=True
    )


# -- include and exclude --


HI = {"text": "t", "type": "text"}
HO = {"text": "u", "type": "text"}


@pytest.mark.parametrize(
    ("choice", "included", "excluded"),
    [
        ({"session_id"}, {"session_id": "s"}, {"prompt": [HI, HO]}),
        (["session_id"], {"session_id": "s"}, {"prompt": [HI, HO]}),
        ({"session_id": True}, {"session_id": "s"}, {"prompt": [HI, HO]}),
        ({"session_id": ...}, {"session_id": "s"}, {"prompt": [HI, HO]}),
        ({"sessionId"}, {}, {"session_id": "s", "prompt": [HI, HO]}),
        (set(), {}, {"session_id": "s", "prompt": [HI, HO]}),
        ({}, {}, {"session_id": "s", "prompt": [HI, HO]}),
        ({"prompt": {0}}, {"prompt": [HI]}, {"session_id": "s", "prompt": [HO]}),
        ({"prompt": {-1}}, {"prompt": [HO]}, {"session_id": "s", "prompt": [HI]}),
        ({"prompt": {"__all__"}}, {"prompt": [HI, HO]}, {"session_id": "s", "prompt": []}),
        ({"prompt": {7}}, {"prompt": []}, {"session_id": "s", "prompt": [HI, HO]}),
        ({"prompt": set()}, {"prompt": []}, {"session_id": "s", "prompt": [HI, HO]}),
        (
            {"prompt": {0: {"text"}}},
            {"prompt": [{"text": "t"}]},
            {"session_id": "s", "prompt": [{"type": "text"}, HO]},
        ),
        (
            {"prompt": {"__all__": {"text"}}},
            {"prompt": [{"text": "t"}, {"text": "u"}]},
            {"session_id": "s", "prompt": [{"type": "text"}, {"type": "text"}]},
        ),
        (
            {"prompt": {0: True, "__all__": {"text"}}},
            {"prompt": [HI, {"text": "u"}]},
            {"session_id": "s", "prompt": [{"type": "text"}]},
        ),
    ],
)
def test_members_are_included_and_excluded_by_choice(
    choice: Any, included: Any, excluded: Any
) -> None:
    assert request().model_dump(include=choice, exclude_none=True) == included
    assert request().model_dump(exclude=choice, exclude_none=True) == excluded
    assert json.loads(request().model_dump_json(include=choice, exclude_none=True)) == included


def test_choices_go_into_open_values() -> None:
    made = v1.TextContentBlock(text="t", field_meta={"a": {"b": 1, "c": [1, 2]}, "d": None})
    assert made.model_dump(include={"field_meta": {"a": {"b"}}}) == {"field_meta": {"a": {"b": 1}}}
    assert made.model_dump(exclude={"field_meta": {"a": {"c": {0}}, "d": True}})["field_meta"] == {
        "a": {"b": 1, "c": [2]}
    }


@pytest.mark.parametrize("choice", [{"prompt": False}, {"prompt": {0: False}}, {"prompt": None}])
def test_a_choice_that_is_none_is_refused(choice: Any) -> None:
    with pytest.raises(TypeError, match="sets or dicts"):
        request().model_dump(include=choice)
    with pytest.raises(TypeError, match="sets or dicts"):
        request().model_dump(exclude=choice)


# -- text --


def test_json_text_is_compact_or_indented() -> None:
    made = v1.TextContentBlock(text='a{[":,\\', field_meta={"e": {}, "l": [], "n": [1, {"a": 2}]})
    compact = made.model_dump_json(exclude_none=True)
    assert compact == (
        r'{"text":"a{[\":,\\","field_meta":{"e":{},"l":[],"n":[1,{"a":2}]},"type":"text"}'
    )
    for indent in (0, 1, 2, 4):
        assert made.model_dump_json(exclude_none=True, indent=indent) == json.dumps(
            json.loads(compact), indent=indent
        )


def test_an_object_without_members_is_an_empty_object() -> None:
    assert v1.Annotations().model_dump_json(exclude_none=True) == "{}"
    assert v1.Annotations().model_dump_json(exclude_none=True, indent=2) == "{}"


# -- depth --


def test_an_object_that_holds_itself_cannot_be_dumped() -> None:
    block: Any = v1.TextContentBlock(text="t", field_meta={})
    block.field_meta["me"] = [block]
    for act in (
        block.model_dump,
        block.model_dump_json,
        lambda: block.model_dump(mode="json"),
        lambda: encode(block),
    ):
        with pytest.raises(ValueError, match="nested too deeply"):
            act()


def test_1024_levels_can_be_dumped_and_written_and_one_more_is_refused() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    for act in (
        lambda made: made.model_dump(),
        lambda made: made.model_dump_json(),
        encode,
    ):
        # The object, its `_meta`, and what is in it.
        act(meta(nested(1022)))
        with pytest.raises(ValueError, match="nested too deeply"):
            act(meta(nested(1023)))
