"""A host that runs unchanged on every `acp`: many sessions, many connections, or one flood.

`hosting.py dispatch|sessions|connections COUNT UPDATES` prints microseconds for each update. Both
ends are in this process, each connection a socket pair; `dispatch` has one end and no socket: its
frames are in the reader's buffer from the start.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.schema import NewSessionResponse, PromptResponse

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches import wire

LONGEST_LINE = 1 << 26
SECONDS = 60


class Counting(acp.Client):
    """Reads the text of each update."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.count = 0
        self.characters = 0
        self.seen = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.count += 1
        self.characters += len(update.content.text)
        if self.count == self.target:
            self.seen.set()


class Streaming(acp.Agent):
    """Answers a prompt with as many chunks as it says."""

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=cwd)

    async def prompt(self, prompt: list[Any], session_id: str, **kwargs: Any) -> PromptResponse:
        for _ in range(int(prompt[0].text)):
            update = acp.update_agent_message(acp.text_block(wire.TEXT))
            await self.conn.session_update(session_id, update)
        return PromptResponse(stop_reason="end_turn")


@contextlib.asynccontextmanager
async def pair(client: Counting) -> AsyncIterator[Any]:
    """The client's end of a connection to an agent in this process."""
    one, other = socket.socketpair()
    from_client, to_client = await asyncio.open_connection(sock=one, limit=LONGEST_LINE)
    from_agent, to_agent = await asyncio.open_connection(sock=other, limit=LONGEST_LINE)
    agent = AgentSideConnection(Streaming(), to_client, from_client, listening=True)
    connection = ClientSideConnection(client, to_agent, from_agent)
    try:
        yield connection
    finally:
        await connection.close()
        await agent.close()
        to_client.close()
        to_agent.close()


async def dispatch(_: int, updates: int) -> tuple[float, Counting]:
    """Seconds from frames in the buffer to handlers called."""
    one, other = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=one)
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    client = Counting(updates)
    connection = ClientSideConnection(client, writer, reader)
    await asyncio.sleep(0)
    started = time.perf_counter()
    reader.feed_data(wire.FRAMES["chunk"] * updates)
    await asyncio.wait_for(client.seen.wait(), SECONDS)
    seconds = time.perf_counter() - started
    await connection.close()
    writer.close()
    other.close()
    return seconds, client


async def sessions(count: int, updates: int) -> tuple[float, Counting]:
    """Seconds for a prompt in each of `count` sessions of one connection, all at once."""
    client = Counting(count * updates)
    async with pair(client) as connection:
        names = [
            (await connection.new_session(cwd=f"/{number}", mcp_servers=[])).session_id
            for number in range(count)
        ]
        return await prompted(client, [(connection, name) for name in names], updates), client


async def connections(count: int, updates: int) -> tuple[float, Counting]:
    """Seconds for a prompt on each of `count` connections, all at once."""
    client = Counting(count * updates)
    async with contextlib.AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(pair(client)) for _ in range(count)]
        return await prompted(client, [(each, "/") for each in opened], updates), client


async def prompted(client: Counting, where: list[tuple[Any, str]], updates: int) -> float:
    text = [acp.text_block(str(updates))]
    started = time.perf_counter()
    turns = [each.prompt(session_id=session, prompt=text) for each, session in where]
    answers = await asyncio.wait_for(asyncio.gather(*turns), SECONDS)
    await asyncio.wait_for(client.seen.wait(), SECONDS)
    seconds = time.perf_counter() - started
    assert all(answer.stop_reason == "end_turn" for answer in answers)
    return seconds


async def main(work: str, count: int, updates: int) -> None:
    measured = {"dispatch": dispatch, "sessions": sessions, "connections": connections}[work]
    await measured(min(count, 2), 100)
    seconds, client = await measured(count, updates)
    assert client.count == client.target
    assert client.characters == client.target * len(wire.TEXT)
    print(json.dumps({"update": seconds / client.target * 1e6}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
