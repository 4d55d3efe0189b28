"""Classes that the official SDK knows by two names, or that only it has."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import acp.schema as schema
import acp.v1.schema as v1
from acp import ValidationError
from acp._core import decode, encode
from codegen.facts import load_toml

FORMER = load_toml("former.toml")["types"]
HINT = {"hint": "h"}


@pytest.mark.parametrize(
    "made",
    [
        schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint="h")),
        schema.AvailableCommandInput(HINT),
        schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint="h")),
        schema.AvailableCommandInput(root=HINT),
        schema.AvailableCommandInput(hint="h"),
        schema.AvailableCommandInput.model_validate(HINT),
        schema.AvailableCommandInput.model_validate_json('{"hint":"h"}'),
    ],
)
def test_an_outer_class_is_made_of_its_root_or_of_its_members(made: Any) -> None:
    assert isinstance(made, schema.UnstructuredCommandInput)
    assert made.root is made
    assert (made.root.hint, made.model_dump(exclude_none=True)) == ("h", HINT)
    command = schema.AvailableCommand(name="n", description="d", input=made)
    assert command.input is made
    assert encode(command) == b'{"name":"n","description":"d","input":{"hint":"h"}}'


@pytest.mark.parametrize("given", [5, "h", [], {}, {"hint": 5}, None])
def test_what_is_no_root_is_refused(given: Any) -> None:
    for make in (
        lambda: schema.AvailableCommandInput(given),
        lambda: schema.AvailableCommandInput(root=given),
    ):
        with pytest.raises(ValidationError):
            make()


def test_other_classes_take_no_argument_by_position() -> None:
    make: Any = schema.TextContentBlock
    with pytest.raises(TypeError):
        make("t")
    with pytest.raises(TypeError):
        schema.AvailableCommandInput(HINT, HINT)  # type: ignore[call-arg]


def test_every_class_that_only_the_official_sdk_has_is_there() -> None:
    for name, fact in FORMER.items():
        found = getattr(schema, name)
        if fact["k"] == "rec":
            assert issubclass(found, schema.BaseModel), name
            wires = [field[0] for field in fact["f"]]
            known = {info.alias or field for field, info in found.model_fields.items()}
            assert set(wires) <= known, name
        else:
            assert len(get_args(found)) >= 2, name


def test_such_a_class_is_made_read_and_written_as_any_other() -> None:
    made = v1.SuggestNesResponse(
        suggestions=[
            {"kind": "jump", "id": "i", "uri": "u", "position": {"line": 1, "character": 2}},
            v1.NesEditSuggestionVariant(id="i", uri="u", edits=[]),
        ]
    )
    assert type(made.suggestions[0]) is v1.NesJumpSuggestionVariant
    assert decode(1, "SuggestNesResponse", encode(made)) == made
    method = v1.EnvVarAuthMethod(id="i", name="n", vars=[{"name": "KEY"}])
    assert encode(method).startswith(b'{"type":"env_var",')
    assert v1.EnvVarAuthMethod.model_validate_json(encode(method)) == method
    with pytest.raises(ValidationError):
        v1.EnvVarAuthMethod(id="i", name="n", vars=[], type="agent")  # type: ignore[arg-type]
    mode = v1.ElicitationFormSessionMode(
        session_id="s", requested_schema={"type": "object", "properties": {}}
    )
    assert isinstance(mode, schema.ElicitationMode)
    assert not isinstance(mode, schema.ElicitationUrlMode)
