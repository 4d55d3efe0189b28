"""A program of version 2 in the middle: what one end sends is read as objects, and sent on to the
other end.

Owns the two endpoints of it. Both ends are written by hand.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

import acp
from acp import v2
from acp._core import Model
from reliability.places import initialize, initialized
from tests.raw_peer import BOUND, RawPeer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ("Relay", "relay")


class Relay:
    """The ends of one, and what went through as objects."""

    agent: RawPeer
    """The hand of an agent, whose client is the relay."""
    client: RawPeer
    """The hand of a client."""
    opened: Any
    """What the client was answered to its `initialize`."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.told: list[acp.Malformed] = []
        self._agent = v2.Agent(features={"all"}, on_malformed=self.told.append)
        self._client = v2.Client(features={"all"}, on_malformed=self.told.append)
        self._up: v2.Connection | None = None
        self._down: v2.Connection | None = None

    def ends(self, side: str) -> tuple[RawPeer, RawPeer]:
        """Who sends what `side` handles, and who handles it."""
        return (self.client, self.agent) if side == "agent" else (self.agent, self.client)

    @asynccontextmanager
    async def opening(self, answer: dict[str, Any]) -> AsyncGenerator[None, None]:
        """Opens both connections; the agent answers its `initialize` so."""
        here, there = acp.memory_pair()
        far, near = acp.memory_pair()
        await here.open()
        await far.open()
        self.agent, self.client = RawPeer(far), RawPeer(here)
        responses: list[Any] = []
        self._agent.initialize(lambda request: responses[0])
        self._agent.fallback_request(self._to_agent)
        self._agent.fallback_notification(self._note_to_agent)
        self._client.fallback_request(self._to_client)
        self._client.fallback_notification(self._note_to_client)
        async with (
            anyio.create_task_group() as group,
            self._client.connect(near) as up,
            self._agent.connect(there) as down,
        ):
            self._up, self._down = up, down

            async def initialize_agent() -> None:
                responses.append(await up.initialize())

            async with anyio.create_task_group() as first:
                first.start_soon(initialize_agent)
                asked = await self.agent.receive()
                await self.agent.answer(asked["id"], answer)
            await self.client.request(0, "initialize", initialize(2))
            self.opened = (await self.client.receive())["result"]
            try:
                yield
            finally:
                await here.close()
                await far.close()
                group.cancel_scope.cancel()

    async def _to_agent(self, message: Any, ctx: v2.Context) -> Any:
        assert self._up is not None
        return await self._ask(self._up, message, ctx.method)

    async def _to_client(self, message: Any, ctx: v2.Context) -> Any:
        assert self._down is not None
        return await self._ask(self._down, message, ctx.method)

    async def _ask(self, connection: Any, message: Any, method: str) -> Any:
        self.seen.append(message)
        # Of a method outside of the protocol there are only plain data.
        sent: Any = (message,) if isinstance(message, Model) else (method, message)
        result = await connection.request(*sent, unchecked=True)
        self.seen.append(result)
        return result

    async def _note_to_agent(self, message: Any) -> None:
        assert self._up is not None
        await self._tell(self._up, message)

    async def _note_to_client(self, message: Any) -> None:
        assert self._down is not None
        await self._tell(self._down, message)

    async def _tell(self, connection: v2.Connection, message: Any) -> None:
        self.seen.append(message)
        await connection.notify(message, unchecked=True)


@asynccontextmanager
async def relay(answer: dict[str, Any] | None = None) -> AsyncGenerator[Relay, None]:
    """A relay between two hands; the one of the agent answers `initialize` so."""
    made = Relay()
    with anyio.fail_after(BOUND):
        async with made.opening(answer or initialized(2)):
            yield made
