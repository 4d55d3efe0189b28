"""The variables that a started process gets."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import acp
from acp.transports import DEFAULT_INHERITED_ENV_VARS
from tests.raw_peer import within
from tests.sides import Nothing, Silent

SECRETS = ("ANTHROPIC_API_KEY", "VIRTUAL_ENV", "PYTHONPATH", "HTTPS_PROXY", "LD_PRELOAD_", "AWS_X")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables of the host: those that are inherited, and some that are not."""
    for name in set(os.environ) - {"PATH"}:
        monkeypatch.delenv(name)
    values = {name: f"/of/{name.lower()}" for name in ("HOME", "LOGNAME", "SHELL", "TERM", "USER")}
    for name, value in {**values, **dict.fromkeys(SECRETS, "of the host")}.items():
        monkeypatch.setenv(name, value)
    return values


async def variables(**options: Any) -> dict[str, str]:
    """What `env` prints when it is started with these options."""
    output = b""
    async with acp.process_transport("/usr/bin/env", **options) as transport:
        while part := await within(transport.receive()):
            output += part
    return dict(line.split("=", 1) for line in output.decode().splitlines())


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"A": "1"},
        {"HOME": "/mine", "EMPTY": ""},
        {"ANTHROPIC_API_KEY": "given", "WITH=IN": "x"},
    ],
)
async def test_a_process_gets_the_short_list_and_what_is_given(
    given: dict[str, str] | None, host: dict[str, str]
) -> None:
    """C44."""
    given = {name: value for name, value in (given or {}).items() if "=" not in name}
    found = await variables(env=given)
    path = found.pop("PATH")
    assert path
    assert found == {**host, **given}


async def test_without_a_word_a_process_gets_the_short_list(host: dict[str, str]) -> None:
    """C44: PATH is among it, the secrets of the host are not."""
    found = await variables()
    assert set(found) == {*host, "PATH"} == set(DEFAULT_INHERITED_ENV_VARS)


MODES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a pattern": ({"allow": ["*_API_KEY"]}, {"SHORT", "ANTHROPIC_API_KEY"}),
    "a name": ({"allow": ["HTTPS_PROXY"]}, {"SHORT", "HTTPS_PROXY"}),
    "several": (
        {"allow": ("VIRTUAL_*", "AWS_?", "HTTPS_PROX[A-Z]", "NO_SUCH")},
        {"SHORT", "VIRTUAL_ENV", "AWS_X", "HTTPS_PROXY"},
    ),
    "what is on the list anyway": ({"allow": ["PATH", "HOM*"]}, {"SHORT"}),
    "a part of a name": ({"allow": ["API_KEY", "anthropic_api_key"]}, {"SHORT"}),
    "no pattern": ({"allow": []}, {"SHORT"}),
    "a pattern and what is given": (
        {"allow": ["AWS_*"], "env": {"A": "1"}},
        {"SHORT", "AWS_X", "A"},
    ),
    "nothing": ({"inherit": False}, set()),
    "nothing but what is given": ({"inherit": False, "env": {"A": "1"}}, {"A"}),
    "nothing but a pattern": ({"inherit": False, "allow": ["AWS_*"]}, {"AWS_X"}),
    "everything": ({"inherit": True}, {"SHORT", *SECRETS}),
    "everything and what is given": (
        {"inherit": True, "env": {"A": "1"}},
        {"SHORT", *SECRETS, "A"},
    ),
}
"""Options, and the variables of the host, or given ones, that then are there."""


@pytest.mark.parametrize("mode", list(MODES))
async def test_what_is_inherited_is_a_choice(mode: str, host: dict[str, str]) -> None:
    """C44: the short list, names and patterns beside it, everything, nothing."""
    options, expected = MODES[mode]
    if "SHORT" in expected:
        expected = expected - {"SHORT"} | {*host, "PATH"}
    found = await variables(**options)
    # pytest's own is set while the test runs.
    assert found.keys() - {"PYTEST_CURRENT_TEST", "PYTEST_VERSION"} == expected
    assert all(found[name] == "of the host" for name in found.keys() & {*SECRETS})


async def test_what_is_given_wins_over_what_is_inherited(host: dict[str, str]) -> None:
    """C44."""
    given = {"AWS_X": "mine", "HOME": "/mine"}
    for options in ({"inherit": True}, {"allow": ["AWS_*"]}, {"inherit": False}):
        found = await variables(env=given, **options)
        assert {name: found[name] for name in given} == given


async def test_patterns_let_no_exported_function_through(
    host: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C44: a shell would run it. Who inherits everything inherits that."""
    monkeypatch.setenv("AWS_F", "() { :; }")
    assert "AWS_F" not in await variables(allow=["AWS_*"])
    assert "AWS_F" in await variables(inherit=True)


def test_one_string_is_no_list_of_patterns() -> None:
    """C44: each of its letters would be a pattern, and `*` everything."""
    with pytest.raises(TypeError, match=r"allow=\['\*_API_KEY'\]"):
        acp.process_transport("agent", allow="*_API_KEY")


def test_a_pattern_beside_everything_is_a_mistake() -> None:
    """C44."""
    with pytest.raises(ValueError, match="inherit=True"):
        acp.process_transport("agent", inherit=True, allow=["A"])


async def test_a_variable_that_the_host_lacks_is_left_out(
    host: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C44."""
    monkeypatch.delenv("TERM")
    assert set(await variables()) == {*host, "PATH"} - {"TERM"}


async def test_the_variables_of_now_count(
    host: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C44: not those of the time when the package was imported."""
    monkeypatch.setenv("USER", "another")
    assert (await variables())["USER"] == "another"


@pytest.mark.asyncio_only
@pytest.mark.parametrize("role", ["agent", "client"])
async def test_both_ways_to_start_a_process_have_the_same_rule(
    role: str, host: dict[str, str], tmp_path: Path
) -> None:
    """C44."""
    spawn: Any = acp.spawn_agent_process if role == "agent" else acp.spawn_client_process
    handlers = Silent() if role == "agent" else Nothing()
    printed = tmp_path / "env"
    script = f"/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ > {printed}; read line"
    modes: list[tuple[dict[str, Any], set[str]]] = [
        ({"env": {"A": "1"}}, {*host, "PATH", "A"}),
        ({"allow": ["*_API_KEY"]}, {*host, "PATH", "ANTHROPIC_API_KEY"}),
        ({"inherit": False, "env": {"A": "1"}}, {"A"}),
    ]
    for options, expected in modes:
        async with spawn(handlers, "/bin/sh", "-c", script, **options) as (connection, process):
            assert connection is not None
        assert process.returncode is not None
        found = dict(line.split("=", 1) for line in printed.read_text().splitlines())
        assert set(found) == expected


async def test_a_command_is_found_on_the_path_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C44, C30."""
    program = tmp_path / "some-agent"
    program.write_text(f"#!{sys.executable}\nprint('found', flush=True)\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    async with acp.process_transport("some-agent") as transport:
        assert await within(transport.receive()) == b"found\n"
