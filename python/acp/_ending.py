"""The end of one connection, step by step.

Owns that it ends once, what is known of how, and the order of the steps: calls fail, handlers get
their time and are cancelled, what stands on the connection is told, output drains, the transport
closes. Each step is bounded by `Limits`. It knows no message.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from anyio import CancelScope, move_on_after

from acp._runtime.flag import Flag
from acp._spawned import Spawned
from acp._stats import running
from acp._termination import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from acp._caller import Caller
    from acp._dispatcher import Dispatcher
    from acp._limits import Limits
    from acp._outbox import Outbox
    from acp._serving import Serving
    from acp._termination import EndKind
    from acp._transports.base import Transport
    from acp._workers import Worker, Workers
    from acp.exceptions import ConnectionClosed

__all__ = ("Ending", "Life")

_log = logging.getLogger("acp")

_CLEAN = ("incoming_closed", "local_shutdown")


class Life(Protocol):
    """What stands on a connection and has a part in its end."""

    def closing(self) -> None:
        """The connection begins to end."""
        ...

    async def input_ended(self) -> Exception | None:
        """The input has ended, handlers are through, and notifications can still be sent.

        Returns what is wrong, if anything.
        """
        ...


class Ending:
    """Ends one connection."""

    __slots__ = (
        "_caller",
        "_dispatcher",
        "_kind",
        "_limits",
        "_outbox",
        "_serving",
        "_transport",
        "_workers",
        "cause",
        "closed",
        "closing",
        "life",
        "output_ended",
    )

    def __init__(self, transport: Transport, workers: Workers, limits: Limits) -> None:
        self._transport = transport
        self._workers = workers
        self._limits = limits
        self._kind: EndKind | None = None
        self.cause: BaseException | None = None
        """What callers are told that the connection has ended by."""
        self.closing = Flag(workers.runtime)
        """Set when it begins to end."""
        self.closed = Flag(workers.runtime)
        """Set when the transport is closed."""
        self.life: Life | None = None
        self.output_ended = False
        """Whether nothing can be sent any more."""

    def attach(
        self, caller: Caller, serving: Serving, dispatcher: Dispatcher, outbox: Outbox
    ) -> None:
        """Tells the parts that end. They are made with functions of this object."""
        self._caller = caller
        self._serving = serving
        self._dispatcher = dispatcher
        self._outbox = outbox

    # How it begins.

    def begin(self, kind: EndKind, cause: BaseException | None = None) -> None:
        """Has the connection end. The first reason counts."""
        if self.closing.is_set():
            return
        self.cause = self.cause or cause
        # When output has failed before, the end of input is only what follows.
        failed = kind == "incoming_closed" and self.cause is not None
        self._kind = "transport_error" if failed else kind
        self.closing.set()
        if kind in ("transport_error", "handler_error") and cause is not None:
            _log.warning("The connection ends: %s", type(cause).__name__)
        self._workers.assign(self._wind_down)

    def input_ended(self, failure: BaseException | None) -> None:
        """There is no further input, or it cannot be read."""
        self.begin("incoming_closed" if failure is None else "transport_error", failure)

    def failed(self, failure: BaseException) -> None:
        """Code of the user's has failed that has nobody else to tell."""
        self.begin("handler_error", failure)

    def spawned(
        self, work: Coroutine[Any, Any, Any], dropped: Callable[[], object] | None
    ) -> Spawned:
        """A coroutine of the user's as a duty, whose exception ends the connection."""
        failure_of = self._workers.runtime.failure_of
        return Spawned(work, self.closing.is_set, self.failed, failure_of, dropped)

    def output_failed(self, failure: Exception) -> None:
        """Nothing more can be sent, perhaps of what was accepted."""
        self.cause = self.cause or failure
        if self._kind == "incoming_closed":
            self._kind = "transport_error"
        self._workers.assign(self._read_to_the_end)

    async def _read_to_the_end(self, worker: Worker) -> None:
        """A peer that takes nothing more may have answered before: its last words still count."""
        del worker
        with move_on_after(self._limits.closing):
            await self.closing.wait()
        self.begin("transport_error", self.cause)

    # Its steps.

    async def _wind_down(self, worker: Worker) -> None:
        del worker
        dispatcher, limits = self._dispatcher, self._limits
        dispatcher.inbox.stop()
        self.fail_calls()
        if self.life is not None:
            self.life.closing()
        with move_on_after(limits.closing):
            await dispatcher.wait_until_idle()
        dispatcher.stop()
        self._workers.cancel_handlers()
        with move_on_after(limits.closing) as patience:
            await dispatcher.wait_until_idle()
        if patience.cancelled_caught:
            stubborn = sorted({handler.method for handler in running(self._workers.runs)})
            _log.warning("Handlers do not end, though they were cancelled: %.200r", stubborn)
        if self.life is not None and self._kind == "incoming_closed":
            await self._tell(self.life)
        await self.end_output()
        self._workers.finish()

    async def _tell(self, life: Life) -> None:
        """The input has ended and nothing is wrong: what stands on the connection has its turn."""
        # Whoever waited for an answer has learned that there is none.
        await self._workers.runtime.turn()
        with move_on_after(self._limits.close_callbacks) as patience:
            failure = await life.input_ended()
            if failure is not None:
                self._kind, self.cause = "handler_error", failure
        if patience.cancelled_caught:
            _log.warning("The functions of `on_close` do not end, and were cancelled")

    async def end_output(self) -> None:
        """Sends what is queued, as long as the other end takes it, and closes the transport."""
        if self.output_ended:
            return
        with CancelScope(shield=True):
            with move_on_after(self._limits.draining):
                await self._outbox.drain()
            self.output_ended = True
            self._serving.end()
            await self._transport.close()
        self.closed.set()

    def fail_calls(self) -> None:
        """No answer can come any more: whoever waits for one is told."""
        self._caller.end(self.error)

    # What is known of it.

    @property
    def is_clean(self) -> bool:
        """Whether it ended, or is about to end, without an error."""
        return self._kind in _CLEAN

    def termination(self) -> Termination:
        """How it ended, as far as that is known now."""
        kind = self._kind or ("dropped" if self.cause is None else "transport_error")
        return Termination(kind, None if kind in _CLEAN else self.cause)

    def error(self) -> ConnectionClosed:
        """What callers get whose answer can no longer come."""
        error = self._transport.closed_error()
        error.termination = self.termination()
        error.__cause__ = self.cause
        return error
