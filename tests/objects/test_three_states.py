"""Fields that tell absence, null and a value apart, and those that do not."""

from __future__ import annotations

from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import UNSET, decode, encode
from tests.codec.instances import TYPES, fields_of, record_types

HEAD = '{"sessionUpdate":"session_info_update"'


def read(members: str) -> Any:
    return decode(2, "SessionUpdate", HEAD + members + "}")


def test_absence_null_and_a_value_are_three_things() -> None:
    absent, null, value = read(""), read(',"title":null'), read(',"title":"t"')
    assert absent.title is UNSET
    assert null.title is None
    assert value.title == "t"
    assert len({repr(one) for one in (absent, null, value)}) == 3
    assert absent != null != value != absent


def test_the_three_states_are_written_as_they_were_read() -> None:
    for members in ("", ',"title":null', ',"title":"t"', ',"title":null,"_meta":null'):
        assert encode(read(members), version=2, type_name="SessionUpdate").decode() == (
            HEAD + members + "}"
        )


def test_a_malformed_value_is_absence() -> None:
    assert read(',"title":5').title is UNSET
    assert read(',"title":5').model_fields_set == {"session_update"}


def test_the_states_can_be_assigned() -> None:
    update = v2.SessionInfoUpdate(title="t")
    update.title = None
    assert encode(update) == b'{"sessionUpdate":"session_info_update","title":null}'
    update.title = UNSET
    assert encode(update) == b'{"sessionUpdate":"session_info_update"}'
    update.title = "u"
    assert encode(update) == b'{"sessionUpdate":"session_info_update","title":"u"}'


def test_the_states_can_be_given_to_the_constructor() -> None:
    assert encode(v2.SessionInfoUpdate(title=None)).endswith(b',"title":null}')
    assert v2.SessionInfoUpdate(title=UNSET) == v2.SessionInfoUpdate()
    assert v2.SessionInfoUpdate().model_fields_set == {"session_update"}
    assert v2.SessionInfoUpdate(title=None).model_fields_set == {"session_update", "title"}


def test_unset_is_false_and_not_none() -> None:
    assert not UNSET
    assert UNSET is not None
    assert UNSET != None  # noqa: E711
    assert repr(UNSET) == "UNSET"


def test_unset_in_a_required_member_is_not_written() -> None:
    response = decode(2, "PromptResponse", "{}")
    assert response.message_id is UNSET
    with pytest.raises(ValueError, match="messageId: a required member is missing"):
        encode(response)


def test_null_and_absence_are_one_in_fields_of_two_states() -> None:
    for text in ('{"type":"text","text":"t"}', '{"type":"text","text":"t","annotations":null}'):
        block = decode(2, "ContentBlock", text)
        assert block.annotations is None
        assert "annotations" not in block.model_fields_set
        assert encode(block) == b'{"type":"text","text":"t"}'


def test_absence_in_version_1_is_none_also_in_fields_of_three_states() -> None:
    absent = decode(1, "SessionUpdate", '{"sessionUpdate":"session_message","messageId":"m"}')
    text = '{"sessionUpdate":"session_message","messageId":"m","_meta":null}'
    null = decode(1, "SessionUpdate", text)
    assert absent.field_meta is null.field_meta is None
    assert "field_meta" in null.model_fields_set - absent.model_fields_set
    assert encode(null, type_name="SessionUpdate").decode() == text


@pytest.mark.parametrize("version", [1, 2])
def test_every_field_of_three_states_has_the_default_of_its_version(version: int) -> None:
    module = {1: v1, 2: v2}[version]
    checked = 0
    for name in record_types(version):
        three = [wire for wire, _, flags, *_ in fields_of(version, name) if "t" in flags]
        by_wire = {
            info.alias or attribute: info
            for attribute, info in getattr(module, name).model_fields.items()
        }
        for wire in three:
            assert by_wire[wire].default is (UNSET if version == 2 else None), (name, wire)
            checked += 1
    assert checked >= {1: 21, 2: 48}[version]
    assert TYPES[version]
