"""From received events to handlers: the only pump of a connection.

Owns the order in which handlers take their first step, and who goes on reading when a handler
suspends. It knows no method by name (the router does), counts nothing that waits (the backlog does)
and answers nothing (`acp._serving` does).

A handler's first step is taken right here, without a task. A handler that suspends is driven to its
end by the task that made the step, and another task of the pool takes over what that one was doing:
reading, or running on a lane.
"""

from __future__ import annotations

import logging
from collections import deque
from contextvars import copy_context
from time import perf_counter
from typing import TYPE_CHECKING, Any

from anyio import BrokenResourceError, ClosedResourceError, get_cancelled_exc_class

from acp._backlog import Backlog
from acp._calls import Calls, HeldResponse
from acp._core import (
    FrameRejected,
    InternalError,
    NotificationReceived,
    RequestCancelled,
    RequestReceived,
    ResponseReceived,
)
from acp._lanes import CancelRun, HandlerRun, Lane, Lanes, RequestRun
from acp._runtime import Slot, fill
from acp._stepping import Suspended, as_coroutine, first_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CoroutineType

    from acp import _core
    from acp._limits import Limits
    from acp._router import Route, Router
    from acp._serving import Serving
    from acp._transports.base import Transport
    from acp._workers import Worker, Workers

__all__ = ("Dispatcher",)

_log = logging.getLogger("acp")


