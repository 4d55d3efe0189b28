"""Agents that were started and say nothing: the wait for their first bytes has an end if wanted."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp.client.connection import ClientSideConnection
from tests.field.children import ANSWERING, lifeline, python
from tests.raw_peer import beside, serving, within
from tests.rest import Tasks, look, rested
from tests.sides import Nothing, Silent, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

QUICK = 0.25
"""Seconds that an agent gets here for its first bytes."""
UP = "os.write(2, b'up\\n')\n"
"""What each says when it runs, so that the time of an interpreter's start is not counted."""


@asynccontextmanager
async def started(program: str, **options: Any) -> AsyncGenerator[tuple[Any, Any, Any], None]:
    """A client of an agent that runs, with the transport and, on trio, the group of tasks."""
    lines: list[str] = []
    options = {"start_timeout": QUICK, "shutdown_timeout": 0.1, **options}
    transport = python(UP + program, on_stderr=lines.append, **options)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, group):
        await until(lambda: bool(lines))
        yield agent, transport, group


SILENT = {
    "reads": "for line in sys.stdin: pass",
    "does not read": "while True: time.sleep(600)",
    "does not end": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(600)",
}


@pytest.mark.parametrize("silent", list(SILENT))
async def test_an_agent_that_says_nothing_ends_the_connection_in_time(
    silent: str, tmp_path: Path
) -> None:
    """C43: with its last words and what to do about it; no process is left."""
    with lifeline(tmp_path) as alive:
        hold = f"held = open({str(alive.path)!r}, 'w'); held.write('1\\n'); held.flush()\n"
        async with (
            started(hold + SILENT[silent]) as (agent, _, group),
            anyio.create_task_group() as tasks,
        ):
            await alive.held_by(1)
            calls = [beside(group or tasks, agent.initialize(1)) for _ in range(3)]
            for call in calls:
                with pytest.raises(acp.ConnectionClosed) as caught:
                    await within(call)
                error = caught.value
                assert f"written nothing within {QUICK} s of the first message" in str(error)
                assert (error.stderr_tail, error.exit_code) == ("up\n", None)
                assert isinstance(error.__cause__, anyio.BrokenResourceError)
                assert isinstance(error.__cause__.__cause__, TimeoutError)
            with pytest.raises(acp.ConnectionClosed, match="start_timeout"):
                await within(agent.new_session("/"))
        await alive.ended()


async def test_an_agent_that_nobody_has_asked_owes_nothing() -> None:
    """C43: the time begins with the first message to it."""
    async with started("serve()") as (agent, _, _):
        await anyio.sleep(2 * QUICK)
        assert (await within(agent.initialize(1))).protocol_version == 1


BEGIN = "r = next(requests())\n"
LATER = f"time.sleep({2 * QUICK})\n"
FIRST_WORDS = {
    "noise": BEGIN + "print('Loaded.', flush=True)\n" + LATER + "answer(r, protocolVersion=1)\n",
    "a part of a line": BEGIN
    + "os.write(1, b'[tool] ')\n"
    + LATER
    + "os.write(1, b'...\\n')\nanswer(r, protocolVersion=1)\n",
    "an update": BEGIN + "update('x')\n" + LATER + "answer(r, protocolVersion=1)\n",
    "an answer": BEGIN
    + "answer(r, protocolVersion=1)\n"
    + BEGIN
    + LATER
    + "answer(r, sessionId='s')\n",
}


@pytest.mark.parametrize("words", list(FIRST_WORDS))
async def test_whatever_it_writes_first_ends_the_wait(words: str) -> None:
    """C43: from then on an agent may be silent for any time."""
    async with started(FIRST_WORDS[words] + "serve()") as (agent, _, _):
        assert (await within(agent.initialize(1))).protocol_version == 1
        assert (await within(agent.new_session("/"))).session_id == "s"


async def test_an_agent_that_dies_before_its_time_is_over_is_told_apart() -> None:
    """C43, C06."""
    async with started(BEGIN + "os._exit(3)", start_timeout=30) as (agent, _, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
    assert caught.value.exit_code == 3
    assert "start_timeout" not in str(caught.value)


@pytest.mark.asyncio_only
async def test_no_task_is_made_for_it_and_it_ends_though_all_is_quiet() -> None:
    """C43: where all tasks but one would end, the one that waits stays, with its time."""

    async def waiting(**options: Any) -> tuple[list[str], bool]:
        tasks = Tasks()
        async with started(SILENT["reads"], **options) as (agent, _, _):
            calling = beside(None, agent.initialize(1))
            await until(lambda: agent.stats().calls == 1)
            names, rests = tasks.names, look(agent)
            if rests:
                await within(agent.close())
            with pytest.raises(
                acp.ConnectionClosed, match="open a new" if rests else "start_timeout"
            ):
                await within(calling)
        return names, rests

    without, rests_without = await waiting(start_timeout=None)
    names, rests = await waiting()
    assert len(names) == len(without)
    assert (rests_without, rests) == (True, False)


@pytest.mark.asyncio_only
async def test_a_connection_rests_once_its_agent_has_spoken() -> None:
    """C43."""
    async with started("serve()") as (agent, _, _):
        await within(agent.initialize(1))
        await rested(agent)
        assert (await within(agent.new_session("/"))).session_id == "s"
        await rested(agent)


async def test_who_moves_the_bytes_alone_sees_it_too() -> None:
    """C43: also after a wait that was given up."""
    async with python("time.sleep(600)", start_timeout=QUICK, shutdown_timeout=0.1) as transport:
        await within(transport.send(b"{}\n"))
        with anyio.move_on_after(0.01):
            await transport.receive()
        for _ in range(2):
            with pytest.raises(anyio.BrokenResourceError):
                await within(transport.receive())
        assert "start_timeout" in str(transport.closed_error())


@pytest.mark.asyncio_only
@pytest.mark.parametrize("role", ["agent", "client"])
async def test_both_ways_to_start_a_process_have_the_option(role: str) -> None:
    """C43."""
    spawn: Any = acp.spawn_agent_process if role == "agent" else acp.spawn_client_process
    handlers = Silent() if role == "agent" else Nothing()
    command = (sys.executable, "-I", "-S", "-c", ANSWERING + "for line in sys.stdin: pass")
    async with spawn(handlers, *command, start_timeout=QUICK) as (connection, process):
        with pytest.raises(acp.ConnectionClosed, match="start_timeout"):
            await within(connection.request("_x/first"))
    assert process.returncode == 0
