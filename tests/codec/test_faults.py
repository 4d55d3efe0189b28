"""What a ValidationError tells: each rule, its place, and never the value (the data of C-029)."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError, decode, encode, fault_kinds
from tests.codec.instances import TYPES, instances

Row = dict[str, Any]

PROMPT = '{"sessionId":"s","prompt":[%s]}'
DEEP = "[" * 1025 + "]" * 1025
FORM = '{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}%s}'

VERSION = ("protocolVersion",)
BOOLEAN = '{"type":"boolean","sessionId":"s","configId":"c","value":%s}'
PERMISSION = '{"sessionId":"s","title":"t","options":%s}'

# Each rule: how to break it, and where that shows.
BREAKING: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "missing": (lambda: decode(1, "PromptRequest", '{"prompt":[]}'), ("sessionId",)),
    "bool_type": (
        lambda: decode(1, "SetSessionConfigOptionBooleanRequest", BOOLEAN % '"yes"'),
        ("value",),
    ),
    "string_type": (
        lambda: decode(1, "PromptRequest", PROMPT % '{"type":"text","text":5}'),
        ("prompt", 0, "text"),
    ),
    "int_type": (lambda: decode(1, "InitializeRequest", '{"protocolVersion":1.5}'), VERSION),
    "int_range": (lambda: decode(1, "InitializeRequest", '{"protocolVersion":65536}'), VERSION),
    "float_type": (lambda: decode(1, "Cost", '{"amount":"1","currency":"EUR"}'), ("amount",)),
    "list_type": (lambda: decode(1, "PromptRequest", '{"sessionId":"s","prompt":{}}'), ("prompt",)),
    "object_type": (lambda: decode(1, "PromptRequest", PROMPT % "7"), ("prompt", 0)),
    "unknown_value": (lambda: decode(1, "Role", '"nobody"'), ()),
    "unknown_variant": (
        lambda: decode(1, "PromptRequest", PROMPT % '{"type":"smell"}'),
        ("prompt", 0),
    ),
    "known_variant": (lambda: v2.OtherContentBlock(type="text"), ("type",)),
    "tag_missing": (lambda: decode(1, "PromptRequest", PROMPT % '{"text":"t"}'), ("prompt", 0)),
    "text_length": (lambda: decode(2, "IdempotencyKey", '""'), ()),
    "too_few_items": (
        lambda: decode(2, "RequestPermissionRequest", PERMISSION % "[]"),
        ("options",),
    ),
    "scope": (
        lambda: decode(2, "CreateElicitationRequest", FORM % ',"sessionId":"s","requestId":1'),
        (),
    ),
    "no_fit": (lambda: decode(1, "EmbeddedResourceResource", '{"uri":"u"}'), ()),
    "unwritable": (lambda: encode({"a": [object()]}), ("*", 0)),
    "depth": (lambda: decode(1, "ExtRequest", DEEP), ()),
    "json_invalid": (lambda: decode(1, "ExtRequest", "{"), ()),
}


def errors(act: Callable[[], Any]) -> list[Row]:
    with pytest.raises(ValidationError) as caught:
        act()
    return caught.value.errors()


@pytest.mark.parametrize("kind", sorted(dict(fault_kinds())))
def test_every_rule_can_be_broken_and_tells_its_place_and_sentence(kind: str) -> None:
    act, loc = BREAKING[kind]
    assert errors(act) == [{"loc": loc, "type": kind, "message": dict(fault_kinds())[kind]}]


def test_every_faulty_place_is_told() -> None:
    text = '{"prompt":[{"type":"text"},{"type":"text","text":"t"},5,{"type":"image","data":1}]}'
    assert [
        (row["loc"], row["type"]) for row in errors(lambda: decode(1, "PromptRequest", text))
    ] == [
        (("prompt", 0, "text"), "missing"),
        (("prompt", 2), "object_type"),
        (("prompt", 3, "data"), "string_type"),
        (("prompt", 3, "mimeType"), "missing"),
        (("sessionId",), "missing"),
    ]


def test_keys_of_maps_show_as_a_star() -> None:
    text = '{"id":"i","type":"terminal","name":"n","env":{"SECRET":5}}'
    rows = errors(lambda: decode(1, "AuthMethod", text))
    assert [(row["loc"], row["type"]) for row in rows] == [(("env", "*"), "string_type")]


def test_a_later_member_of_the_same_name_takes_back_the_fault_of_an_earlier_one() -> None:
    good = decode(1, "PromptRequest", '{"sessionId":5,"prompt":[7],"sessionId":"s","prompt":[]}')
    assert good == v1.PromptRequest(session_id="s", prompt=[])
    rows = errors(lambda: decode(1, "PromptRequest", '{"sessionId":"s","prompt":[],"sessionId":5}'))
    assert [row["loc"] for row in rows] == [("sessionId",)]


def test_a_later_value_of_the_same_key_takes_back_the_fault_of_an_earlier_one() -> None:
    """C-010: the last one wins, within maps too."""
    text = '{"providerId":"p","apiType":"t","baseUrl":"u","headers":{"a":5,"b":"x","a":"y"}}'
    assert decode(1, "SetProviderRequest", text).headers == {"a": "y", "b": "x"}
    rows = errors(lambda: decode(1, "SetProviderRequest", text.replace('"y"', "6")))
    assert [row["loc"] for row in rows] == [("headers", "*")]
    escaped = text.replace('"a":5', '"\\u0061":[5]')
    assert decode(1, "SetProviderRequest", escaped).headers == {"a": "y", "b": "x"}


@pytest.mark.parametrize(
    "text",
    [
        '{"sessionId":"s","prompt":[' + "0," * 100_000 + "0]}",
        '{"sessionId":"s","prompt":[' + '{"type":"image"},' * 100_000 + "0]}",
    ],
)
def test_an_array_of_faults_is_looked_at_until_64_are_found(text: str) -> None:
    rows = errors(lambda: decode(1, "PromptRequest", text))
    assert 64 <= len(rows) <= 65
    assert rows[0]["loc"][:2] == ("prompt", 0)
    good = text[:-1] + ',"prompt":[]}'
    assert decode(1, "PromptRequest", good) == v1.PromptRequest(session_id="s", prompt=[])


def test_a_map_of_faults_is_looked_at_until_64_are_found() -> None:
    env = ",".join(f'"k{index}":{index}' for index in range(100_000))
    text = f'{{"id":"i","type":"terminal","name":"n","env":{{{env}}}}}'
    assert len(errors(lambda: decode(1, "AuthMethod", text))) == 64


HOSTILE: dict[str, tuple[int, str, str, str, str]] = {
    "faults and repeated members": (
        1,
        "PromptRequest",
        '{"prompt":[' + "0," * 1000 + "0]",
        ',"sessionId":1',
        "}",
    ),
    "repeated faulty lists": (1, "PromptRequest", "{", '"prompt":[0,0],', '"sessionId":1}'),
    "repeated faulty keys": (1, "SetProviderRequest", '{"headers":{', '"a":5,', '"a":6}}'),
    "different faulty keys": (1, "SetProviderRequest", '{"headers":{', '"a%d":5,', '"a":6}}'),
    "repeated discriminators": (
        1,
        "ContentBlock",
        '{"text":5',
        ',"type":"text"',
        ',"type":"image"}',
    ),
    "unknown members": (2, "ContentBlock", '{"a":1', ',"b%d":1', ',"type":"smell"}'),
    "nested unions": (1, "PromptRequest", '{"prompt":[', '{"text":1,"type":"text"},', "0]}"),
    "skipped items": (1, "Annotations", '{"audience":[', "5,", "5]}"),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_the_time_for_a_hostile_text_grows_with_its_length(name: str) -> None:
    version, type_name, start, repeated, end = HOSTILE[name]

    def seconds(count: int) -> float:
        if "%d" in repeated:
            middle = "".join(repeated % index for index in range(count))
        else:
            middle = repeated * count
        text = start + middle + end
        best = float("inf")
        for _ in range(3):
            # What this thread has worked: others that share the machine do not count.
            began = time.thread_time()
            with contextlib.suppress(ValidationError):
                decode(version, type_name, text)
            best = min(best, time.thread_time() - began)
        return best

    # Ten times as long; a hundred times as slow if it were quadratic.
    assert seconds(40_000) < 40 * max(seconds(4_000), 1e-4)


def test_faults_within_lenient_members_are_not_told() -> None:
    text = '{"type":"text","text":"t","annotations":{"audience":5,"priority":"x"},"_meta":7}'
    block = decode(1, "ContentBlock", text)
    assert block.annotations == v1.Annotations()
    assert block.field_meta is None


def test_the_constructor_names_members_as_they_are_on_the_wire() -> None:
    rows = errors(lambda: v1.PromptRequest(session_id=5, prompt=[{"type": "text"}]))
    assert {(row["loc"], row["type"]) for row in rows} == {
        (("sessionId",), "string_type"),
        (("prompt", 0, "text"), "missing"),
    }


def test_the_text_of_an_error_names_type_places_and_rules() -> None:
    with pytest.raises(ValidationError) as caught:
        v1.PromptRequest(prompt=[{"type": "text"}])
    assert str(caught.value) == (
        "2 faults in PromptRequest\n"
        "  prompt.0.text: a required member is missing\n"
        "  sessionId: a required member is missing"
    )
    assert caught.value.title == "PromptRequest"
    assert caught.value.error_count() == 2
    assert isinstance(caught.value, ValueError)


def test_an_error_survives_copying_and_pickling() -> None:
    with pytest.raises(ValidationError) as caught:
        v1.PromptRequest(prompt=[{"type": "text"}])
    error = caught.value
    for one in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(one) is ValidationError
        assert str(one) == str(error)
        assert one.errors() == error.errors()
        assert one.title == error.title


def test_an_error_can_be_made_by_hand() -> None:
    row = {"loc": ("a", 0), "type": "missing", "message": "is not there"}
    error = ValidationError("Thing", [row])
    assert error.errors() == [row]
    assert str(error) == "1 fault in Thing\n  a.0: is not there"
    assert ValidationError().errors() == []


CANARY = "c4n4ry"
BAD = [
    CANARY,
    [CANARY],
    {CANARY: CANARY},
    {"type": CANARY, CANARY: [CANARY]},
    {"type": "text", "text": {CANARY: 1}, "sessionUpdate": CANARY},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value within a JSON value."""
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*path, index))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


