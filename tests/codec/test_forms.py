"""The same value in other forms of text: order, blanks, escapes, repeated and unknown members."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError, decode, encode
from tests.codec.instances import TYPES, instances

typed = st.sampled_from([(version, name) for version in (1, 2) for name in TYPES[version]]).flatmap(
    lambda key: st.tuples(st.just(key), instances(*key))
)


class Text:
    """Writes JSON values in a form that a seed decides."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def blank(self) -> str:
        return "".join(self.random.choices(" \t\r\n", k=self.random.choice([0, 0, 0, 1, 3])))

    def string(self, text: str) -> str:
        out = []
        for ch in text:
            plain = json.dumps(ch, ensure_ascii=self.random.random() < 0.5)[1:-1]
            escaped = "".join(f"\\u{unit:04x}" for unit in units(ch))
            out.append(plain if self.random.random() < 0.7 else escaped)
        return f'"{"".join(out)}"'

    def members(self, value: dict[str, Any]) -> list[tuple[str, Any]]:
        return list(value.items())

    def write(self, value: Any) -> str:
        if isinstance(value, str):
            return self.string(value)
        blank = self.blank
        if isinstance(value, dict):
            members = [
                f"{blank()}{self.string(key)}{blank()}:{blank()}{self.write(item)}{blank()}"
                for key, item in self.members(value)
            ]
            return "{" + (",".join(members) or blank()) + "}"
        if isinstance(value, list):
            items = [f"{blank()}{self.write(item)}{blank()}" for item in value]
            return "[" + (",".join(items) or blank()) + "]"
        return json.dumps(value)


class Shuffled(Text):
    """Members in any order."""

    def members(self, value: dict[str, Any]) -> list[tuple[str, Any]]:
        return self.random.sample(list(value.items()), len(value))


class Repeated(Text):
    """Members that are there before, with other values: the last one of a name wins."""

    def members(self, value: dict[str, Any]) -> list[tuple[str, Any]]:
        wrong = [None, 5, "x", [], {}, {"type": "text"}, True, [5], "text"]
        earlier = [(key, self.random.choice(wrong)) for key in value if self.random.random() < 0.5]
        return [*earlier, *value.items()]


