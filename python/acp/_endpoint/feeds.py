"""A stream that reads a session.

Owns the way from a message of a session to the item that its reader gets. What that looks like is
the versions' own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from acp._endpoint.streams import Stream, check_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._endpoint.connection import Connection
    from acp._endpoint.sessions import Message
    from acp._endpoint.streams import WhenFull
    from acp._runtime import Slot

__all__ = ("Feed", "feed_of")

T = TypeVar("T")


class Feed(Stream[T], Generic[T]):
    """What is read of one session. The registry gives it messages as long as somebody holds it."""

    __slots__ = ("_convert",)

    def __init__(self, convert: Callable[[Message], T], **bounds: Any) -> None:
        super().__init__(**bounds)
        self._convert = convert

    def take(self, message: Message) -> Slot[None] | None:
        """Takes a message. What is returned is to be awaited before the next one."""
        return self.put(self._convert(message), message.size)

    def take_kept(self, message: Message) -> None:
        """Takes a message that came before the session was open."""
        self.put_kept(self._convert(message), message.size)


def feed_of(
    connection: Connection,
    buffer: int,
    when_full: WhenFull,
    convert: Callable[[Message], T],
    discard: Callable[[T], object] | None = None,
) -> Feed[T]:
    """Makes one, with the bounds of a connection.

    Raises ValueError for what is no bound or no policy.
    """
    check_bounds(buffer, when_full)
    return Feed(
        convert,
        runtime=connection.raw.caller.runtime,
        buffer=buffer,
        most_bytes=connection.limits.waiting_bytes,
        when_full=when_full,
        lost=connection.raw.counters.lose_unread,
        discard=discard,
    )
