"""What an object does in a program: attributes, comparison, description, iteration, matching, subclasses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import acp.schema
import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import Model, ValidationError, decode, encode
from acp._schema.base import BaseModel, FieldInfo


def request() -> Any:
    return v1.PromptRequest(session_id="s", prompt=[v1.TextContentBlock(text="t")])


# -- attributes -------------------------------------------------------------------------------------------------------


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
    assert [(row["loc"], row["type"]) for row in caught.value.errors()] == [((0, "text"), "missing")]


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


# -- comparison -------------------------------------------------------------------------------------------------------


def test_objects_are_equal_by_type_and_values() -> None:
    assert request() == request()
    assert not request() != request()
    other = request()
    other.prompt.append(v1.TextContentBlock(text="u"))
    assert request() != other
    assert not request() == other


def test_which_fields_were_set_makes_no_difference() -> None:
    assert v1.TextContentBlock(text="t", annotations=None) == v1.TextContentBlock(text="t")
    assert v1.AuthCapabilities(terminal=False) == v1.AuthCapabilities()


def test_objects_of_different_classes_are_never_equal() -> None:
    content = v1.TextContentBlock(text="t")
    assert v1.AgentMessageChunk(content=content) != v1.UserMessageChunk(content=content)
    assert v1.TextContent(text="t") != v1.TextContentBlock(text="t")
    assert v1.ListProvidersRequest() != v1.LogoutRequest()


def test_an_object_is_not_equal_to_other_things() -> None:
    block: Any = v1.TextContentBlock(text="t")
    assert block != {"type": "text", "text": "t"}
    assert block != "t"
    assert block is not None

    class Agreeable:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    assert block == Agreeable()


def test_objects_have_no_order_and_no_hash() -> None:
    one: Any = v1.TextContentBlock(text="t")
    with pytest.raises(TypeError):
        _ = one < one
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    with pytest.raises(TypeError):
        _ = {one}


def test_a_number_that_is_not_equal_to_itself_does_not_make_its_object_so() -> None:
    nan = float("nan")
    one = v1.TextContentBlock(text="t", field_meta={"n": nan})
    assert one == v1.TextContentBlock(text="t", field_meta={"n": nan})
    cost: Any = v1.Cost.model_construct(amount=nan, currency="EUR")
    assert cost == cost.model_copy()


def test_what_a_comparison_raises_is_raised() -> None:
    class Sour:
        def __eq__(self, other: object) -> bool:
            raise LookupError("sour")

        __hash__ = None  # type: ignore[assignment]

    one, other = (v1.ToolCallUpdate(tool_call_id="c", raw_input=Sour()) for _ in range(2))
    with pytest.raises(LookupError, match="sour"):
        _ = one == other


# -- description ------------------------------------------------------------------------------------------------------


def test_the_description_names_fields_in_order_and_the_discriminator_last() -> None:
    block = v1.TextContentBlock(text="it's")
    assert repr(block) == (
        """TextContentBlock(annotations=None, text="it's", field_meta=None, type='text')"""
    )
    assert str(block) == """annotations=None text="it's" field_meta=None type='text'"""
    assert f"{block}" == str(block)
    assert repr(v1.ContentToolCallContent(content=block)) == (
        f"ContentToolCallContent(content={block!r}, field_meta=None, type='content')"
    )


def test_an_object_without_fields_describes_itself_too() -> None:
    assert repr(v2.OtherContentBlock(type="smell", strength=5)) == (
        "OtherContentBlock(type='smell', strength=5)"
    )
    assert repr(v1.Annotations()) == (
        "Annotations(audience=None, last_modified=None, priority=None, field_meta=None)"
    )


def test_unset_describes_itself() -> None:
    assert "title=UNSET" in repr(v2.SessionInfoUpdate())


def test_an_object_that_holds_itself_can_be_described() -> None:
    block: Any = v1.TextContentBlock(text="t", field_meta={})
    block.field_meta["me"] = block
    assert repr(block) == (
        "TextContentBlock(annotations=None, text='t', "
        "field_meta={'me': TextContentBlock(...)}, type='text')"
    )
    assert "TextContentBlock(...)" in repr({"a": block})


def test_iteration_gives_names_and_values_in_order() -> None:
    made = request()
    assert list(made) == [
        ("session_id", "s"),
        ("prompt", [v1.TextContentBlock(text="t")]),
        ("field_meta", None),
    ]
    assert dict(v1.TextContentBlock(text="t")) == {
        "annotations": None,
        "text": "t",
        "field_meta": None,
        "type": "text",
    }
    assert dict(made)["prompt"] is made.prompt


# -- matching ---------------------------------------------------------------------------------------------------------


def test_objects_match_by_class_and_attributes() -> None:
    def described(block: Any) -> str:
        match block:
            case v1.TextContentBlock(text=text, annotations=None):
                return f"text {text}"
            case v1.ImageContentBlock(mime_type="image/png", data=data):
                return f"image {data}"
            case v1.ResourceContentBlock(uri=uri) | v1.EmbeddedResource(resource=uri):
                return f"resource {uri}"
            case _:
                return "else"

    assert described(v1.TextContentBlock(text="t")) == "text t"
    assert described(v1.TextContentBlock(text="t", annotations=v1.Annotations())) == "else"
    assert described(v1.ImageContentBlock(data="d", mime_type="image/png")) == "image d"
    assert described(v1.ResourceContentBlock(uri="u", name="n")) == "resource u"
    assert described(5) == "else"


def test_a_discriminator_matches_by_value() -> None:
    match v1.TextContentBlock(text="t"):
        case v1.TextContent(type="text") as found:
            assert found.text == "t"
        case _:
            pytest.fail("did not match")


# -- what classes tell ------------------------------------------------------------------------------------------------


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
    assert (version.alias, version.annotation, version.required) == ("protocolVersion", "int", True)
    assert version.is_required()
    assert version.default is None
    assert fields["client_capabilities"].default == v1.ClientCapabilities()
    assert fields["client_capabilities"].default is not fields["client_capabilities"].default
    assert fields["field_meta"].alias == "_meta"
    assert fields["client_info"].annotation == "Implementation | None"
    assert v1.InitializeRequest.model_fields is fields
    assert isinstance(version, FieldInfo)


def test_a_discriminator_is_a_field_with_its_value_as_default() -> None:
    info = v1.AgentMessageChunk.model_fields["session_update"]
    assert (info.alias, info.required, info.default) == (
        "sessionUpdate",
        False,
        "agent_message_chunk",
    )
    assert info.annotation == "Literal['agent_message_chunk']" or "agent_message_chunk" in (
        info.annotation
    )
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
                assert info.annotation != "Any" or not info.alias or info.annotation
            checked += 1
    assert checked > 450


def test_classes_have_what_programs_look_for_on_every_model() -> None:
    assert v1.TextContentBlock.model_config["populate_by_name"] is True
    assert v1.TextContentBlock.model_rebuild(force=True) is None
    for name in ("model_validate", "model_validate_json", "model_construct", "model_fields"):
        assert hasattr(v1.TextContentBlock, name)


# -- subclasses of the program's own ----------------------------------------------------------------------------------


class Marked(v1.TextContentBlock):
    """A user's subclass: attributes live in a dict of its own."""

    mark: str = "none"

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
        Marked(text=5)  # type: ignore[arg-type]
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
        own.other = 1  # type: ignore[attr-defined]

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
        text = property(lambda self: "hidden")  # type: ignore[assignment]

    hiding: Any = Hiding(text="t")
    assert hiding.text == "hidden"
    assert encode(hiding) == b'{"type":"text","text":"t"}'


def test_the_class_of_an_object_can_be_changed_to_one_of_the_same_layout_only() -> None:
    block: Any = v1.TextContentBlock(text="t")
    with pytest.raises(TypeError):
        block.__class__ = v1.ImageContentBlock
    block.__class__ = v1.TextContent
    assert encode(block) == b'{"text":"t"}'
