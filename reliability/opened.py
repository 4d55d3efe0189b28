"""Connections of endpoints whose other end is written by hand, and that are open.

Owns the handshake. What is said afterwards is the hand's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from reliability.places import initialize, initialized
from tests import raw_peer
from tests.raw_peer import RawPeer, within

__all__ = ("opened",)


@asynccontextmanager
async def opened(
    endpoint: Any, *, handshake: bool = True
) -> AsyncGenerator[tuple[Any, RawPeer], None]:
    """A connection of an endpoint, over what `tests.raw_peer.pair` makes, and its peer.

    Without `handshake` it is as far as that.
    """
    ours, theirs = raw_peer.pair()
    await theirs.open()
    try:
        async with anyio.create_task_group() as group:
            async with endpoint.connect(ours) as connection:
                peer = RawPeer(theirs, group)
                if handshake:
                    await shake_hands(endpoint, connection, peer)
                try:
                    yield connection, peer
                finally:
                    await within(connection.close())
            group.cancel_scope.cancel()
    finally:
        await theirs.close()


async def shake_hands(endpoint: Any, connection: Any, peer: RawPeer) -> None:
    version = endpoint.facts.version
    if endpoint.side == "agent":
        await peer.request("hello", "initialize", initialize(version))
        assert (await peer.receive())["result"]["protocolVersion"] == version
        return
    async with anyio.create_task_group() as group:
        group.start_soon(connection.initialize)
        asked = await peer.receive()
        assert asked["method"] == "initialize"
        await peer.answer(asked["id"], initialized(version))
