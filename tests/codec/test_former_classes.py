"""Classes that only former releases have are loaded when one is asked for, however that is done."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest

import acp.schema
import acp.v1.schema
from acp._schema.v1 import former
from tests.test_exports import modules_after

LATE = "acp._schema.v1.former"


def printed(program: str) -> str:
    """What a program prints in a process of its own, which has loaded none of them before."""
    guarded = f"import sys, acp.schema as schema\nassert {LATE!r} not in sys.modules\n{program}"
    command = [sys.executable, "-c", guarded]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["acp.schema", "acp.v1.schema"])
def test_importing_the_schema_loads_none_of_them(module: str) -> None:
    assert LATE not in modules_after(f"import {module}; dir({module})")
    assert LATE not in modules_after(f"from {module} import TextContentBlock")
    assert LATE not in modules_after(f"import {module}; hasattr({module}, 'NotThere')")


def test_reading_and_writing_messages_loads_none_of_them() -> None:
    program = (
        "from acp import _core, schema\n"
        "agent, client = _core.Connection('agent'), _core.Connection('client')\n"
        "client.request('initialize', schema.InitializeRequest(protocol_version=1))\n"
        "[event] = agent.receive(client.take_output())\n"
        "assert event.params().protocol_version == 1"
    )
    assert LATE not in modules_after(program)


def test_each_of_them_is_a_public_name_as_the_others_are() -> None:
    assert {*former.__all__} <= {*acp.schema.__all__} <= {*dir(acp.schema)}
    for name in former.__all__:
        assert getattr(acp.schema, name) is getattr(acp.v1.schema, name) is getattr(former, name)


@pytest.mark.parametrize(
    "program",
    [
        "from acp.schema import Position as P; print(P(line=1, character=2))",
        "print(schema.Position(line=1, character=2))",
        "from acp.schema import *; print(Position(line=1, character=2))",
        "print(getattr(schema, 'Position').model_validate({'line': 1, 'character': 2}))",
        "import inspect; print(dict(inspect.getmembers(schema))['Position'](line=1, character=2))",
        "import acp._core as c; print(c.decode(1, 'Position', '{\"line\": 1, \"character\": 2}'))",
    ],
    ids=["from", "attribute", "star", "getattr", "getmembers", "by-name"],
)
def test_the_first_use_finds_the_class(program: str) -> None:
    assert printed(program) == "line=1 character=2 field_meta=None"


def test_an_object_is_read_from_a_pickle_by_a_program_that_has_not_named_its_class() -> None:
    value = former.NesJumpSuggestionVariant(
        id="n", uri="file:///a", position=former.Position(line=1, character=2)
    )
    text = pickle.dumps(value).hex()
    program = f"import pickle; print(repr(pickle.loads(bytes.fromhex({text!r}))))"
    assert printed(program) == repr(value)


def test_an_object_inside_another_is_decoded_and_stays_the_object_that_it_is() -> None:
    program = (
        "import acp._core as c\n"
        'found = c.decode(1, \'NesSuggestion\', \'{"kind":"jump","id":"n","uri":"u",\'\n'
        '    \'"position":{"line":1,"character":2}}\')\n'
        "response = schema.SuggestNesResponse(suggestions=[found])\n"
        "assert response.suggestions[0] is found\n"
        "print(response.model_dump_json(exclude_none=True))"
    )
    assert json.loads(printed(program))["suggestions"] == [
        {"kind": "jump", "id": "n", "uri": "u", "position": {"line": 1, "character": 2}}
    ]


def test_a_variable_is_secret_unless_it_is_said_not_to_be() -> None:
    assert former.AuthEnvVar(name="KEY").secret is True
    shown = former.AuthEnvVar.model_validate({"name": "KEY", "secret": False})
    assert shown.secret is False
    assert json.loads(shown.model_dump_json(exclude_defaults=True)) == {
        "name": "KEY",
        "secret": False,
    }


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'acp\.schema' has no attribute 'NotThere'"):
        acp.schema.NotThere  # type: ignore[attr-defined]  # noqa: B018
