"""Hostile input through whole connections: what is answered, and whether the next request is.

Owns the conversation of a peer that sends bytes and reads lines, over memory, over pipes of this
process, and over the standard streams of another.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from reliability.figures import Form, Values
from reliability.hostile_frames import LONGEST, OVERSIZED, TABLE, nobodys_answers
from reliability.hostile_rows import Hostile, result, too_early
from reliability.places import PLACES, Place, answering, initialize, initialized, served
from reliability.programs.agent import Answering
from tests.raw_peer import serving

PROGRAM = Path(__file__).with_name("programs") / "agent.py"
BOUND = 10.0
PINGS = 3
QUICK = 0.05
"""Seconds in which the next request has to be answered."""
LIMITS = acp.Limits(max_message_bytes=LONGEST)
PONG = result('"ping"')
ASKED = '{{"jsonrpc":"2.0","id":{},"method":"_ours","params":{{}}}}\n'

Pair = Callable[[], tuple[acp.Transport, acp.Transport]]


class Wire(Protocol):
    """The other end of a connection, in bytes."""

    async def send(self, data: bytes) -> None: ...
    async def line(self) -> bytes: ...


class TransportWire:
    """Over a transport in this process."""

    def __init__(self, transport: acp.Transport) -> None:
        self.transport = transport
        self.rest = b""

    async def send(self, data: bytes) -> None:
        with anyio.fail_after(BOUND):
            await self.transport.send(data)

    async def line(self) -> bytes:
        with anyio.fail_after(BOUND):
            while b"\n" not in self.rest:
                chunk = await self.transport.receive()
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
async def running(place: Place, transport: acp.Transport) -> AsyncIterator[None]:
    """What a place has on its end of a transport."""
    if place.layer == "drop-in":
        kind = AgentSideConnection if place.side == "agent" else ClientSideConnection
        async with serving(kind, Answering(), transport, limits=LIMITS):
            yield
        return
    async with anyio.create_task_group() as group:
        if place.side == "agent":
            group.start_soon(served(place).serve, transport)
            yield
        else:
            client = answering(place.version, "client", limits=LIMITS)
            async with client.connect(transport) as connection:
                group.start_soon(opening, connection)
                yield
        group.cancel_scope.cancel()


async def opening(connection: Any) -> None:
    """A client's first request, which may remain unanswered."""
    with contextlib.suppress(acp.ConnectionClosed):
        await connection.initialize()


@asynccontextmanager
async def near(place: Place, pair: Pair = acp.memory_pair) -> AsyncIterator[Wire]:
    """The other end of a place in this process."""
    ours, theirs = pair()
    await theirs.open()
    try:
        async with running(place, ours):
            wire = TransportWire(theirs)
            if place.opened and place.layer != "drop-in":
                await shake_hands(wire, place)
            yield wire
            await theirs.close()
    finally:
        await theirs.close()


@asynccontextmanager
async def over_pipes(place: Place) -> AsyncIterator[Wire]:
    """The other end of an agent's place in another process."""
    form = [] if place.layer == "drop-in" else [place.layer, str(place.version)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "reliability.programs.agent", str(LONGEST), *form),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=PROGRAM.parents[2],
    )
    try:
        wire = PipeWire(process)
        if form:
            await shake_hands(wire, place)
        yield wire
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def request(request_id: str, method: str, params: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}
    return json.dumps(message).encode() + b"\n"


async def until(wire: Wire, request_id: str) -> tuple[bytes, bytes]:
    """What is sent before the answer to a request of the hand's, and the answer."""
    mark = f'{{"jsonrpc":"2.0","id":"{request_id}",'.encode()
    before = b""
    while not (line := await wire.line()).startswith(mark):
        before += line
    return before, line


async def pinged(wire: Wire, ping: bytes = request("ping", "_ping")) -> tuple[bytes, bytes, float]:
    """What is sent before the answer to a ping, the answer, and the seconds that it took."""
    started = time.perf_counter()
    await wire.send(ping)
    before, line = await until(wire, "ping")
    return before, line, time.perf_counter() - started


async def shake_hands(wire: Wire, place: Place) -> None:
    """Opens the connection."""
    if place.side == "agent":
        await wire.send(request("hello", "initialize", initialize(place.version)))
        before, line = await until(wire, "hello")
        assert (before, json.loads(line)["result"]["protocolVersion"]) == (b"", place.version)
        return
    asked = json.loads(await wire.line())
    assert (asked["id"], asked["method"]) == (0, "initialize")
    await answer_initialize(wire, place)


