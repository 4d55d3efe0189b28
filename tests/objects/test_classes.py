"""What the classes tell, and subclasses of a program's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

import acp.schema
import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import Model, ValidationError, decode, encode
from acp._schema.base import BaseModel, FieldInfo

# -- what classes tell --


def test_variants_are_objects_of_their_structs() -> None:
    assert isinstance(v1.TextContentBlock(text="t"), v1.TextContent)
    assert isinstance(v1.ToolCallStart(tool_call_id="c", title="t"), v1.ToolCall)
    assert isinstance(v1.TextContentBlock(text="t"), BaseModel)
    assert issubclass(BaseModel, Model)


def test_version_1_is_the_same_under_all_of_its_names() -> None:
    assert acp.schema.TextContentBlock is v1.TextContentBlock
    assert acp.schema.PromptRequest is v1.PromptRequest


def test_a_class_tells_about_its_fields() -> None:
    fields = v1.InitializeRequest.model_fields
    assert list(fields) == ["protocol_version", "client_capabilities", "client_info", "field_meta"]
    version = fields["protocol_version"]
    assert (version.alias, version.annotation, version.required) == ("protocolVersion", int, True)
    assert version.is_required()
    assert version.default is None
    assert fields["client_capabilities"].default == v1.ClientCapabilities()
    assert fields["client_capabilities"].default is not fields["client_capabilities"].default
    assert fields["field_meta"].alias == "_meta"
    assert fields["client_info"].annotation == v1.Implementation | None
    assert fields["client_info"].default_factory is None
    assert version.description is not None
    assert version.description.startswith("`protocolVersion`")
    assert v1.InitializeRequest.model_fields is fields
    assert isinstance(version, FieldInfo)


def test_a_discriminator_is_a_field_with_its_value_as_default() -> None:
    info = v1.AgentMessageChunk.model_fields["session_update"]
    assert (info.alias, info.required, info.default) == (
        "sessionUpdate",
        False,
        "agent_message_chunk",
    )
    assert info.annotation == Literal["agent_message_chunk"]
    catch_all = v2.OtherContentBlock.model_fields["type"]
    assert catch_all.required


def test_the_fields_of_a_class_are_its_parameters_and_annotations() -> None:
    checked = 0
    for module in (v1, v2):
        for cls in vars(module).values():
            if not (isinstance(cls, type) and issubclass(cls, BaseModel)) or cls is BaseModel:
                continue
            annotated: dict[str, str] = {}
            for base in reversed(cls.__mro__):
                annotated.update(getattr(base, "__annotations__", {}))
            known = {name for name in annotated if not name.startswith("model_")}
            assert set(cls.model_fields) == known, cls
            for info in cls.model_fields.values():
                assert info.annotation is not None
                assert not info.alias or info.description
            checked += 1
    assert checked > 450


def test_classes_have_what_programs_look_for_on_every_model() -> None:
    assert v1.TextContentBlock.model_config["populate_by_name"] is True
    assert v1.TextContentBlock.model_rebuild(force=True) is None
    for name in ("model_validate", "model_validate_json", "model_construct", "model_fields"):
        assert hasattr(v1.TextContentBlock, name)


# -- subclasses of the program's own --


class Marked(v1.TextContentBlock):
    """A user's subclass: attributes live in a dict of its own."""

    mark = "none"

    @property
    def loud(self) -> str:
        return self.text.upper()


def test_a_subclass_is_made_compared_dumped_and_written_like_its_parent() -> None:
    marked: Any = Marked(text="t")
    assert marked.loud == "T"
    assert marked.model_dump() == v1.TextContentBlock(text="t").model_dump()
    assert encode(marked) == b'{"type":"text","text":"t"}'
    assert repr(marked).startswith("Marked(annotations=None, text='t'")
    assert marked == Marked(text="t")
    assert marked != v1.TextContentBlock(text="t")
    assert list(marked) == list(v1.TextContentBlock(text="t"))
    assert Marked.model_fields.keys() == v1.TextContentBlock.model_fields.keys()


def test_a_subclass_validates_and_reads_json_as_itself() -> None:
    for made in (
        Marked.model_validate({"type": "text", "text": "t"}),
        Marked.model_validate_json('{"text":"t"}'),
        Marked.model_construct(text="t"),
    ):
        assert type(made) is Marked
        assert made.text == "t"
    with pytest.raises(ValidationError):
        Marked(text=5)
    with pytest.raises(ValidationError):
        Marked.model_validate([])


def test_the_decoder_never_makes_objects_of_a_subclass() -> None:
    assert type(decode(1, "ContentBlock", '{"type":"text","text":"t"}')) is v1.TextContentBlock


def test_a_subclass_may_have_attributes_a_constructor_and_slots_of_its_own() -> None:
    class Own(v1.TextContentBlock):
        __slots__ = ("seen",)
        seen: int

        def __init__(self, text: str, seen: int = 0) -> None:
            super().__init__(text=text)
            self.seen = seen

    own = Own("t", seen=3)
    assert (own.text, own.seen) == ("t", 3)
    assert own.model_copy() == own
    assert own.model_copy().seen == 3
    assert own.model_fields_set == {"text", "type"}
    with pytest.raises(ValueError, match="no field"):
        own.other = 1

    marked: Any = Marked(text="t")
    marked.mark = "x"
    assert marked.__dict__ == {"mark": "x"}
    assert marked != Marked(text="t")
    assert marked.model_copy().mark == "x"


def test_a_subclass_that_is_a_generic_or_has_a_mixin_works() -> None:
    class Mixin:
        __slots__ = ()

        def words(self) -> int:
            return len(getattr(self, "text").split())  # noqa: B009

    class Counted(Mixin, v1.TextContentBlock):
        __slots__ = ()

    assert Counted(text="a b").words() == 2
    assert not hasattr(Counted(text="a b"), "__dict__")


@pytest.mark.parametrize(
    "act",
    [
        lambda: type("Both", (v1.TextContentBlock, v1.ImageContentBlock), {}),
        lambda: type("Shadow", (v1.TextContentBlock,), {"__slots__": ("text",)})(text="t"),
    ],
)
def test_layouts_that_do_not_fit_together_are_refused_or_harmless(act: Callable[[], Any]) -> None:
    try:
        made = act()
    except TypeError:
        return
    assert made.model_dump()["text"] == "t"


def test_a_class_that_hides_a_slot_does_not_mislead_the_core() -> None:
    class Hiding(v1.TextContentBlock):
        text = property(lambda self: "hidden")

    hiding: Any = Hiding(text="t")
    assert hiding.text == "hidden"
    assert encode(hiding) == b'{"type":"text","text":"t"}'


def test_the_class_of_an_object_can_be_changed_to_one_of_the_same_layout_only() -> None:
    block: Any = v1.TextContentBlock(text="t")
    with pytest.raises(TypeError):
        block.__class__ = v1.ImageContentBlock
    block.__class__ = v1.TextContent
    assert encode(block) == b'{"text":"t"}'
