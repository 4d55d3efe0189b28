"""Processes that do not end by themselves, and those that they started."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

import acp
from acp.client.connection import ClientSideConnection
from tests.field.children import ANSWERING, lifeline, python
from tests.raw_peer import BOUND, serving, within
from tests.sides import Nothing, Silent

HOLD = "held = open({path!r}, 'w'); held.write(str(os.getpid()) + '\\n'); held.flush()\n"
"""Python that holds the lifeline."""
START_ONE = """
below = subprocess.Popen(
    [sys.executable, "-I", "-S", "-c", "import os, signal, time\\n" + {above!r} + {hold!r}
     + "\\nwhile True: time.sleep(600)"],
    {options}
)
"""
"""Python that starts a process which holds the lifeline, too."""
IGNORE_TERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"

CHILDREN = {
    "ends with its input": "serve()",
    "goes on behind the end of its input": "serve()\nwhile True: time.sleep(600)",
    "ignores its input": "while True: time.sleep(600)",
    "ignores being terminated": IGNORE_TERM + "serve()\nwhile True: time.sleep(600)",
    "has closed its input": "os.close(0)\nwhile True: time.sleep(600)",
}
GRANDCHILDREN = {
    "without pipes": ("", "stdin=-3, stdout=-3, stderr=-3"),
    "with all pipes": ("", ""),
    "with all pipes, ignoring being terminated": (IGNORE_TERM, ""),
    "with its output, inherited": ("", "stdin=-3, close_fds=False"),
}


def holding(path: Path, child: str) -> str:
    return HOLD.format(path=str(path)) + child


@pytest.mark.parametrize("child", list(CHILDREN))
async def test_no_child_is_left_behind_a_connection_whatever_it_ignores(
    child: str, tmp_path: Path
) -> None:
    """C11."""
    with lifeline(tmp_path) as alive:
        transport = python(holding(alive.path, CHILDREN[child]), shutdown_timeout=0.15)
        async with serving(ClientSideConnection, Silent(), transport):
            await alive.held_by(1)
        await alive.ended()
    ended = {"ends with its input": 0, "ignores being terminated": -signal.SIGKILL}
    assert transport.process.returncode == ended.get(child, -signal.SIGTERM)


@pytest.mark.parametrize("child", ["ends with its input", "ignores being terminated"])
@pytest.mark.parametrize("grandchild", list(GRANDCHILDREN))
async def test_no_grandchild_is_left_behind_a_connection_whatever_it_ignores(
    child: str, grandchild: str, tmp_path: Path
) -> None:
    """C11: also one that has the pipes of the child, which then never end by themselves."""
    with lifeline(tmp_path) as alive:
        above, options = GRANDCHILDREN[grandchild]
        hold = HOLD.format(path=str(alive.path))
        start = START_ONE.format(above=above, hold=hold, options=options)
        program = holding(alive.path, start + CHILDREN[child])
        transport = python(program, shutdown_timeout=0.15)
        async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
            child_pid, below = await alive.held_by(2)
            assert child_pid != below
            await within(agent.initialize(1))
        await alive.ended()
    assert transport.process.returncode is not None


async def test_a_shell_around_the_agent_takes_everything_below_it_along(tmp_path: Path) -> None:
    """C11: the wrapper of a wrapper."""
    with lifeline(tmp_path) as alive:
        script = f"exec 9> {alive.path}; echo $$ >&9; (sh -c 'sleep 300 & wait' & wait) & wait"
        transport = acp.process_transport("bash", "-c", script, shutdown_timeout=0.15)
        async with serving(ClientSideConnection, Silent(), transport):
            await alive.held_by(1)
        await alive.ended()


async def test_an_agent_has_its_time_behind_the_end_of_its_input(tmp_path: Path) -> None:
    """C11: it is not terminated while it saves what it has."""
    saved = tmp_path / "saved"
    program = f"serve()\ntime.sleep(0.3)\nopen({str(saved)!r}, 'w').write('all')"
    transport = python(program)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        await within(agent.initialize(1))
    assert (transport.process.returncode, saved.read_text()) == (0, "all")


@pytest.mark.asyncio_only
@pytest.mark.parametrize("role", ["agent", "client"])
@pytest.mark.parametrize("end", ["normal", "raised", "cancelled", "closed before"])
async def test_the_process_tree_is_gone_however_the_body_ends(
    role: str, end: str, tmp_path: Path
) -> None:
    """C11."""
    spawn: Any = acp.spawn_agent_process if role == "agent" else acp.spawn_client_process
    handlers = Silent() if role == "agent" else Nothing()
    with lifeline(tmp_path) as alive:
        hold = HOLD.format(path=str(alive.path))
        start = START_ONE.format(above="", hold=hold, options="")
        program = ANSWERING + hold + start + "serve()\nwhile True: time.sleep(600)"
        process: Any = None

        async def use() -> None:
            nonlocal process
            options = {"shutdown_timeout": 0.15}
            command = (sys.executable, "-I", "-S", "-c", program)
            async with spawn(handlers, *command, transport_kwargs=options) as spawned:
                connection, process = spawned
                await alive.held_by(2)
                if end == "raised":
                    raise KeyError("mine")
                if end == "cancelled":
                    scope.cancel()
                    await anyio.sleep_forever()
                if end == "closed before":
                    await within(connection.close())

        scope = anyio.CancelScope(deadline=anyio.current_time() + BOUND)
        with scope:
            if end == "raised":
                with pytest.raises(KeyError, match="mine"):
                    await use()
            else:
                await use()
        assert scope.cancelled_caught is (end == "cancelled")
        await alive.ended()
        assert process.returncode is not None


async def test_closing_is_bounded_also_while_a_grandchild_writes_on_all_pipes(
    tmp_path: Path,
) -> None:
    """C11, C16: noise that never stops on the pipes does not keep the host."""
    with lifeline(tmp_path) as alive:
        hold = HOLD.format(path=str(alive.path))
        flood = "\nwhile True: os.write(1, b'noise\\n' * 99); os.write(2, b'noise\\n' * 99)\n"
        start = START_ONE.format(above="", hold=hold + flood, options="stdin=-3")
        program = holding(alive.path, start + CHILDREN["ignores being terminated"])
        transport = python(program, shutdown_timeout=0.15)
        started = time.monotonic()
        async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
            await alive.held_by(2)
            await within(agent.initialize(1))
        await alive.ended()
        assert time.monotonic() - started < BOUND


@pytest.mark.asyncio_only
async def test_processes_may_be_closed_by_other_tasks_in_the_order_of_their_opening(
    tmp_path: Path,
) -> None:
    """C17: as test fixtures and stacks of contexts do."""
    with lifeline(tmp_path) as alive:
        command = (sys.executable, "-I", "-S", "-c", ANSWERING + holding(alive.path, "serve()"))
        pairs = [acp.spawn_agent_process(Silent(), *command) for _ in range(3)]
        opened = [await within(asyncio.ensure_future(pair.__aenter__())) for pair in pairs]
        await alive.held_by(3)
        for pair, (agent, process) in zip(pairs, opened, strict=True):
            await within(agent.initialize(1))
            await within(asyncio.ensure_future(pair.__aexit__(None, None, None)))
            assert process.returncode == 0
        await alive.ended()


ABANDONING = """
import asyncio, sys, acp
from acp.client.connection import ClientSideConnection