async def answer_initialize(wire: Wire, place: Place) -> None:
    await wire.send(result("0", json.dumps(initialized(place.version))))


async def has_asked(wire: Wire, place: Place) -> None:
    """Has it wait for the answer to a request of its own, where it can."""
    if place.opened:
        await wire.send(request("ask", "_ask"))
        assert await wire.line() == ASKED.format(place.waiting).encode()
    elif place.waiting is not None:
        assert json.loads(await wire.line())["method"] == "initialize"


def is_pong(line: bytes, place: Place, hostile: Hostile) -> bool:
    """Whether a ping behind hostile input is answered as in a place where there was none."""
    if place.chooses:
        version = 2 if place.version == 2 or not hostile.is_call else 1
        return json.loads(line)["result"]["protocolVersion"] == version
    return line == (too_early("_ping", '"ping"') if "early" in place.words else PONG)


async def probe(wire: Wire, place: Place, hostile: Hostile) -> tuple[bool, float]:
    """Whether the answer is the right one, and the seconds of the quickest ping after it.

    What a connection suffers from is there in every ping; what else the machine does is not.
    """
    await wire.send(hostile.frame + b"\n")
    # Where a router is to choose, this is what it chooses by.
    asking = request("ping", "initialize", initialize(2)) if place.chooses else None
    answer, quickest, alike = b"", BOUND, True
    for number in range(PINGS):
        before, line, seconds = await (pinged(wire, asking) if asking else pinged(wire))
        answer += before
        alike = alike and is_pong(line, place, hostile)
        quickest = min(seconds, quickest)
        # What a batch is answered with may come behind the first.
        if number > 0 and quickest < QUICK / 2:
            break
    exact = alike and answer == hostile.answer_at(place.words)
    if not exact:
        print(f"{place}: {hostile.frame[:60]!r}: {answer[:200]!r}, {line[:200]!r}", file=sys.stderr)
    return exact, quickest


async def is_well(wire: Wire, place: Place) -> bool:
    """Whether what waited until now still waits, and gets the real answer; and whether a connection
    that was not open opens.
    """
    if place.opened:
        before, line, _ = await pinged(wire)
        assert place.waiting is not None
        await wire.send(result(str(place.waiting), '{"real":1}'))
        return (before, line, await wire.line()) == (b"", PONG, result('"ask"', '{"real":1}'))
    if place.side == "client":
        await answer_initialize(wire, place)
    elif not place.chooses:
        await shake_hands(wire, place)
    before, line, _ = await pinged(wire)
    return (before, line) == (b"", PONG)


def table(place: Place) -> list[Hostile]:
    """Everything that is sent to a place."""
    return [*TABLE, *nobodys_answers(place.waiting or 0), *OVERSIZED]


async def over(
    open_wire: Callable[[Place], Any], place: Place, groups: list[list[Hostile]]
) -> tuple[int, int, float]:
    """How many are answered right, how many connections are harmed, and the longest wait.

    Each group has a connection of its own.
    """
    right, harmed, longest = 0, 0, 0.0
    for group in groups:
        async with open_wire(place) as wire:
            await has_asked(wire, place)
            for hostile in group:
                exact, seconds = await probe(wire, place, hostile)
                right += exact
                longest = max(longest, seconds)
            harmed += not await is_well(wire, place)
    return right, harmed, longest


async def _everywhere() -> Values:
    found: Values = dict.fromkeys(
        ("inputs", "not answered exactly so, over memory", "not answered exactly so, over pipes"), 0
    )
    harmed, wait = 0, 0.0
    for place in PLACES:
        every = table(place)
        runs = [("memory", near, [[hostile] for hostile in every])]
        if place.opened and place.side == "agent":
            runs.append(("pipes", over_pipes, [every]))
        for name, open_wire, groups in runs:
            right, more, longest = await over(open_wire, place, groups)
            found["inputs"] += len(every)
            found[f"not answered exactly so, over {name}"] += len(every) - right
            harmed, wait = harmed + more, max(wait, longest)
    return {
        **found,
        "places": len(PLACES),
        "connections harmed": harmed,
        "longest wait for the next answer": wait * 1000,
    }


def everywhere(form: Form) -> Values:
    """B1."""
    del form
    return asyncio.run(_everywhere())
