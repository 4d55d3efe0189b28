"""The other end of a connection under test, written by hand: it sends and receives plain JSON.

Owns nothing of the library but a memory transport.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from acp import Transport

BOUND = 10.0
"""Seconds that any single wait of a test may take."""


class RawPeer:
    """Sends and receives single messages."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._received: list[dict[str, Any]] = []
        self._rest = b""

    async def send(self, *messages: dict[str, Any]) -> None:
        """Sends messages in one chunk."""
        lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
        await self.send_text("".join(line + "\n" for line in lines))

    async def send_text(self, text: str) -> None:
        await asyncio.wait_for(self.transport.send(text.encode()), BOUND)

    async def request(self, request_id: Any, method: str, params: Any = None) -> None:
        await self.send({"id": request_id, "method": method, "params": params})

    async def notify(self, method: str, params: Any = None) -> None:
        await self.send({"method": method, "params": params})

    async def answer(self, request_id: Any, result: Any) -> None:
        await self.send({"id": request_id, "result": result})

    async def receive(self) -> Any:
        """The next message; None at the end of input."""
        while not self._received:
            chunk = await asyncio.wait_for(self.transport.receive(), BOUND)
            if not chunk:
                return None
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._received += [json.loads(line) for line in lines]
        return self._received.pop(0)

    async def receive_all(self) -> list[Any]:
        """Every message until the end of input."""
        messages: list[Any] = []
        while (message := await self.receive()) is not None:
            messages.append(message)
        return messages


@asynccontextmanager
async def agent_under_test(
    agent: Any, **options: Any
) -> AsyncGenerator[tuple[RawPeer, AgentSideConnection], None]:
    """An agent whose client is the test."""
    ours, theirs = acp.memory_pair()
    connection = AgentSideConnection(agent, ours, **options)
    try:
        yield RawPeer(theirs), connection
    finally:
        await theirs.close()
        await asyncio.wait_for(connection.close(), BOUND)


@asynccontextmanager
async def client_under_test(
    client: Any, **options: Any
) -> AsyncGenerator[tuple[ClientSideConnection, RawPeer], None]:
    """A client whose agent is the test."""
    ours, theirs = acp.memory_pair()
    connection = ClientSideConnection(client, ours, **options)
    try:
        yield connection, RawPeer(theirs)
    finally:
        await theirs.close()
        await asyncio.wait_for(connection.close(), BOUND)


def chunk(text: str, session: str = "s") -> dict[str, Any]:
    """A `session/update` with a piece of text."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def prompt(text: str = "", session: str = "s") -> dict[str, Any]:
    """The params of a `session/prompt`."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


async def within(awaitable: Any) -> Any:
    """The value of `awaitable`, which has to come in time."""
    return await asyncio.wait_for(awaitable, BOUND)