class Client(acp.Client):
    pass

async def spawned(kept=[]):
    entering = acp.spawn_agent_process(Client(), *command)
    kept.append(entering)
    agent, process = await entering.__aenter__()
    await agent.initialize(1)

async def dropped():
    await spawned([])

async def connected():
    agent = ClientSideConnection(Client(), acp.process_transport(*command))
    await agent.initialize(1)

async def calling():
    agent = ClientSideConnection(Client(), acp.process_transport(*command))
    await agent.initialize(1)
    task = asyncio.create_task(agent.prompt("silent", []))
    await asyncio.sleep(0)

asyncio.run(globals()[sys.argv[1]]())
"""


@pytest.mark.parametrize("way", ["spawned", "dropped", "connected", "calling"])
def test_a_loop_that_ends_without_a_close_leaves_no_process_and_says_nothing(
    way: str, tmp_path: Path
) -> None:
    """C17, C11."""
    with lifeline(tmp_path) as alive:
        silent = "for r in requests():\n    r['id'] or answer(r, protocolVersion=1)"
        program = ANSWERING + holding(alive.path, silent)
        command = (sys.executable, "-I", "-S", "-c", program)
        done = subprocess.run(
            [sys.executable, "-c", f"command = {command!r}\n" + ABANDONING, way],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        anyio.run(alive.ended)
    assert done.stderr == ""
