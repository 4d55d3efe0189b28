"""Things that nobody holds any more, and that something is still owed for.

Owns the way from a finalizer into the loop. A finalizer runs wherever the collector does, also
inside the core or in another thread: it only appends to a queue, which the loop empties in a later
turn.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._runtime import Runtime

__all__ = ("Dropped",)


class Dropped:
    """Hands over what was dropped, in the loop."""

    __slots__ = ("_handle", "_in_loop", "_queue", "_runtime")

    def __init__(self, runtime: Runtime, handle: Callable[[Any], object]) -> None:
        self._runtime = runtime
        self._handle = handle
        self._in_loop: Callable[..., object] | None = None
        self._queue: deque[Any] | None = None

    def expect(self) -> None:
        """Something is made that may be dropped. Called in the loop."""
        if self._queue is None:
            self._queue = deque()
            self._in_loop = self._runtime.from_thread

    def add(self, item: object) -> None:
        """What a finalizer calls, from anywhere."""
        if self._queue is None or self._in_loop is None:
            return
        self._queue.append(item)
        try:
            self._in_loop(self._drain)
        except Exception:  # noqa: BLE001 - the loop has ended; nothing is owed any more
            self._queue.clear()

    def _drain(self) -> None:
        queue = self._queue
        while queue:
            self._handle(queue.popleft())
