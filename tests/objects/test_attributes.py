"""Attributes of objects: reading, assigning, deleting, and which ones were set."""

from __future__ import annotations

from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError, decode, encode
from acp._schema.base import BaseModel


def request() -> Any:
    return v1.PromptRequest(session_id="s", prompt=[v1.TextContentBlock(text="t")])


def test_attributes_can_be_read_and_assigned_by_their_wire_names_too() -> None:
    made = request()
    assert made.sessionId == "s"
    made.sessionId = "u"
    assert made.session_id == "u"
    made.session_id = "v"
    assert made.sessionId == "v"


def test_every_wire_name_of_every_class_is_an_attribute() -> None:
    seen = 0
    for module in (v1, v2):
        for cls in vars(module).values():
            if not (isinstance(cls, type) and issubclass(cls, BaseModel)) or cls is BaseModel:
                continue
            for name, info in cls.model_fields.items():
                if info.alias and not info.alias.startswith("_"):
                    assert getattr(cls, info.alias) == getattr(cls, name), (cls, name)
                    seen += 1
    assert seen > 400


def test_discriminators_are_constants_by_both_names() -> None:
    chunk: Any = v1.AgentMessageChunk(content=v1.TextContentBlock(text="t"))
    assert chunk.session_update == chunk.sessionUpdate == "agent_message_chunk"
    assert v1.AgentMessageChunk.session_update == "agent_message_chunk"
    running: Any = v2.RunningStateUpdate()
    assert (running.sessionUpdate, running.state) == ("state_update", "running")


def test_a_discriminator_can_only_be_assigned_its_own_value() -> None:
    chunk: Any = v1.AgentMessageChunk(content=v1.TextContentBlock(text="t"))
    chunk.session_update = "agent_message_chunk"
    chunk.sessionUpdate = "agent_message_chunk"
    for name in ("session_update", "sessionUpdate"):
        with pytest.raises(ValidationError):
            setattr(chunk, name, "user_message_chunk")
    assert chunk.session_update == "agent_message_chunk"


def test_assignment_does_not_validate_and_marks_the_field_as_set() -> None:
    block: Any = v1.TextContentBlock(text="t")
    block.annotations = 5
    assert block.annotations == 5
    assert block.model_fields_set == {"annotations", "text", "type"}


def test_assignment_by_wire_name_marks_the_field_as_set() -> None:
    made: Any = v1.InitializeRequest(protocol_version=1)
    made.clientInfo = v1.Implementation(name="n", version="1")
    assert made.model_fields_set == {"protocol_version", "client_info"}


def test_what_is_assigned_is_written() -> None:
    made = request()
    made.prompt.append({"type": "text", "text": "u"})
    made.field_meta = {"a": None}
    assert encode(made) == (
        b'{"sessionId":"s","prompt":[{"type":"text","text":"t"},{"type":"text","text":"u"}],'
        b'"_meta":{"a":null}}'
    )


def test_an_unknown_attribute_cannot_be_assigned_or_read() -> None:
    made = request()
    with pytest.raises(ValueError, match='"PromptRequest" object has no field "prompts"'):
        made.prompts = []
    with pytest.raises(AttributeError, match="prompts"):
        _ = made.prompts
    with pytest.raises(AttributeError):
        del made.prompts


def test_a_deleted_attribute_is_gone_until_it_is_assigned_again() -> None:
    block: Any = v1.TextContentBlock(text="t", annotations=v1.Annotations())
    del block.annotations
    assert not hasattr(block, "annotations")
    assert block.model_fields_set == {"text", "type"}
    assert repr(block) == "TextContentBlock(text='t', field_meta=None, type='text')"
    assert block.model_dump() == {"text": "t", "field_meta": None, "type": "text"}
    assert encode(block) == b'{"type":"text","text":"t"}'
    with pytest.raises(AttributeError):
        del block.annotations
    block.annotations = None
    assert block.annotations is None


def test_an_object_without_a_required_member_is_not_written() -> None:
    block: Any = v1.TextContentBlock(text="t")
    del block.text
    with pytest.raises(ValidationError) as caught:
        encode([block])
    assert [(row["loc"], row["type"]) for row in caught.value.errors()] == [
        ((0, "text"), "missing")
    ]


def test_an_object_has_no_dict_and_takes_no_attributes_of_the_programs_own() -> None:
    made = request()
    assert not hasattr(made, "__dict__")
    with pytest.raises(ValueError, match="no field"):
        made._private = 1


def test_the_set_fields_are_those_that_were_given() -> None:
    assert v1.TextContentBlock(text="t").model_fields_set == {"text", "type"}
    assert v1.TextContentBlock(text="t", field_meta={}).model_fields_set == {
        "field_meta",
        "text",
        "type",
    }
    wire = decode(1, "ContentBlock", '{"type":"text","text":"t","annotations":null,"_meta":{}}')
    assert wire.model_fields_set == {"field_meta", "text", "type"}
    names = wire.model_fields_set
    names.clear()
    assert wire.model_fields_set == {"field_meta", "text", "type"}
