"""What holds up reading: received messages that no handler has been started for, and handlers that
have suspended.

Owns their counts, the marks above which reading pauses, and the reader's wait. It knows neither
lanes nor handlers.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from anyio import move_on_after

from acp._runtime import Runtime, Slot, fill

if TYPE_CHECKING:
    from acp._calls import Calls
    from acp._limits import Limits
    from acp._serving import Serving

__all__ = ("Backlog",)


class Backlog:
    """Counts what waits in all queues of one connection."""

    __slots__ = (
        "_bytes",
        "_calls",
        "_limits",
        "_messages",
        "_moves",
        "_reader",
        "_runtime",
        "_serving",
        "_stuck",
        "asking",
        "following",
    )

    def __init__(self, runtime: Runtime, limits: Limits, serving: Serving, calls: Calls) -> None:
        self._runtime = runtime
        self._limits = limits
        self._serving = serving
        self._calls = calls
        self.following = 0
        """Handlers that have suspended and not ended."""
        self.asking = 0
        """Requests of handlers that are unanswered, and sends of theirs that block."""
        self._moves = 0
        self._stuck = False
        """Nothing has moved for so long that reading goes on until something does."""
        self._messages = 0
        self._bytes = 0
        self._reader: Slot[None] | None = None

    def __len__(self) -> int:
        return self._messages

    @property
    def size(self) -> int:
        """Bytes of the frames of what waits."""
        return self._bytes

    def give_back(self) -> None:
        """Has those that it counts give back memory that they do not need at the moment."""
        self._calls.give_back()
        self._serving.give_back()

    def put(self, queue: deque[Any] | None, item: Any) -> deque[Any]:
        """Adds an item, which has a `size`, to a queue; returns it, made if there was none."""
        if queue is None:
            queue = deque()
        queue.append(item)
        self._messages += 1
        self._bytes += item.size
        return queue

    def take(self, queue: deque[Any]) -> Any:
        """Takes the first item of a queue."""
        item = queue.popleft()
        self.took(item)
        return item

    def took(self, item: Any) -> None:
        """Tells that an item was taken out of its queue."""
        self._messages -= 1
        self._bytes -= item.size
        self._moves += 1
        self._stuck = False
        # Woken for each of many it would do nothing but look.
        if self._reader is not None and not self._is_full:
            self.moved()

    def moved(self) -> None:
        """Has the reader look again whether it may go on."""
        self._moves += 1
        self._stuck = False
        if self._reader is not None:
            fill(self._reader, None)
            self._reader = None

    @property
    def _is_full(self) -> bool:
        limits = self._limits
        return (
            self._messages > limits.waiting_messages
            or self._bytes > limits.waiting_bytes
            # Requests have a limit of their own.
            or self.following - len(self._serving) > limits.running_handlers
        )

    async def room(self) -> None:
        """Returns when reading may go on.

        Above the marks it may when what the handlers wait for can be what is still to be read: a
        handler waits for the peer, or nothing moves and a request of ours is unanswered. Raises
        OverflowError above the hard marks.
        """
        limits = self._limits
        while self._is_full:
            hard = self._messages > limits.waiting_messages_hard
            if hard or self._bytes > limits.waiting_bytes_hard:
                message = f"{self._messages} received messages wait for handlers that do not end"
                raise OverflowError(message)
            if self._stuck or self.asking:
                return
            moves = self._moves
            self._reader = self._runtime.slot()
            with move_on_after(limits.reading_patience if len(self._calls) else None) as patience:
                await self._reader
            self._reader = None
            self._stuck = patience.cancelled_caught and moves == self._moves
