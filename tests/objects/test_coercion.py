"""Values given to constructors: what is kept, converted, left out and refused."""

from __future__ import annotations

import collections
import datetime as dt
import enum
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError


class Word(str, enum.Enum):
    USER = "user"


class Number(enum.IntEnum):
    SEVEN = 7


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "LOUD"


def kinds(error: pytest.ExceptionInfo[ValidationError]) -> set[tuple[Any, str]]:
    return {(row["loc"], row["type"]) for row in error.value.errors()}


def test_a_nested_object_stays_itself() -> None:
    block = v1.TextContentBlock(text="t")
    request = v1.PromptRequest(session_id="s", prompt=[block])
    assert request.prompt[0] is block
    assert v1.AgentMessageChunk(content=block).content is block


def test_an_object_of_a_users_subclass_stays_itself() -> None:
    class Marked(v1.TextContentBlock):
        pass

    block = Marked(text="t")
    assert v1.PromptRequest(session_id="s", prompt=[block]).prompt[0] is block


def test_containers_are_the_objects_own() -> None:
    blocks: list[Any] = [v1.TextContentBlock(text="t")]
    meta = {"a": [1]}
    request = v1.PromptRequest(session_id="s", prompt=blocks, field_meta=meta)
    blocks.clear()
    meta["b"] = [2]
    assert len(request.prompt) == 1
    assert request.field_meta == {"a": [1]}


def test_open_values_are_kept_as_they_are() -> None:
    output = {"rows": (1, 2), "at": dt.date(2024, 1, 2)}
    assert v1.ToolCallUpdate(tool_call_id="c", raw_output=output).raw_output is output


def test_an_object_of_another_class_is_refused() -> None:
    for wrong in (v1.Annotations(), v2.TextContentBlock(text="t"), v1.TextContent(text="t")):
        with pytest.raises(ValidationError) as caught:
            v1.PromptRequest(session_id="s", prompt=[wrong])
        assert kinds(caught) == {(("prompt", 0), "object_type")}


def test_an_object_of_the_other_version_is_refused_also_where_the_names_agree() -> None:
    with pytest.raises(ValidationError):
        v2.AgentMessageChunk(message_id="m", content=v1.TextContentBlock(text="t"))
    with pytest.raises(ValidationError):
        v1.AgentMessageChunk(content=v2.TextContentBlock(text="t"))
    assert v1.TextContentBlock(text="t") != v2.TextContentBlock(text="t")


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        collections.deque,
        iter,
        lambda items: (item for item in items),
        lambda items: dict.fromkeys(items).keys(),
        lambda items: dict(enumerate(items)).values(),
    ],
)
def test_any_iterable_is_read_as_an_array(make: Any) -> None:
    made = v1.CreateTerminalRequest(session_id="s", command="c", args=make(["a", "b"]))
    assert made.args == ["a", "b"]


@pytest.mark.parametrize("make", [set, frozenset])
def test_sets_are_read_as_arrays(make: Any) -> None:
    made = v1.CreateTerminalRequest(session_id="s", command="c", args=make(["a"]))
    assert made.args == ["a"]


