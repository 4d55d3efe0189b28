"""Schema objects where pydantic expects models: in `isinstance`, fields, unions, JSON Schemas."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import weakref
from typing import Annotated, Any

import pydantic
import pytest

import acp
import acp.schema as schema
import acp.v2.schema as v2

ENTRY = {"content": "c", "priority": "high", "status": "pending"}
CLASSES = [
    found
    for module in (schema, v2)
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, schema.BaseModel)
]


class Holder(pydantic.BaseModel):
    entries: list[schema.PlanEntry] = []
    block: Annotated[
        schema.TextContentBlock | schema.ImageContentBlock,
        pydantic.Field(discriminator="type"),
    ] = schema.TextContentBlock(text="default")
    anything: Any = None
    prompt: schema.PromptRequest | None = None


def text(value: str = "t") -> schema.TextContentBlock:
    return schema.TextContentBlock(text=value, type="text")


def test_every_object_is_an_instance_of_pydantics_base_and_of_its_own_class() -> None:
    for one in (
        text(),
        v2.TextContentBlock(text="t"),
        schema.PromptResponse(stop_reason="end_turn"),
    ):
        assert isinstance(one, pydantic.BaseModel)
        assert isinstance(one, schema.BaseModel)
        assert isinstance(one, type(one))
        assert one.__class__.__name__ == type(one).__name__
        assert not isinstance(one, (str, dict, schema.PlanEntry))
    decoded = acp.schema.SessionNotification.model_validate(
        {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": text()}}
    )
    assert isinstance(decoded.update, pydantic.BaseModel)


def test_what_asks_for_the_shown_class_makes_objects_of_the_real_one() -> None:
    shown: Any = text().__class__
    assert type(shown(text="u")) is schema.TextContentBlock
    assert type(shown.model_validate({"text": "u"})) is schema.TextContentBlock
    assert shown.model_fields is schema.TextContentBlock.model_fields
    derived: Any = type("Derived", (shown,), {"__module__": __name__})
    assert type(derived(text="u", type="text")) is derived
    assert type(derived.model_validate({"text": "u", "type": "text"})) is derived


def test_a_field_takes_dicts_and_keeps_objects_as_they_are() -> None:
    entry = schema.PlanEntry.model_validate(ENTRY)
    held = Holder(entries=[ENTRY, entry])
    assert type(held.entries[0]) is schema.PlanEntry
    assert held.entries[1] is entry
    assert held.entries[0] == entry
    assert Holder(block={"type": "text", "text": "u"}).block == text("u")
    assert Holder.model_validate_json(held.model_dump_json()) == held


def test_a_field_tells_what_does_not_fit_and_where() -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        Holder.model_validate({"entries": [{**ENTRY, "content": 5}], "block": {"type": "smell"}})
    assert [(e["type"], e["loc"], e["input"]) for e in caught.value.errors()] == [
        ("string_type", ("entries", 0, "content"), 5),
        ("union_tag_invalid", ("block",), {"type": "smell"}),
    ]


def test_an_adapter_reads_and_writes_a_class_lists_and_unions_of_it() -> None:
    adapter = pydantic.TypeAdapter(list[schema.PlanEntry])
    read = adapter.validate_json(json.dumps([ENTRY]))
    assert adapter.dump_python(read, exclude_none=True) == [ENTRY]
    assert json.loads(adapter.dump_json(read, by_alias=True)) == [{**ENTRY, "_meta": None}]
    union: Any = pydantic.TypeAdapter(
        schema.TextContentBlock | schema.ImageContentBlock | schema.ResourceContentBlock
    )
    assert type(union.validate_python({"type": "text", "text": "t"})) is schema.TextContentBlock
    block = {"type": "image", "data": "", "mimeType": "image/png"}
    assert type(union.validate_python(block)) is schema.ImageContentBlock
    assert pydantic.TypeAdapter(schema.TextContentBlock).validate_python(text()) == text()


def test_an_object_in_a_field_of_any_type_is_dumped() -> None:
    held = Holder(anything=[text(), {"deep": schema.PlanEntry.model_validate(ENTRY)}])
    plain = {"annotations": None, "text": "t", "field_meta": None, "type": "text"}
    assert held.model_dump(mode="json")["anything"] == [
        plain,
        {"deep": {**ENTRY, "field_meta": None}},
    ]
    assert json.loads(held.model_dump_json(by_alias=True, exclude_none=True))["anything"] == [
        {"text": "t", "type": "text"},
        {"deep": ENTRY},
    ]
    assert pydantic.TypeAdapter(Any).dump_python([text()], mode="json") == [plain]


def test_the_options_of_an_outer_dump_hold_for_objects_inside() -> None:
    held = Holder(prompt=schema.PromptRequest(session_id="s", prompt=[text()]))
    dumped = held.model_dump(by_alias=True, exclude_none=True, include={"prompt": {"session_id"}})
    assert dumped == {"prompt": {"sessionId": "s"}}
    kept = held.model_dump(exclude_unset=True, exclude={"prompt": {"prompt": {0: {"type"}}}})
    assert kept == {"prompt": {"session_id": "s", "prompt": [{"text": "t"}]}}


def test_json_schemas_name_classes_once_and_describe_their_fields() -> None:
    made = Holder.model_json_schema()
    assert {"PlanEntry", "TextContentBlock", "ImageContentBlock", "PromptRequest"} <= set(
        made["$defs"]
    )
    entry = made["$defs"]["PlanEntry"]
    assert (entry["title"], entry["type"]) == ("PlanEntry", "object")
    assert entry["required"] == ["content", "priority", "status"]
    assert list(entry["properties"]) == ["content", "priority", "status", "_meta"]
    assert entry["properties"]["priority"]["enum"] == ["high", "medium", "low"]
    assert all(member["description"] for member in entry["properties"].values())
    assert made["properties"]["entries"]["items"] == {"$ref": "#/$defs/PlanEntry"}
    assert made["properties"]["block"]["discriminator"]["propertyName"] == "type"
    assert schema.PlanEntry.model_json_schema() == entry
    assert "$defs" in schema.PromptRequest.model_json_schema(by_alias=False)


@pytest.mark.parametrize("module", [schema, v2], ids=["v1", "v2"])
def test_every_class_has_a_json_schema_fields_and_a_signature(module: Any) -> None:
    for cls in CLASSES:
        if getattr(module, cls.__name__, None) is not cls or cls is schema.BaseModel:
            continue
        made = cls.model_json_schema()
        properties = made.get("properties", {})
        assert [f.alias or n for n, f in cls.model_fields.items()] == list(properties), cls
        assert cls.model_rebuild() is None
        assert set(inspect.signature(cls).parameters) >= {
            n for n, f in cls.model_fields.items() if f.alias is None and f.is_required()
        }


def test_fields_tell_what_pydantics_tell() -> None:
    fields = schema.InitializeRequest.model_fields
    assert isinstance(fields["protocol_version"], pydantic.fields.FieldInfo)
    assert fields["protocol_version"].alias == "protocolVersion"
    assert fields["protocol_version"].annotation is int
    assert fields["protocol_version"].is_required()
    assert fields["protocol_version"].description
    capabilities = fields["client_capabilities"]
    assert capabilities.get_default(call_default_factory=True) == schema.ClientCapabilities()
    assert fields["field_meta"].default is None
    assert schema.AgentMessageChunk.model_fields["session_update"].is_required()


def test_objects_copy_pickle_and_compare_as_without_pydantic() -> None:
    one = schema.PromptRequest(session_id="s", prompt=[text()])
    for made in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert type(made) is schema.PromptRequest
        assert made == one
        assert made is not one
    assert copy.copy(one).prompt is one.prompt
    assert copy.deepcopy(one).prompt[0] is not one.prompt[0]
    assert weakref.ref(one)() is one
    with pytest.raises(TypeError):
        hash(one)
    assert repr(one).startswith("PromptRequest(session_id='s', prompt=[TextContentBlock(")


def test_a_member_without_a_value_is_left_out_of_a_constructed_object() -> None:
    made: Any = schema.PlanEntry.model_construct(content=5)
    assert repr(made) == "PlanEntry(content=5, field_meta=None)"
    assert made.model_dump() == {"content": 5, "field_meta": None}
    assert made.model_fields_set == {"content"}


def test_validation_takes_pydantics_options_and_no_others() -> None:
    class Entry:
        content, priority, status = "c", "high", "pending"

    options = {"strict": True, "context": {}, "from_attributes": True}
    read = schema.PlanEntry.model_validate(Entry(), **options)
    assert read.model_dump(exclude_none=True) == ENTRY
    with pytest.raises(pydantic.ValidationError):
        schema.PlanEntry.model_validate(Entry())
    with pytest.raises(TypeError):
        schema.PlanEntry.model_validate(ENTRY, nothing=True)
    dumped = read.model_dump(
        mode="json", round_trip=True, warnings="error", context={}, exclude_none=True
    )
    assert dumped == ENTRY
    with pytest.raises(TypeError):
        read.model_dump(nothing=True)


def test_an_address_of_pydantic_is_a_string() -> None:
    address = pydantic.AnyUrl("https://example.com/auth")
    for url in (address, pydantic.HttpUrl("https://example.com/auth")):
        mode = schema.ElicitationUrlSessionMode(session_id="s", elicitation_id="e", url=url)
        assert mode.url == "https://example.com/auth"
        assert acp._core.encode(mode).endswith(b'"url":"https://example.com/auth"}')
    with pytest.raises(pydantic.ValidationError):
        schema.ElicitationUrlSessionMode(session_id="s", elicitation_id=5, url=address)


def test_members_read_from_another_class_of_the_users() -> None:
    made = pydantic.create_model("Made", block=(schema.TextContentBlock, ...))
    block = text()
    assert made(block=block).block is block

    @pydantic.validate_call
    def shown(block: schema.TextContentBlock) -> str:
        return block.text

    assert shown({"type": "text", "text": "u"}) == "u"  # type: ignore[arg-type]
