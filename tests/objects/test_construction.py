"""Making objects: names of members, defaults, discriminators, UNSET."""

from __future__ import annotations

import enum
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import UNSET, Model, ValidationError, encode


class Word(str, enum.Enum):
    TEXT = "text"


def kinds(error: pytest.ExceptionInfo[ValidationError]) -> set[tuple[Any, str]]:
    return {(row["loc"], row["type"]) for row in error.value.errors()}


# -- names --


def test_members_go_by_attribute_name_or_by_wire_name() -> None:
    by_name = v1.PromptRequest(session_id="s", prompt=[], field_meta={"a": 1})
    members: Any = {"sessionId": "s", "prompt": [], "_meta": {"a": 1}}
    by_wire = v1.PromptRequest(**members)
    assert by_name == by_wire
    assert by_wire.session_id == "s"
    assert by_wire.field_meta == {"a": 1}


def test_nested_dicts_take_both_kinds_of_names_too() -> None:
    made = v1.NewSessionResponse(
        session_id="s",
        modes={"currentModeId": "m", "available_modes": [{"id": "m", "name": "M"}]},
    )
    assert made.modes == v1.SessionModeState(
        current_mode_id="m", available_modes=[v1.SessionMode(id="m", name="M")]
    )


def test_unknown_keywords_are_ignored() -> None:
    made: Any = v1.TextContentBlock(text="t", models=None, annotation=object())
    assert made == v1.TextContentBlock(text="t")
    assert not hasattr(made, "models")


def test_positional_arguments_are_refused() -> None:
    make: Any = v1.TextContentBlock
    with pytest.raises(TypeError):
        make("t")
    with pytest.raises(TypeError):
        make({"text": "t"})


def test_a_missing_required_member_is_told_with_its_place() -> None:
    make: Any = v1.PromptRequest
    with pytest.raises(ValidationError) as caught:
        make()
    assert kinds(caught) == {(("sessionId",), "missing"), (("prompt",), "missing")}


def test_members_that_are_left_out_have_their_defaults() -> None:
    made = v1.InitializeRequest(protocol_version=1)
    assert made.client_capabilities == v1.ClientCapabilities()
    assert made.client_capabilities.fs.read_text_file is False
    assert made.client_info is None
    assert v1.InitializeResponse(protocol_version=1).auth_methods == []


def test_defaults_that_can_change_are_not_shared() -> None:
    one, other = (v1.InitializeResponse(protocol_version=1) for _ in range(2))
    one.auth_methods.append(v1.AuthMethodAgent(id="a", name="A"))
    one.agent_capabilities.load_session = True
    assert other.auth_methods == []
    assert other.agent_capabilities.load_session is False
    assert v1.AgentCapabilities().load_session is False


def test_none_for_an_optional_member_is_absence() -> None:
    made = v1.TextContentBlock(text="t", annotations=None)
    assert made.annotations is None
    assert made == v1.TextContentBlock(text="t")


def test_every_class_without_required_members_can_be_made_of_nothing() -> None:
    made = 0
    for module in (v1, v2):
        for cls in vars(module).values():
            if not (isinstance(cls, type) and issubclass(cls, Model) and cls.__slots__ is not None):
                continue
            fields = getattr(cls, "model_fields", {}) if cls.__name__ != "BaseModel" else None
            if fields is None or any(info.required for info in fields.values()):
                continue
            try:
                assert cls() == cls.model_validate({})
            except ValidationError as error:
                # Only members that exclude each other can be needed besides.
                assert [row["type"] for row in error.errors()] == ["scope"]
            made += 1
    assert made > 100


# -- discriminators --


def test_a_discriminator_may_be_given_or_left_out() -> None:
    assert v1.TextContentBlock(type="text", text="t") == v1.TextContentBlock(text="t")
    for name in ("session_update", "sessionUpdate"):
        members: Any = {name: "plan", "entries": []}
        assert v1.AgentPlanUpdate(**members) == v1.AgentPlanUpdate(entries=[])
    word: Any = Word.TEXT
    assert v1.TextContentBlock(type=word, text="t") == v1.TextContentBlock(text="t")


@pytest.mark.parametrize(
    ("cls", "members"),
    [
        (v1.TextContentBlock, {"type": "image", "text": "t"}),
        (v1.AgentPlanUpdate, {"session_update": "tool_call", "entries": []}),
        (v1.AgentPlanUpdate, {"sessionUpdate": "tool_call", "entries": []}),
        (v2.RunningStateUpdate, {"state": "idle"}),
        (v2.RunningStateUpdate, {"session_update": "plan_update"}),
        (v2.OtherStateUpdate, {"sessionUpdate": "plan_update", "state": "flying"}),
    ],
)
def test_a_discriminator_of_another_class_is_refused(cls: Any, members: Any) -> None:
    for make in (lambda: cls(**members), lambda: cls.model_validate(members)):
        with pytest.raises(ValidationError) as caught:
            make()
        assert {kind for _, kind in kinds(caught)} == {"unknown_variant"}


