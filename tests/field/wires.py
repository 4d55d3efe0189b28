"""Connections of either role over memory or pipes, with the input cut into pieces.

Owns what the field tests have in common: the raw end of a wire that takes and gives bytes as they
are, and handlers that echo. It knows no case.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import acp
from acp._transports.descriptors import DescriptorTransport
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.raw_peer import RawPeer, serving, within

if TYPE_CHECKING:
    from collections.abc import Callable

SIDES: dict[str, Any] = {"agent": AgentSideConnection, "client": ClientSideConnection}

each_side = pytest.mark.parametrize("side", list(SIDES))
each_wire = pytest.mark.parametrize("wire", ["memory", "pipes"])
each_cut = pytest.mark.parametrize("cut", [1, 7, None])
"""Bytes of the pieces that input arrives in; None for as many as there are."""


class CutTransport(acp.Transport):
    """Another transport whose input arrives in pieces of at most `cut` bytes."""

    def __init__(self, inner: acp.Transport, cut: int) -> None:
        self._inner = inner
        self._cut = cut
        self._rest = b""

    async def open(self) -> None:
        await self._inner.open()

    async def receive(self) -> bytes:
        data = self._rest or await self._inner.receive()
        self._rest = data[self._cut :]
        return data[: self._cut]

    async def send(self, data: bytes | memoryview) -> None:
        await self._inner.send(data)

    def send_nowait(self, data: bytes | memoryview) -> int:
        return self._inner.send_nowait(data)

    async def close(self) -> None:
        await self._inner.close()


class Wire(RawPeer):
    """The raw end, in bytes."""

    async def send_bytes(self, *parts: bytes) -> None:
        """Sends lines, or parts of them, as they are and in one go."""
        await within(self.transport.send(b"".join(parts)))

    async def exchange(self, request_id: Any, method: str = "_x/echo", params: Any = None) -> Any:
        """Sends a request and returns the next message."""
        await self.request(request_id, method, {} if params is None else params)
        return await self.receive()

    async def receive_bytes(self, lines: int = 1) -> bytes:
        """That many lines, as they are."""
        while self._rest.count(b"\n") < lines:
            part = await within(self.transport.receive())
            assert part
            self._rest += part
        *taken, self._rest = self._rest.split(b"\n", lines)
        return b"".join(line + b"\n" for line in taken)


class Echo:
    """Serves `_x/echo` in either role and notes notifications."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.notes: list[tuple[str, Any]] = []

    async def ext_method(self, method: str, params: Any) -> Any:
        self.requests.append((method, params))
        return params

    async def ext_notification(self, method: str, params: Any) -> None:
        self.notes.append((method, params))


def memory() -> tuple[acp.Transport, acp.Transport]:
    return acp.memory_pair()


def pipes() -> tuple[acp.Transport, acp.Transport]:
    read_one, write_other = os.pipe()
    read_other, write_one = os.pipe()
    return DescriptorTransport(read_one, write_one), DescriptorTransport(read_other, write_other)


WIRES: dict[str, Callable[[], tuple[acp.Transport, acp.Transport]]] = {
    "memory": memory,
    "pipes": pipes,
}


@asynccontextmanager
async def wired(
    side: str, handlers: Any, *, wire: str = "memory", cut: int | None = None, **options: Any
) -> AsyncGenerator[tuple[Any, Wire], None]:
    """A connection that plays `side`, and the raw end that plays the other."""
    ours, theirs = WIRES[wire]()
    transport = ours if cut is None else CutTransport(ours, cut)
    async with serving(SIDES[side], handlers, transport, **options) as (connection, group):
        await theirs.open()
        try:
            yield connection, Wire(theirs, group)
        finally:
            await theirs.close()


def answer_of(connection: Any, method: str = "x/answer") -> Any:
    """A call of ours that either role can make."""
    return connection.ext_method(method, {})
