"""What is to be read of one session, between the handlers' side and a reader.

Owns the bound of such a stream and what happens when its reader is too slow. It knows no method and
no session.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from acp._runtime import fill
from acp.exceptions import StreamOverflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._runtime import Runtime, Slot

__all__ = ("BUFFER", "Stream", "WhenFull", "check_bounds")

T = TypeVar("T")

WhenFull = Literal["fail", "wait", "drop_oldest"]
"""What happens when a reader is too slow.

`fail`: it gets what is there and then StreamOverflow, and nothing and nobody else is affected.
`wait`: the session waits for it, with all that comes behind; the agent is slowed down in the end,
and a reader that never reads again holds the connection up. `drop_oldest`: the oldest messages are
lost, and counted.
"""

BUFFER = 4096
"""Messages that wait for a reader, when nothing else is said."""

_CHOICES = ("fail", "wait", "drop_oldest")


def check_bounds(buffer: int, when_full: str) -> None:
    """Raises ValueError for what is no bound or no policy."""
    if buffer < 1 or when_full not in _CHOICES:
        message = f"A stream has a buffer of at least 1, and when_full is one of {_CHOICES}"
        raise ValueError(message)


_Entry = tuple[Any, int, bool]
"""An item, the bytes of its frame, and whether it is dropped only for others of its kind."""


class Stream(Generic[T]):
    """Items in their order, for one reader or several that take turns.

    Args:
        runtime: The loop's primitives.
        buffer: Items that may wait.
        most_bytes: Bytes of their frames that may.
        when_full: What then happens.
        lost: Called for each item that is lost because its reader was too slow.
        discard: Called with each item that nobody will read, whatever the reason.
    """

    __slots__ = (
        "__weakref__",
        "_buffer",
        "_bytes",
        "_discard",
        "_entries",
        "_failure",
        "_lost",
        "_most_bytes",
        "_outside",
        "_readers",
        "_runtime",
        "_when_full",
        "dropped",
    )

    def __init__(
        self,
        runtime: Runtime,
        *,
        buffer: int,
        most_bytes: int,
        when_full: WhenFull,
        lost: Callable[[], object],
        discard: Callable[[T], object] | None = None,
    ) -> None:
        self._runtime = runtime
        self._buffer = buffer
        self._most_bytes = most_bytes
        self._when_full = when_full
        self._lost = lost
        self._discard = discard
        self._entries: deque[_Entry] = deque()
        self._bytes = 0
        self._outside: deque[tuple[_Entry, Slot[None]]] = deque()
        """Items for which there is no room, and where who puts them waits for it. They have their
        order, whoever goes on waiting.
        """
        self._readers: list[Slot[None]] = []
        self._failure: Callable[[], Exception] | None = None
        self.dropped = 0
        """Items that were lost because nobody had read them in time."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing is taken any more."""
        return self._failure is not None

    def put(self, item: T, size: int, *, is_lasting: bool = False) -> Slot[None] | None:
        """Adds an item. What is returned is to be awaited before the next one."""
        if self._failure is None and not self._outside and not self._is_full(size):
            self._add((item, size, is_lasting))
            return None
        if self._failure is not None:
            self._give_up(item)
            return None
        if self._when_full == "wait":
            slot: Slot[None] = self._runtime.slot()
            self._outside.append(((item, size, is_lasting), slot))
            return slot
        if self._when_full == "drop_oldest":
            while self._is_full(size) and self._drop_oldest():
                pass
            self._add((item, size, is_lasting))
            return None
        self._lose(item)
        self.end(StreamOverflow)
        return None

    def put_kept(self, item: T, size: int) -> None:
        """Adds an item that was kept elsewhere, within other bounds than those of this stream."""
        if self._failure is None:
            self._add((item, size, False))

    async def get(self) -> T:
        """The next item, waiting for it. Raises why it ended, behind the last."""
        while not self._entries:
            if self._failure is not None:
                raise self._failure()
            slot: Slot[None] = self._runtime.slot()
            self._readers.append(slot)
            try:
                await slot
            finally:
                if slot in self._readers:
                    self._readers.remove(slot)
        item, size, _ = self._entries.popleft()
        self._bytes -= size
        while self._outside and not self._is_full(self._outside[0][0][1]):
            self._let_in(self._outside.popleft())
        return item

    def end(self, failure: Callable[[], Exception]) -> None:
        """Takes nothing any more. What is there can be read; then `failure()` is raised."""
        if self._failure is not None:
            return
        self._failure = failure
        outside, self._outside = self._outside, deque()
        for waiting in outside:
            self._let_in(waiting)
        self._wake()

    def clear(self) -> None:
        """Nobody reads what is there."""
        entries, self._entries = self._entries, deque()
        self._bytes = 0
        for item, _, _ in entries:
            self._give_up(item)

    def _is_full(self, size: int) -> bool:
        # One item has room whatever its size.
        return len(self._entries) >= self._buffer or (
            bool(self._entries) and self._bytes + size > self._most_bytes
        )

    def _add(self, entry: _Entry) -> None:
        self._entries.append(entry)
        self._bytes += entry[1]
        if self._readers:
            self._wake()

    def _let_in(self, waiting: tuple[_Entry, Slot[None]]) -> None:
        entry, slot = waiting
        self._add(entry)
        fill(slot, None)

    def _wake(self) -> None:
        # All of them: the one that were woken alone could be cancelled in this turn.
        readers, self._readers = self._readers, []
        for reader in readers:
            fill(reader, None)

    def _drop_oldest(self) -> bool:
        if not self._entries:
            return False
        # Where all are lasting, it is nobody who reads.
        places = (at for at, entry in enumerate(self._entries) if not entry[2])
        at = next(places, 0)
        item, size, _ = self._entries[at]
        del self._entries[at]
        self._bytes -= size
        self._lose(item)
        return True

    def _lose(self, item: T) -> None:
        self.dropped += 1
        self._lost()
        self._give_up(item)

    def _give_up(self, item: T) -> None:
        if self._discard is not None:
            self._discard(item)
