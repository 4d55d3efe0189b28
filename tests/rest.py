"""Bringing a connection to rest, for tests: what its timer does is done at once.

Owns nothing of the library; it reaches for the inbox of a connection, whose attributes are private.
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import acp
from acp._transports.descriptors import DescriptorTransport
from acp.client.connection import ClientSideConnection
from tests.raw_peer import RawPeer, chunk, serving
from tests.sides import until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from acp import Transport
    from acp._inbox import Inbox

    Pair = tuple[Transport, Transport]


def inbox_of(connection: Any) -> Inbox:
    """The read side of one of the public connections."""
    return connection._connection._dispatcher.inbox


def look(connection: Any) -> bool:
    """The quiet time is over. Whether the connection rests."""
    inbox = inbox_of(connection)
    if inbox._end_quiet is not None:
        inbox._end_quiet()
        inbox.look()
    return inbox._resting


async def rested(*connections: Any) -> None:
    """Has connections rest."""
    for connection in connections:
        # The first look may find that something was heard.
        await until(lambda connection=connection: look(connection))


class Tasks:
    """The tasks that were made since this was."""

    def __init__(self) -> None:
        self._before = asyncio.all_tasks()

    @property
    def names(self) -> list[str]:
        return sorted(task.get_name() for task in asyncio.all_tasks() - self._before)


def memory() -> Pair:
    return acp.memory_pair()


def sockets() -> Pair:
    one, other = (end.detach() for end in socket.socketpair())
    return DescriptorTransport(one, one), DescriptorTransport(other, other)


both_kinds = pytest.mark.parametrize("make", [memory, sockets])


class Notes(acp.Client):
    """Notes the texts of updates."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.texts.append(update.content.text)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"echo": params}


@asynccontextmanager
async def client_at_rest(
    make: Callable[[], Pair], client: Any
) -> AsyncGenerator[tuple[ClientSideConnection, RawPeer, Tasks], None]:
    """A client that rests already, and the end of the test."""
    ours, theirs = make()
    tasks = Tasks()
    async with serving(ClientSideConnection, client, ours) as (connection, _), theirs:
        await rested(connection)
        yield connection, RawPeer(theirs), tasks


def json_line(text: str) -> str:
    """An update with this text, as it is sent."""
    return json.dumps({"jsonrpc": "2.0", **chunk(text)}) + "\n"
