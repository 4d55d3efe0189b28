"""What an object is to a program: equality, description, iteration, matching."""

from __future__ import annotations

from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2


def request() -> Any:
    return v1.PromptRequest(session_id="s", prompt=[v1.TextContentBlock(text="t")])


# -- comparison --


def test_objects_are_equal_by_type_and_values() -> None:
    assert request() == request()
    assert not request() != request()  # noqa: SIM202  # both operators are meant
    other = request()
    other.prompt.append(v1.TextContentBlock(text="u"))
    assert request() != other
    assert not request() == other  # noqa: SIM201


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

        __hash__ = None

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

        __hash__ = None

    one, other = (v1.ToolCallUpdate(tool_call_id="c", raw_input=Sour()) for _ in range(2))
    with pytest.raises(LookupError, match="sour"):
        _ = one == other


# -- description --


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


# -- matching --


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
