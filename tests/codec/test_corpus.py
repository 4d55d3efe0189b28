"""The corpus through the extension: what Python reads and writes is what the tables say.

The same rows are judged on the core alone by `rust/acp-core/tests/corpus.rs`; here the values are
objects, so that the two builders and the two sources cannot drift apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import acp.v1.schema
import acp.v2.schema
from acp._core import ValidationError, decode, encode
from acp._schema.base import BaseModel
from tests.codec.rows import Row, decisions, rows, same

# Rows with booleans and numbers in the looser forms that only constructors take.
LOOSE = {
    '{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":1,"writeTextFile":true},'
    '"terminal":"yes"}}',
    '{"audience":"user","priority":"1"}',
}
CLASSES = {1: vars(acp.v1.schema), 2: vars(acp.v2.schema)}


def transcoded(row: Row, name: str) -> Any:
    """What the reference implementation would write; raises when the value is refused."""
    value = decode(row.version, name, row.text)
    full = encode(value, version=row.version, type_name=name)
    again = decode(row.version, name, full)
    assert encode(again, version=row.version, type_name=name) == full, "not stable"
    assert again == value, "not equal"
    return json.loads(encode(value, version=row.version, type_name=name, keep_defaults=False))


def fault_of(row: Row, verdict: str | None) -> str | None:
    """What is wrong about a row; None when it comes out as it should."""
    name = row.schema_type()
    if name is None:
        return "no such method" if row.accepted else None
    try:
        out = transcoded(row, name)
    except ValidationError as error:
        assert verdict == "refuse" or error.errors()
        accepted = row.accepted if verdict is None else verdict != "refuse"
        return f"refused: {error}" if accepted else None
    if verdict == "refuse":
        # Refused in a part that may be left out: the row differed from its label before.
        return None
    if verdict in {"accept", "written"}:
        return None
    if not row.accepted:
        return f"accepted: {out}"
    return None if same(out, json.loads(row.written or "")) else f"written as {out}"


def test_every_row_of_the_corpus_is_read_and_written_as_labelled_or_decided() -> None:
    decided = decisions()
    judged = 0
    faults: list[str] = []
    for row in rows():
        decision = next((one for one in decided if one.covers(row)), None)
        if decision and decision.verdict == "skip":
            decision.used += 1
            continue
        judged += 1
        fault = fault_of(row, None)
        if fault and decision:
            decision.used += 1
            fault = fault_of(row, decision.verdict)
        if fault:
            faults.append(f"{row}\n    {fault}")
    faults += [f"{one.name} covers no row" for one in decided if not one.used]
    assert not faults, "\n".join(faults[:50])
    assert judged > 12_000


def strictly_read(row: Row) -> tuple[type[BaseModel], Any] | None:
    """The class of the row's type and the object, when the type has a class that accepts it."""
    name = row.schema_type()
    cls = CLASSES[row.version].get(name or "")
    if name is None or not (isinstance(cls, type) and issubclass(cls, BaseModel)):
        return None
    try:
        value = decode(row.version, name, row.text)
        plain = json.loads(row.text)
    except (ValidationError, ValueError, RecursionError):
        return None
    # The compatibility profile's looser forms are a matter of their own.
    loose = row.text in LOOSE or value != decode(row.version, name, row.text, lax=True)
    # As a bare type, a struct keeps the discriminator of the union around it as any other member.
    bare = value.model_extra and cls.model_fields.keys() & value.model_extra.keys()
    return None if loose or bare or not isinstance(plain, dict) else (cls, value)


def from_json_text(cls: Any, text: str) -> Any:
    return cls.model_validate_json(text)


def from_dict(cls: Any, text: str) -> Any:
    return cls.model_validate(json.loads(text))


def from_keywords(cls: Any, text: str) -> Any:
    return cls(**json.loads(text))


def from_attribute_names(cls: Any, text: str) -> Any:
    members = json.loads(text)
    names = {info.alias or name: name for name, info in cls.model_fields.items()}
    return cls(**{names.get(key, key): value for key, value in members.items()})


@pytest.mark.parametrize("make", [from_json_text, from_dict, from_keywords, from_attribute_names])
def test_constructors_make_the_objects_that_the_decoder_makes(make: Callable[..., Any]) -> None:
    compared = 0
    faults: list[str] = []
    for row in rows():
        found = strictly_read(row)
        if found is None:
            continue
        cls, value = found
        compared += 1
        try:
            made = make(cls, row.text)
        except ValidationError as error:
            faults.append(f"{row}\n    refused: {error}")
            continue
        if made != value or made.model_fields_set != value.model_fields_set:
            faults.append(f"{row}\n    {made!r}\n    {value!r}")
    assert not faults, f"{len(faults)} differ:\n" + "\n".join(faults[:30])
    assert compared > 4_000
