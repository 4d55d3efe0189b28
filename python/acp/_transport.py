"""Transports of whole messages, under the name of the official Python SDK.

Owns two of them for users: over streams of asyncio, and between two ends in one process. The
contract is that of `acp._transports.messages`; the connections of this library use neither.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from anyio import (
    BrokenResourceError,
    ClosedResourceError,
    EndOfStream,
    create_memory_object_stream,
)

from acp._core import decode
from acp._limits import Limits
from acp._transports.messages import MessageTransport as Transport

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from acp.task import MessageSender

__all__ = ["NdjsonTransport", "Transport", "memory_transport_pair"]

_log = logging.getLogger("acp")

_QUEUED = 1024
"""Messages that wait between two ends in one process."""


class NdjsonTransport:
    """Messages as lines of JSON: received from a StreamReader, and sent by a `MessageSender`.

    A line that is no message, or longer than a connection reads (64 MiB), is skipped with a
    warning. `receive_timeout`: seconds that `receive` waits for a line before it raises
    TimeoutError.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        sender: MessageSender,
        *,
        receive_timeout: float | None = None,
    ) -> None:
        self._reader = reader
        self._sender = sender
        self._receive_timeout = receive_timeout
        self._longest = Limits.from_environment().max_message_bytes

    async def send(self, message: dict[str, Any]) -> None:
        """Sends one message."""
        await self._sender.send(message)

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of input."""
        while line := await asyncio.wait_for(self._line(), self._receive_timeout):
            if not line.strip():
                continue
            try:
                # Any type of open values reads as the connection itself does.
                message = decode(1, "ExtRequest", line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, (dict, list)):
                return cast("dict[str, Any]", message)
            _log.warning("Received what is no message, %d bytes", len(line))
        return None

    async def close(self) -> None:
        """Sends nothing more. Reader and writer stay open."""
        await self._sender.close()

    async def _line(self) -> bytes:
        """The next line, however long the reader's own limit is; empty at the end of input."""
        line = bytearray()
        size = 0
        while True:
            try:
                part = await self._reader.readuntil(b"\n")
                is_last = True
            except asyncio.LimitOverrunError as exc:
                part = await self._reader.readexactly(exc.consumed)
                is_last = False
            except asyncio.IncompleteReadError as exc:
                part, is_last = exc.partial, True
            size += len(part)
            if size <= self._longest:
                line += part
            if is_last:
                # One that is too long is told by its beginning, which is no message.
                return bytes(line)


class _MemoryEnd:
    """One end of a pair."""

    def __init__(
        self,
        outbox: MemoryObjectSendStream[dict[str, Any]],
        inbox: MemoryObjectReceiveStream[dict[str, Any]],
    ) -> None:
        self._outbox = outbox
        self._inbox = inbox

    async def send(self, message: dict[str, Any]) -> None:
        try:
            await self._outbox.send(dict(message))
        except (BrokenResourceError, ClosedResourceError) as exc:
            text = "The transport is closed"
            raise ConnectionError(text) from exc

    async def receive(self) -> dict[str, Any] | None:
        try:
            return await self._inbox.receive()
        except (EndOfStream, ClosedResourceError):
            return None

    async def close(self) -> None:
        self._outbox.close()
        self._inbox.close()


def memory_transport_pair() -> tuple[Transport, Transport]:
    """Two transports that are joined: what one sends the other receives.

    Up to 1,024 messages wait in each direction; `send` waits while there are more. Closing one ends
    the input of the other; both have to be closed.
    """
    there = create_memory_object_stream[dict[str, Any]](_QUEUED)
    back = create_memory_object_stream[dict[str, Any]](_QUEUED)
    return _MemoryEnd(there[0], back[1]), _MemoryEnd(back[0], there[1])
