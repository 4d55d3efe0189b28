"""Things that nobody holds any more, and that something is still owed for.

Owns the way from a finalizer into the loop. A finalizer runs wherever the collector does, also
inside the core or in another thread: it only appends to the loop's own queue, from which a later
turn takes what was dropped.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._runtime import Runtime

__all__ = ("Dropped",)

_log = logging.getLogger("acp")


class _Owes(Protocol):
    def was_dropped(self, item: Any, /) -> None:
        """Sees to what is owed for an item. Called in the loop."""
        ...


class Dropped:
    """Hands over what was dropped, in the loop."""

    __slots__ = ("_in_loop", "_owes", "_runtime", "is_expected")

    def __init__(self, runtime: Runtime, owes: _Owes) -> None:
        self._runtime = runtime
        self._owes = owes
        self._in_loop: Callable[..., object] | None = None
        self.is_expected = False
        """Whether anything is, so that it need not be told again."""

    def expect(self) -> None:
        """Something is made that may be dropped. Called in the loop."""
        if self._in_loop is None:
            self._in_loop = self._runtime.from_thread
            self.is_expected = True

    def add(self, item: object) -> None:
        """What a finalizer calls, from anywhere."""
        if self._in_loop is None:
            return
        try:
            self._in_loop(self._see_to, item)
        except Exception:  # noqa: BLE001 - the loop has ended, perhaps the interpreter: no more is owed
            return

    def _see_to(self, item: Any) -> None:
        try:
            self._owes.was_dropped(item)
        except Exception as exc:  # noqa: BLE001 - a core that has failed; the loop must go on
            _log.error("What was dropped could not be seen to: %s", type(exc).__name__)
