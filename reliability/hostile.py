"""Hostile input through whole connections: what is answered, and whether the next request is.

Owns the conversation of a peer that sends bytes and reads lines, over memory and over the pipes of
a process.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import acp
from acp.agent.connection import AgentSideConnection
from reliability.figures import Form, Values
from reliability.hostile_frames import LONGEST, OVERSIZED, TABLE, Hostile
from reliability.programs.agent import Answering

PROGRAM = Path(__file__).with_name("programs") / "agent.py"
BOUND = 10.0
PINGS = 3
ASKED = b'{"jsonrpc":"2.0","id":0,"method":"_ours","params":{}}\n'


class Wire(Protocol):
    """The other end of an agent's connection, in bytes."""

    async def send(self, data: bytes) -> None: ...
    async def line(self) -> bytes: ...


class MemoryWire:
    """Over memory, in this process."""

    def __init__(self, transport: acp.Transport) -> None:
        self.transport = transport
        self.rest = b""

    async def send(self, data: bytes) -> None:
        await asyncio.wait_for(self.transport.send(data), BOUND)

    async def line(self) -> bytes:
        while b"\n" not in self.rest:
            chunk = await asyncio.wait_for(self.transport.receive(), BOUND)
            if not chunk:
                raise EOFError
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line + b"\n"


class PipeWire:
    """Over the standard streams of a process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.writer, self.reader = process.stdin, process.stdout

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), BOUND)

    async def line(self) -> bytes:
        line = await asyncio.wait_for(self.reader.readline(), BOUND)
        if not line:
            raise EOFError
        return line


@asynccontextmanager
async def over_memory() -> AsyncIterator[Wire]:
    ours, theirs = acp.memory_pair()
    limits = acp.Limits(max_message_bytes=LONGEST)
    connection = AgentSideConnection(Answering(), ours, limits=limits)
    try:
        yield MemoryWire(theirs)
    finally:
        await theirs.close()
        await asyncio.wait_for(connection.close(), BOUND)


@asynccontextmanager
async def over_pipes() -> AsyncIterator[Wire]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROGRAM), str(LONGEST)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield PipeWire(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def request(request_id: str, method: str, params: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}
    return json.dumps(message).encode() + b"\n"


async def until(wire: Wire, request_id: str) -> tuple[bytes, Any]:
    """What is sent before the answer to a request of ours, and the answer's result."""
    mark = f'{{"jsonrpc":"2.0","id":"{request_id}",'.encode()
    before = b""
    while not (line := await wire.line()).startswith(mark):
        before += line
    return before, json.loads(line)["result"]


async def pinged(wire: Wire) -> tuple[bytes, float]:
    """What is sent before the answer to a ping, and the seconds that the answer took."""
    started = time.perf_counter()
    await wire.send(request("ping", "_ping"))
    before, _ = await until(wire, "ping")
    return before, time.perf_counter() - started


async def has_asked(wire: Wire) -> None:
    """Has the agent wait for the answer to its request 0."""
    await wire.send(request("ask", "_ask"))
    lines = {await wire.line(), await wire.line()}
    assert ASKED in lines


async def probe(wire: Wire, hostile: Hostile) -> tuple[bool, float]:
    """Whether the answer is the right one, and the seconds of the quickest ping after it.

    What a connection suffers from is there in every ping; what else the machine does is not.
    """
    await wire.send(hostile.frame + b"\n")
    answer, seconds = await pinged(wire)
    for _ in range(PINGS - 1):
        more, again = await pinged(wire)
        answer += more
        seconds = min(seconds, again)
    if answer != hostile.answer:
        print(f"{hostile.frame[:60]!r}: {answer[:200]!r}", file=sys.stderr)
    return answer == hostile.answer, seconds


async def still_waits(wire: Wire) -> bool:
    """Whether request 0 waited until now for its answer, and gets the real one."""
    await wire.send(request("asked", "_asked"))
    before, _ = await pinged(wire)
    await wire.send(b'{"jsonrpc":"2.0","id":0,"result":{"real":1}}\n')
    _, ended = await until(wire, "asked")
    return before == b"" and ended == {"done": False, "value": {"real": 1}}


async def over(open_wire: Any, groups: list[list[Hostile]]) -> tuple[int, int, float]:
    """How many are answered right, how many connections are harmed, and the longest wait.

    Each group has a connection of its own.
    """
    right, harmed, longest = 0, 0, 0.0
    for group in groups:
        async with open_wire() as wire:
            await has_asked(wire)
            for hostile in group:
                exact, seconds = await probe(wire, hostile)
                right += exact
                longest = max(longest, seconds)
            harmed += not await still_waits(wire)
    return right, harmed, longest


async def _table() -> Values:
    every = TABLE + OVERSIZED
    alone, harmed, wait = await over(over_memory, [[hostile] for hostile in every])
    together, harmed_process, wait_process = await over(over_pipes, [every])
    return {
        "inputs": len(every),
        "not answered exactly so, over memory": len(every) - alone,
        "not answered exactly so, over pipes": len(every) - together,
        "connections harmed": harmed + harmed_process,
        "longest wait for the next answer": max(wait, wait_process) * 1000,
    }


def table(form: Form) -> Values:
    """B1."""
    del form
    return asyncio.run(_table())
