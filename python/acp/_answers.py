"""The answers to the peer's requests, as they are written.

Owns what a request is answered with, given what came of it: a result, an exception, a cancellation,
nothing at all. When that is, and that it is once, is `acp._serving`'s to see to; what an exception
looks like is decided in `acp._errors`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from acp._errors import NO_DATA, misfit, wire_error
from acp._seldom import told
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from acp._core import Connection as Core
    from acp._core import ResponseReceived
    from acp._errors import WireError
    from acp._lanes import RequestRun
    from acp._options import ConnectionOptions
    from acp._profile import Profile
    from acp._router import Route

__all__ = ("Answers",)

_log = logging.getLogger("acp")


class Answers:
    """Queues the answers of one connection."""

    __slots__ = ("_cancelled_turn", "_core", "_expose", "_official", "_refused")

    def __init__(self, core: Core, options: ConnectionOptions, profile: Profile) -> None:
        self._core = core
        self._official = profile.official_errors
        chosen = options.expose_internal_errors
        self._expose = self._official if chosen is None else chosen
        self._cancelled_turn = profile.cancelled_turn
        self._refused = 0
        """How many requests did not fit."""

    def result(self, run: RequestRun, result: Any) -> None:
        """Answers with what a handler, or a responder, gives.

        Raises RuntimeError when that has no form on the wire; the request stays open.
        """
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

    def forward(self, run: RequestRun, answer: ResponseReceived) -> None:
        """Answers with what a request of this side was answered with, if that could be read."""
        run.answered = self._core.forward(run.token, answer)

    def cancelled(self, run: RequestRun) -> None:
        """Answers a request whose handling a cancellation has ended."""
        result = run.route.cancelled_result if run.route is not None else None
        if run.turn_cancelled:
            result = self._cancelled_turn
        elif not run.cancelled:
            result = None
        if result is None:
            self._error(run, RequestError.request_cancelled(), cancelled=True)
        else:
            self._core.respond(run.token, result)
            run.answered = True

    def dropped(self, run: RequestRun) -> None:
        """Answers a request whose responder nobody has any more."""
        if run.cancelled or run.turn_cancelled:
            self.cancelled(run)
            return
        method = run.event.method
        _log.warning("The responder of %.200r was dropped without an answer", method)
        data = f"request handler dropped its responder for `{method}` without responding"
        self._error(run, RequestError(-32603, "Internal error", data))

    def failed(self, run: RequestRun, exc: Exception) -> None:
        """Answers with the exception that a handler has raised."""
        method = run.event.method
        code = self._error(run, exc)
        if isinstance(exc, RequestError):
            return
        if code == -32602 and misfit(exc) is not None:
            self._refused += 1
            by_now = told(self._refused)
            if by_now is not None:
                message = "A request %.200r was refused (%d): its params do not fit%s"
                _log.warning(message, method, code, by_now)
        else:
            name = type(exc).__name__
            _log.warning("The handler of %.200r failed with %s (%d)", method, name, code)
        if _log.isEnabledFor(logging.DEBUG):
            from acp._wire_log import log_failure

            log_failure(method, exc)

    def error(self, run: RequestRun, exc: BaseException) -> None:
        """Answers with the error that an exception stands for."""
        self._error(run, exc)

    def unstarted(self, token: int, route: Route) -> None:
        """Answers a request with what its method has for a cancellation, without its handler."""
        self._core.respond(token, route.cancelled_result)

    def refuse_cancelled(self, token: int) -> None:
        """Answers a request that was cancelled before its handler started."""
        self._write(token, RequestError.request_cancelled(), "", cancelled=True)

    def _error(self, run: RequestRun, exc: BaseException, *, cancelled: bool = False) -> int:
        run.answered = True
        return self._write(run.token, exc, run.event.method, cancelled=cancelled)

    def error_of(self, exc: BaseException, method: str, *, cancelled: bool = False) -> WireError:
        """What the peer gets to see of an exception."""
        return wire_error(
            exc,
            method=method,
            cancelled=cancelled,
            expose=self._expose,
            official=self._official,
        )

    def _write(
        self, token: int, exc: BaseException, method: str, *, cancelled: bool = False
    ) -> int:
        """Answers with the error that `exc` stands for. Returns its code."""
        error = self.error_of(exc, method, cancelled=cancelled)
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
