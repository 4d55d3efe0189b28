"""The calls that programs written for the official SDK make, against the signatures here.

Owns the comparison with `tests/data/official_calls.toml`, which has the facts.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acp
from tests.field.wires import wired
from tests.raw_peer import within
from tests.sides import Silent
from tools import tomls

CALLS: dict[str, str] = tomls.read(
    Path(__file__).resolve().parent.parent / "data" / "official_calls.toml"
)


def found(path: str) -> Any:
    module, _, name = path.partition(":")
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = inspect.getattr_static(value, part)
    return getattr(value, "__func__", value)


def official(text: str) -> inspect.Signature:
    """The signature of a function that is written so."""
    names: dict[str, Any] = {"UNSET": acp.UNSET}
    exec(f"def call({text}): ...", names)
    return inspect.signature(names["call"])


def parts(signature: inspect.Signature, kinds: set[Any]) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values() if p.kind in kinds]


@pytest.mark.parametrize("path", list(CALLS))
def test_what_can_be_called_can_be_called_in_the_same_way(path: str) -> None:
    """C28: names, order and defaults; what is added behind them has a default."""
    asked, has = official(CALLS[path]), inspect.signature(found(path))
    positional = {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    before = parts(asked, positional)
    ours = parts(has, positional)
    assert ours[: len(before)] == before
    named = {name: default for name, _, default in parts(asked, {inspect.Parameter.KEYWORD_ONLY})}
    keywords = {name: default for name, _, default in parts(has, {inspect.Parameter.KEYWORD_ONLY})}
    assert named.items() <= keywords.items()
    rest = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert parts(asked, rest) == parts(has, rest)
    new = [*ours[len(before) :], *((n, None, d) for n, d in keywords.items() if n not in named)]
    assert all(default is not inspect.Parameter.empty for *_, default in new)


CALLED: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "load_session": ("client", ("/w", "s", []), {"cwd": "/w", "sessionId": "s", "mcpServers": []}),
    "new_session": ("client", ("/w", ["/x"]), {"cwd": "/w", "additionalDirectories": ["/x"]}),
    "resume_session": ("client", ("s", "/w"), {"sessionId": "s", "cwd": "/w"}),
    "fork_session": ("client", ("s", "/w"), {"sessionId": "s", "cwd": "/w"}),
    "set_session_mode": ("client", ("s", "m"), {"sessionId": "s", "modeId": "m"}),
    "set_config_option": (
        "client",
        ("o", "s", "v"),
        {"configId": "o", "sessionId": "s", "value": "v"},
    ),
    "list_sessions": ("client", ("/w", "c"), {"cwd": "/w", "cursor": "c"}),
    "request_permission": (
        "agent",
        ("s", acp.schema.ToolCallUpdate(tool_call_id="t"), []),
        {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []},
    ),
    "read_text_file": (
        "agent",
        ("s", "/f", 3, 9),
        {"sessionId": "s", "path": "/f", "line": 3, "limit": 9},
    ),
    "write_text_file": (
        "agent",
        ("s", "/f", "c"),
        {"sessionId": "s", "path": "/f", "content": "c"},
    ),
    "create_terminal": (
        "agent",
        ("s", "sh", ["-c"], [], "/w", 5),
        {
            "sessionId": "s",
            "command": "sh",
            "args": ["-c"],
            "env": [],
            "cwd": "/w",
            "outputByteLimit": 5,
        },
    ),
    "terminal_output": ("agent", ("s", "t"), {"sessionId": "s", "terminalId": "t"}),
    "kill_terminal": ("agent", ("s", "t"), {"sessionId": "s", "terminalId": "t"}),
}


@pytest.mark.parametrize("name", list(CALLED))
async def test_arguments_without_names_mean_what_they_did(name: str) -> None:
    """C28: nothing has changed places."""
    side, arguments, sent = CALLED[name]
    async with wired(side, Silent()) as (connection, peer):
        calling = peer.start(getattr(connection, name)(*arguments))
        request = await peer.receive()
        params = request["params"]
        assert {key: params[key] for key in sent} == sent
        assert set(params) - set(sent) <= {"mcpServers", "env", "args"}
        await peer.send({"id": request["id"], "error": {"code": -1, "message": "enough"}})
        with pytest.raises(acp.RequestError):
            await within(calling)


NOT_HERE = ("acp.http", "acp.ws")
"""Packages of the official SDK that are not here yet, and say so when they are imported."""


def modules() -> list[str]:
    package = list(pkgutil.walk_packages(acp.__path__, "acp."))
    ours = (each.name for each in package if not each.name.startswith(NOT_HERE))
    return sorted(name for name in ours if not name.endswith("__main__"))


def in_a_program_of_its_own(code: str) -> None:
    """Runs code, which gets the names of all modules, and may import what tests here must not."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "acp", *modules()],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_module_warns_when_it_is_imported() -> None:
    """C28: programs run with warnings as errors."""
    in_a_program_of_its_own(
        "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    )


def test_every_name_of_a_star_import_is_there() -> None:
    """C28: `__all__` promises nothing that is missing."""
    in_a_program_of_its_own(
        "import importlib, sys, warnings\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "for name in sys.argv[1:]:\n"
        "    module = importlib.import_module(name)\n"
        "    for each in getattr(module, '__all__', ()):\n"
        "        if not hasattr(module, each): print(name, each)"
    )