def units(ch: str) -> list[int]:
    data = ch.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def by_order(value: Any) -> Any:
    """A value in which the order of members does not matter, to compare with another."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("form", [Text, Shuffled, Repeated])
@settings(max_examples=400)
@given(typed, st.integers(0, 2**32))
def test_a_value_is_the_same_object_in_every_form(
    form: Callable[[int], Text], drawn: tuple[tuple[int, str], Any], seed: int
) -> None:
    (version, name), instance = drawn
    text = form(seed).write(instance)
    value = decode(version, name, text)
    plain = decode(version, name, json.dumps(instance))
    assert value == plain
    written = json.loads(encode(value, version=version, type_name=name))
    assert by_order(written) == by_order(instance)


@settings(max_examples=400)
@given(typed, st.integers(0, 2**32))
def test_a_text_that_breaks_off_is_refused_wherever_it_does(
    drawn: tuple[tuple[int, str], Any], seed: int
) -> None:
    (version, name), instance = drawn
    text = Text(seed).write(instance)
    if isinstance(instance, (dict, list, str)):
        for at in random.Random(seed).choices(range(len(text)), k=10):
            with pytest.raises(ValidationError) as caught:
                decode(version, name, text[:at])
            assert [row["type"] for row in caught.value.errors()] == ["json_invalid"]


def insert_everywhere(value: Any) -> Any:
    """The value with an unknown member in every object whose members are known."""
    if isinstance(value, dict):
        return {"\x00unknown": [{"a": 1}], **{key: insert_everywhere(value[key]) for key in value}}
    return [insert_everywhere(item) for item in value] if isinstance(value, list) else value


def test_unknown_members_of_known_objects_change_nothing() -> None:
    for version, name, instance in (
        (
            1,
            "SessionNotification",
            {
                "sessionId": "s",
                "update": {
                    "sessionUpdate": "tool_call",
                    "toolCallId": "c",
                    "title": "t",
                    "content": [{"type": "content", "content": {"type": "text", "text": "t"}}],
                    "locations": [{"path": "/p", "line": 1}],
                },
            },
        ),
        (2, "SessionUpdate", {"sessionUpdate": "state_update", "state": "running"}),
        (1, "McpServer", {"name": "n", "command": "c", "args": [], "env": []}),
    ):
        plain = decode(version, name, json.dumps(instance))
        more = decode(version, name, json.dumps(insert_everywhere(instance)))
        assert more == plain
        assert encode(more, version=version, type_name=name) == encode(
            plain, version=version, type_name=name
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"text":"t","type":"text"}', v1.TextContentBlock(text="t")),
        ('{"data":"d","type":"text","text":"t"}', v1.TextContentBlock(text="t")),
        ('{"type":"image","text":"t","type":"text"}', v1.TextContentBlock(text="t")),
        ('{"type":5,"text":"t","type":"text"}', v1.TextContentBlock(text="t")),
        ('{"type":"text","text":"t","t\\u0079pe":"text"}', v1.TextContentBlock(text="t")),
        (
            '{"type":"text","data":"d","mimeType":"m","type":"image"}',
            v1.ImageContentBlock(data="d", mime_type="m"),
        ),
    ],
)
def test_the_last_discriminator_counts_wherever_it_stands(text: str, expected: Any) -> None:
    assert decode(1, "ContentBlock", text) == expected


def test_the_compatibility_profile_reads_looser_integers_from_the_wire() -> None:
    text = '{"sessionId":"s","command":"c","outputByteLimit":%s}'
    for written, limit in (("5", 5), ("5.0", 5), ('"5"', 5), ("5e0", 5), ('" 5 "', 5)):
        made = decode(1, "CreateTerminalRequest", text % written, lax=True)
        assert (made.output_byte_limit, type(made.output_byte_limit)) == (limit, int)
        if written != "5":
            with pytest.raises(ValidationError):
                decode(1, "CreateTerminalRequest", text % written)
    for bad in ("5.5", '"x"', '"5.0"', "true", "[5]", "1e300", "-1", '"-1"'):
        with pytest.raises(ValidationError) as caught:
            decode(1, "CreateTerminalRequest", text % bad, lax=True)
        assert {row["type"] for row in caught.value.errors()} <= {"int_type", "int_range"}


@pytest.mark.parametrize("bad", ["5.5", '"nan"', "true", "[5]", "-1", "{}"])
def test_the_compatibility_profile_reads_the_whole_file_where_the_part_does_not_fit(
    bad: str,
) -> None:
    text = '{"sessionId":"s","path":"/p","line":%s,"limit":%s}'
    made = decode(1, "ReadTextFileRequest", text % (bad, bad), lax=True)
    assert (made.line, made.limit, made.model_fields_set) == (None, None, {"session_id", "path"})
    assert v1.ReadTextFileRequest.model_validate_json(text % (bad, bad)) == made
    with pytest.raises(ValidationError):
        decode(1, "ReadTextFileRequest", text % (bad, "1"))


def test_a_request_of_a_mode_of_ones_own_is_made_without_a_scope_and_not_read_without() -> None:
    made = v1.CreateOtherElicitationRequest(message="m", mode="x-voice")
    assert (made.mode, made.session_id, made.request_id) == ("x-voice", None, None)
    with pytest.raises(ValidationError):
        decode(1, "CreateElicitationRequest", '{"message":"m","mode":"x-voice"}')


def test_the_compatibility_profile_reads_a_date_as_protocol_version_1_with_a_warning() -> None:
    text = '{"protocolVersion":"2024-11-05"}'
    with pytest.warns(UserWarning, match="protocolVersion is a date"):
        assert decode(1, "InitializeRequest", text, lax=True).protocol_version == 1
    with pytest.raises(ValidationError):
        decode(1, "InitializeRequest", text)
    with pytest.raises(ValidationError):
        decode(1, "InitializeRequest", '{"protocolVersion":"soon"}', lax=True)


def test_booleans_and_doubles_are_strict_on_the_wire_in_every_profile() -> None:
    for lax in (False, True):
        made = decode(1, "FileSystemCapabilities", '{"readTextFile":1}', lax=lax)
        assert made == v1.FileSystemCapabilities()
        with pytest.raises(ValidationError):
            decode(1, "Cost", '{"amount":"1.5","currency":"EUR"}', lax=lax)


def test_a_version_1_diff_in_version_2_is_told_by_its_members() -> None:
    flat = decode(2, "ToolCallContent", '{"type":"diff","path":"/p","oldText":null,"newText":"n"}')
    assert type(flat) is v2.FlatDiffToolCallContent
    assert encode(flat, version=2) == b'{"type":"diff","path":"/p","newText":"n"}'
    changes = decode(2, "ToolCallContent", '{"type":"diff","changes":[]}')
    assert type(changes) is v2.FileEditToolCallContent


def test_a_second_wire_name_is_read_and_never_written() -> None:
    text = '{"id":"i","name":"n","type":"boolean","currentValue":true}'
    option = decode(2, "SessionConfigOption", text)
    assert option.config_id == "i"
    assert json.loads(encode(option)) == {
        "configId": "i",
        "name": "n",
        "type": "boolean",
        "currentValue": True,
    }
