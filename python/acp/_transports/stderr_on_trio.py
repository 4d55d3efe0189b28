"""The stream on which users of trio read a child's stderr.

Owns that class, which is trio's; the pipe and the ring are `acp._transports.stderr`'s.
"""

from __future__ import annotations

from trio import BusyResourceError, ClosedResourceError
from trio.abc import ReceiveStream
from trio.lowlevel import checkpoint

from acp._runtime import fill
from acp._runtime.on_trio import TrioSlot
from acp._transports.stderr import CAPACITY, Ring

__all__ = ("TrioStderrReader",)


class TrioStderrReader(ReceiveStream):
    """The stream `process.stderr`: reading it works as usual, and leaving it unread blocks nobody.

    Of what nobody reads, the last 64 KiB stay.
    """

    def __init__(self) -> None:
        self._ring = Ring()
        self._ended = False
        self._closed = False
        self._reader: TrioSlot | None = None

    @property
    def tail(self) -> str:
        """The last 64 KiB, read or not."""
        return self._ring.text

    def collect(self, data: bytes) -> None:
        """Adds what the child wrote."""
        self._ring.add(data)
        self._wake()

    def feed_eof(self) -> None:
        """Tells that nothing more comes."""
        self._ended = True
        self._wake()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """The next bytes, at most `max_bytes`, waiting for the first; empty at the end."""
        await checkpoint()
        if self._reader is not None:
            raise BusyResourceError
        while not self._ring.unread and not self._ended and not self._closed:
            self._reader = TrioSlot()
            try:
                await self._reader
            finally:
                self._reader = None
        if self._closed:
            raise ClosedResourceError
        return self._ring.take(CAPACITY if max_bytes is None else max_bytes)

    async def aclose(self) -> None:
        """Gives up reading. What the child writes is still taken."""
        self._closed = True
        self._wake()
        await checkpoint()

    def _wake(self) -> None:
        if self._reader is not None:
            fill(self._reader, None)