class Dispatcher:
    """Reads one connection and runs its handlers."""

    def __init__(
        self,
        core: _core.Connection,
        router: Router,
        transport: Transport,
        calls: Calls,
        workers: Workers,
        serving: Serving,
        limits: Limits,
        *,
        wrote: Callable[[], None],
        ended: Callable[[Exception | None], None],
    ) -> None:
        self._core = core
        self._router = router
        self._transport = transport
        self._calls = calls
        self._workers = workers
        self._runtime = workers.runtime
        self._serving = serving
        self._limits = limits
        self._wrote = wrote
        self._ended = ended
        self._events: Iterator[_core.Event] = iter(())
        self._reading = True
        self._input_ended = False
        self._stopped = False
        self._reader: Worker | None = None
        self._unstarted: deque[RequestReceived] = deque()
        self._gate: deque[Any] | None = None
        self._following = 0
        self._closing = 0
        self._idle: Slot[None] | None = None
        self._rejected = 0
        self._backlog = Backlog(
            workers.runtime,
            limits,
            lambda: self._following - len(serving),
            lambda: len(calls) > 0,
        )
        self._lanes = Lanes(
            self._backlog,
            limits.lane_patience,
            workers.later,
            lambda lane: workers.assign(lambda worker: self._run_queue(worker, lane.released)),
        )
        self._on: dict[type[_core.Event], Callable[[Any], HandlerRun | None]] = {
            NotificationReceived: self._on_notification,
            RequestReceived: self._on_request,
            ResponseReceived: self._on_response,
            RequestCancelled: self._on_request_cancelled,
            FrameRejected: self._on_frame_rejected,
        }

    async def pump(self, worker: Worker) -> None:
        """Reads and dispatches until the input ends or, after a suspension, another task does."""
        on = self._on
        most, longest = self._limits.steps_per_turn, self._limits.seconds_per_turn
        # Steps count on from chunk to chunk: receiving need not let other tasks run.
        steps = 0
        while self._reading:
            since = perf_counter()
            for event in self._events:
                run = on[type(event)](event)
                if run is not None:
                    self._workers.assign(self.pump)
                    await self._carry_on(worker, run)
                    return
                steps += 1
                if steps >= most or perf_counter() - since > longest:
                    await self._runtime.turn()
                    if not self._reading:
                        return
                    steps, since = 0, perf_counter()
            if self._core.output_size:
                self._wrote()
            await self._receive(worker)

    async def _receive(self, worker: Worker) -> None:
        """Waits for the next chunk, or ends the reading."""
        if self._input_ended:
            self._reading = False
            self._ended(None)
            return
        self._reader = worker
        try:
            if len(self._backlog) or self._following:
                await self._backlog.room()
            data = await self._transport.receive()
            self._input_ended = not data
            events = self._core.receive(data) if data else self._core.end_of_input()
        except (BrokenResourceError, ClosedResourceError, OverflowError, InternalError) as exc:
            self._reading = False
            self._ended(exc)
        else:
            self._events = iter(events)
        finally:
            self._reader = None

    def stop(self) -> None:
        """Starts no further handler: answers that are here are handed over, the rest is dropped."""
        self.stop_reading()
        self._stopped = True
        self._lanes.release_all()

    def stop_reading(self) -> None:
        """Takes no further message."""
        self._reading = False
        if self._reader is not None:
            self._reader.scope.cancel()

    async def wait_until_idle(self) -> None:
        """Returns when no handler runs but those that wait for the connection to close."""
        while self._following > self._closing or (len(self._backlog) and not self._stopped):
            self._idle = self._runtime.slot()
            await self._idle

    def call_started(self, run: HandlerRun | None) -> None:
        """A request of ours, or a send that blocks, begins to wait; `run` is whose code made it."""
        if run is not None and run.owner is self:
            run.calls += 1
            if run.lane is not None:
                self._lanes.release(run.lane)
        self._moved()

    def call_ended(self, run: HandlerRun | None) -> None:
        """The counterpart of `call_started`."""
        if run is not None and run.owner is self:
            run.calls -= 1

    def closes_in(self, run: HandlerRun | None) -> bool:
        """Code of the handler `run` closes the connection. False when it is not one of ours."""
        if run is None or run.owner is not self:
            return False
        if not run.closing:
            run.closing = True
            self._closing += 1
            self._moved()
        return True

    # One event each: the run of a handler that suspended, or None.

    def _on_notification(self, event: NotificationReceived) -> HandlerRun | None:
        if self._gate is not None:
            return self._backlog.put(self._gate, event)
        lane = self._lanes.get(event.lane)
        if lane is not None:
            return self._lanes.wait(lane, event)
        run = self._start_notification(event)
        if run is not None:
            self._lanes.open(run)
        return run

    def _on_request(self, event: RequestReceived) -> HandlerRun | None:
        if self._gate is not None:
            return self._backlog.put(self._gate, event)
        route = self._router.request(event.method)
        lane = self._lanes.get(event.lane) if route is not None and route.ordered else None
        if lane is not None:
            if lane.released:
                return self._backlog.put(lane.released, event)
            if not lane.yields:
                return self._lanes.wait(lane, event)
        if self._unstarted or len(self._serving) >= self._limits.running_handlers:
            return self._backlog.put(self._unstarted, event)
        return self._start_request(event, route)

    def _on_response(self, event: ResponseReceived) -> HandlerRun | None:
        call = self._calls.settle(event.id)
        if call is None:
            return None
        lane = self._lanes.get(call.lane or event.lane) if call.held else None
        if lane is None or lane.yields:
            fill(call.slot, event)
            return None
        return self._lanes.wait(lane, HeldResponse(call, event, event.size))

    def _on_request_cancelled(self, event: RequestCancelled) -> HandlerRun | None:
        if not self._serving.cancel(event.token):
            self._serving.refuse_cancelled(event.token)
        return None

    def _on_frame_rejected(self, event: FrameRejected) -> HandlerRun | None:
        self._rejected += 1
        if self._rejected == 1:
            _log.warning("Received what is no message (%s); more is only counted", event.reason)
        return None

    # Starting.

    def _start_notification(self, event: NotificationReceived) -> HandlerRun | None:
        route = self._router.notification(event.method)
        if route is None:
            return self._notification_ended(HandlerRun(self, event, None), None)
        if route.ends_turns:
            run = CancelRun(self, event, route, self._serving.turns(event.lane))
        else:
            run = HandlerRun(self, event, route)
        try:
            body = as_coroutine(route.call(event.params()))
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            return self._notification_ended(run, exc)
        return self._step(run, body)

    def _notification_ended(self, run: HandlerRun, failure: BaseException | None) -> None:
        if failure is not None:
            name, method = type(failure).__name__, run.event.method
            _log.warning("The notification %s could not be handled: %s", method, name)
            _log.debug("The notification %s could not be handled", method, exc_info=failure)
        if type(run) is CancelRun:
            for cancelled in run.turns:
                self._serving.cancel_turn(cancelled)
        if run.event.token is not None:
            self._core.handled(run.event.token)
            self._wrote()

    def _start_request(self, event: RequestReceived, route: Route | None) -> HandlerRun | None:
        # One that was answered, being cancelled, is not; nor one behind a failed `initialize`.
        if not self._core.admit(event.token):
            self._wrote()
            return None
        run = RequestRun(self, event, route)
        suspended = self._step(run, self._serving.serve(run))
        if suspended is not None and route is not None and route.opens:
            self._gate = deque()
        return suspended

    def _step(self, run: HandlerRun, body: CoroutineType[Any, Any, Any]) -> HandlerRun | None:
        """Takes a handler's first step. The run, when it did not end."""
        context = copy_context()
        failure: BaseException | None = None
        try:
            yielded = context.run(first_step, run, body)
        except StopIteration:
            if type(run) is HandlerRun and run.event.token is None:
                return None
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            failure = exc
        except get_cancelled_exc_class() as exc:
            # Nothing can have cancelled this task during the step: the handler raised it by itself.
            failure = exc
        else:
            run.suspended = Suspended(body, context, yielded)
            self._following += 1
            return run
        if type(run) is not RequestRun:
            self._notification_ended(run, failure)
        return None

    def _moved(self) -> None:
        self._backlog.moved()
        if self._idle is not None:
            fill(self._idle, None)
            self._idle = None

    # Following handlers that suspended.

    async def _carry_on(self, worker: Worker, run: HandlerRun) -> None:
        """Drives a run to its end, and sees to what waited for that."""
        await self._follow(worker, run)
        if run.lane is not None:
            await self._run_lane(worker, run.lane)
        elif run.route is not None and run.route.opens:
            self._workers.assign(self._run_gate)
        elif self._unstarted:
            self._workers.assign(lambda other: self._run_queue(other, self._unstarted))

    async def _follow(self, worker: Worker, run: HandlerRun) -> None:
        assert run.suspended is not None
        failure: BaseException | None = None
        worker.run = run
        try:
            await run.suspended
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            failure = exc
        except BaseException as exc:  # noqa: BLE001 - raised again where it is not the handler's
            failure = self._runtime.failure_of(exc)
        finally:
            worker.run = None
            self._following -= 1
            self._closing -= run.closing
            self._moved()
        if run.lane is not None:
            self._notification_ended(run, failure)

    async def _run_lane(self, worker: Worker, lane: Lane) -> None:
        """Goes on with a lane whose handler in front has ended."""
        self._lanes.take_head(lane, None)
        steps = 0
        while (queue := lane.next_queue) and not self._stopped:
            steps += 1
            if steps % self._limits.steps_per_turn == 0:
                await self._runtime.turn()
            item = self._backlog.take(queue)
            if type(item) is HeldResponse:
                fill(item.call.slot, item.event)
            elif type(item) is RequestReceived:
                run = self._start_request(item, self._router.request(item.method))
                if run is not None:
                    self._workers.assign(lambda other: self._run_lane(other, lane))
                    await self._carry_on(worker, run)
                    return
            else:
                run = self._start_notification(item)
                if run is not None:
                    self._lanes.take_head(lane, run)
                    await self._follow(worker, run)
                    self._lanes.take_head(lane, None)
        self._lanes.close(lane)
        self._moved()

    async def _run_gate(self, worker: Worker) -> None:
        """Starts what waited for the answer of `initialize`, in its order."""
        gate = self._gate
        while gate and not self._stopped:
            event = self._backlog.take(gate)
            # What arrives meanwhile still goes behind: no other task runs before the gate is back.
            self._gate = None
            run = self._on[type(event)](event)
            self._gate = gate
            if run is not None:
                self._workers.assign(self._run_gate)
                await self._carry_on(worker, run)
                return
        self._gate = None
        self._moved()

    async def _run_queue(self, worker: Worker, queue: deque[RequestReceived]) -> None:
        """Starts requests that had to wait, as far as there is room for them."""
        while queue and not self._stopped:
            if len(self._serving) >= self._limits.running_handlers:
                if queue is not self._unstarted:
                    self._unstarted.extend(queue)
                    queue.clear()
                return
            event = self._backlog.take(queue)
            run = self._start_request(event, self._router.request(event.method))
            if run is not None:
                self._workers.assign(lambda other: self._run_queue(other, queue))
                await self._carry_on(worker, run)
                return
            await self._runtime.turn()
