"""The variables that a started process gets."""

from __future__ import annotations

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
    async with spawn(handlers, "/bin/sh", "-c", script, env={"A": "1"}) as (connection, process):
        assert connection is not None
    assert process.returncode is not None
    found = dict(line.split("=", 1) for line in printed.read_text().splitlines())
    assert set(found) == {*host, "PATH", "A"}


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
