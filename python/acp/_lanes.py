"""The ordered stream of one session on one connection.

Owns what waits behind a handler that has suspended, and when it need not wait. It starts no handler
and knows no method.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from acp._calls import HeldResponse
from acp._core import HandlerRun, NotificationReceived, RequestReceived
from acp._runtime import fill

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from anyio import CancelScope

    from acp._backlog import Backlog
    from acp._calls import Call, Calls
    from acp._early import EarlyMessages
    from acp._runtime.flag import Flag
    from acp._stats import Counters
    from acp._workers import Workers

__all__ = (
    "AfterRun",
    "AsideRun",
    "CallbackRun",
    "CancelRun",
    "Lane",
    "Lanes",
    "RequestRun",
)

_log = logging.getLogger("acp")


class RequestRun(HandlerRun):
    """One call of the handler of a request."""

    __slots__ = (
        "after",
        "answered",
        "cancellation",
        "cancelled",
        "deferred",
        "dropped",
        "early",
        "ends_itself",
        "returned",
        "scope",
        "token",
        "turn_cancelled",
    )

    def __init__(self, owner: object, event: Any, route: Any) -> None:
        del owner, route
        self.token = event.token
        self.scope: CancelScope | None = None
        self.answered = False
        self.returned = False
        """Its handler has ended, and its answer is due in the next turn of the loop."""
        self.deferred = False
        """A responder answers it, perhaps after its handler has ended."""
        self.dropped = False
        """Nobody has that responder any more."""
        self.cancelled = False
        """The peer cancelled the request."""
        self.turn_cancelled = False
        """The peer cancelled the turn that the request is."""
        self.ends_itself = False
        """Once it is answered, its handler sees to what the end of the turn means for it."""
        self.cancellation: Flag | None = None
        """Set when it is cancelled in either way; made when somebody looks."""
        self.early: EarlyMessages | None = None
        """What waits for its answer before it is sent."""
        self.after: list[tuple[Callable[[], Any], Context]] | None = None
        """What is to be run once it is answered."""


class AsideRun(HandlerRun):
    """One call of user code that is no handler."""

    __slots__ = ()

    what: ClassVar[str]
    """What it is called in the log, before the method."""


class CallbackRun(AsideRun):
    """One call of what takes the place of an answer."""

    __slots__ = ()

    what = "A callback of"


class AfterRun(AsideRun):
    """One call of what follows an answer of this side."""

    __slots__ = ()

    what = "What was to follow"


class CancelRun(HandlerRun):
    """One call of the handler of a notification that ends turns."""

    __slots__ = ("turns",)

    turns: tuple[RequestRun, ...]
    """The turns that are cancelled at its end: those that had started before it."""


class Lane:
    """What waits behind the handler that keeps the lane. A lane exists only while there is one."""

    __slots__ = (
        "beside",
        "end_patience",
        "head",
        "impatient",
        "key",
        "released",
        "waiting",
        "watched",
    )

    def __init__(self, key: str | None, head: HandlerRun | None) -> None:
        self.key = key
        self.head: HandlerRun | None = head
        self.beside: list[HandlerRun] | None = None
        """Callbacks that did not wait for the head, because it yielded. They keep the lane, too."""
        self.waiting: deque[Any] | None = None
        self.released: deque[Any] | None = None
        """Requests that need not wait any more and have not started yet."""
        self.impatient = False
        self.end_patience: Callable[[], object] | None = None
        self.watched: HandlerRun | None = None
        """The handler that patience began with."""

    @property
    def yields(self) -> bool:
        """Whether answers are handed over and requests start though the lane is kept.

        So it is while a handler that keeps it itself waits for the peer: what it waits for may
        depend on them.
        """
        return (
            self.impatient
            or (self.head is not None and self.head.calls > 0)
            or (self.beside is not None and any(run.calls > 0 for run in self.beside))
        )

    @property
    def next_queue(self) -> deque[Any] | None:
        """Where the next item comes from once the handler in front has ended."""
        return self.released or self.waiting


class _CallsBack(Protocol):
    def call_back(self, call: Call, event: Any = None) -> HandlerRun:
        """Has a callback start with an answer, later."""
        ...


class Lanes:
    """The lanes that are kept on one connection."""

    __slots__ = (
        "_aside",
        "_backlog",
        "_calls",
        "_counters",
        "_go_on",
        "_overtakes",
        "_patience",
        "_start",
        "_workers",
        "kept",
    )

    def __init__(
        self,
        backlog: Backlog,
        calls: Calls,
        patience: float | None,
        workers: Workers,
        start: Callable[[deque[Any]], None],
        aside: _CallsBack,
        go_on: Callable[[Lane], None],
        counters: Counters,
        *,
        overtakes: bool,
    ) -> None:
        self._backlog = backlog
        self._calls = calls
        self._patience = patience
        self._workers = workers
        self._start = start
        """Has the released requests of a lane start, later."""
        self._aside = aside
        self._overtakes = overtakes
        """Where patience ends, later notifications start, too."""
        self._counters = counters
        self._go_on = go_on
        """Has a lane that no handler keeps go on, later."""
        self.kept: dict[str | None, Lane] = {}
        """The lanes by their key; only this class changes it."""

    def open(self, run: HandlerRun, key: str | None) -> None:
        """The first step of `run` did not end: it keeps a lane from now on."""
        run.lane = self.kept[key] = Lane(key, run)

    def unstarted(self, key: str | None) -> list[RequestReceived]:
        """The requests that wait in a lane."""
        lane = self.kept.get(key)
        queues = () if lane is None else (lane.released or (), lane.waiting or ())
        return [item for queue in queues for item in queue if type(item) is RequestReceived]

    def keep(self, lane: Lane | None, run: HandlerRun, key: str | None) -> None:
        """A callback keeps its lane from now on: alone, or beside a head that has yielded."""
        if lane is None:
            self.open(run, key)
            return
        if lane.beside is None:
            lane.beside = []
        lane.beside.append(run)
        run.lane = lane

    def left(self, lane: Lane, run: HandlerRun | None) -> bool:
        """A run of a lane has ended. Whether none keeps it any more."""
        if run is not lane.head:
            if lane.beside is not None and run in lane.beside:
                lane.beside.remove(run)
            return False
        self.take_head(lane, lane.beside.pop(0) if lane.beside else None)
        return lane.head is None

    def close(self, lane: Lane) -> None:
        """Nothing waits any more, and no handler keeps the lane."""
        if lane.end_patience is not None:
            lane.end_patience()
            lane.end_patience = None
        if self.kept.get(lane.key) is lane:
            del self.kept[lane.key]

    def take_head(self, lane: Lane, head: HandlerRun | None) -> None:
        """Another handler keeps the lane from now on, or, for a moment, none."""
        lane.head = head
        lane.impatient = False
        if head is not None:
            head.lane = lane
            if head.calls:
                self.release(lane)
            if lane.waiting:
                self._begin_patience(lane)

    def wait(self, lane: Lane, item: Any) -> None:
        """Adds a message to those that wait."""
        lane.waiting = self._backlog.put(lane.waiting, item)
        self._begin_patience(lane)

    def mark_end(self, lane: Lane, held: HeldResponse) -> bool:
        """Leaves an answer that is handed over in its place, where it ends a turn: for the
        notifications before it the turn goes on. False where there is none.
        """
        if not held.call.is_turn or not lane.waiting:
            return False
        self._backlog.put(lane.waiting, held)
        return True

    def _begin_patience(self, lane: Lane) -> None:
        if lane.end_patience is None and self._patience is not None and not lane.impatient:
            # It runs on when the next handler takes over, which then has so much the longer: a
            # timer for each would cost more than most handlers do.
            lane.watched = lane.head
            lane.end_patience = self._workers.later(
                self._patience, lambda: self._lose_patience(lane)
            )

    def release(self, lane: Lane) -> None:
        """Hands over the answers that wait in a lane, and has its requests start."""
        waiting, lane.waiting = lane.waiting, None
        is_first = not lane.released
        for item in waiting or ():
            if type(item) is HeldResponse:
                if item.call.callback is not None:
                    self.keep(lane, self._aside.call_back(item.call, item.event), lane.key)
                else:
                    fill(item.call.slot, item.event)
                self._backlog.took(item)
                if not self.mark_end(lane, item):
                    self._calls.handed_over(item.call)
            elif type(item) is not NotificationReceived:
                if lane.released is None:
                    lane.released = deque()
                lane.released.append(item)
            else:
                if lane.waiting is None:
                    lane.waiting = deque()
                lane.waiting.append(item)
        if is_first and lane.released:
            self._start(lane.released)

    def release_all(self) -> None:
        """Hands over every answer that waits."""
        for lane in self.kept.values():
            self.release(lane)

    def _lose_patience(self, lane: Lane) -> None:
        lane.end_patience = None
        if lane.head is None or lane.head is not lane.watched:
            if lane.waiting:
                self._begin_patience(lane)
        else:
            method = lane.head.event.method
            message = "A handler of %.200r keeps its session waiting; what waits goes past it"
            _log.warning(message, method)
            self._counters.add("overtaken")
            lane.impatient = True
            self.release(lane)
            if self._overtakes and self.kept.get(lane.key) is lane:
                self._go_past(lane)

    def _go_past(self, lane: Lane) -> None:
        """Has the notifications behind the handler that keeps the lane start, and those to come."""
        if lane.waiting is None:
            del self.kept[lane.key]
            return
        successor = self.kept[lane.key] = Lane(lane.key, None)
        successor.waiting, lane.waiting = lane.waiting, None
        self._go_on(successor)
