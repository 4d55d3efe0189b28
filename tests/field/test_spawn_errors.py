"""Commands that cannot be started: the error names what was looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import acp
from tests.raw_peer import within


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
