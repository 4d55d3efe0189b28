"""Values of all kinds in `model_dump`, `model_dump_json` and on the wire."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import uuid
from typing import Any, NamedTuple

import pytest

import acp.v1.schema as v1
from acp._core import ValidationError, encode


class Word(str, enum.Enum):
    A = "a"


class Number(enum.IntEnum):
    THREE = 3


class Plain(enum.Enum):
    PAIR = (1, 2)


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "LOUD"


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date


class Dumpable:
    """What models of other libraries look like."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def model_dump(self, **options: Any) -> Any:
        self.asked.append(options)
        return {"dumped": True}

    def __iter__(self) -> Any:
        return iter([("dumped", True)])


class Pair(NamedTuple):
    a: int
    b: Any


def meta(value: Any) -> Any:
    return v1.TextContentBlock(text="t", field_meta={"v": value})


def test_python_mode_keeps_values_of_all_kinds_and_copies_containers() -> None:
    value = {"t": (1, v1.Annotations()), "e": Word.A, "d": dt.date(2024, 1, 2), "s": {1}}
    dumped = meta(value).model_dump(exclude_none=True)["field_meta"]["v"]
    assert dumped == {**value, "t": (1, {})}
    assert type(dumped["e"]) is Word
    assert dumped is not value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**80, 2**80),
        (1.5, 1.5),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (frozenset({1}), [1]),
        (collections.deque([1, (2,)]), [1, [2]]),
        (iter([1, 2]), [1, 2]),
        (Pair(1, [2]), [1, [2]]),
        (Word.A, "a"),
        (Number.THREE, 3),
        (Plain.PAIR, [1, 2]),
        (Loud("quiet"), "quiet"),
        (b"bytes", "bytes"),
        (bytearray(b"bytes"), "bytes"),
        (pathlib.PurePosixPath("/p/q"), "/p/q"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.50"), "1.50"),
        (ipaddress.ip_address("1.2.3.4"), "1.2.3.4"),
        (ipaddress.ip_network("1.2.3.0/24"), "1.2.3.0/24"),
        (dt.date(2024, 1, 2), "2024-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05"),
        (dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc), "2024-01-02T00:00:00Z"),
        (
            dt.datetime(2024, 1, 2, 0, 0, 0, 5, dt.timezone(dt.timedelta(hours=2))),
            "2024-01-02T00:00:00.000005+02:00",
        ),
        (dt.timedelta(0), "PT0S"),
        (dt.timedelta(seconds=-1), "-PT1S"),
        (dt.timedelta(days=1, seconds=3661, microseconds=1500), "P1DT1H1M1.0015S"),
        (dt.timedelta(days=1), "P1D"),
        (Point(1, dt.date(2024, 1, 2)), {"x": 1, "when": "2024-01-02"}),
        (Dumpable(), {"dumped": True}),
        ({1: 2, None: 3, 1.5: 4, Number.THREE: 5, Word.A: 6}, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_json_mode_gives_what_json_has(value: Any, expected: Any) -> None:
    if isinstance(value, dict):
        expected = {"1": 2, "null": 3, "1.5": 4, "3": 5, "a": 6}
    made = meta(value)
    if not hasattr(value, "__next__"):
        # What can be read only once is for one of these.
        assert json.loads(made.model_dump_json())["field_meta"] == {"v": expected}
        assert json.loads(encode(made))["_meta"] == {"v": expected}
    dumped = made.model_dump(mode="json")["field_meta"]["v"]
    assert dumped == expected
    assert type(dumped) is type(expected)


@pytest.mark.parametrize(
    "value",
    [object(), object, len, 1j, b"\xff", fractions.Fraction(1, 2), ValueError("x"), ...],
    ids=lambda value: type(value).__name__,
)
def test_what_json_has_no_form_for_is_refused(value: Any) -> None:
    made = meta([value])
    for act in (
        lambda: made.model_dump(mode="json"),
        lambda: made.model_dump_json(),
        lambda: encode(made),
    ):
        with pytest.raises(ValidationError) as caught:
            act()
        assert [row["type"] for row in caught.value.errors()] == ["unwritable"]
    assert made.model_dump()["field_meta"]["v"] == [value]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    for act in (meta(number).model_dump_json, lambda: meta([number]).model_dump(mode="json")):
        with pytest.raises(ValidationError):
            act()
    kept = meta(number).model_dump()["field_meta"]["v"]
    assert kept is number


def test_models_of_other_libraries_dump_themselves_by_wire_name_when_asked() -> None:
    other = Dumpable()
    meta(other).model_dump(mode="json")
    meta(other).model_dump(mode="json", by_alias=True)
    encode(meta(other))
    assert other.asked == [
        {"mode": "json", "by_alias": False},
        {"mode": "json", "by_alias": True},
        {"mode": "json", "by_alias": True},
    ]
    assert meta(other).model_dump()["field_meta"]["v"] is other


def test_what_a_foreign_dump_raises_is_raised() -> None:
    class Failing:
        def model_dump(self, **_: Any) -> Any:
            raise LookupError("gone")

    for act in (lambda: meta(Failing()).model_dump(mode="json"), lambda: encode(Failing())):
        with pytest.raises(LookupError, match="gone"):
            act()


def test_an_object_that_dumps_as_itself_for_ever_is_refused() -> None:
    class Endless:
        def model_dump(self, **_: Any) -> Any:
            return self

    for act in (lambda: meta(Endless()).model_dump(mode="json"), lambda: encode(Endless())):
        with pytest.raises(ValueError, match="nested too deeply"):
            act()


def test_objects_within_open_values_are_dumped_like_members() -> None:
    made = v1.ToolCallUpdate(
        tool_call_id="c",
        raw_output={"b": [v1.ResourceContentBlock(uri="u", name="n", mime_type="m")]},
    )
    dumped = made.model_dump(by_alias=True, exclude_none=True)
    assert dumped["rawOutput"] == {
        "b": [{"mimeType": "m", "name": "n", "uri": "u", "type": "resource_link"}]
    }
    assert json.loads(encode(made))["rawOutput"] == dumped["rawOutput"]
