"""Commands that cannot be started: the error names what was looked for, where, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acp
from tests.raw_peer import within
from tests.sides import Nothing, Silent


@pytest.mark.parametrize("command", ["no-such-agent-anywhere", "/no/such/agent", "./no/agent"])
async def test_the_error_for_a_command_that_is_not_there_names_it(command: str) -> None:
    """C44, C30."""
    with pytest.raises(FileNotFoundError) as caught:
        await within(acp.process_transport(command).open())
    assert command in str(caught.value)


async def test_a_file_that_cannot_be_run_is_an_error_that_names_it(tmp_path: Path) -> None:
    """C44, C30."""
    program = tmp_path / "agent"
    program.write_text("no program")
    with pytest.raises(PermissionError) as caught:
        await within(acp.process_transport(str(program)).open())
    assert str(program) in str(caught.value)


async def test_a_directory_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    """C44."""
    with pytest.raises(FileNotFoundError) as caught:
        await within(acp.process_transport("/usr/bin/env", cwd=tmp_path / "gone").open())
    assert str(tmp_path / "gone") in str(caught.value)


SECRET = "secret-9c1e"
WITHOUT = ["no-such-agent-anywhere", "a b", "npx.cmd"]


@pytest.mark.parametrize("command", WITHOUT)
@pytest.mark.parametrize("path", ["given", "inherited"])
async def test_the_error_names_the_path_that_was_searched(
    command: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C30: that of the process to be, and not always ours."""
    searched = f"{tmp_path}/one:{tmp_path}/other"
    env = {"PATH": searched} if path == "given" else {}
    if path == "inherited":
        monkeypatch.setenv("PATH", searched)
    with pytest.raises(FileNotFoundError) as caught:
        await within(acp.process_transport(command, env=env).open())
    assert command in str(caught.value)
    assert f"searched on PATH {searched}" in str(caught.value)
    assert caught.value.filename == command


async def test_a_command_that_names_its_directory_is_searched_on_no_path() -> None:
    """C30."""
    with pytest.raises(FileNotFoundError) as caught:
        await within(acp.process_transport("/no/such/agent").open())
    assert "PATH " not in str(caught.value)


@pytest.mark.parametrize("fault", ["no command", "no program", "no directory"])
async def test_the_error_lists_the_variables_that_were_passed_and_no_value(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C44."""
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    program = tmp_path / "agent"
    program.write_text("no program")
    command = {"no command": "no-such-agent", "no program": str(program), "no directory": "env"}
    options: dict[str, Any] = {"cwd": tmp_path / "gone"} if fault == "no directory" else {}
    modes: list[tuple[dict[str, Any], str]] = [
        ({"inherit": False, "env": {"B": SECRET, "A": SECRET}}, "variables passed: A, B)"),
        ({"inherit": False, "allow": ["*_API_KEY"]}, "variables passed: SOME_API_KEY)"),
        ({"inherit": False}, "variables passed: none)"),
        ({"allow": ["*_API_KEY"]}, ", SOME_API_KEY"),
        ({"inherit": True}, ", SOME_API_KEY"),
    ]
    for mode, listed in modes:
        transport = acp.process_transport(command[fault], SECRET, **options, **mode)
        with pytest.raises(OSError, match="variables passed") as caught:
            await within(transport.open())
        assert listed in str(caught.value)
        assert SECRET not in repr(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.asyncio_only
@pytest.mark.parametrize("role", ["agent", "client"])
async def test_both_ways_to_start_a_process_tell_why_it_could_not_be(role: str) -> None:
    """C30, C44."""
    spawn: Any = acp.spawn_agent_process if role == "agent" else acp.spawn_client_process
    handlers = Silent() if role == "agent" else Nothing()
    with pytest.raises(FileNotFoundError) as caught:
        async with spawn(handlers, "no-such-agent", env={"PATH": "/p", "A": SECRET}):
            raise AssertionError
    assert "searched on PATH /p; variables passed: A, HOME" in str(caught.value)
    assert SECRET not in str(caught.value)