def shows_nothing(act: Callable[[], Any]) -> None:
    """Fails when the error that `act` raises, if any, shows a part of the message."""
    try:
        act()
    except ValidationError as error:
        rows = error.errors()
        assert rows
        assert error.__cause__ is error.__context__ is None
        shown = [str(error), repr(error), str(rows), str(error.args), error.title]
        shown += traceback.format_exception_only(ValidationError, error)
        assert not any(CANARY in text for text in shown)


@settings(max_examples=600)
@given(
    st.sampled_from([(version, name) for version in (1, 2) for name in TYPES[version]]).flatmap(
        lambda key: st.tuples(st.just(key), instances(*key))
    ),
    st.integers(0, 1000),
    st.sampled_from(BAD),
)
def test_no_error_ever_shows_what_the_message_said(
    drawn: tuple[tuple[int, str], Any], place: int, bad: Any
) -> None:
    (version, name), instance = drawn
    ways = places(instance)
    text = json.dumps(replaced(instance, ways[place % len(ways)], bad))
    cls = {1: vars(v1), 2: vars(v2)}[version].get(name)
    acts: list[Callable[[], Any]] = [
        lambda: decode(version, name, text),
        lambda: decode(version, name, text[:-1] + CANARY),
    ]
    if hasattr(cls, "model_validate"):
        acts += [
            lambda: cls.model_validate(json.loads(text)),
            lambda: cls.model_validate_json(text),
        ]
    for act in acts:
        shows_nothing(act)


@pytest.mark.parametrize("bad", [object, {1, CANARY}.add, CANARY.encode() + b"\xff", 1j])
def test_no_error_of_writing_shows_the_value(bad: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        encode(v1.TextContentBlock(text="t", field_meta={CANARY: {CANARY: [0, bad]}}))
    assert CANARY not in str(caught.value)
    assert [row["loc"] for row in caught.value.errors()] == [("_meta", "*", "*", 1)]
