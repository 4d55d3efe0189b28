"""A flag that tasks wait for.

Owns who waits. Two of these stand in every connection, so that one which nobody waits for costs
next to nothing. It knows no protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp._runtime import fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._runtime import Runtime, Slot

__all__ = ("Flag",)


class Flag:
    """Is set once; any number of tasks of one loop wait for that."""

    __slots__ = ("_functions", "_is_set", "_runtime", "_waiters")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._is_set = False
        self._waiters: list[Slot[None]] | None = None
        # In their order; a dict, so that each can be taken out again at once.
        self._functions: dict[Callable[[], object], None] | None = None

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    def set(self) -> None:
        """Wakes all that wait. Setting it again does nothing."""
        self._is_set = True
        waiters, self._waiters = self._waiters, None
        for waiter in waiters or ():
            fill(waiter, None)
        functions, self._functions = self._functions, None
        for function in functions or ():
            function()

    def add(self, function: Callable[[], object]) -> None:
        """Has a function called when it is set, at once when it is already."""
        if self._is_set:
            function()
            return
        if self._functions is None:
            self._functions = {}
        self._functions[function] = None

    def remove(self, function: Callable[[], object]) -> None:
        """Takes back what was added, if it was not called yet."""
        if self._functions is not None:
            self._functions.pop(function, None)

    async def wait(self) -> None:
        """Returns when it is set; where it is already, after other tasks had their turn."""
        if self._is_set:
            await self._runtime.turn()
            return
        waiter: Slot[None] = self._runtime.slot()
        if self._waiters is None:
            self._waiters = []
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            self._forget(waiter)

    def _forget(self, waiter: Slot[None]) -> None:
        # Still in the list is only who was cancelled.
        if self._waiters is not None:
            self._waiters.remove(waiter)
