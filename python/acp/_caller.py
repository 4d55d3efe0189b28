"""The requests of this side, from queueing to their outcome.

Owns what happens between the two: who waits, telling the peer that nobody does any more, and what
becomes of callbacks when no answer can come. It knows no type of the schema.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple

from anyio import move_on_after

from acp._calls import Call, Calls, outcome, session_of
from acp._dropped import Dropped
from acp._entry import check_thread
from acp._router import HELD_RESPONSES, NAMING_RESPONSES
from acp._runtime import fill
from acp._stepping import current_run
from acp.exceptions import ConnectionClosed, RequestTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from acp import _core
    from acp._cancellation import Cancellation
    from acp._core import HandlerRun
    from acp._dispatcher import Dispatcher
    from acp._malformed_input import MalformedInput
    from acp._options import ConnectionOptions
    from acp._outbox import Outbox
    from acp._profile import Profile
    from acp._workers import Workers

    See = Callable[[Call, Any, Callable[[Any], Any] | None], Coroutine[Any, Any, None]]

__all__ = ("Caller",)

_log = logging.getLogger("acp")


class _Waited(NamedTuple):
    """A call whose waiting task was collected."""

    call: Call
    run: HandlerRun | None


class Caller:
    """Makes the requests of one connection."""

    __slots__ = (
        "_calls",
        "_core",
        "_dispatcher",
        "_ended",
        "_malformed",
        "_outbox",
        "_see",
        "_send_cancel_request",
        "_turn",
        "_workers",
        "dropped",
        "runtime",
        "thread",
    )

    def __init__(
        self,
        core: _core.Connection,
        calls: Calls,
        workers: Workers,
        outbox: Outbox,
        dispatcher: Dispatcher,
        malformed: MalformedInput,
        options: ConnectionOptions,
        profile: Profile,
    ) -> None:
        self._core = core
        self._calls = calls
        self._workers = workers
        self.runtime = workers.runtime
        """The primitives of the loop."""
        self._outbox = outbox
        self._dispatcher = dispatcher
        self._malformed = malformed
        self._send_cancel_request = options.send_cancel_request
        self._turn = profile.turn
        self._see: See | None = None
        self._ended = False
        """No answer can come any more."""
        self.thread: int | None = None
        """The thread of the loop, once the connection runs."""
        self.dropped = Dropped(workers.runtime, self)
        """The calls that nobody holds any more, though nobody has taken their answer."""

    def begin(self, method: str, params: Any = None) -> Call:
        """Queues a request. Its answer has to be awaited with `answer`, or the call given up."""
        request_id = self._core.request(method, params)
        held = method in HELD_RESPONSES
        lane = None if method in NAMING_RESPONSES else session_of(params)
        slot = self.runtime.slot()
        call = Call(request_id, method, slot, held=held, is_turn=method == self._turn, lane=lane)
        self._calls.add(request_id, call)
        if not self.dropped.is_expected:
            self.dropped.expect()
        if self._see is not None:
            self._have_seen(call, self._see)
        # The only one that waits has nothing to gain from others that might be queued in this turn.
        if len(self._calls) == 1:
            self._outbox.flush()
        else:
            self._outbox.schedule()
        return call

    def failed(self, method: str, error: Exception) -> Call:
        """A request that could not be sent: `error` is its outcome."""
        call = Call(None, method, self.runtime.slot(), held=False, is_turn=False, lane=None)
        call.failure = error
        call.settle()
        fill(call.slot, error)
        return call

    async def answer(self, call: Call) -> Any:
        """What a call was answered with, for `outcome`. Cancelled, it tells the peer, once."""
        run = current_run.get()
        self._dispatcher.call_started(run)
        try:
            answer = await call.slot
        except GeneratorExit:
            # The collector has found who waited, perhaps inside the core or in another thread.
            self.dropped.add(_Waited(call, run))
            raise
        except BaseException:
            self._dispatcher.call_ended(run)
            self.give_up(call)
            raise
        self._dispatcher.call_ended(run)
        return answer

    def outcome(self, answer: Any) -> Any:
        """The result that an answer holds. Raises what it stands for."""
        try:
            return outcome(answer)
        except (ValueError, Warning) as exc:
            self._malformed.result(answer, exc)
            raise

    def expects(self, call: Call) -> bool:
        """Whether the answer of a call is still to come, and not given up."""
        return call.id in self._calls

    async def answer_within(self, call: Call, seconds: float) -> Any:
        """The same; raises RequestTimeout after a time, which cancels it as well."""
        with move_on_after(seconds):
            return await self.answer(call)
        raise RequestTimeout(call.method, seconds)

    def give_up(self, call: Call) -> bool:
        """Nobody waits for the answer any more: the peer is told, once. False when it is here."""
        if call.settled:
            return False
        if self._send_cancel_request:
            self.cancel(call)
        self._calls.give_up(call)
        if call.id is not None:
            self._core.forget(call.id)
        return True

    def intercept(self, see: See) -> None:
        """Has `see` look at the answers of all requests, those under way among them, in the place
        of the answer. It gives it to who waits: the callback that it is called with, or, where that
        is None, the slot of the call.
        """
        self._see = see
        for call in self._calls:
            self._have_seen(call, see)

    def _have_seen(self, call: Call, see: See) -> None:
        if not call.seen:
            call.seen = True
            call.then, call.callback = call.callback, lambda answer: see(call, answer, call.then)

    def cancel(self, call: Call) -> bool:
        """Tells the peer, once, that a call is cancelled; whoever waits for it still gets what the
        peer answers.
        """
        check_thread(self.thread)
        if call.settled or self._ended or call.id is None or not self._core.cancel(call.id):
            return False
        self._outbox.schedule()
        return True

    def cancel_with(self, call: Call, cancellation: Cancellation) -> None:
        """Cancels a call when a request of a peer is cancelled, at once if it is already."""
        if call.settled:
            return
        cancel = functools.partial(self.cancel, call)
        cancellation.add(cancel)
        # A request may be served long, and make many calls.
        call.at_end(functools.partial(cancellation.remove, cancel))

    def call_back(
        self, call: Call, callback: Callable[[Any], Any], timeout: float | None = None
    ) -> None:
        """Has `callback` called in the place of the answer, or, where there is none, soon.

        After `timeout` seconds without an answer it gets a RequestTimeout. Raises what kept the
        request from being sent, or ConnectionClosed, when the connection has ended, so that nothing
        can call it.
        """
        check_thread(self.thread)
        if self._workers.finished:
            raise call.failure or ConnectionClosed()
        if call.seen and not call.settled:
            # Behind what sees it.
            call.then = functools.partial(copy_context().run, callback)
        else:
            call.callback = callback
            call.context = copy_context()
        if call.slot.done() or (call.seen and call.settled):
            self._dispatcher.aside.call_back(call)
            return
        call.held = True
        if timeout is not None and not call.settled:
            expire = functools.partial(self._expire, call, timeout)
            call.at_end(self._workers.later(timeout, expire))

    def _expire(self, call: Call, timeout: float) -> None:
        if self.give_up(call):
            fill(call.slot, RequestTimeout(call.method, timeout))
            self._dispatcher.aside.call_back(call)

    def was_dropped(self, item: Call | _Waited) -> None:
        """Nobody has a call any more, or nobody can wait for it: it is given up."""
        if isinstance(item, _Waited):
            self._dispatcher.call_ended(item.run)
            self.give_up(item.call)
            return
        if not self.give_up(item):
            return
        _log.warning("A request %.200r was dropped unanswered, and cancelled", item.method)
        message = f"a request {item.method!r} was dropped without being awaited, and cancelled"
        # Where warnings are errors, it is no error of the connection, which has to go on.
        with contextlib.suppress(ResourceWarning):
            warnings.warn(message, ResourceWarning, stacklevel=2)

    def end(self, error: Callable[[], ConnectionClosed]) -> None:
        """No answer can come any more: whoever waits for one is told."""
        self._ended = True
        if len(self._calls):
            for call in self._calls.fail_all(error()):
                self._dispatcher.aside.call_back(call)
