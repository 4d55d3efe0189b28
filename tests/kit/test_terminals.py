"""Commands that agents have run."""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio
import pytest

import acp
from acp import kit
from acp.v1 import schema
from tests.raw_peer import BOUND


def create(*command: str, session: str = "s", **members: Any) -> schema.CreateTerminalRequest:
    return schema.CreateTerminalRequest(
        session_id=session, command=command[0], args=list(command[1:]), **members
    )


def of(kind: Any, name: dict[str, str], session: str = "s") -> Any:
    return kind(session_id=session, terminal_id=name["terminalId"])


def python(code: str, **members: Any) -> schema.CreateTerminalRequest:
    return create(sys.executable, "-c", code, **members)


async def ended(terminals: kit.Terminals, name: dict[str, str]) -> Any:
    with anyio.fail_after(BOUND):
        return await terminals.wait_for_terminal_exit(of(schema.WaitForTerminalExitRequest, name))


async def output(terminals: kit.Terminals, name: dict[str, str]) -> Any:
    return await terminals.terminal_output(of(schema.TerminalOutputRequest, name))


async def test_a_command_runs_to_its_end() -> None:
    async with kit.Terminals() as terminals:
        name = await terminals.create_terminal(
            python("import sys; print('out'); sys.stdout.flush(); sys.exit(3)")
        )
        assert await ended(terminals, name) == {"exitCode": 3}
        assert await output(terminals, name) == {
            "output": "out\n",
            "truncated": False,
            "exitStatus": {"exitCode": 3},
        }


async def test_variables_and_folder_reach_the_command(tmp_path: Any) -> None:
    code = "import os; print(os.environ['A'], os.environ['B'], os.getcwd())"
    async with kit.Terminals(env={"A": "1", "B": "1"}) as terminals:
        variables = [schema.EnvVariable(name="B", value="2")]
        name = await terminals.create_terminal(python(code, env=variables, cwd=str(tmp_path)))
        await ended(terminals, name)
        assert (await output(terminals, name))["output"] == f"1 2 {tmp_path}\n"


@pytest.mark.parametrize("limit", [4, 5, 6, 7])
async def test_of_long_output_the_end_is_kept_in_whole_characters(limit: int) -> None:
    code = "import sys; sys.stdout.buffer.write('a€b€'.encode() * 100)"
    async with kit.Terminals() as terminals:
        name = await terminals.create_terminal(python(code, output_byte_limit=limit))
        await ended(terminals, name)
        found = await output(terminals, name)
        assert found["truncated"]
        assert "�" not in found["output"]
        assert ("a€b€" * 100).endswith(found["output"])
        assert limit - 3 < len(found["output"].encode()) <= limit


async def test_a_killed_command_tells_its_signal_and_keeps_its_output() -> None:
    code = "import time; print('here', flush=True); time.sleep(600)"
    async with kit.Terminals() as terminals:
        name = await terminals.create_terminal(python(code))
        with anyio.fail_after(BOUND):
            while "here\n" not in (await output(terminals, name))["output"]:
                await anyio.sleep(0.01)
        await terminals.kill_terminal(of(schema.KillTerminalRequest, name))
        assert await ended(terminals, name) == {"signal": "SIGKILL"}
        assert (await output(terminals, name))["output"] == "here\n"


async def test_nothing_that_a_command_started_is_left_behind() -> None:
    code = (
        "import subprocess, sys; "
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"
    )
    async with kit.Terminals() as terminals:
        name = await terminals.create_terminal(python(code))
        assert await ended(terminals, name) == {"exitCode": 0}
        child = int((await output(terminals, name))["output"])
        os.kill(child, 0)
    with anyio.fail_after(BOUND):
        while is_alive(child):
            await anyio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_released_terminal_is_unknown_and_so_is_that_of_another_session() -> None:
    async with kit.Terminals() as terminals:
        name = await terminals.create_terminal(python("import time; time.sleep(600)"))
        with pytest.raises(acp.RequestError):
            await terminals.kill_terminal(of(schema.KillTerminalRequest, name, "other"))
        await terminals.release_terminal(of(schema.ReleaseTerminalRequest, name))
        with pytest.raises(acp.RequestError) as caught:
            await output(terminals, name)
        assert caught.value.code == -32002


async def test_commands_that_cannot_start_and_too_many_are_refused() -> None:
    async with kit.Terminals(max_terminals=1) as terminals:
        for command in ("/no/such/command", "bad\0name"):
            with pytest.raises(acp.RequestError) as caught:
                await terminals.create_terminal(create(command))
            assert caught.value.code == -32603
            assert command not in caught.value.message
        name = await terminals.create_terminal(python(""))
        with pytest.raises(acp.RequestError):
            await terminals.create_terminal(python(""))
        await terminals.release_terminal(of(schema.ReleaseTerminalRequest, name))
        await terminals.create_terminal(python(""))
