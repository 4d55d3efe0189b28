"""Requests and handlers of a connection that is traced.

Owns where in the life of a message its span begins and ends. A connection that is not traced has
none of this and asks for none of it. What a span looks like is decided in `acp._spans`.
"""

from __future__ import annotations

import functools
from copy import copy
from typing import TYPE_CHECKING, Any

from acp._answers import Answers
from acp._caller import Caller
from acp._core import ResponseRejected
from acp._serving import Serving
from acp._spans import Spans, tracer_of
from acp._stepping import current_run
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Span

    from acp._calls import Call
    from acp._core import Connection as Core
    from acp._core import ResponseReceived
    from acp._lanes import RequestRun
    from acp._options import ConnectionOptions
    from acp._profile import Profile
    from acp._router import Route, Routes

__all__ = ("parts",)


def parts(
    telemetry: bool | None, profile: Profile, router: Routes
) -> tuple[Callable[..., Serving], Callable[..., Caller], Routes]:
    """What a connection is made of: its two kinds of requests, and its routes.

    Raises ModuleNotFoundError when tracing is asked for and cannot be.
    """
    tracer = tracer_of(telemetry)
    if tracer is None:
        return Serving, Caller, router
    spans = Spans(tracer, profile.version)
    serving = functools.partial(TracedServing, spans)
    return serving, functools.partial(TracedCaller, spans), TracedRoutes(spans, router)


class TracedCaller(Caller):
    """Each request has a span, from being sent to its answer."""

    __slots__ = ("_spans",)

    def __init__(self, spans: Spans, *others: Any) -> None:
        super().__init__(*others)
        self._spans = spans

    def begin(self, method: str, params: Any = None) -> Call:
        """Queues a request; see `Caller.begin`."""
        spans = self._spans
        span = spans.asked(method)
        try:
            call = super().begin(method, spans.carried(span, method, params))
        except Exception as exc:
            spans.ended(span, kind=type(exc).__name__)
            raise
        spans.numbered(span, call.id)
        if call.is_turn:
            spans.turn_began(call.lane, span)
        if call.settled:
            self._settled(call, span)
        else:
            call.at_end(functools.partial(self._settled, call, span))
        return call

    def _settled(self, call: Call, span: Span) -> None:
        answer = call.answer
        code = kind = None
        if answer is None:
            kind = "ConnectionClosed" if self._ended else "cancelled"
        elif isinstance(answer, ResponseRejected):
            kind = "malformed"
        elif answer.outcome == "error":
            code = _code(answer)
        elif answer.outcome != "result":
            kind = answer.outcome
        if call.is_turn:
            self._spans.turn_ended(call.lane, span)
        self._spans.ended(span, code, kind)


class TracedAnswers(Answers):
    """The span of a request ends when it is answered."""

    __slots__ = ("_spans",)

    def __init__(
        self, spans: Spans, core: Core, options: ConnectionOptions, profile: Profile
    ) -> None:
        super().__init__(core, options, profile)
        self._spans = spans

    def result(self, run: RequestRun, result: Any) -> None:
        """Answers with what a handler, or a responder, gives."""
        super().result(run, result)
        self._spans.answered(run.token)

    def forward(self, run: RequestRun, answer: ResponseReceived) -> None:
        """Answers with what a request of this side was answered with, if that could be read."""
        super().forward(run, answer)
        if run.answered:
            self._spans.answered(run.token, _code(answer) if answer.outcome == "error" else None)

    def cancelled(self, run: RequestRun) -> None:
        """Answers a request whose handling a cancellation has ended."""
        super().cancelled(run)
        self._spans.answered(run.token)

    def _error(self, run: RequestRun, exc: BaseException, *, cancelled: bool = False) -> int:
        code = super()._error(run, exc, cancelled=cancelled)
        kind = None if isinstance(exc, RequestError) else type(exc).__name__
        self._spans.answered(run.token, code, kind)
        return code


class TracedServing(Serving):
    """Each request that is handled has a span, which its handler sees as the current one."""

    __slots__ = ("_spans",)

    def __init__(
        self, spans: Spans, core: Core, options: ConnectionOptions, profile: Profile, *others: Any
    ) -> None:
        super().__init__(core, options, profile, *others)
        self._answers = TracedAnswers(spans, core, options, profile)
        self._spans = spans

    async def serve(self, run: RequestRun) -> None:
        """Runs the handler of a request and answers; see `Serving.serve`."""
        self._spans.served(run.token, run.event, known=run.route is not None)
        await super().serve(run)

    def end(self) -> None:
        """Nothing can be answered any more."""
        super().end()
        self._spans.given_up()


class TracedRoutes:
    """The routes of a connection, whose notifications have a span while they are handled."""

    __slots__ = ("_router", "_spans", "direct")

    def __init__(self, spans: Spans, router: Routes) -> None:
        self._router = router
        self._spans = spans
        self.direct: dict[str, tuple[Route, Callable[[Any], Any]]] = {}
        """None: each notification is to be seen."""

    def request(self, method: str) -> Route | None:
        """The route of a request; None when nothing serves it."""
        return self._router.request(method)

    def notification(self, method: str) -> Route | None:
        """The route of a notification; None when nothing serves it."""
        route = self._router.notification(method)
        if route is None:
            return None
        traced = copy(route)
        traced.call = functools.partial(self._handle, route.call)
        return traced

    def _handle(self, call: Callable[[Any], Any], subject: Any) -> Any:
        span = self._spans.notified(current_run.get().event)
        try:
            result = call(subject)
        except BaseException as exc:
            self._spans.ended(span, kind=type(exc).__name__)
            raise
        if hasattr(result, "__await__"):
            return self._finish(result, span)
        self._spans.ended(span)
        return result

    async def _finish(self, result: Any, span: Span) -> Any:
        kind = None
        try:
            return await result
        except BaseException as exc:
            kind = type(exc).__name__
            raise
        finally:
            # The collector may be inside of what a span is given to.
            if kind != "GeneratorExit":
                self._spans.ended(span, kind=kind)


def _code(answer: ResponseReceived) -> int | None:
    try:
        code, *_ = answer.error()
    except ValueError:
        # Python may have been told to make no integers of so many digits.
        return None
    return code
