"""The contract of a transport.

Owns the abstract class that the connection layer sees. It knows no way to move bytes itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from acp.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

__all__ = ("Transport", "may_offer")

_PART = 64 * 1024
"""Bytes of one send that waits: what a pipe holds."""


class Transport(ABC):
    """Moves the bytes of one connection, in both directions at once.

    One task receives and one sends; closing may happen from any. A transport raises
    `anyio.BrokenResourceError` when the other end is gone or reading fails,
    `anyio.ClosedResourceError` when it is used after `close()`.
    """

    async def open(self) -> None:
        """Takes hold of what the transport needs. Opening it again does nothing."""
        return

    @abstractmethod
    async def receive(self) -> bytes:
        """The next bytes, as many as there are, waiting for the first.

        Empty at the end of input, and from then on.
        """

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        """Has `take` see bytes that arrive while `receive` waits, where no task has to be woken for
        that.

        `take` returns True when that was all, and `receive` goes on waiting; False when it has to
        return them, and nothing but them. It must be called neither in another task nor inside a
        call of this transport. A transport need not do so.

        Returns whether it can also `rest()`.
        """
        del take
        return False

    def rest(self) -> bool:
        """Has a `receive` that waits raise `anyio.WouldBlock`; from then on bytes are offered
        though nobody waits.

        That lasts until `take` returns False, for bytes that the next `receive` then returns. At
        the end of input, or when reading fails, it sees `b""`, and `receive` tells which. False
        when nothing waits or bytes have come, and nothing has changed.
        """
        return False

    @abstractmethod
    async def send(self, data: bytes | memoryview) -> None:
        """Sends all of `data`, waiting as long as the other end takes nothing."""

    def part_of(self, data: memoryview) -> memoryview:
        """The beginning of `data`, as much as is given to one `send`; the time that the other end
        has for taking it begins anew with each.
        """
        return data[:_PART]

    def send_nowait(self, data: bytes | memoryview) -> int:
        """Sends what can go at once, and returns the number of bytes sent; 0 when nothing can."""
        del data
        return 0

    @abstractmethod
    async def close(self) -> None:
        """Gives back everything that the transport holds. Closing it again does nothing."""

    def observe_stderr(self, take: Callable[[str], object]) -> None:
        """Has `take` get each line of stderr, where this side has the peer's and reads it.

        Called before `open`.
        """
        del take

    def closed_error(self) -> ConnectionClosed:
        """What callers get whose answer can no longer come."""
        return ConnectionClosed()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def may_offer(transport: Transport) -> bool:
    """Whether bytes may go past `receive`.

    Not where a subclass has one of its own, but the `offer_to` of its base: it may do anything with
    the bytes.
    """
    for kind in type(transport).__mro__:
        names = vars(kind)
        if "offer_to" in names:
            return True
        if "receive" in names:
            return False
    return False