@pytest.mark.parametrize("wrong", ["ab", b"ab", bytearray(b"ab"), {"a": 1}, 5, object()])
def test_texts_and_mappings_are_no_arrays(wrong: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.CreateTerminalRequest(session_id="s", command="c", args=wrong)
    assert kinds(caught) == {(("args",), "list_type")}


def test_what_an_iterable_raises_is_raised() -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        v1.CreateTerminalRequest(session_id="s", command="c", args=failing())
    with pytest.raises(LookupError, match="gone"):
        v1.Annotations(audience=failing())


def test_an_iterable_is_read_once_also_where_several_types_are_tried() -> None:
    options: Any = iter(
        [{"group": "g", "name": "G", "options": iter([{"value": "v", "name": "V"}])}]
    )
    made = v1.SessionConfigOptionSelect(id="i", name="n", current_value="v", options=options)
    assert made.options == [
        v1.SessionConfigSelectGroup(
            group="g", name="G", options=[v1.SessionConfigSelectOption(value="v", name="V")]
        )
    ]


def test_a_mapping_that_is_no_dict_is_read_as_an_object() -> None:
    block: Any = types.MappingProxyType({"type": "text", "text": "t", "_meta": {"a": 1}})
    made = v1.PromptRequest(
        session_id="s", prompt=[block], field_meta=collections.ChainMap({"b": 2})
    )
    assert made.prompt == [v1.TextContentBlock(text="t", field_meta={"a": 1})]
    assert made.field_meta == {"b": 2}
    assert type(made.field_meta) is dict


@pytest.mark.parametrize(
    ("given", "kept"),
    [(5, 5), (5.0, 5), ("5", 5), (" 5 ", 5), ("+5", 5), ("05", 5), (Number.SEVEN, 7)],
)
def test_integers_are_read_from_whole_doubles_and_strings_of_digits(given: Any, kept: int) -> None:
    made = v1.StringPropertySchema(max_length=given)
    assert made.max_length == kept
    assert type(made.max_length) is int


@pytest.mark.parametrize("given", [5.5, "x", "", "5.0", "1_0", b"5", True, [5], float("nan"), "٣"])
def test_other_things_are_no_integers(given: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.StringPropertySchema(max_length=given)
    assert kinds(caught) == {(("maxLength",), "int_type")}


@pytest.mark.parametrize("given", [-1, 2**32, "4294967296", 1e300, 10**400])
def test_integers_out_of_range_are_refused(given: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.StringPropertySchema(max_length=given)
    assert kinds(caught) == {(("maxLength",), "int_range")}


def test_the_ends_of_every_range_are_allowed() -> None:
    assert v1.StringPropertySchema(max_length=2**32 - 1).max_length == 2**32 - 1
    usage = v1.UsageUpdate(used=0, size=2**64 - 1)
    assert (usage.used, usage.size) == (0, 2**64 - 1)


@pytest.mark.parametrize(("given", "kept"), [(5, 5.0), (0.5, 0.5), ("1.5", 1.5), (True, 1.0)])
def test_doubles_are_read_from_numbers_and_strings(given: Any, kept: float) -> None:
    amount = v1.Cost(amount=given, currency="EUR").amount
    assert amount == kept
    assert type(amount) is float


@pytest.mark.parametrize(
    "given", ["x", "nan", "inf", float("nan"), float("inf"), None, [], 10**400]
)
def test_other_things_are_no_doubles(given: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.Cost(amount=given, currency="EUR")
    assert kinds(caught) == {(("amount",), "float_type")}


@pytest.mark.parametrize(
    ("given", "kept"),
    [(True, True), (1, True), (0, False), (1.0, True), ("true", True), ("NO", False), ("on", True)],
)
def test_booleans_are_read_from_what_says_yes_or_no(given: Any, kept: bool) -> None:
    assert v1.FileSystemCapabilities(read_text_file=given).read_text_file is kept


@pytest.mark.parametrize("given", [2, "maybe", b"true", []])
def test_a_boolean_that_says_neither_is_refused_or_left_out_where_that_is_allowed(
    given: Any,
) -> None:
    assert v1.FileSystemCapabilities(read_text_file=given).read_text_file is False
    with pytest.raises(ValidationError) as caught:
        v1.SetSessionConfigOptionBooleanRequest(session_id="s", config_id="c", value=given)
    assert kinds(caught) == {(("value",), "bool_type")}


@pytest.mark.parametrize("given", [Word.USER, Loud("user")])
def test_strings_of_other_classes_become_plain_strings(given: Any) -> None:
    made = v1.TextContentBlock(text=given, annotations=v1.Annotations(audience=[given]))
    assert made.text == "user"
    assert type(made.text) is str
    assert made.annotations is not None
    assert [type(role) for role in made.annotations.audience or []] == [str]


@pytest.mark.parametrize("given", [5, b"t", None, ["t"], object()])
def test_other_things_are_no_strings(given: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        v1.TextContentBlock(text=given)
    assert kinds(caught) == {(("text",), "string_type")}


def test_a_string_with_a_lone_surrogate_is_kept() -> None:
    block = v1.TextContentBlock(text="\ud800")
    assert block.text == "\ud800"
    assert block.model_dump_json() == (
        r'{"annotations":null,"text":"\ud800","field_meta":null,"type":"text"}'
    )


def test_malformed_items_and_members_are_left_out_where_the_schema_says_so() -> None:
    annotations = v1.Annotations(audience=["user", "nobody"], priority=object())
    assert annotations.audience == ["user"]
    assert annotations.priority is None
    assert v1.TextContentBlock(text="t", field_meta=[1]).field_meta is None


def test_a_value_outside_a_closed_set_is_refused_and_outside_an_open_one_kept() -> None:
    with pytest.raises(ValidationError) as caught:
        v1.PromptResponse(stop_reason="tired")
    assert kinds(caught) == {(("stopReason",), "unknown_value")}
    assert v2.ToolCallProgress(tool_call_id="c", kind="smell").kind == "smell"
    kind: Any = "smell"
    assert v1.ToolCallStart(tool_call_id="c", title="t", kind=kind).kind == "other"


def test_a_date_as_protocol_version_is_read_as_1_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="protocolVersion is a date"):
        made = v1.InitializeRequest(protocol_version="2024-11-05")
    assert made.protocol_version == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            v1.InitializeRequest(protocol_version="2024-11-05")


@pytest.mark.parametrize(
    "given", ["2024-11", "2024/11/05", "draft", None, True, -1, 65536, "20241105"]
)
def test_other_things_are_no_protocol_version(given: Any) -> None:
    with pytest.raises(ValidationError):
        v1.InitializeRequest(protocol_version=given)
