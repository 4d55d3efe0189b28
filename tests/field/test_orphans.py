"""Processes whose parent, the agent that was started, is gone before the connection is closed."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import pytest

import acp
from acp._transports.group import ExitNotice
from acp.client.connection import ClientSideConnection
from tests.field.children import lifeline, python
from tests.field.test_process_trees import HOLD, START_ONE
from tests.raw_peer import serving, within
from tests.sides import Silent


@pytest.mark.parametrize("pipes", ["stdin=-3, stdout=-3, stderr=-3", "stdin=-3, stdout=-3"])
async def test_what_a_wrapper_started_is_gone_though_the_wrapper_went_first(
    pipes: str, tmp_path: Path
) -> None:
    """C11: the wrapper has exited, and was reaped, before the connection is closed."""
    with lifeline(tmp_path) as alive:
        hold = HOLD.format(path=str(alive.path))
        start = START_ONE.format(above="", hold=hold, options=pipes)
        transport = python(start + "for r in requests():\n    answer(r)\n    os._exit(0)")
        async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
            await alive.held_by(1)
            await within(agent.ext_method("x", {}))
            with pytest.raises(acp.ConnectionClosed) as caught:
                await within(agent.ext_method("x", {}))
            assert caught.value.exit_code == 0
        await alive.ended()


async def test_the_end_of_the_agent_is_noticed_though_another_process_has_its_output(
    tmp_path: Path,
) -> None:
    """C43: the pipe never ends, the process has."""
    with lifeline(tmp_path) as alive:
        hold = HOLD.format(path=str(alive.path))
        start = START_ONE.format(above="", hold=hold, options="")
        program = start + "next(requests())\nsys.stderr.write('fatal')\nsys.stderr.flush()\n"
        transport = python(program + "os._exit(3)", shutdown_timeout=0.15)
        async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
            await alive.held_by(1)
            started = time.monotonic()
            with pytest.raises(acp.ConnectionClosed) as caught:
                await within(agent.initialize(1))
            assert (caught.value.exit_code, caught.value.stderr_tail) == (3, "fatal")
            assert time.monotonic() - started < 2
        await alive.ended()


async def test_a_process_that_is_gone_before_it_is_watched_is_told_of_at_once() -> None:
    """C43: there is nothing left that could tell of it later."""
    done = await within(anyio.run_process(["/bin/sh", "-c", "echo $$"]))
    told: list[str] = []
    notice = ExitNotice(int(done.stdout), lambda: told.append("exit"))
    assert told == ["exit"]
    notice.close()
