"""From received events to handlers: the only pump of a connection.

Owns the order in which handlers take their first step, and who goes on reading when a handler
suspends. It knows no method by name (the router does), waits for no bytes (the inbox does), counts
nothing that waits (the backlog does), takes no step itself (`acp._starting` does) and answers
nothing (`acp._serving` does).

A handler's first step is taken right here, without a task. A handler that suspends is driven to its
end by the task that made the step, and another task of the pool takes over what that one was doing:
reading, or running on a lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acp._aside import Aside
from acp._backlog import Backlog
from acp._calls import Calls, HeldResponse
from acp._core import (
    FrameRejected,
    HandlerRun,
    NotificationReceived,
    RequestCancelled,
    RequestReceived,
    ResponseReceived,
    ResponseRejected,
)
from acp._inbox import Inbox
from acp._lanes import Lane, Lanes, RequestRun
from acp._runtime import Slot, fill
from acp._starting import Starter
from acp._stats import ConnectionStats
from acp._waiting import Waiting

if TYPE_CHECKING:
    from acp import _core
    from acp._limits import Limits
    from acp._malformed_input import MalformedInput
    from acp._outbox import Outbox
    from acp._router import Routes
    from acp._serving import Serving
    from acp._stats import Counters
    from acp._transports.base import Transport
    from acp._workers import Worker, Workers

__all__ = ("Dispatcher",)


class Dispatcher:
    """Reads one connection and runs its handlers."""

    __slots__ = (
        "_backlog",
        "_calls",
        "_core",
        "_counters",
        "_events",
        "_idle",
        "_lanes",
        "_limits",
        "_malformed",
        "_next",
        "_outbox",
        "_router",
        "_runtime",
        "_serving",
        "_starter",
        "_waiting",
        "_workers",
        "aside",
        "inbox",
        "stopped",
    )

    def __init__(
        self,
        core: _core.Connection,
        router: Routes,
        transport: Transport,
        calls: Calls,
        workers: Workers,
        serving: Serving,
        limits: Limits,
        outbox: Outbox,
        counters: Counters,
        malformed: MalformedInput,
        ended: Callable[[BaseException | None], None],
        failed: Callable[[BaseException], None],
        *,
        overtakes: bool,
    ) -> None:
        self._core = core
        self._router = router
        self._calls = calls
        self._workers = workers
        self._runtime = workers.runtime
        self._serving = serving
        self._limits = limits
        self._outbox = outbox
        self._counters = counters
        self._malformed = malformed
        self._events: list[_core.Event] = []
        self._next = 0
        self.stopped = False
        self._idle: Slot[None] | None = None
        self._backlog = Backlog(workers.runtime, limits, serving, calls)
        self._waiting = Waiting(self, self._backlog, serving, limits, workers)
        self.aside = serving.aside = Aside(self, workers)
        serving.settled = self._settled
        self._lanes = Lanes(
            self._backlog,
            calls,
            limits.lane_patience,
            workers,
            self._waiting.release,
            self.aside,
            self._go_on,
            counters,
            overtakes=overtakes,
        )
        self._starter = Starter(
            self,
            core,
            router,
            serving,
            limits,
            self._lanes.kept,
            self._backlog,
            outbox,
            malformed,
            failed,
        )
        self.aside.starter = self._starter
        self.inbox = Inbox(core, transport, workers, self._backlog, calls, self, counters, ended)

    async def pump(self, worker: Worker) -> None:
        """Reads and dispatches until the input ends or, after a suspension, another task does."""
        turn, inbox = self._starter.turn, self.inbox
        while inbox.is_open:
            while self._next < len(self._events):
                run = self._start_next()
                if run is not None:
                    self._workers.assign(self.pump)
                    await self.carry_on(worker, run)
                    return
                # Steps count on from chunk to chunk: receiving need not let other tasks run.
                if turn.spent:
                    await self._runtime.turn()
                    if not inbox.is_open:
                        return
                    turn.renew()
            self._events.clear()
            self._next = 0
            if self._core.output_size:
                self._outbox.flush()
            events = await inbox.receive(worker)
            if events is None:
                return
            self._events = events

    def _start_next(self) -> HandlerRun | None:
        """Starts the handlers of the events at hand, or of one that is not so simple.

        The run of a handler that suspended, or None: then go on, when it is not others' turn.
        """
        if not self._waiting.is_gated:
            at = self._next
            self._next, run = self._starter.notifications(self._events, at)
            if run is not None:
                self._lanes.open(run, run.event.lane)
            if self._next > at:
                return run
        event = self._events[self._next]
        self._next += 1
        run = self.start(event)
        self._starter.turn.tick()
        return run

    def start(self, event: Any) -> HandlerRun | None:
        """Does what one event means: the run of a handler that suspended, or None."""
        return _ON[type(event)](self, event)

    def answer(self, events: list[_core.Event]) -> int:
        """Hands over the answers that `events` begins with, and tells how many."""
        count = 0
        for event in events:
            if type(event) is not ResponseReceived or self._calls.has_callback(event.id):
                break
            count += 1
            self._on_response(event)
        return count

    def stop(self) -> None:
        """Starts no further handler: answers that are here are handed over, the rest is dropped."""
        self.inbox.stop()
        self.stopped = True
        self._lanes.release_all()

    async def wait_until_idle(self) -> None:
        """Returns when no handler runs but those that wait for the connection to close, and none
        that may still start is left, nor a request for a responder.
        """
        while (
            # A handler that has ended may have left the closing to a task of its own.
            self._backlog.following + self.aside.due
            > sum(run.closing for run in self._workers.runs)
            or (not self.stopped and (len(self._backlog) or self._serving.deferred))
        ):
            self._idle = self._runtime.slot()
            await self._idle

    def call_started(self, run: HandlerRun | None) -> None:
        """A request of ours, or a send that blocks, begins to wait; `run` is whose code made it."""
        if run is not None and run.owner is self:
            run.calls += 1
            self._backlog.asking += 1
            if run.lane is not None:
                self._lanes.release(run.lane)
        self.moved()

    def call_ended(self, run: HandlerRun | None) -> None:
        """The counterpart of `call_started`."""
        if run is not None and run.owner is self:
            run.calls -= 1
            self._backlog.asking -= 1

    def stats(self) -> ConnectionStats:
        """What there is of everything."""
        return ConnectionStats(
            lanes=len(self._lanes.kept),
            handlers=self._backlog.following,
            unanswered=self._core.in_flight,
            deferred=self._serving.deferred,
            calls=len(self._calls),
            waiting_messages=len(self._backlog),
            waiting_bytes=self._backlog.size,
            unsent_bytes=self._outbox.unsent,
            counters=self._counters.read(),
        )

    def end_questions(self, session: str | None) -> None:
        """This side cancels the turn of a session: what the peer asks for it ends as cancelled."""
        self._serving.cancel_questions(session)
        for event in (*self._lanes.unstarted(session), *self._waiting.unstarted(session)):
            route = self._router.request(event.method)
            if route is not None and route.ends_with_turn:
                self._serving.cancel_unstarted(event.token, route)

    def closes_in(self, run: HandlerRun | None) -> None:
        """Code of the handler `run` closes the connection, if it is one of ours."""
        if run is not None and run.owner is self:
            run.closing = True
            self.moved()

    def _settled(self) -> None:
        """A request whose handler had ended is answered."""
        self._waiting.look_for_room()
        self.moved()

    # One event each: the run of a handler that suspended, or None.

    def _on_notification(self, event: NotificationReceived) -> HandlerRun | None:
        if self._waiting.is_gated:
            self._waiting.put_behind_gate(event)
            return None
        lane = self._lanes.kept.get(event.lane)
        if lane is not None:
            return self._lanes.wait(lane, event)
        run = self._starter.notification(event)
        if run is not None:
            self._lanes.open(run, event.lane)
        return run

    def _on_request(self, event: RequestReceived) -> HandlerRun | None:
        if self._waiting.is_gated:
            self._waiting.put_behind_gate(event)
            return None
        route = self._router.request(event.method)
        lane = self._lanes.kept.get(event.lane) if route is not None and route.ordered else None
        if lane is not None:
            if lane.released:
                self._backlog.put(lane.released, event)
                return None
            if not lane.yields:
                return self._lanes.wait(lane, event)
        if self._waiting.put_for_room(event):
            return None
        run = self._starter.request(event, route)
        if run is not None and route is not None and route.opens:
            self._waiting.close_gate()
        return run

    def _on_response(self, event: ResponseReceived | ResponseRejected) -> HandlerRun | None:
        call = self._calls.settle(event)
        if call is None:
            return None
        key = call.lane or event.lane
        lane = self._lanes.kept.get(key) if call.held else None
        if lane is None and call.callback is None:
            self._calls.handed_over(call)
            fill(call.slot, event)
            return None
        held = HeldResponse(call, event, event.size)
        if lane is not None and not lane.yields:
            return self._lanes.wait(lane, held)
        run = self.hand_over(held, lane)
        if run is not None and call.held:
            self._lanes.keep(lane, run, key)
        return run

    def hand_over(self, held: HeldResponse, lane: Lane | None = None) -> HandlerRun | None:
        """Gives an answer to who waits for it: the run of a callback that suspended, or None."""
        if lane is None or not self._lanes.mark_end(lane, held):
            self._calls.handed_over(held.call)
        if held.call.callback is None:
            fill(held.call.slot, held.event)
            return None
        return self._starter.callback(held)

    def _on_request_cancelled(self, event: RequestCancelled) -> HandlerRun | None:
        self._counters.add("cancelled")
        if not self._serving.cancel(event.token):
            self._serving.refuse_cancelled(event.token)
        return None

    def _on_frame_rejected(self, event: FrameRejected) -> HandlerRun | None:
        self._malformed.frame(event)
        return None

    def _on_response_rejected(self, event: ResponseRejected) -> HandlerRun | None:
        self._malformed.response(event)
        return self._on_response(event)

    def moved(self) -> None:
        """Something has changed that others may wait for."""
        self._backlog.moved()
        if self._idle is not None:
            fill(self._idle, None)
            self._idle = None

    # Following handlers that suspended.

    async def carry_on(self, worker: Worker, run: HandlerRun) -> None:
        """Drives a run to its end, and sees to what waited for that."""
        await self._follow(worker, run)
        if run.lane is not None:
            await self._run_lane(worker, run.lane, run)
        elif run.route is not None and run.route.opens:
            self._waiting.open_gate()
        else:
            self._waiting.look_for_room()

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
            worker.run = run.suspended = None
            self._backlog.following -= 1
            self.moved()
        if type(run) is not RequestRun:
            self._starter.ended(run, failure)

    async def end_aside(self, worker: Worker, run: HandlerRun) -> None:
        """Drives user code that is no handler to its end, if it has suspended."""
        if run.suspended is not None:
            await self.carry_on(worker, run)
        elif run.lane is not None:
            await self._run_lane(worker, run.lane, run)
        self.moved()

    async def _run_lane(self, worker: Worker, lane: Lane, ended: HandlerRun | None = None) -> None:
        """Goes on with a lane that a handler has left, unless others keep it."""
        if not self._lanes.left(lane, ended):
            return
        steps = 0
        while (queue := lane.next_queue) and not self.stopped:
            steps += 1
            if steps % self._limits.steps_per_turn == 0:
                await self._runtime.turn()
            run = self.start_released(item := self._backlog.take(queue))
            if run is None:
                continue
            if type(item) is RequestReceived:
                self._workers.assign(lambda other: self._run_lane(other, lane))
                await self.carry_on(worker, run)
                return
            self._lanes.take_head(lane, run)
            await self._follow(worker, run)
            if not self._lanes.left(lane, run):
                return
        self._lanes.close(lane)
        self.moved()

    def start_released(self, item: Any) -> HandlerRun | None:
        """Starts what need not look at its lane any more: the run that suspended, or None."""
        if type(item) is HeldResponse:
            return self.hand_over(item)
        if type(item) is RequestReceived:
            return self._starter.request(item, self._router.request(item.method))
        return self._starter.notification(item)

    def _go_on(self, lane: Lane) -> None:
        self._workers.assign(lambda worker: self._run_lane(worker, lane))


_ON: dict[type, Callable[[Dispatcher, Any], HandlerRun | None]] = {
    NotificationReceived: Dispatcher._on_notification,
    RequestReceived: Dispatcher._on_request,
    ResponseReceived: Dispatcher._on_response,
    ResponseRejected: Dispatcher._on_response_rejected,
    RequestCancelled: Dispatcher._on_request_cancelled,
    FrameRejected: Dispatcher._on_frame_rejected,
}
"""What is done with an event, by its class."""
