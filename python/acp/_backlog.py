"""What holds up reading: received messages that no handler has been started for, and handlers that
have suspended.

Owns their counts, the marks above which reading pauses, and the reader's wait. It knows neither
lanes nor handlers.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

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
        "_reader",
        "_runtime",
        "_serving",
        "following",
    )

    def __init__(self, runtime: Runtime, limits: Limits, serving: Serving, calls: Calls) -> None:
        self._runtime = runtime
        self._limits = limits
        self._serving = serving
        self._calls = calls
        self.following = 0
        """Handlers that have suspended and not ended."""
        self._messages = 0
        self._bytes = 0
        self._reader: Slot[None] | None = None

    def __len__(self) -> int:
        return self._messages

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
        self.moved()

    def moved(self) -> None:
        """Has the reader look again whether it may go on."""
        if self._reader is not None:
            fill(self._reader, None)
            self._reader = None

    async def room(self) -> None:
        """Returns when reading may go on.

        Above the marks that is also when a request of ours is unanswered: what the handlers wait
        for may be its answer, and only reading brings it. Raises OverflowError above the hard
        marks.
        """
        limits = self._limits
        while (
            self._messages > limits.waiting_messages
            or self._bytes > limits.waiting_bytes
            # Requests have a limit of their own.
            or self.following - len(self._serving) > limits.running_handlers
        ):
            hard = self._messages > limits.waiting_messages_hard
            if hard or self._bytes > limits.waiting_bytes_hard:
                message = f"{self._messages} received messages wait for handlers that do not end"
                raise OverflowError(message)
            if len(self._calls):
                return
            self._reader = self._runtime.slot()
            await self._reader
