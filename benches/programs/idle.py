"""What connections and sessions cost in which nothing happens, on every `acp`.

`idle.py CONNECTIONS SESSIONS` prints, for one end of a connection, KiB of Python's memory, KiB of
the process's, and tasks; and for one session KiB of Python's memory at both ends together.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.schema import InitializeResponse, NewSessionResponse

WARM_UP = 20
# After five to ten seconds without traffic a connection is at rest.
QUIET = 11.0


class Idle(acp.Agent):
    def __init__(self) -> None:
        self.sessions = 0

    def on_connect(self, conn: Any) -> None:
        pass

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        self.sessions += 1
        return NewSessionResponse(session_id=f"session-{self.sessions}")


class Silent(acp.Client):
    def on_connect(self, conn: Any) -> None:
        pass


class MemoryEnd:
    """One end of a transport of messages, for an `acp` that has none in memory."""

    def __init__(self, inbox: asyncio.Queue[Any], outbox: asyncio.Queue[Any]) -> None:
        self.inbox, self.outbox = inbox, outbox

    async def send(self, message: Any) -> None:
        self.outbox.put_nowait(message)

    async def receive(self) -> Any:
        return await self.inbox.get()

    async def close(self) -> None:
        self.outbox.put_nowait(None)


def ends() -> tuple[Any, Any]:
    if hasattr(acp, "memory_pair"):
        return acp.memory_pair()
    there: asyncio.Queue[Any] = asyncio.Queue()
    back: asyncio.Queue[Any] = asyncio.Queue()
    return MemoryEnd(there, back), MemoryEnd(back, there)


def resident() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


async def connected() -> tuple[Any, Any]:
    ours, theirs = ends()
    agent, client = AgentSideConnection(Idle(), ours), ClientSideConnection(Silent(), theirs)
    answer = await client.initialize(protocol_version=1)
    assert answer.protocol_version == 1
    return agent, client


async def settled() -> None:
    await asyncio.sleep(QUIET)
    gc.collect()


async def main(connections: int, sessions: int) -> None:
    held = [await connected() for _ in range(WARM_UP)]
    await settled()
    ends_before, tasks, before = 2 * len(held), len(asyncio.all_tasks()), resident()
    held += [await connected() for _ in range(connections)]
    await settled()
    opened = 2 * len(held) - ends_before
    found = {
        "resident": (resident() - before) / opened,
        "tasks": (len(asyncio.all_tasks()) - tasks) / opened,
    }
    tracemalloc.start()
    heap = tracemalloc.get_traced_memory()[0]
    held += [await connected() for _ in range(connections)]
    await settled()
    found["heap"] = (tracemalloc.get_traced_memory()[0] - heap) / opened / 1024
    client = held[0][1]
    names = set()
    for _ in range(WARM_UP):
        names.add((await client.new_session(cwd="/", mcp_servers=[])).session_id)
    await settled()
    heap = tracemalloc.get_traced_memory()[0]
    for _ in range(sessions):
        await client.new_session(cwd="/", mcp_servers=[])
    await settled()
    found["session"] = max(0.0, (tracemalloc.get_traced_memory()[0] - heap) / sessions / 1024)
    print(json.dumps(found))
    for agent, client in held:
        await client.close()
        await agent.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
