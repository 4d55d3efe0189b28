"""From one message to the first step of its handler, and what the end of a handler means.

Owns decoding, the first step (which the core's `Steps` takes), and what becomes of a notification
whose handler has ended. The order of messages and what follows a suspension are the dispatcher's.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from anyio import get_cancelled_exc_class

from acp._core import HandlerRun, Steps
from acp._lanes import AsideRun, CallbackRun, CancelRun, RequestRun
from acp._seldom import told
from acp._stepping import Suspended, current_run, finish
from acp.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from acp import _core
    from acp._backlog import Backlog
    from acp._calls import HeldResponse
    from acp._limits import Limits
    from acp._malformed_input import MalformedInput
    from acp._outbox import Outbox
    from acp._router import Route, Routes
    from acp._serving import Serving

__all__ = ("Starter",)

_log = logging.getLogger("acp")


class Starter:
    """Starts the handlers of one connection, and tells when other tasks are due.

    What starts a handler returns its run when it has suspended, and None when it has ended.
    """

    __slots__ = (
        "_backlog",
        "_broke",
        "_core",
        "_failed",
        "_malformed",
        "_outbox",
        "_router",
        "_serving",
        "owner",
        "turn",
    )

    def __init__(
        self,
        owner: object,
        core: _core.Connection,
        router: Routes,
        serving: Serving,
        limits: Limits,
        kept: dict[str | None, Any],
        backlog: Backlog,
        outbox: Outbox,
        malformed: MalformedInput,
        broke: Callable[[BaseException], None],
    ) -> None:
        self._malformed = malformed
        self._failed = 0
        self._broke = broke
        """Ends the connection."""
        self.owner = owner
        """Whose runs those are that it starts."""
        self._core = core
        self._router = router
        self._serving = serving
        self._backlog = backlog
        self._outbox = outbox
        self.turn = Steps(
            owner,
            router.direct,
            kept,
            current_run,
            finish,
            most=limits.steps_per_turn,
            longest=limits.seconds_per_turn,
        )
        """Counts the steps of a turn."""

    def notifications(self, events: list[_core.Event], at: int) -> tuple[int, HandlerRun | None]:
        """Starts the handlers of simple notifications, from the one at index `at` on.

        The index of the next event, and the run that suspended. It stops before an event that is
        not so simple, and when other tasks are due.
        """
        at, run, outcome = self.turn.run(events, at)
        return at, None if run is None else self._stepped(run, outcome)

    def notification(self, event: _core.NotificationReceived) -> HandlerRun | None:
        """Starts the handler of one notification, if there is one."""
        route = self._router.notification(event.method)
        if route is None:
            return self.ended(HandlerRun(self.owner, event, None), None)
        if route.ends_turns:
            run = CancelRun(self.owner, event, route)
            run.turns = self._serving.turns(event.lane)
        else:
            run = HandlerRun(self.owner, event, route)
        if route.takes_event:
            return self.step(run, route.call, event)
        try:
            params = event.params()
        except Exception as exc:  # noqa: BLE001 - also a warning that was made an error
            self._malformed.params(event, exc, answered=False)
            return self.ended(run, exc)
        return self.step(run, route.call, params)

    def request(self, event: _core.RequestReceived, route: Route | None) -> HandlerRun | None:
        """Starts the handler of one request.

        One that was answered, being cancelled, is not started; nor one behind a failed
        `initialize`.
        """
        if not self._core.admit(event.token):
            self._outbox.schedule()
            return None
        run = RequestRun(self.owner, event, route)
        return self.step(run, self._serving.serve, run)

    def callback(self, held: HeldResponse) -> HandlerRun | None:
        """Starts what takes the place of an answer."""
        function, context = held.call.take_callback()
        run = CallbackRun(self.owner, held.event, None)
        return self.step(run, function, held.event, context)

    def ended(self, run: HandlerRun, failure: BaseException | None) -> None:
        """The handler of a notification, or a callback, has ended, or there was none."""
        event = run.event
        if isinstance(run, AsideRun):
            # That no answer can come is told to every callback, and most let it pass.
            if failure is not None and not isinstance(failure, ConnectionClosed):
                name = type(failure).__name__
                _log.warning("%s %.200r failed with %s", run.what, event.method, name)
                self._log_failure(event.method, failure)
            if failure is not None and type(run) is CallbackRun:
                self._broke(failure)
            return
        if failure is not None:
            self._failed += 1
            # A peer that sends what cannot be read does so again and again.
            by_now = told(self._failed)
            if by_now is not None:
                name = type(failure).__name__
                message = "The notification %.200r could not be handled: %s%s"
                _log.warning(message, event.method, name, by_now)
            self._log_failure(event.method, failure)
        if type(run) is CancelRun:
            for cancelled in run.turns:
                self._serving.cancel_turn(cancelled)
        if event.token is not None:
            self._core.handled(event.token)
            self._outbox.schedule()

    def _log_failure(self, what: str, failure: BaseException) -> None:
        if _log.isEnabledFor(logging.DEBUG):
            from acp._wire_log import log_failure

            log_failure(what, failure)

    def step(
        self,
        run: HandlerRun,
        function: Callable[[Any], Any],
        argument: object,
        context: Context | None = None,
    ) -> HandlerRun | None:
        """Calls a function and takes the first step of what it returns, in a copy of the current
        context, or of another one: the run when it has suspended.
        """
        first = self.turn.first
        try:
            if context is None:
                outcome = first(run, function, argument)
            else:
                outcome = context.run(first, run, function, argument)
        except BaseException as exc:  # noqa: BLE001 - raised again where it is not the handler's
            outcome = exc
        return self._stepped(run, outcome)

    def _stepped(
        self, run: HandlerRun, outcome: _core.Left | BaseException | None
    ) -> HandlerRun | None:
        if isinstance(outcome, tuple):
            run.suspended = Suspended(*outcome)
            self._backlog.following += 1
            return run
        # Nothing can have cancelled this task during the step: a handler raised that by itself.
        if isinstance(outcome, BaseException) and not isinstance(
            outcome, (Exception, get_cancelled_exc_class())
        ):
            raise outcome
        if type(run) is not RequestRun:
            if run.unread and outcome is not None:
                self._malformed.params(run.event, outcome, answered=False)
            self.ended(run, outcome)
        return None
