"""Copies of objects: shallow, deep, with changes, by pickle."""

from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import UNSET, ValidationError, decode, encode


class Marked(v1.TextContentBlock):
    """A user's subclass with a dict."""


class Slotted(v1.TextContentBlock):
    """A user's subclass with a slot."""

    __slots__ = ("seen", "unseen")
    seen: int


def nested() -> Any:
    return v1.PromptRequest(
        session_id="s", prompt=[v1.TextContentBlock(text="t", field_meta={"a": [1]})]
    )


def test_a_shallow_copy_shares_its_values() -> None:
    one = nested()
    for other in (copy.copy(one), one.model_copy()):
        assert other == one
        assert other is not one
        assert other.prompt is one.prompt
        other.session_id = "u"
        assert one.session_id == "s"


def test_a_deep_copy_shares_nothing_that_can_change() -> None:
    one = nested()
    for other in (copy.deepcopy(one), one.model_copy(deep=True), pickle.loads(pickle.dumps(one))):
        assert other == one
        other.prompt[0].field_meta["a"].append(2)
        other.prompt.append(None)
        assert one == nested()


def test_a_deep_copy_keeps_one_object_in_two_places_one() -> None:
    block = v1.TextContentBlock(text="t")
    one = v1.PromptRequest(session_id="s", prompt=[block, block])
    for other in (copy.deepcopy(one), one.model_copy(deep=True), pickle.loads(pickle.dumps(one))):
        assert other.prompt[0] is other.prompt[1]
        assert other.prompt[0] is not block


def test_a_deep_copy_goes_into_open_values() -> None:
    block = v1.TextContentBlock(text="t")
    one = v1.ToolCallUpdate(tool_call_id="c", raw_output={"blocks": [block]})
    other: Any = copy.deepcopy(one)
    assert other.raw_output["blocks"] == [block]
    assert other.raw_output["blocks"][0] is not block


def test_an_object_that_holds_itself_can_be_copied_and_pickled() -> None:
    block: Any = v1.TextContentBlock(text="t", field_meta={})
    block.field_meta["me"] = block
    for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert other is not block
        assert other.field_meta["me"] is other
    assert copy.copy(block).field_meta["me"] is block


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol_keeps_values_and_set_fields(protocol: int) -> None:
    one = v1.InitializeRequest(protocol_version=1, client_info=None, field_meta={"a": {"b": None}})
    other = pickle.loads(pickle.dumps(one, protocol))
    assert other == one
    assert other.model_fields_set == one.model_fields_set == {"protocol_version", "field_meta"}
    assert encode(other) == encode(one)


def test_deleted_attributes_stay_deleted_in_copies() -> None:
    one: Any = v1.TextContentBlock(text="t")
    del one.annotations
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert not hasattr(other, "annotations")
        assert other == one


def test_a_catch_all_is_copied_with_its_members() -> None:
    one = v2.OtherContentBlock(type="smell", strength=[5])
    for other in (copy.deepcopy(one), one.model_copy(deep=True), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert other.model_extra == {"strength": [5]}
        other.model_extra["strength"].append(6)
    assert one.model_extra == {"strength": [5]}
    shallow = one.model_copy()
    assert shallow.model_extra is not one.model_extra
    shallow.model_extra["more"] = 1
    assert one.model_extra == {"strength": [5]}


def test_members_of_known_objects_that_no_field_has_are_copied_for_relays() -> None:
    text = '{"type":"text","text":"t","more":1}'
    one = decode(1, "ContentBlock", text)
    assert one.model_extra is None
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one


def test_unset_is_one_object_in_all_copies() -> None:
    assert copy.copy(UNSET) is copy.deepcopy(UNSET) is pickle.loads(pickle.dumps(UNSET)) is UNSET
    one = v2.SessionInfoUpdate()
    assert copy.deepcopy(one).title is pickle.loads(pickle.dumps(one)).title is UNSET
    assert not UNSET
    with pytest.raises(TypeError):
        type(UNSET)()


@pytest.mark.parametrize("cls", [Marked, Slotted])
def test_what_a_users_subclass_adds_is_copied(cls: Any) -> None:
    one = cls(text="t")
    one.seen = [1]
    for other in (
        copy.copy(one),
        copy.deepcopy(one),
        one.model_copy(),
        one.model_copy(deep=True),
        pickle.loads(pickle.dumps(one)),
    ):
        assert type(other) is cls
        assert other.text == "t"
        assert other.seen == [1]
        assert not hasattr(other, "unseen")
    assert copy.copy(one).seen is one.seen
    assert copy.deepcopy(one).seen is not one.seen


def test_an_update_replaces_values_without_validation() -> None:
    one = v1.TextContentBlock(text="t")
    other: Any = one.model_copy(update={"text": 7, "annotations": "x"})
    assert (other.text, other.annotations) == (7, "x")
    assert other.model_fields_set == {"annotations", "text", "type"}
    assert one == v1.TextContentBlock(text="t")
    assert nested().model_copy(update={"sessionId": "u"}).session_id == "u"


def test_an_update_ignores_unknown_names_and_refuses_another_discriminator() -> None:
    one = v1.TextContentBlock(text="t")
    assert one.model_copy(update={"nothing": 1, "type": "text"}) == one
    with pytest.raises(ValidationError):
        one.model_copy(update={"type": "image"})


def test_an_update_of_a_catch_all_goes_into_its_members() -> None:
    one = v2.OtherContentBlock(type="smell", strength=5)
    other = one.model_copy(update={"strength": 6, "note": "n", "type": "taste"})
    assert other == v2.OtherContentBlock(type="taste", strength=6, note="n")
    assert one.model_extra == {"strength": 5}


@pytest.mark.parametrize("update", [5, [("text", "u")], {1: 2}])
def test_an_update_has_to_be_a_mapping_of_names(update: Any) -> None:
    with pytest.raises((TypeError, AttributeError)):
        v1.TextContentBlock(text="t").model_copy(update=update)


def test_a_pickle_of_another_class_is_refused() -> None:
    from acp._core import _restore

    with pytest.raises(TypeError, match="not a class of the schema"):
        _restore(dict)
    with pytest.raises(TypeError):
        _restore(5)


@pytest.mark.parametrize(
    "state", [None, (), (1, 2, 3, 4), ({}, [1], None, None), ({}, [], [], None)]
)
def test_a_malformed_pickled_state_is_refused(state: Any) -> None:
    block: Any = v1.TextContentBlock(text="t")
    with pytest.raises((TypeError, ValueError)):
        block.__setstate__(state)


def test_a_state_with_fields_of_another_release_is_read() -> None:
    block: Any = v1.TextContentBlock(text="t")
    block.__setstate__(({"text": "u", "gone": 1}, ["text", "gone"], None, None))
    assert block.text == "u"
    assert block.model_fields_set == {"text", "type"}


def test_objects_can_be_referred_to_weakly() -> None:
    for make in (lambda: v1.TextContentBlock(text="t"), lambda: Marked(text="t"), v1.Annotations):
        dead: list[Any] = []
        one = make()
        reference = weakref.ref(one, dead.append)
        keyed = weakref.WeakValueDictionary({"a": one})
        assert reference() is one
        del one
        assert reference() is None
        assert dead == [reference]
        assert not keyed
