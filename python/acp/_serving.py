"""Requests of the peer, from the first step of their handler to their one answer.

Owns which requests run, their cancellation, and that each is answered exactly once. What the answer
is, is written by `acp._answers`; when a handler starts is decided in `acp._dispatcher`.
"""

from __future__ import annotations

import functools
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from acp._answers import Answers
from acp._dropped import Dropped
from acp._entry import check_thread
from acp._errors import blame_params
from acp._lanes import AfterRun, RequestRun
from acp._runtime.flag import Flag
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._aside import Aside
    from acp._calls import Calls
    from acp._core import Connection as Core
    from acp._core import RequestReceived, ResponseReceived
    from acp._errors import WireError
    from acp._malformed_input import MalformedInput
    from acp._options import ConnectionOptions
    from acp._outbox import Outbox
    from acp._profile import Profile
    from acp._router import Route
    from acp._workers import Workers

__all__ = ("Serving",)


class Serving:
    """The requests of the peer that are not answered."""

    __slots__ = (
        "_answers",
        "_calls",
        "_malformed",
        "_options",
        "_outbox",
        "_runs",
        "_turn",
        "_workers",
        "aside",
        "deferred",
        "dropped",
        "settled",
        "thread",
    )

    aside: Aside
    """Runs what follows an answer."""
    settled: Callable[[], None]
    """Called when a request is answered whose handler had ended before."""

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
        self._answers = Answers(core, options, profile)
        self._calls = calls
        self._options = options
        self._outbox = outbox
        self._turn = profile.turn
        """The request whose answer ends a turn."""
        self._workers = workers
        self._runs: dict[int, RequestRun] = {}
        self.deferred = 0
        """Requests whose handler has ended and left the answer to a responder."""
        self.dropped = Dropped(workers.runtime, self)
        """The runs whose responder nobody has any more."""
        self.thread: int | None = None
        """The thread of the loop, once the connection runs."""

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
                    self._end(run, self._answers.cancelled)
                    return
                if run.route.takes_event:
                    result = run.route.call(event)
                else:
                    result = run.route.call(self._params(event))
                if hasattr(result, "__await__"):
                    result = await result
                # No cancellation point from here to the answer.
                if result is not None or not run.deferred:
                    self._end(run, self._answers.result, result)
                elif run.dropped:
                    self._end(run, self._answers.dropped)
                return
            self._end(run, self._answers.cancelled)
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            self._end(run, self._answers.failed, exc)
        except GeneratorExit:
            # The collector has found it, after the loop has ended: the core may be what it is in.
            raise
        except BaseException:
            self._answers.cancelled(run)
            raise
        finally:
            run.scope = None
            if run.answered:
                self._runs.pop(run.token, None)
                self._outbox.schedule()
                if run.after is not None or run.early is not None:
                    self._answered(run)
            elif run.deferred and not run.returned and run.token in self._runs:
                self.deferred += 1

    def _params(self, event: RequestReceived) -> Any:
        try:
            return event.params()
        except Exception as exc:
            self._malformed.params(event, exc, answered=True)
            blame_params(exc)
            raise

    def _end(self, run: RequestRun, answer: Callable[..., None], *args: Any) -> None:
        """Answers a request whose handler has ended."""
        if run.route is None or run.event.method != self._turn or run.answered:
            answer(run, *args)
            return
        # What tasks of the handler were about to send goes out before the end of the turn: they are
        # ready already, and so have their step before this is called.
        run.returned = True
        self.aside.due += 1
        self._workers.runtime.behind(functools.partial(self._end_turn, run, answer, args))

    def _end_turn(
        self, run: RequestRun, answer: Callable[..., None], args: tuple[Any, ...]
    ) -> None:
        self.aside.due -= 1
        if run.token in self._runs:
            try:
                answer(run, *args)
            except Exception as exc:  # noqa: BLE001 - a result that cannot be written
                self._answers.failed(run, exc)
            self._outbox.flush()
            self._forget(run)
        self.settled()

    # Answers that are not the end of the handler.

    def defer(self, run: Any) -> RequestRun:
        """Leaves the answer of a request, which is returned, to a responder.

        Raises RuntimeError when `run` is no request that is unanswered, or has one.
        """
        request = self._open(run)
        if request.deferred or request.returned:
            message = "This request has a responder already, or its result"
            raise RuntimeError(message)
        request.deferred = True
        self.dropped.expect()
        return request

    def answer_early(self, run: RequestRun, result: Any) -> bool:
        """Answers a request while its handler goes on. False when it was answered before."""
        return self._answer(run, self._answers.result, result)

    def answer_late(self, run: RequestRun, result: Any) -> bool:
        """Answers a request by its responder. False when it was answered before."""
        return self._answer_late(run, self._answers.result, result)

    def fail_late(self, run: RequestRun, exc: BaseException) -> bool:
        """The same with an error."""
        return self._answer_late(run, self._answers.error, exc)

    def forward_late(self, run: RequestRun, answer: ResponseReceived) -> bool:
        """The same with what a request of this side was answered with, unchanged."""
        return self._answer_late(run, self._answers.forward, answer)

    def cancel_late(self, run: RequestRun) -> bool:
        """The same with what the method has for a cancellation."""
        return self._answer_late(run, self._cancel_late)

    def _cancel_late(self, run: RequestRun) -> None:
        self._mark_cancelled(run)
        self._answers.cancelled(run)

    def _answer(self, run: RequestRun, answer: Callable[..., None], *args: Any) -> bool:
        check_thread(self.thread)
        if not self._is_open(run):
            return False
        answer(run, *args)
        if not run.answered:
            return False
        self._outbox.schedule()
        self._answered(run)
        return True

    def _answer_late(self, run: RequestRun, answer: Callable[..., None], *args: Any) -> bool:
        if not self._answer(run, answer, *args):
            return False
        if run.scope is None and not run.returned:
            self.deferred -= 1
            self._forget(run)
            self.settled()
        return True

    def was_dropped(self, run: RequestRun) -> None:
        """Nobody has the responder of a request any more."""
        if not self._is_open(run):
            return
        run.dropped = True
        # While its handler runs, what that ends with is the better answer.
        if run.scope is None:
            self._answer_late(run, self._answers.dropped)

    def _is_open(self, run: Any) -> bool:
        """Whether it is a request of this connection that can be answered."""
        return type(run) is RequestRun and not run.answered and self._runs.get(run.token) is run

    def _forget(self, run: RequestRun) -> None:
        self._runs.pop(run.token, None)
        self._answered(run)

    def after_answer(self, run: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Runs a function once a request is answered.

        Raises RuntimeError when `run` is no request that is unanswered.
        """
        request = self._open(run)
        if request.after is None:
            request.after = []
        request.after.append((functools.partial(function, *args), copy_context()))

    def own(self, run: Any) -> RequestRun:
        """The run of a request of this connection. Raises RuntimeError when it is none."""
        if type(run) is not RequestRun or run.owner is not self.aside.starter.owner:
            message = "This is no handler of a request of this connection"
            raise RuntimeError(message)
        return run

    def _open(self, run: Any) -> RequestRun:
        own = self.own(run)
        if not self._is_open(own):
            message = "This request is answered already"
            raise RuntimeError(message)
        return own

    def _answered(self, run: RequestRun) -> None:
        """What waited for the answer of a request may go on."""
        if run.early is not None:
            run.early.release()
        after, run.after = run.after, None
        for function, context in after or ():
            self.aside.start(AfterRun(run.owner, run.event, None), _call, function, context)

    def serves(self, run: object) -> bool:
        """Whether a run is one of a request of this connection whose handler has not ended, or that
        a responder answers.
        """
        return type(run) is RequestRun and self._runs.get(run.token) is run

    def error_of(self, exc: Exception, method: str) -> WireError:
        """What the peer gets to see of an exception, also where that is no answer."""
        return self._answers.error_of(exc, method)

    def end(self) -> None:
        """Nothing can be answered any more."""
        self._runs.clear()
        self.deferred = 0

    # Cancellation.

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

    def cancel_questions(self, session: str | None) -> None:
        """This side cancels the turn of a session: what its peer asks for it is not to be decided
        any more, and is answered with the result that the method has for that.
        """
        self._calls.cancel_turns(session)
        for run in tuple(self._runs.values()):
            asks = run.route is not None and run.route.ends_with_turn and not run.answered
            if not asks or run.event.lane != session:
                continue
            # At once: what its handler makes of the cancellation is no answer any more.
            self.cancel_late(run)
            if self._options.cancel_handlers and run.scope is not None:
                run.scope.cancel()

    def cancel_unstarted(self, token: int, route: Route) -> None:
        """The same for one whose handler has not started, and will not."""
        self._answers.unstarted(token, route)
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
        self._answers.refuse_cancelled(token)
        self._outbox.schedule()


async def _call(function: Callable[[], Any]) -> None:
    result = function()
    if hasattr(result, "__await__"):
        await result
