"""Two ends in one process.

Owns the pair of bounded buffers. No descriptor, no thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import BrokenResourceError, ClosedResourceError, WouldBlock

from acp._runtime import Runtime, Slot, fill, is_on_trio
from acp._transports.base import Transport

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("MemoryTransport", "memory_pair")

_CAPACITY = 256 * 1024
"""Bytes on the way in one direction; as with a pipe, more wait with the sender."""


class _Direction:
    """Bytes on the way from one end to the other."""

    __slots__ = (
        "_chunks",
        "_ended",
        "_offer_comes",
        "_offered",
        "_reader",
        "_resting",
        "_runtime",
        "_size",
        "_take",
        "_writer",
    )

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._chunks: list[bytes] = []
        self._size = 0
        self._ended = False
        self._reader: Slot[bool] | None = None
        self._writer: Slot[None] | None = None
        self._take: Callable[[bytes], bool] | None = None
        self._resting = False
        self._offer_comes = False
        self._offered: bytes | None = None
        """What was offered and not taken: it is received alone."""

    def put(self, data: bytes | memoryview) -> int:
        if self._ended:
            raise BrokenResourceError
        taken = bytes(data[: _CAPACITY - self._size])
        if taken:
            self._chunks.append(taken)
            self._size += len(taken)
            self._arrived()
        return len(taken)

    async def room(self) -> None:
        self._writer = self._runtime.slot()
        await self._writer

    async def receive(self) -> bytes:
        self._resting = False
        if self._offered is not None:
            data, self._offered = self._offered, None
            self._left(data)
            return data
        while not self._chunks:
            if self._ended:
                return b""
            self._reader = reader = self._runtime.slot()
            if not await reader:
                raise WouldBlock
        data = self._joined()
        self._left(data)
        return data

    def offer_to(self, take: Callable[[bytes], bool]) -> None:
        self._take = take

    def rest(self) -> bool:
        reader, self._reader = self._reader, None
        if self._take is None or reader is None or not fill(reader, False):
            return False
        self._resting = True
        return True

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._arrived()
            self._wake_writer()

    def _arrived(self) -> None:
        if self._resting:
            # Not at once: the sender may be inside a call of the connection that would take it.
            if not self._offer_comes:
                self._offer_comes = True
                self._runtime.soon(self._offer)
        elif self._reader is not None:
            fill(self._reader, True)
            self._reader = None

    def _offer(self) -> None:
        self._offer_comes = False
        # It may have been taken up, and rest again, since.
        if self._take is None or not self._resting or not (self._chunks or self._ended):
            return
        data = self._joined()
        if data:
            if not self._take(data):
                self._resting = False
                self._offered = data
                return
            self._left(data)
        if self._ended:
            self._resting = False
            self._take(b"")

    def _joined(self) -> bytes:
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        return data

    def _left(self, data: bytes) -> None:
        self._size -= len(data)
        self._wake_writer()

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
        return await self._incoming.receive()

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        self._incoming.offer_to(take)
        return not is_on_trio()

    def rest(self) -> bool:
        return self._incoming.rest()

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
