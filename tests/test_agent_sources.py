"""How people write down which agent to start: text, list, JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

import acp
from acp.client.connection import ClientSideConnection
from acp.transports import agent_source, agent_transport
from tests.raw_peer import serving, within
from tests.sides import Silent

if TYPE_CHECKING:
    from collections.abc import Sequence

SECRET = "secret-2f7c"

FORMS: dict[str, tuple[str | Sequence[str], tuple[str, tuple[str, ...], dict[str, str]]]] = {
    "one word": ("agent", ("agent", (), {})),
    "words": ("agent --acp  -v", ("agent", ("--acp", "-v"), {})),
    "white space around": ("\n agent \t", ("agent", (), {})),
    "quotes": ("'my agent' \"a b\" c\\ d ''", ("my agent", ("a b", "c d", ""), {})),
    "nothing is expanded": ("agent $HOME *.py ~ `x`", ("agent", ("$HOME", "*.py", "~", "`x`"), {})),
    "no comments": ("agent # x", ("agent", ("#", "x"), {})),
    "variables": ("A=1 _B='x y' agent C=3", ("agent", ("C=3",), {"A": "1", "_B": "x y"})),
    "a variable twice": ("A=1 A=2 agent", ("agent", (), {"A": "2"})),
    "an empty value": ("A= agent", ("agent", (), {"A": ""})),
    "a value with =": ("A=b=c agent", ("agent", (), {"A": "b=c"})),
    "no name before =": ("1A=2 x", ("1A=2", ("x",), {})),
    "list": (["agent", "a b", ""], ("agent", ("a b", ""), {})),
    "list with variables": (["A=1 2", "agent", "B=1"], ("agent", ("B=1",), {"A": "1 2"})),
    "tuple": (("agent",), ("agent", (), {})),
    "a list is not split": (["my agent {"], ("my agent {", (), {})),
    "JSON": ('{"command": "agent"}', ("agent", (), {})),
    "JSON with all": (
        ' {"command": "my agent", "args": ["a", "b c"], "env": {"A": "1", "x y": ""}}',
        ("my agent", ("a", "b c"), {"A": "1", "x y": ""}),
    ),
    "JSON with more": ('{"type": "custom", "command": "agent", "icon": 1}', ("agent", (), {})),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_a_source_names_a_command_its_arguments_and_variables(form: str) -> None:
    """C-143."""
    source, expected = FORMS[form]
    assert agent_source(source) == expected


NONE: dict[str, Any] = {
    "empty": "",
    "white space": " \n\t",
    "an empty word": "''",
    "white space as a word": "' '",
    "an empty list": [],
    "an empty word in a list": [""],
    "variables alone": f"A={SECRET} B=2",
    "variables alone in a list": [f"A={SECRET}"],
    "a quote without end": f"agent '{SECRET}",
    "a backslash at the end": f"agent {SECRET} \\",
    "JSON without a command": json.dumps({"args": [SECRET]}),
    "JSON with an empty command": json.dumps({"command": "", "env": {"A": SECRET}}),
    "JSON that has no end": f'{{"command": "{SECRET}"',
    "JSON that goes on": f'{{"command": "a"}} {SECRET}',
    "JSON that is nested deeply": '{"command": ' + "[" * 100_000,
    "a command that is no string": json.dumps({"command": [SECRET]}),
    "args that are no list": json.dumps({"command": "a", "args": SECRET}),
    "args that are no strings": json.dumps({"command": "a", "args": [SECRET, 1]}),
    "an env that is no object": json.dumps({"command": "a", "env": [SECRET]}),
    "an env of no strings": json.dumps({"command": "a", "env": {"A": {SECRET: 1}}}),
    "a list of no strings": [SECRET, 1],
}


@pytest.mark.parametrize("form", list(NONE))
def test_what_names_no_command_is_refused_without_showing_it(form: str) -> None:
    """C-143."""
    for read in (agent_source, agent_transport):
        with pytest.raises(ValueError, match=r"agent|command") as caught:
            read(NONE[form])
        assert SECRET not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


AGENT = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    told = {name: os.environ.get(name) for name in ("FROM_SOURCE", "FROM_BOTH", "FROM_OPTION")}
    result = {"protocolVersion": 1, "_meta": {"env": told, "args": sys.argv[1:]}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


async def told(source: str | Sequence[str]) -> Any:
    env = {"FROM_BOTH": "option", "FROM_OPTION": "option"}
    transport = agent_transport(source, env=env)
    async with serving(ClientSideConnection, Silent(), transport) as (client, _):
        answer = await within(client.initialize(protocol_version=acp.PROTOCOL_VERSION))
    return answer.field_meta


async def test_the_agent_of_a_source_is_started_with_its_arguments_and_variables() -> None:
    """C-143: variables that are given besides win."""
    variables = {"FROM_SOURCE": "source", "FROM_BOTH": "source"}
    arguments = ["-c", AGENT, "a b"]
    as_json = json.dumps({"command": sys.executable, "args": arguments, "env": variables})
    as_list = [*(f"{name}={value}" for name, value in variables.items()), sys.executable]
    for source in (as_json, [*as_list, *arguments]):
        assert await told(source) == {
            "env": {"FROM_SOURCE": "source", "FROM_BOTH": "option", "FROM_OPTION": "option"},
            "args": ["a b"],
        }
