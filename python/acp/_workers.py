"""The tasks of one connection.

Owns a pool of tasks that take over duties: reading on, following a handler that suspended, running
on a lane, writing when the transport is slow. It knows no message. Each task belongs to the
connection's task group and can be cancelled alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from acp._runtime import Runtime, Slot, fill
from acp._spawned import Spawned

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

__all__ = ("Duty", "Worker", "Workers")

_KEPT = 8
"""Tasks that stay parked for the next duty; waking one is cheaper than making one."""


class Worker:
    """One task of the pool."""

    __slots__ = ("run", "scope")

    def __init__(self, scope: CancelScope) -> None:
        self.scope = scope
        self.run: Any = None
        """The handler run that the task follows, if any."""


Duty = Callable[[Worker], Awaitable[None]]


class Workers:
    """Gives each duty to a task."""

    __slots__ = (
        "__weakref__",
        "_alive",
        "_busy",
        "_duties",
        "_kept",
        "_parked",
        "_supplier",
        "finished",
        "runtime",
    )

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._duties: deque[Duty] | None = None
        """Duties that no task has been found for yet."""
        self._parked: list[Slot[Duty | None]] = []
        self._kept = _KEPT
        # As keys: an empty set takes more than three times what an empty dict does.
        self._busy: dict[Worker, None] = {}
        self._alive = 0
        """Tasks that have been made and have not ended."""
        self._supplier: Slot[None] | None = None
        self.finished = False
        """No duty is given to a task any more."""

    def assign(self, duty: Duty) -> None:
        """Has a task take over `duty`, in a later turn of the loop: never inside this call.

        It may be called from anywhere in the loop's thread, also where there is no task.
        """
        while self._parked:
            if fill(self._parked.pop(), duty):
                return
        if self._duties is None:
            self._duties = deque()
        self._duties.append(duty)
        self._wake_supplier()

    def later(self, delay: float, callback: Callable[[], None]) -> Callable[[], object]:
        """Calls `callback` after `delay` seconds; the result, called before, prevents it."""
        return self.runtime.later(delay, callback, self.assign)

    async def supply(self, group: TaskGroup) -> None:
        """Makes a task for each duty that finds none parked, until `finish()`, or until there is
        no task any more in a rest.
        """
        while True:
            # A task may take its first step right here, and assign more or finish.
            while self._duties:
                self._alive += 1
                group.start_soon(self._work, self._duties.popleft())
            if self.finished or (self._kept == 0 and self._alive == 0):
                return
            await self._next_duty()

    def due(self) -> Slot[None] | None:
        """What to await until `supply` has to go on after it has returned; None when it has to now.

        Meanwhile there is no task, and no task group need be kept.
        """
        return None if self.finished or self._duties else self._next_duty()

    def _next_duty(self) -> Slot[None]:
        self._duties = None
        self._supplier = supplier = self.runtime.slot()
        return supplier

    def rest(self, resting: bool) -> None:
        """Whether tasks without a duty end, from now on, or stay for the next."""
        self._kept = 0 if resting else _KEPT
        if resting:
            self._dismiss()

    def cancel_handlers(self) -> None:
        """Cancels the tasks that follow a handler, but not one that waits for the connection to
        close.
        """
        for worker in self._busy:
            if worker.run is not None and not worker.run.closing:
                worker.scope.cancel()

    @property
    def runs(self) -> list[Any]:
        """The handler runs that tasks follow."""
        return [worker.run for worker in self._busy if worker.run is not None]

    def finish(self) -> None:
        """Has every task end but those that follow a handler, which end with it."""
        self.finished = True
        for worker in self._busy:
            if worker.run is None:
                worker.scope.cancel()
        self._dismiss()
        self._wake_supplier()

    def drop(self) -> None:
        """Nobody takes over a duty any more: those that wait are told, where they have to know."""
        duties, self._duties = self._duties, None
        for duty in duties or ():
            if isinstance(duty, Spawned):
                duty.drop()

    def _dismiss(self) -> None:
        while self._parked:
            fill(self._parked.pop(), None)

    def _wake_supplier(self) -> None:
        if self._supplier is not None:
            fill(self._supplier, None)
            self._supplier = None

    async def _work(self, first: Duty) -> None:
        with CancelScope() as scope:
            worker = Worker(scope)
            duty: Duty | None = first
            while duty is not None:
                self._busy[worker] = None
                try:
                    await duty(worker)
                finally:
                    del self._busy[worker]
                    # What keeps the duty keeps what it has bound, too, however long it parks.
                    duty = None
                # One that was cancelled cannot wait any more: another task takes over.
                duty = None if scope.cancel_called else await self._park()
            if not self._busy:
                # A dict gives back its memory only so.
                self._busy.clear()
        self._alive -= 1
        if self._alive == 0 and self._kept == 0:
            self._wake_supplier()

    async def _park(self) -> Duty | None:
        if self._duties:
            return self._duties.popleft()
        if self.finished or len(self._parked) >= self._kept:
            return None
        parked: Slot[Duty | None] = self.runtime.slot()
        self._parked.append(parked)
        return await parked
