"""A transport whose other end has to say something every so often.

Owns the time between two arrivals, and passes everything on. What arrives it does not look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import BrokenResourceError, fail_after

from acp._transports.base import Transport
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp.exceptions import ConnectionClosed

__all__ = ("TimedTransport",)


class TimedTransport(Transport):
    """Breaks when nothing has arrived for `seconds` while somebody waits for it."""

    # Without `offer_to` and `rest`: somebody always waits, which is what has the end.

    def __init__(self, transport: Transport, seconds: float) -> None:
        self._transport = transport
        self._receive_timeout = seconds
        self.failure: RequestError | None = None
        """What the wait has ended with."""

    async def open(self) -> None:
        await self._transport.open()

    async def receive(self) -> bytes:
        try:
            with fail_after(self._receive_timeout):
                return await self._transport.receive()
        except TimeoutError as exc:
            self.failure = RequestError.internal_error({"details": "Agent timeout"})
            self.failure.__cause__ = exc
            raise BrokenResourceError from self.failure

    async def send(self, data: bytes | memoryview) -> None:
        await self._transport.send(data)

    def part_of(self, data: memoryview) -> memoryview:
        return self._transport.part_of(data)

    def send_nowait(self, data: bytes | memoryview) -> int:
        return self._transport.send_nowait(data)

    async def close(self) -> None:
        await self._transport.close()

    def observe_stderr(self, take: Callable[[str], object]) -> None:
        self._transport.observe_stderr(take)

    def closed_error(self) -> ConnectionClosed:
        return self._transport.closed_error()
