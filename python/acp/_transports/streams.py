"""A pair of asyncio streams as a transport.

Owns the mapping of StreamReader and StreamWriter, which users may bring. The writer is theirs: it
is flushed and left open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import BrokenResourceError, CancelScope, ClosedResourceError

from acp._transports.base import Transport

if TYPE_CHECKING:
    import asyncio

__all__ = ("StreamTransport",)

_CHUNK = 64 * 1024


class StreamTransport(Transport):
    """Receives from `reader` and sends to `writer`."""

    def __init__(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        self._writer = writer
        self._reader = reader
        self._closed = False
        self._sending = CancelScope()

    async def receive(self) -> bytes:
        if self._closed:
            raise ClosedResourceError
        try:
            return await self._reader.read(_CHUNK)
        except OSError as exc:
            raise BrokenResourceError from exc

    def send_nowait(self, data: bytes | memoryview) -> int:
        if self._closed:
            raise ClosedResourceError
        if self._writer.is_closing():
            raise BrokenResourceError
        transport = self._writer.transport
        if transport.get_write_buffer_size() > 0:
            return 0
        self._writer.write(data)
        return len(data)

    async def send(self, data: bytes | memoryview) -> None:
        if self._closed:
            raise ClosedResourceError
        self._sending = CancelScope()
        try:
            self._writer.write(data)
            with self._sending:
                await self._writer.drain()
        except OSError as exc:
            raise BrokenResourceError from exc
        if self._closed:
            raise ClosedResourceError

    async def close(self) -> None:
        self._closed = True
        self._sending.cancel()
