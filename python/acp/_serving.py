"""Requests of the peer, from the first step of their handler to their one answer.

Owns which requests run, their cancellation, and that each is answered exactly once. What an
exception looks like to the peer is decided in `acp._errors`, when a handler starts in
`acp._dispatcher`.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from acp._dropped import Dropped
from acp._errors import NO_DATA, WireError, wire_error
from acp._lanes import RequestRun
from acp._runtime.flag import Flag
from acp.exceptions import RequestError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp._calls import Calls
    from acp._core import Connection as Core
    from acp._core import RequestReceived, ResponseReceived
    from acp._malformed_input import MalformedInput
    from acp._options import ConnectionOptions
    from acp._outbox import Outbox
    from acp._profile import Profile
    from acp._router import Route
    from acp._workers import Worker, Workers

__all__ = ("Serving",)

_log = logging.getLogger("acp")


class Serving:
    """The requests of the peer that are not answered."""

    __slots__ = (
        "_calls",
        "_cancelled_turn",
        "_core",
        "_malformed",
        "_options",
        "_outbox",
        "_runs",
        "_workers",
        "deferred",
        "dropped",
        "settled",
    )

    def __init__(
        self,
        core: Core,
        options: ConnectionOptions,
        profile: Profile,
        outbox: Outbox,
        calls: Calls,
        workers: Workers,
        malformed: MalformedInput,
    ) -> None:
        self._malformed = malformed
        self._core = core
        self._calls = calls
        self._options = options
        self._cancelled_turn = profile.cancelled_turn
        self._outbox = outbox
        self._workers = workers
        self._runs: dict[int, RequestRun] = {}
        self.deferred = 0
        """Requests whose handler has ended and left the answer to a responder."""
        self.dropped = Dropped(workers.runtime, self._responder_dropped)
        """The runs whose responder nobody has any more."""
        self.settled: Callable[[], None] | None = None
        """Called when a responder has answered."""

    def __len__(self) -> int:
        return len(self._runs)

    def give_back(self) -> None:
        """Gives back memory that is not needed at the moment."""
        if not self._runs:
            self._runs.clear()

    async def serve(self, run: RequestRun) -> None:
        """Runs the handler of a request and answers with what comes of it."""
        event = run.event
        self._runs[run.token] = run
        try:
            with CancelScope() as scope:
                run.scope = scope
                if run.route is None:
                    raise RequestError.method_not_found(event.method)
                if run.route.ends_with_turn and self._calls.has_cancelled(event.lane):
                    # It was on its way when this side cancelled the turn.
                    run.cancelled = True
                    self._answer_cancelled(run)
                    return
                if run.route.takes_event:
                    result = run.route.call(event)
                else:
                    result = run.route.call(self._params(event))
                if hasattr(result, "__await__"):
                    result = await result
                # No cancellation point from here to the answer.
                if result is not None or not run.deferred:
                    self._answer(run, result)
                elif run.dropped:
                    self._answer_dropped(run)
                return
            self._answer_cancelled(run)
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            self._answer_error(run, exc)
        except BaseException:
            self._answer_cancelled(run)
            raise
        finally:
            if run.deferred and not run.answered:
                run.scope = None
                self.deferred += 1
            else:
                self._forget(run)

    def _params(self, event: RequestReceived) -> Any:
        try:
            return event.params()
        except Exception as exc:
            self._malformed.params(event, exc, answered=True)
            raise

    # Answers that are not the end of the handler.

    def answer_early(self, run: RequestRun, result: Any) -> bool:
        """Answers a request while its handler goes on. False when it was answered before."""
        if run.answered or run.token not in self._runs:
            return False
        self._answer(run, result)
        self._outbox.schedule()
        self._run_after(run)
        return True

    def answer_late(self, run: RequestRun, result: Any) -> bool:
        """Answers a request by its responder. False when it was answered before."""
        if not self.answer_early(run, result):
            return False
        self._settle_deferred(run)
        return True

    def fail_late(self, run: RequestRun, exc: BaseException) -> bool:
        """The same with an error."""
        return self._end_late(run, lambda: self._respond_error(run, exc))

    def forward_late(self, run: RequestRun, answer: ResponseReceived) -> bool:
        """The same with what a request of this side was answered with, unchanged."""

        def forward() -> None:
            run.answered = self._core.forward(run.token, answer)

        return self._end_late(run, forward)

    def cancel_late(self, run: RequestRun) -> bool:
        """The same with what the method has for a cancellation."""
        self._mark_cancelled(run)
        return self._end_late(run, lambda: self._answer_cancelled(run))

    def _end_late(self, run: RequestRun, answer: Callable[[], object]) -> bool:
        if run.answered or run.token not in self._runs:
            return False
        answer()
        if not run.answered:
            return False
        self._outbox.schedule()
        self._run_after(run)
        self._settle_deferred(run)
        return True

    def _responder_dropped(self, run: RequestRun) -> None:
        if run.answered or run.token not in self._runs:
            return
        run.dropped = True
        # While its handler runs, what that ends with is the better answer.
        if run.scope is None:
            self._end_late(run, lambda: self._answer_dropped(run))

    def _answer_dropped(self, run: RequestRun) -> None:
        if run.cancelled or run.turn_cancelled:
            self._answer_cancelled(run)
            return
        method = run.event.method
        _log.warning("The responder of %.200r was dropped without an answer", method)
        data = f"request handler dropped its responder for `{method}` without responding"
        self._respond_error(run, RequestError(-32603, "Internal error", data))

    def _settle_deferred(self, run: RequestRun) -> None:
        if run.scope is None:
            self.deferred -= 1
            self._forget(run)
            if self.settled is not None:
                self.settled()

    def _forget(self, run: RequestRun) -> None:
        del self._runs[run.token]
        self._outbox.schedule()
        if run.after is not None:
            self._run_after(run)

    def after_answer(
        self, run: Any, function: Callable[..., Awaitable[Any]], args: tuple[Any, ...]
    ) -> bool:
        """Runs a function once a request is answered. False when it is none that is unanswered."""
        if type(run) is not RequestRun or run.answered or self._runs.get(run.token) is not run:
            return False
        if run.after is None:
            run.after = []
        run.after.append(functools.partial(function, *args))
        return True

    def _run_after(self, run: RequestRun) -> None:
        for function in run.after or ():
            self._workers.assign(functools.partial(_run, function, run.event.method))
        run.after = None

    def turns(self, session: str | None, *, always: bool = False) -> tuple[RequestRun, ...]:
        """The turns that run in a session now, where `session/cancel` ends them, or `always`."""
        if not self._options.cancel_prompts and not always:
            return ()
        runs = self._runs.values()
        return tuple(
            run for run in runs if run.event.lane == session and run.route and run.route.is_turn
        )

    def cancel_turn(self, run: RequestRun) -> None:
        """Cancels the handler of a turn.

        Unless it ends with a result, the turn's own cancelled result is the answer.
        """
        if run.answered and run.ends_itself:
            return
        run.turn_cancelled = True
        if run.cancellation is not None:
            run.cancellation.set()
        if run.scope is not None and run.token in self._runs:
            run.scope.cancel()

    def serves(self, run: object) -> bool:
        """Whether a run is one of a request of this connection whose handler has not ended, or that
        a responder answers.
        """
        return type(run) is RequestRun and self._runs.get(run.token) is run

    def error_of(self, exc: Exception, method: str) -> WireError:
        """What the peer gets to see of an exception, also where that is no answer."""
        return wire_error(exc, method=method, expose=self._options.expose_internal_errors)

    def cancel_questions(self, session: str | None) -> None:
        """This side cancels the turn of a session: what its peer asks for it is not to be decided
        any more, and is answered with the result that the method has for that.
        """
        self._calls.cancel_turns(session)
        for run in tuple(self._runs.values()):
            asks = run.route is not None and run.route.ends_with_turn and not run.answered
            if not asks or run.event.lane != session:
                continue
            if run.scope is None:
                self.cancel_late(run)
                continue
            # At once: what its handler makes of the cancellation is no answer any more.
            self._mark_cancelled(run)
            self._answer_cancelled(run)
            self._outbox.schedule()
            self._run_after(run)
            if self._options.cancel_handlers:
                run.scope.cancel()

    def cancel_unstarted(self, token: int, route: Route) -> None:
        """The same for one whose handler has not started, and will not."""
        self._core.respond(token, route.cancelled_result)
        self._outbox.schedule()

    def cancel(self, token: int) -> bool:
        """The peer cancelled a request. False when its handler has not been started."""
        run = self._runs.get(token)
        if run is None:
            return False
        self._mark_cancelled(run)
        if self._options.cancel_handlers and run.scope is not None:
            run.scope.cancel()
        return True

    def cancellation(self, run: RequestRun) -> Flag:
        """What is set once a request is cancelled."""
        if run.cancellation is None:
            run.cancellation = Flag(self._workers.runtime)
            if run.cancelled or run.turn_cancelled:
                run.cancellation.set()
        return run.cancellation

    def _mark_cancelled(self, run: RequestRun) -> None:
        run.cancelled = True
        if run.cancellation is not None:
            run.cancellation.set()

    def refuse_cancelled(self, token: int) -> None:
        """Answers a request that was cancelled before its handler started."""
        self._write(token, RequestError.request_cancelled(), "", cancelled=True)
        self._outbox.schedule()

    def _answer(self, run: RequestRun, result: Any) -> None:
        if result is None and run.route is not None and run.route.may_return_nothing:
            # Strict readers refuse null for what succeeded.
            result = {}
        try:
            self._core.respond(run.token, result)
        except (TypeError, ValueError) as exc:
            # The handler's fault, which must not look like one of the params.
            message = f"The result of {run.event.method} cannot be written"
            raise RuntimeError(message) from exc
        run.answered = True

    def _answer_cancelled(self, run: RequestRun) -> None:
        result = run.route.cancelled_result if run.route is not None else None
        if run.turn_cancelled:
            result = self._cancelled_turn
        elif not run.cancelled:
            result = None
        if result is None:
            self._respond_error(run, RequestError.request_cancelled(), cancelled=True)
        else:
            self._core.respond(run.token, result)
            run.answered = True

    def _answer_error(self, run: RequestRun, exc: Exception) -> None:
        method = run.event.method
        code = self._respond_error(run, exc)
        if isinstance(exc, RequestError):
            return
        if isinstance(exc, ValidationError):
            _log.warning("A request %.200r was refused (%d): its params do not fit", method, code)
        else:
            name = type(exc).__name__
            _log.warning("The handler of %.200r failed with %s (%d)", method, name, code)
        if _log.isEnabledFor(logging.DEBUG):
            from acp._wire_log import log_failure

            log_failure(method, exc)

    def _respond_error(
        self, run: RequestRun, exc: BaseException, *, cancelled: bool = False
    ) -> int:
        run.answered = True
        return self._write(run.token, exc, run.event.method, cancelled=cancelled)

    def _write(
        self, token: int, exc: BaseException, method: str, *, cancelled: bool = False
    ) -> int:
        """Answers with the error that `exc` stands for. Returns its code."""
        error = wire_error(
            exc,
            method=method,
            cancelled=cancelled,
            expose=self._options.expose_internal_errors,
        )
        data = () if error.data is NO_DATA else (error.data,)
        # A handler can raise an error that has no form on the wire: it is answered all the same.
        if self._write_error(token, error.code, error.message, *data) or self._write_error(
            token, error.code, error.message
        ):
            return error.code
        _log.warning("The error for %.200r cannot be written", method)
        self._write_error(token, -32603, "Internal error")
        return -32603

    def _write_error(self, token: int, code: int, message: str, *data: Any) -> bool:
        """Answers with an error; False when it cannot be written, and nothing was."""
        try:
            self._core.respond_error(token, code, message, *data)
        except (TypeError, ValueError, OverflowError):
            return False
        return True


async def _run(function: Callable[[], Awaitable[Any]], method: str, worker: Worker) -> None:
    """Runs what was to follow an answer."""
    del worker
    try:
        await function()
    except Exception as exc:  # noqa: BLE001 - the boundary of user code
        _log.warning("What was to follow %.200r failed: %s", method, type(exc).__name__)
        if _log.isEnabledFor(logging.DEBUG):
            from acp._wire_log import log_failure

            log_failure(method, exc)
