"""What agents write to stderr: read whoever wants it, kept within bounds, in nobody's way."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acp
from acp.client.connection import ClientSideConnection
from tests.field.children import ANSWERING, python
from tests.raw_peer import serving, within
from tests.sides import Silent

FLOODS = {
    "at its start": "os.write(2, b'x' * 5_000_000)\nserve()",
    "in lines": "sys.stderr.write(('y' * 79 + '\\n') * 62_500); sys.stderr.flush()\nserve()",
    "before each answer": "for r in requests():\n    os.write(2, b'z' * 1_500_000)\n"
    "    answer(r, **RESULTS[r['method']])",
    "behind each answer": "for r in requests():\n    answer(r, **RESULTS[r['method']])\n"
    "    os.write(2, b'z' * 1_500_000)",
    "in a process below": "subprocess.Popen([sys.executable, '-I', '-S', '-c', "
    "\"import os; os.write(2, b'w' * 5_000_000)\"])\nserve()",
    "as no text": "os.write(2, bytes(range(128, 256)) * 40_000)\nserve()",
}


async def talk(agent: Any) -> None:
    assert (await within(agent.initialize(1))).protocol_version == 1
    session = (await within(agent.new_session("/"))).session_id
    for _ in range(3):
        turn = await within(agent.prompt(session, [acp.text_block("x")]))
        assert turn.stop_reason == "end_turn"


@pytest.mark.parametrize("flood", list(FLOODS))
async def test_an_agent_that_floods_its_stderr_answers_each_request(flood: str) -> None:
    """C03."""
    transport = python(FLOODS[flood])
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        await talk(agent)
    assert transport.process.returncode == 0


@pytest.mark.asyncio_only
@pytest.mark.parametrize("stderr", ["pipe", "null", "file", "stdout of the agent closed"])
async def test_where_stderr_goes_is_a_choice_and_blocks_nobody(stderr: str, tmp_path: Path) -> None:
    """C03: the default, and the same command with other choices."""
    taken = tmp_path / "stderr"
    program = ANSWERING + FLOODS["at its start"]
    if stderr.endswith("closed"):
        program = ANSWERING + "os.close(2)\nserve()"
    with taken.open("wb") as sink:
        choices = {"null": subprocess.DEVNULL, "file": sink.fileno()}
        options = {"stderr": choices[stderr]} if stderr in choices else {}
        command = (sys.executable, "-I", "-S", "-c", program)
        spawned = acp.spawn_agent_process(Silent(), *command, transport_kwargs=options)
        async with spawned as (agent, process):
            await talk(agent)
    assert process.returncode == 0
    assert taken.stat().st_size == (5_000_000 if stderr == "file" else 0)


async def test_the_last_words_are_those_written_last_and_no_more_than_64_kib() -> None:
    """C03: what the error carries, behind a flood of 3 MB."""
    program = "os.write(2, b'x' * 3_000_000)\nos.write(2, b'fatal: the end')\nos._exit(9)"
    async with serving(ClientSideConnection, Silent(), python(program)) as (agent, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
    assert caught.value.exit_code == 9
    assert caught.value.stderr_tail.endswith("xfatal: the end")
    assert len(caught.value.stderr_tail) == 64 * 1024


async def test_last_words_that_are_no_text_are_shown_all_the_same() -> None:
    """C03, C06."""
    program = "os.write(2, b'\\xff\\xfe no key \\xc3')\nos._exit(2)"
    async with serving(ClientSideConnection, Silent(), python(program)) as (agent, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
    assert " no key " in caught.value.stderr_tail


@pytest.mark.asyncio_only
async def test_a_host_that_reads_stderr_gets_what_it_is_quick_enough_for() -> None:
    """C03: reading goes on beside the connection and ends with the process."""
    program = ANSWERING + (
        "for number, r in enumerate(requests()):\n"
        "    print('line', number, file=sys.stderr, flush=True)\n"
        "    answer(r, **RESULTS[r['method']])"
    )
    lines: list[bytes] = []

    async def read(stream: asyncio.StreamReader) -> None:
        lines.extend([line async for line in stream])

    command = (sys.executable, "-I", "-S", "-c", program)
    async with acp.spawn_agent_process(Silent(), *command) as (agent, process):
        assert process.stderr is not None
        reading = asyncio.ensure_future(read(process.stderr))
        await talk(agent)
    await within(reading)
    assert lines == [b"line %d\n" % number for number in range(5)]


def test_stderr_that_never_ends_takes_no_memory_of_the_host() -> None:
    """C03: 200 MB, of which 64 KiB are kept."""
    agent = ANSWERING + (
        "for r in requests():\n"
        "    for _ in range(100 if r['method'] == '_flood' else 1):\n"
        "        os.write(2, b'x' * 1_000_000)\n"
        "    answer(r, **RESULTS.get(r['method'], {}))"
    )
    program = f"""
import asyncio, resource, sys, acp

class Client(acp.Client):
    pass

async def main():
    command = (sys.executable, "-I", "-S", "-c", {agent!r})
    async with acp.spawn_agent_process(Client(), *command) as (agent, process):
        await agent.initialize(1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await agent.ext_method("flood", {{}})
        await agent.ext_method("flood", {{}})
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout) < 8 * 1024


async def test_no_descriptor_is_left_of_a_process() -> None:
    """C03, C11."""
    async with serving(ClientSideConnection, Silent(), python("serve()")) as (agent, _):
        await within(agent.initialize(1))
    before = len(os.listdir("/proc/self/fd"))
    for program in ("serve()", "os.write(2, b'x' * 100_000)\nserve()"):
        async with serving(ClientSideConnection, Silent(), python(program)) as (agent, _):
            await within(agent.initialize(1))
    async with serving(ClientSideConnection, Silent(), python("os._exit(0)")) as (agent, _):
        with pytest.raises(acp.ConnectionClosed):
            await within(agent.initialize(1))
    assert len(os.listdir("/proc/self/fd")) <= before
