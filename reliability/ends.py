"""Connections that end on their own: the other end closes, exits, or is killed.

Owns the endings, and the look at what is left of a connection after each.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import mmap
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import anyio

import acp
from acp.client.connection import ClientSideConnection
from reliability import footprint
from reliability.figures import Form, Values
from tests.raw_peer import within

PROGRAM = Path(__file__).with_name("programs") / "raw_agent.py"
# Isolated and without `site`: such a process is there in about 15 ms.
PYTHON = (sys.executable, "-I", "-S", str(PROGRAM))
PENDING = 1000
LATEST_KILL = 0.04
"""Seconds from the start of a process to the latest kill: into the middle of its stream."""


class Numbered(acp.Client):
    """Counts updates that come in order, and notes the first extension notification."""

    def __init__(self) -> None:
        self.seen = 0
        self.out_of_order = 0
        self.reading = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.out_of_order += int(update.content.text) != self.seen
        self.seen += 1

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.reading.set()


@dataclass(frozen=True)
class Held:
    """What this process holds of what connections are made of."""

    tasks: int
    descriptors: int
    children: int

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        tasks = len(asyncio.all_tasks())
        return cls(tasks, footprint.descriptors(), len(footprint.children()))

    def more_than(self, before: Held) -> int:
        return (
            (self.tasks - before.tasks)
            + (self.descriptors - before.descriptors)
            + (self.children - before.children)
        )


Ended = Callable[[], Any]
"""Ends the other end of a connection, at once."""


@contextlib.asynccontextmanager
async def memory(client: Numbered) -> AsyncIterator[tuple[Any, Ended]]:
    ours, theirs = acp.memory_pair()
    async with ClientSideConnection(client, ours) as agent:
        reading = asyncio.ensure_future(_read(theirs))
        client.reading.set()
        yield agent, lambda: asyncio.ensure_future(theirs.close())
        await within(reading)


async def _read(transport: acp.Transport) -> None:
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        while await transport.receive():
            pass


def process(number: int) -> Callable[[Numbered], Any]:
    """A process that gets a signal."""

    @contextlib.asynccontextmanager
    async def opened(client: Numbered) -> AsyncIterator[tuple[Any, Ended]]:
        async with acp.spawn_agent_process(client, *PYTHON) as (agent, child):
            yield agent, lambda: os.kill(child.pid, number)

    return opened


ENDINGS: dict[str, Callable[[Numbered], Any]] = {
    "memory": memory,
    "killed": process(signal.SIGKILL),
    "exited": process(signal.SIGUSR1),
    "output closed": process(signal.SIGUSR2),
}


async def failing(ending: Callable[[Numbered], Any]) -> tuple[float, int, int]:
    """Milliseconds until all calls have failed, how many ended otherwise, what is left."""
    before = Held.now()
    client = Numbered()
    async with ending(client) as (agent, end):
        calls = [asyncio.ensure_future(agent.ext_method("m", {})) for _ in range(PENDING)]
        await within(client.reading.wait())
        started = time.perf_counter()
        end()
        ends = await within(asyncio.gather(*calls, return_exceptions=True))
        seconds = time.perf_counter() - started
    others = sum(not isinstance(each, acp.ConnectionClosed) for each in ends)
    return seconds * 1000, others, Held.now().more_than(before)


async def _end_of_input(rounds: int) -> Values:
    await failing(ENDINGS["killed"])
    found = {f"longest, {name}": 0.0 for name in ENDINGS}
    others = left = 0
    for _ in range(rounds):
        for name, ending in ENDINGS.items():
            milliseconds, wrong, remains = await failing(ending)
            found[f"longest, {name}"] = max(found[f"longest, {name}"], milliseconds)
            others += wrong
            left += remains
    return {**found, "calls with another end": others, "left over": left}


def end_of_input(form: Form) -> Values:
    """B7."""
    return asyncio.run(_end_of_input(form.count(20, 3)))


@dataclass
class Killed:
    """What came of kills."""

    kills: int = 0
    in_the_stream: int = 0
    longest: float = 0.0
    others: int = 0
    lost: int = 0


async def kill(choose: random.Random, path: Path, counter: mmap.mmap, found: Killed) -> None:
    """Starts an agent, has calls wait for it, and kills it at some moment."""
    counter[:8] = bytes(8)
    client = Numbered()
    delay = choose.uniform(0, LATEST_KILL)
    async with acp.spawn_agent_process(client, *PYTHON, str(path)) as (agent, child):
        calls = [
            asyncio.ensure_future(call)
            for call in (
                agent.prompt("s", [acp.text_block("x")]),
                agent.new_session("/"),
                agent.list_sessions(),
                agent.ext_method("m", {}),
            )
        ]
        await asyncio.sleep(delay)
        started = time.perf_counter()
        os.kill(child.pid, signal.SIGKILL)
        ends = await within(asyncio.gather(*calls, return_exceptions=True))
        found.longest = max(found.longest, time.perf_counter() - started)
    written = int.from_bytes(counter[:8], "little")
    found.kills += 1
    found.in_the_stream += client.seen > 0
    found.others += sum(not isinstance(each, acp.ConnectionClosed) for each in ends)
    # It was killed before, or right behind, the note about its last update.
    found.lost += client.out_of_order + (client.seen not in (written, written + 1))


def noted(file: BinaryIO) -> mmap.mmap:
    """The memory that an agent shares with this process."""
    file.truncate(8)
    return mmap.mmap(file.fileno(), 8)


async def _kills(form: Form) -> Values:
    choose = random.Random(form.seed)
    found = Killed()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written"
        with path.open("w+b") as file, noted(file) as counter:
            await kill(choose, path, counter, Killed())
            before = Held.now()
            for _ in range(form.count(1000, 100)):
                await kill(choose, path, counter, found)
            left = Held.now().more_than(before)
    return {
        "kills": found.kills,
        "of them in the stream": found.in_the_stream,
        "longest until all calls failed": found.longest * 1000,
        "calls with another end": found.others,
        "streams with an update lost or out of order": found.lost,
        "left over": left,
    }


def kills(form: Form) -> Values:
    """E1."""
    return asyncio.run(_kills(form))
