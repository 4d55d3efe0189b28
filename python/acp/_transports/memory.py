"""Two ends in one process.

Owns the pair of bounded buffers. No descriptor, no thread.
"""

from __future__ import annotations

from anyio import BrokenResourceError, ClosedResourceError

from acp._runtime import Runtime, Slot, fill
from acp._transports.base import Transport

__all__ = ("MemoryTransport", "memory_pair")

_CAPACITY = 256 * 1024
"""Bytes on the way in one direction; as with a pipe, more wait with the sender."""


class _Direction:
    """Bytes on the way from one end to the other."""

    __slots__ = ("_chunks", "_ended", "_reader", "_runtime", "_size", "_writer")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._chunks: list[bytes] = []
        self._size = 0
        self._ended = False
        self._reader: Slot[None] | None = None
        self._writer: Slot[None] | None = None

    def put(self, data: bytes | memoryview) -> int:
        if self._ended:
            raise BrokenResourceError
        taken = bytes(data[: _CAPACITY - self._size])
        if taken:
            self._chunks.append(taken)
            self._size += len(taken)
            self._wake_reader()
        return len(taken)

    async def room(self) -> None:
        self._writer = self._runtime.slot()
        await self._writer

    async def take(self) -> bytes:
        while not self._chunks:
            if self._ended:
                return b""
            self._reader = self._runtime.slot()
            await self._reader
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        self._wake_writer()
        return data

    def end(self) -> None:
        self._ended = True
        self._wake_reader()
        self._wake_writer()

    def _wake_reader(self) -> None:
        if self._reader is not None:
            fill(self._reader, None)
            self._reader = None

    def _wake_writer(self) -> None:
        if self._writer is not None:
            fill(self._writer, None)
            self._writer = None


class MemoryTransport(Transport):
    """One end of a pair: what one end sends, the other receives."""

    def __init__(self, incoming: _Direction, outgoing: _Direction) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._closed = False

    async def receive(self) -> bytes:
        if self._closed:
            raise ClosedResourceError
        return await self._incoming.take()

    def send_nowait(self, data: bytes | memoryview) -> int:
        if self._closed:
            raise ClosedResourceError
        return self._outgoing.put(data)

    async def send(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        while rest := rest[self.send_nowait(rest) :]:
            await self._outgoing.room()

    async def close(self) -> None:
        self._closed = True
        self._outgoing.end()
        self._incoming.end()


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected transports for an agent and a client in one process and one event loop.

    Each direction holds up to 256 KiB; more waits with the sender. Part of this library, not of the
    protocol.
    """
    runtime = Runtime()
    one, other = _Direction(runtime), _Direction(runtime)
    return MemoryTransport(one, other), MemoryTransport(other, one)
