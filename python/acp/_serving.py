"""Requests of the peer, from the first step of their handler to their one answer.

Owns which requests run, their cancellation, and that each is answered exactly once. What an
exception looks like to the peer is decided in `acp._errors`, when a handler starts in
`acp._dispatcher`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from acp._errors import NO_DATA, wire_error
from acp.exceptions import RequestError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp._calls import Calls
    from acp._core import Connection as Core
    from acp._lanes import RequestRun
    from acp._options import ConnectionOptions
    from acp._outbox import Outbox

__all__ = ("Serving",)

_log = logging.getLogger("acp")

_CANCELLED_TURN: Mapping[str, str] = {"stopReason": "cancelled"}


class Serving:
    """The requests of the peer that are not answered."""

    __slots__ = ("_calls", "_core", "_options", "_outbox", "_runs")

    def __init__(
        self, core: Core, options: ConnectionOptions, outbox: Outbox, calls: Calls
    ) -> None:
        self._core = core
        self._calls = calls
        self._options = options
        self._outbox = outbox
        self._runs: dict[int, RequestRun] = {}

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
                if run.route.cancelled_result is not None and self._calls.has_cancelled(event.lane):
                    # It was on its way when this side cancelled the turn.
                    run.cancelled = True
                    self._answer_cancelled(run)
                    return
                result = run.route.call(event.params())
                if hasattr(result, "__await__"):
                    result = await result
                # No cancellation point from here to the answer.
                self._answer(run, result)
                return
            self._answer_cancelled(run)
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            self._answer_error(run, exc)
        except BaseException:
            self._answer_cancelled(run)
            raise
        finally:
            del self._runs[run.token]
            self._outbox.schedule()

    def turns(self, session: str | None) -> tuple[RequestRun, ...]:
        """The turns that run in a session now."""
        if not self._options.cancel_prompts:
            return ()
        runs = self._runs.values()
        return tuple(
            run for run in runs if run.event.lane == session and run.route and run.route.is_turn
        )

    def cancel_turn(self, run: RequestRun) -> None:
        """Cancels the handler of a turn.

        Unless it ends with a result, the turn's own cancelled result is the answer.
        """
        run.turn_cancelled = True
        if run.scope is not None and run.token in self._runs:
            run.scope.cancel()

    def cancel_questions(self, session: str) -> None:
        """This side cancels the turn of a session: what its peer asks for it is not to be decided
        any more, and is answered with the result that the method has for that.
        """
        self._calls.cancel_turns(session)
        if not self._options.cancel_handlers:
            return
        for run in tuple(self._runs.values()):
            asks = run.route is not None and run.route.cancelled_result is not None
            if asks and run.event.lane == session and run.scope is not None:
                run.cancelled = True
                run.scope.cancel()

    def cancel(self, token: int) -> bool:
        """The peer cancelled a request. False when its handler has not been started."""
        run = self._runs.get(token)
        if run is None:
            return False
        run.cancelled = True
        if self._options.cancel_handlers and run.scope is not None:
            run.scope.cancel()
        return True

    def refuse_cancelled(self, token: int) -> None:
        """Answers a request that was cancelled before its handler started."""
        self._respond_error(token, RequestError.request_cancelled(), "", cancelled=True)
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

    def _answer_cancelled(self, run: RequestRun) -> None:
        if run.turn_cancelled:
            self._core.respond(run.token, _CANCELLED_TURN)
        elif run.cancelled and run.route is not None and run.route.cancelled_result is not None:
            self._core.respond(run.token, run.route.cancelled_result)
        else:
            self._respond_error(
                run.token, RequestError.request_cancelled(), run.event.method, cancelled=True
            )

    def _answer_error(self, run: RequestRun, exc: Exception) -> None:
        method = run.event.method
        code = self._respond_error(run.token, exc, method)
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
