"""The read side of one connection.

Owns who waits for bytes, what is handled right where the bytes arrive, and when a connection is so
quiet that no task has to wait for them. It starts no handler.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from anyio import BrokenResourceError, ClosedResourceError, WouldBlock

from acp._core import InternalError
from acp._messages import MESSAGES
from acp._transports.base import may_offer

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp import _core
    from acp._backlog import Backlog
    from acp._calls import Calls
    from acp._observing import Observers
    from acp._stats import Counters
    from acp._transports.base import Transport
    from acp._workers import Worker, Workers

__all__ = ("QUIET", "Inbox")

_log = logging.getLogger("acp")

QUIET = 5.0
"""Seconds without input after which the task that waits for it ends, where the transport can call
instead. Making another task costs more than leaving one, and a conversation has pauses.
"""


class _Pump(Protocol):
    async def pump(self, worker: Worker) -> None:
        """Receives and dispatches."""
        ...

    def answer(self, events: list[_core.Event]) -> int:
        """Hands over the answers that `events` begins with, and tells how many."""
        ...


class Inbox:
    """Moves bytes from the transport to the core.

    At any time one task pumps, or is about to, or the connection is at rest: then the transport
    calls `take`, which has a task pump again when it cannot handle by itself what has arrived.
    """

    __slots__ = (
        "_backlog",
        "_calls",
        "_core",
        "_counters",
        "_end_quiet",
        "_ended",
        "_failure",
        "_heard",
        "_input_ended",
        "_left",
        "_pump",
        "_reader",
        "_resting",
        "_rests",
        "_transport",
        "_workers",
        "is_open",
        "observers",
    )

    def __init__(
        self,
        core: _core.Connection,
        transport: Transport,
        workers: Workers,
        backlog: Backlog,
        calls: Calls,
        pump: _Pump,
        counters: Counters,
        ended: Callable[[BaseException | None], None],
    ) -> None:
        self._core = core
        self._transport = transport
        self._workers = workers
        self._backlog = backlog
        self._calls = calls
        self._pump = pump
        self._counters = counters
        self._ended = ended
        self.is_open = True
        """Whether further messages are taken."""
        self.observers: Observers | None = None
        """Who sees what arrives before it is handled."""
        self._input_ended = False
        self._reader: Worker | None = None
        """The task that waits in `receive`."""
        self._left: list[_core.Event] | None = None
        """What `take` left of the chunk that the transport returns next."""
        self._failure: Exception | None = None
        self._rests = False
        """Whether the transport can do without a task that waits."""
        self._resting = False
        self._heard = False
        """Something has arrived since the last look."""
        self._end_quiet: Callable[[], object] | None = None

    def open(self) -> None:
        """Tells that the transport is open."""
        if may_offer(self._transport):
            self._rests = self._transport.offer_to(self.take)

    async def receive(self, worker: Worker) -> list[_core.Event] | None:
        """The events of the next chunk, waiting for it. None when the task need not go on."""
        if self._input_ended:
            self.is_open = False
            self._ended(None)
            return None
        self._reader = worker
        try:
            if len(self._backlog) or self._backlog.following:
                await self._backlog.room()
            if self._rests and self._end_quiet is None:
                self._end_quiet = self._workers.later(QUIET, self.look)
            data = await self._transport.receive()
            self._heard = True
            self._input_ended = not data
            if self._failure is not None:
                raise self._failure
            if self._left is not None:
                events, self._left = self._left, None
                return events
            events = self._core.receive(data) if data else self._core.end_of_input()
            self._received(data, events)
            return events
        except WouldBlock:
            if self._reader is worker:
                raise
        except (BrokenResourceError, ClosedResourceError, OverflowError, InternalError) as exc:
            self.is_open = False
            self._ended(exc)
        finally:
            # After a rest it may be another's.
            if self._reader is worker:
                self._reader = None
        return None

    def take(self, data: bytes) -> bool:
        """Receives bytes right where they arrive, when answers are what is waited for.

        Whether no task has to go on with them: they were answers and nothing else.
        """
        self._heard = True
        if not self.is_open:
            return False
        if data and len(self._calls) and self._answers(data):
            return True
        if self._resting:
            self._resting = False
            self._workers.rest(False)
            self._workers.assign(self._pump.pump)
        return False

    def _answers(self, data: bytes) -> bool:
        unsent = self._core.output_size
        try:
            events = self._core.receive(data)
        except Exception as exc:  # noqa: BLE001 - raised again in the task that receives
            self._failure = exc
            return False
        self._received(data, events)
        count = self._pump.answer(events)
        # The core may have refused something by itself, which the pump sends.
        refused = self._core.output_size > unsent
        if count == len(events) and not refused and not len(self._backlog):
            return True
        self._left = events[count:]
        return False

    def _received(self, data: bytes, events: list[_core.Event]) -> None:
        self._counters.tell()
        if self.observers is not None:
            self.observers.received(data)
        if MESSAGES.handlers or _log.isEnabledFor(logging.DEBUG):
            from acp._wire_log import log_received

            log_received(events, self._workers)

    def look(self) -> None:
        """Looks whether it was quiet for a time, and then lets the connection rest."""
        self._end_quiet = None
        if self._reader is None:
            return
        if self._heard:
            self._heard = False
            self._end_quiet = self._workers.later(QUIET, self.look)
        elif self._transport.rest():
            # Not by cancellation: that would race with bytes of the same turn.
            self._reader = None
            self._resting = True
            self._workers.rest(True)
            self._backlog.give_back()

    def stop(self) -> None:
        """Takes no further message."""
        self.is_open = False
        if self._reader is not None:
            self._reader.scope.cancel()
        if self._end_quiet is not None:
            self._end_quiet()
            self._end_quiet = None
