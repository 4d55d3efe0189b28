"""A transport of messages as a user would write it, and connections over it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from acp.client.connection import ClientSideConnection
from tests.raw_peer import serving
from tests.sides import Silent

Ends = tuple[Any, Any]
"""Two `Link`s."""
ON_THE_WAY = 8
"""Messages that one of these transports takes before its `send` waits."""


class Link:
    """A transport of messages, written as a user would: no class of the library is its base."""

    def __init__(self, outgoing: Any, incoming: Any) -> None:
        self.outgoing = outgoing
        self.incoming = incoming
        self.sending = 0
        self.receiving = 0
        self.closed = 0

    async def send(self, message: dict[str, Any]) -> None:
        self.sending += 1
        assert self.sending == 1
        try:
            await self.outgoing.send(message)
        finally:
            self.sending -= 1

    async def receive(self) -> dict[str, Any] | None:
        self.receiving += 1
        try:
            return await self.incoming.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return None
        finally:
            self.receiving -= 1

    async def close(self) -> None:
        self.closed += 1
        assert (self.sending, self.receiving) == (0, 0)
        self.outgoing.close()
        self.incoming.close()


@asynccontextmanager
async def client_over(
    messages: Any, client: Any = None, **options: Any
) -> AsyncGenerator[tuple[ClientSideConnection, Any], None]:
    """A client whose agent is at the other end of `messages`."""
    handlers = Silent() if client is None else client
    async with serving(ClientSideConnection, handlers, messages, **options) as (agent, group):
        yield agent, group


def causes(exc: BaseException) -> list[str]:
    """The types of the chain of causes."""
    names: list[str] = []
    cause = exc.__cause__
    while cause is not None:
        names.append(type(cause).__name__)
        cause = cause.__cause__
    return names


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value
