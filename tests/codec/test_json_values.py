"""Plain JSON values through the extension, beside Python's own `json`."""

from __future__ import annotations

import json
import math
import struct
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp.v1.schema  # noqa: F401  # the classes of version 1 are registered by this
from acp._core import ValidationError, decode, encode

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
# What texts are put together from, good ones and bad ones.
PIECES = [*'{}[]:,"-+.eE\\/ \n\t\r\x00\x1f0123456789ulntrfasN', "é", "\ufeff", "\u00a0", "\u2028"]
PIECES += ['"a"', '"b"', "true", "false", "null", "NaN", "Infinity", "1e9", "0.5", "-0"]
PIECES += ["\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\x", "\\u12", '"\\"', "//", "'a'"]


def read(text: str | bytes) -> Any:
    return decode(1, "ExtRequest", text)


def identical(a: Any, b: Any) -> bool:
    """Equality that tells 1 from 1.0 and True, 0.0 from -0.0, and sees the order of members."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(identical(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, float):
        return struct.pack(">d", a) == struct.pack(">d", b)
    return bool(a == b)


def refuse(text: str) -> NoReturn:
    raise ValueError("not in RFC 8259")


def finite(text: str) -> float:
    number = float(text)
    return refuse(text) if math.isinf(number) else number


@given(values)
def test_any_value_is_read_as_the_json_module_reads_it(value: Any) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        if not any("\ud800" <= ch <= "\udfff" for ch in text):
            assert identical(read(text), value)
            assert identical(read(text.encode()), value)


@given(values)
def test_any_value_is_written_so_that_it_can_be_read_back(value: Any) -> None:
    written = encode(value)
    assert identical(json.loads(written.decode("utf-8")), value)
    assert identical(read(written), value)


def whole(text: str) -> int | float:
    # As in the reference implementation, which keeps the sign.
    return -0.0 if text == "-0" else int(text)


def judged_alike(text: str) -> None:
    """Fails unless the text is read as the json module reads it, or refused by both."""
    try:
        expected = json.loads(text, parse_constant=refuse, parse_float=finite, parse_int=whole)
    except ValueError:
        with pytest.raises(ValidationError):
            read(text)
    else:
        assert identical(read(text), expected)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_texts_are_refused_exactly_when_the_json_module_refuses_them(text: str) -> None:
    judged_alike(text)


@given(values, st.integers(0, 10_000), st.sampled_from(["", *PIECES]))
def test_texts_that_are_changed_at_one_place_are_judged_as_the_json_module_does(
    value: Any, place: int, inserted: str
) -> None:
    text = json.dumps(value)
    at = place % (len(text) + 1)
    judged_alike(text[:at] + inserted + text[at:])
    judged_alike(text[:at] + inserted + text[at + 1 :])


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True))
def test_doubles_keep_every_bit(number: float) -> None:
    for text in (repr(number), f"{number:.17g}", f"{number:.17e}"):
        read_back = read(text)
        assert struct.pack(">d", float(read_back)) == struct.pack(">d", number)
    written = encode(number)
    assert struct.pack(">d", float(written)) == struct.pack(">d", number)
    assert isinstance(read(written), float), "what was a double stays one"


@given(st.integers(1, 10**40), st.integers(-360, 340), st.booleans())
def test_decimal_literals_are_rounded_correctly(digits: int, exponent: int, negative: bool) -> None:
    text = f"{'-' if negative else ''}{digits}e{exponent}"
    number = float(text)
    if math.isinf(number):
        with pytest.raises(ValidationError):
            read(text)
    else:
        assert identical(read(text), number)


@pytest.mark.parametrize(
    "number",
    [
        *(2**power + step for power in (31, 32, 53, 63, 64, 65) for step in (-1, 0, 1)),
        10**4299,
        10**4300 - 1,
    ],
    ids=lambda number: f"{number.bit_length()}-bits-{number % 4}",
)
def test_integers_of_any_length_are_exact(number: int) -> None:
    for signed in (number, -number):
        assert identical(read(str(signed)), signed)
        assert encode(signed) == str(signed).encode()


def test_an_integer_of_more_than_4300_digits_is_malformed() -> None:
    read("9" * 4300)
    read("-" + "9" * 4300)
    for text in ("9" * 4301, "-" + "9" * 4301, '{"a":[' + "9" * 5000 + "]}"):
        with pytest.raises(ValidationError) as caught:
            read(text)
        assert [row["type"] for row in caught.value.errors()] == ["json_invalid"]


@pytest.mark.parametrize(
    "text",
    [
        *("NaN", "Infinity", "-Infinity", "1e999", "-1e309", "[1e400]", '{"a":NaN}'),
        *("", " ", "{", "}", "[1,]", '{"a":1,}', "{a:1}", "'a'", "01", "1.", ".5", "+1", "- 1"),
        *('"\t"', '"\x00"', '"\\x"', '"\\u12g4"', '"a', "tru", "nulll", "1 2", "[1}", "\ufeff1"),
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(text)
    assert [row["type"] for row in caught.value.errors()] == ["json_invalid"]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"a": {"b": x}}])
def test_numbers_that_json_does_not_have_are_never_written(number: float, wrap: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        encode(wrap(number))
    assert [row["type"] for row in caught.value.errors()] == ["unwritable"]


@pytest.mark.parametrize("data", [b"\xff", b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"'])
def test_bytes_that_are_no_utf8_are_refused(data: bytes) -> None:
    with pytest.raises(ValidationError):
        read(data)


def test_a_text_with_a_lone_surrogate_as_a_character_is_refused() -> None:
    with pytest.raises(ValidationError):
        read('"\ud800"')


@pytest.mark.parametrize("data", [bytearray(b"[1]"), b"[1]", "[1]"])
def test_text_can_be_str_bytes_or_bytearray(data: Any) -> None:
    assert read(data) == [1]


@pytest.mark.parametrize("data", [None, 5, memoryview(b"1"), ["1"], object()])
def test_other_things_are_no_text(data: Any) -> None:
    with pytest.raises(TypeError):
        read(data)


@given(st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010), min_size=1))
def test_lone_surrogates_are_read_from_escapes_and_written_as_escapes(text: str) -> None:
    escaped = json.dumps(text)
    assert read(escaped) == json.loads(escaped)
    written = encode({text: text})
    assert read(written) == {json.loads(escaped): json.loads(escaped)} == json.loads(written)
    written.decode("utf-8")


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert read(r'"\ud83d\ude00"') == "😀"
    assert encode("😀") == '"😀"'.encode()
    # Two halves that were apart in Python become one character, as Python's own reader has it.
    assert read(encode("\ud83d\ude00")) == json.loads(json.dumps("\ud83d\ude00")) == "😀"


def nested(depth: int, *, objects: bool) -> str:
    return '{"a":' * depth + "1" + "}" * depth if objects else "[" * depth + "]" * depth


@pytest.mark.parametrize("objects", [True, False])
def test_1024_levels_of_nesting_are_read_and_written_and_one_more_is_refused(objects: bool) -> None:
    text = nested(1024, objects=objects)
    value = read(text)
    assert encode(value) == text.encode()
    with pytest.raises(ValidationError) as caught:
        read(nested(1025, objects=objects))
    assert [row["type"] for row in caught.value.errors()] == ["depth"]
    for deeper in ([value], {"a": value}, (value,)):
        with pytest.raises(ValueError, match="nested too deeply"):
            encode(deeper)


@pytest.mark.parametrize(
    "text", ["[" * 2_000_000, '{"a":' * 500_000, "[" * 100_000 + "]" * 100_000]
)
def test_very_deep_texts_end_in_an_error_and_not_in_a_crash(text: str) -> None:
    with pytest.raises(ValidationError):
        read(text)


def test_a_value_that_holds_itself_is_refused() -> None:
    knot: dict[str, Any] = {}
    knot["list"] = [knot]
    with pytest.raises(ValueError, match="nested too deeply"):
        encode(knot)


def test_the_last_of_several_members_of_one_name_wins() -> None:
    """C-010: inside params and results."""
    assert read('{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}
    assert read(r'{"a":1,"\u0061":[{"x":1,"x":2}]}') == {"a": [{"x": 2}]}


def test_the_order_of_members_is_kept() -> None:
    assert list(read('{"z":1,"a":2,"m":3}')) == ["z", "a", "m"]
    assert encode({"z": 1, "a": 2, "m": 3}) == b'{"z":1,"a":2,"m":3}'


def test_output_is_compact_utf8_without_needless_escapes() -> None:
    assert encode({"é": ["\u2028", "/", "\x7f", '"', "\\", "\n", "\x01"]}) == (
        '{"é":["\u2028","/","\x7f","\\"","\\\\","\\n","\\u0001"]}'.encode()
    )


@pytest.mark.parametrize("key", [1, -5, True, False, None, 1.5])
def test_keys_that_are_no_strings_are_written_as_the_json_module_writes_them(key: Any) -> None:
    assert json.loads(encode({key: 1})) == json.loads(json.dumps({key: 1}))


@pytest.mark.parametrize("key", [(1, 2), b"a", frozenset()])
def test_keys_that_the_json_module_refuses_are_refused(key: Any) -> None:
    with pytest.raises(ValidationError):
        encode({key: 1})


def test_a_dict_that_changes_while_it_is_written_is_told() -> None:
    class Growing:
        def model_dump(self, **_: Any) -> Any:
            grown["more"] = 1
            return 0

    grown: dict[str, Any] = {"a": Growing(), "b": 1}
    with pytest.raises(RuntimeError, match="changed"):
        encode(grown)


def test_a_list_that_shrinks_while_it_is_written_is_no_danger() -> None:
    class Shrinking:
        def model_dump(self, **_: Any) -> Any:
            shrunk.clear()
            return 0

    shrunk: list[Any] = [Shrinking(), *range(1000)]
    assert encode(shrunk) == b"[0]"


def test_an_unknown_version_or_type_is_a_type_error() -> None:
    for version, name in ((0, "ExtRequest"), (3, "ExtRequest"), (1, "NoSuchType"), (1, "")):
        with pytest.raises(TypeError):
            decode(version, name, "1")
        with pytest.raises(TypeError):
            encode(1, version=version, type_name=name)
