"""What user code is run beside the messages of a connection.

Owns starting what follows an answer, and the callbacks of answers that have no place in a lane, or
need not wait for it; and telling how many are still to begin. What their end means is decided where
that of handlers is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from acp._lanes import CallbackRun

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from acp._calls import Call
    from acp._core import HandlerRun
    from acp._starting import Starter
    from acp._workers import Worker, Workers

    _Start = tuple[HandlerRun, Callable[[Any], Any], object, Context | None]

__all__ = ("Aside",)


class _Runs(Protocol):
    async def end_aside(self, worker: Worker, run: HandlerRun) -> None:
        """Drives a run to its end, if it has suspended."""
        ...


class Aside:
    """Runs user code in tasks of the connection."""

    __slots__ = ("_queue", "_runs", "_workers", "due", "starter")

    starter: Starter
    """Takes the first steps; set before anything is run."""

    def __init__(self, runs: _Runs, workers: Workers) -> None:
        self._runs = runs
        self._workers = workers
        self._queue: deque[_Start] | None = None
        self.due = 0
        """How much is still to begin, or to be answered, in a later turn of the loop."""

    def start(
        self,
        run: HandlerRun,
        function: Callable[[Any], Any],
        argument: object,
        context: Context | None,
    ) -> None:
        """Has `function(argument)` run as `run`, in `context`, from a later turn of the loop on.

        They begin in the order of these calls, each after the first step of the one before.
        """
        self.due += 1
        if self._queue is None:
            self._queue = deque()
            self._workers.assign(self._run)
        self._queue.append((run, function, argument, context))

    async def _run(self, worker: Worker) -> None:
        assert self._queue
        run, function, argument, context = self._queue.popleft()
        self.due -= 1
        try:
            self.starter.step(run, function, argument, context)
        finally:
            # Not before: tasks that are ready together take their steps in any order.
            if self._queue:
                self._workers.assign(self._run)
            else:
                self._queue = None
        await self._runs.end_aside(worker, run)

    def call_back(self, call: Call, event: Any = None) -> HandlerRun:
        """Has a callback run with an answer that need not wait; without one, with the answer that
        was there before the callback, or with what tells that none can come.
        """
        function, context = call.take_callback()
        owner = self.starter.owner
        if event is not None:
            run = CallbackRun(owner, event, None)
            self.start(run, function, event, context)
            return run

        async def answered(call: Call) -> None:
            result = function(await call.slot)
            if hasattr(result, "__await__"):
                await result

        # In place of a message it has what one tells: method and session.
        stand_in: Any = call
        run = CallbackRun(owner, stand_in, None)
        self.start(run, answered, call, context)
        return run