@pytest.mark.parametrize("wrong", [5, None, ["text"], {}])
def test_a_discriminator_that_is_no_string_is_refused(wrong: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.TextContentBlock(type=wrong, text="t")
    assert kinds(caught) == {(("type",), "tag_missing")}


def test_two_spellings_of_a_discriminator_must_not_contradict_each_other() -> None:
    members: Any = {"sessionUpdate": "plan", "session_update": "tool_call", "entries": []}
    for order in (members, dict(reversed(members.items()))):
        with pytest.raises(ValidationError):
            v1.AgentPlanUpdate(**order)


def test_dicts_in_the_place_of_a_union_choose_by_their_discriminator() -> None:
    blocks: Any = [
        {"type": "text", "text": "t"},
        {"text": "later", "type": "text"},
        {"data": "", "mime_type": "image/png", "type": "image"},
    ]
    made = v1.PromptRequest(session_id="s", prompt=blocks)
    assert [type(block) for block in made.prompt] == [
        v1.TextContentBlock,
        v1.TextContentBlock,
        v1.ImageContentBlock,
    ]
    update: Any = {
        "session_update": "agent_message_chunk",
        "content": {"type": "text", "text": "t"},
    }
    note = v1.SessionNotification(session_id="s", update=update)
    assert note.update == v1.AgentMessageChunk(content=v1.TextContentBlock(text="t"))


def test_scopes_are_chosen_by_attribute_names_too() -> None:
    schema = v1.ElicitationSchema(properties={})
    for members in (
        {"session_id": "s", "tool_call_id": "c"},
        {"sessionId": "s", "toolCallId": "c"},
    ):
        made: Any = v1.CreateFormSessionElicitationRequest(
            message="m", requested_schema=schema, **members
        )
        assert (made.session_id, made.tool_call_id) == ("s", "c")
    other: Any = v2.CreateOtherElicitationRequest(mode="voice", message="m", session_id="s")
    assert other.session_id == "s"
    with pytest.raises(ValidationError):
        v2.CreateOtherElicitationRequest(mode="voice", message="m", session_id="s", request_id=1)


def test_members_that_depend_on_another_one_are_read_by_attribute_name_too() -> None:
    error = v2.Error(code=-32603, message="m")
    idle = v2.IdleStateUpdate(stop_reason="error", error=error)
    assert idle.error is error
    assert v2.IdleStateUpdate(stop_reason="end_turn", error=error).error is None
    assert v2.IdleStateUpdate(error=error).error is None


# -- UNSET --


def test_unset_given_to_a_constructor_is_absence() -> None:
    assert v2.SessionInfoUpdate(title=UNSET).model_fields_set == {"session_update"}
    assert v1.TextContentBlock(text="t", annotations=UNSET).annotations is None
    with pytest.raises(ValidationError) as caught:
        v1.TextContentBlock(text=UNSET)
    assert kinds(caught) == {(("text",), "missing")}


def test_unset_within_a_given_dict_is_absence() -> None:
    update: Any = {"sessionUpdate": "session_info_update", "title": UNSET, "updated_at": None}
    note = v2.UpdateSessionNotification(session_id="s", update=update)
    assert note.update.model_fields_set == {"session_update", "updated_at"}


# -- again --


def test_calling_the_constructor_again_begins_anew() -> None:
    other: Any = v2.OtherContentBlock(type="smell", strength=5)
    other.__init__(type="taste")
    assert other == v2.OtherContentBlock(type="taste")
    block: Any = v1.TextContentBlock(text="t", annotations=v1.Annotations())
    block.__init__(text="u")
    assert block == v1.TextContentBlock(text="u")
    assert block.model_fields_set == {"text", "type"}


def test_an_object_without_its_constructor_is_empty_and_harmless() -> None:
    bare: Any = v1.TextContentBlock.__new__(v1.TextContentBlock)
    assert repr(bare) == "TextContentBlock(type='text')"
    assert bare.model_dump() == {"type": "text"}
    assert list(bare) == [("type", "text")]
    assert bare.model_fields_set == {"type"}
    with pytest.raises(AttributeError):
        _ = bare.text
    with pytest.raises(ValidationError) as caught:
        encode(v1.PromptRequest(session_id="s", prompt=[bare]))
    assert kinds(caught) == {(("prompt", 0, "text"), "missing")}
