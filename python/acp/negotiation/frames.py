"""Frames of a transport, one at a time, until somebody else takes over.

Owns cutting the input at newlines and giving back what was not looked at. It reads no message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp._transports.base import Transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp.exceptions import ConnectionClosed

__all__ = ("FrameReader", "Resumed")


class FrameReader:
    """Reads whole lines of a transport."""

    def __init__(self, transport: Transport, longest: int) -> None:
        self._transport = transport
        self._longest = longest
        self._read = bytearray()
        self._looked_at = 0
        self.is_over = False
        """The input has ended."""

    async def next(self) -> bytes:
        """The next line with its newline; what is left of one at the end; empty behind that.

        A line that is too long, which is no first message of anybody, comes in pieces.
        """
        while (end := self._read.find(b"\n", self._looked_at)) < 0:
            self._looked_at = len(self._read)
            # One byte more than that may be a carriage return.
            if self._looked_at > self._longest + 1:
                return self._take(self._looked_at)
            data = b"" if self.is_over else await self._transport.receive()
            if not data:
                self.is_over = True
                return self._take(len(self._read))
            self._read += data
        return self._take(end + 1)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._read[:count])
        del self._read[:count]
        self._looked_at = 0
        return taken

    def resume(self, first: bytes) -> Resumed:
        """The transport as it was before `first` was read, for who goes on with it."""
        return Resumed(self._transport, first + self._take(len(self._read)))


class Resumed(Transport):
    """A transport of which something was read already. It is open, and closes the other one."""

    def __init__(self, transport: Transport, read: bytes) -> None:
        self._transport = transport
        self._pending = read

    async def receive(self) -> bytes:
        pending, self._pending = self._pending, b""
        return pending or await self._transport.receive()

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        # Nothing may overtake what was read before.
        return not self._pending and self._transport.offer_to(take)

    def rest(self) -> bool:
        return not self._pending and self._transport.rest()

    async def send(self, data: bytes | memoryview) -> None:
        await self._transport.send(data)

    def send_nowait(self, data: bytes | memoryview) -> int:
        return self._transport.send_nowait(data)

    async def close(self) -> None:
        await self._transport.close()

    def closed_error(self) -> ConnectionClosed:
        return self._transport.closed_error()
