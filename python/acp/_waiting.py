"""Received messages that wait for something else than their lane.

Owns those that came before `initialize` was answered, and requests for which there is no room among
those that run. It starts them through the dispatcher, and knows no method.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from acp._core import RequestReceived

if TYPE_CHECKING:
    from acp._backlog import Backlog
    from acp._core import HandlerRun
    from acp._limits import Limits
    from acp._serving import Serving
    from acp._workers import Worker, Workers

__all__ = ("Waiting",)


class _Starts(Protocol):
    stopped: bool

    def start(self, event: Any) -> HandlerRun | None:
        """What an event means when it is its turn."""
        ...

    def start_released(self, item: Any) -> HandlerRun | None:
        """Starts what need not look at its lane any more."""
        ...

    async def carry_on(self, worker: Worker, run: HandlerRun) -> None:
        """Drives a run to its end, and sees to what waited for that."""
        ...

    def moved(self) -> None:
        """Something has changed that others may wait for."""
        ...


class Waiting:
    """The queues of one connection that belong to no lane."""

    __slots__ = ("_backlog", "_gate", "_limits", "_serving", "_starts", "_unstarted", "_workers")

    def __init__(
        self,
        starts: _Starts,
        backlog: Backlog,
        serving: Serving,
        limits: Limits,
        workers: Workers,
    ) -> None:
        self._starts = starts
        self._backlog = backlog
        self._serving = serving
        self._limits = limits
        self._workers = workers
        self._gate: deque[Any] | None = None
        self._unstarted: deque[Any] | None = None

    # Behind `initialize`.

    @property
    def is_gated(self) -> bool:
        """Whether everything waits for the answer of `initialize`."""
        return self._gate is not None

    def close_gate(self) -> None:
        """The handler of `initialize` has suspended."""
        self._gate = deque()

    def put_behind_gate(self, event: Any) -> None:
        """Adds a message to those that wait for the answer."""
        self._backlog.put(self._gate, event)

    def open_gate(self) -> None:
        """`initialize` is answered: what waited starts, in its order."""
        self._workers.assign(self._run_gate)

    async def _run_gate(self, worker: Worker) -> None:
        gate = self._gate
        while gate and not self._starts.stopped:
            event = self._backlog.take(gate)
            # What arrives meanwhile still goes behind: no other task runs before the gate is back.
            self._gate = None
            run = self._starts.start(event)
            self._gate = gate
            if run is not None:
                self._workers.assign(self._run_gate)
                await self._starts.carry_on(worker, run)
                return
        self._gate = None
        self._starts.moved()

    # Requests for which there was no room, and what need not wait in its lane any more.

    def put_for_room(self, event: Any) -> bool:
        """Adds a request to those that wait for others to end. False when it need not wait."""
        if not self._unstarted and len(self._serving) < self._limits.running_handlers:
            return False
        self._unstarted = self._backlog.put(self._unstarted, event)
        return True

    def look_for_room(self) -> None:
        """A request has ended."""
        if self._unstarted:
            self._workers.assign(lambda worker: self._run(worker, self._unstarted))

    def unstarted(self, session: str | None) -> list[RequestReceived]:
        """The requests of a session for which there was no room."""
        requests = (item for item in self._unstarted or () if type(item) is RequestReceived)
        return [request for request in requests if request.lane == session]

    def release(self, queue: deque[Any] | None) -> None:
        """Has what is in a queue start, later."""
        self._workers.assign(lambda worker: self._run(worker, queue))

    async def _run(self, worker: Worker, queue: deque[Any] | None) -> None:
        while queue and not self._starts.stopped:
            if len(self._serving) >= self._limits.running_handlers:
                if self._unstarted is None:
                    self._unstarted = deque()
                if queue is not self._unstarted:
                    self._unstarted.extend(queue)
                    queue.clear()
                return
            run = self._starts.start_released(self._backlog.take(queue))
            if run is not None:
                self._workers.assign(lambda other: self._run(other, queue))
                await self._starts.carry_on(worker, run)
                return
            await self._workers.runtime.turn()
