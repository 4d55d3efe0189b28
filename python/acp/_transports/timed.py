"""A transport whose other end has to say something every so often.

Owns the time between two arrivals, and passes everything on. What arrives it does not look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import BrokenResourceError, fail_after

from acp._transports.passing import PassingTransport
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from acp._transports.base import Transport

__all__ = ("TimedTransport",)


class TimedTransport(PassingTransport):
    """Breaks when nothing has arrived for `seconds` while somebody waits for it."""

    # Without `offer_to` and `rest`: somebody always waits, which is what has the end.

    def __init__(self, transport: Transport, seconds: float) -> None:
        super().__init__(transport)
        self._receive_timeout = seconds
        self.failure: RequestError | None = None
        """What the wait has ended with."""

    async def receive(self) -> bytes:
        try:
            with fail_after(self._receive_timeout):
                return await self._transport.receive()
        except TimeoutError as exc:
            self.failure = RequestError.internal_error({"details": "Agent timeout"})
            self.failure.__cause__ = exc
            raise BrokenResourceError from self.failure
