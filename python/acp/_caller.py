"""The requests of this side, from queueing to their outcome.

Owns what happens between the two: who waits, telling the peer that nobody does any more, and what
becomes of callbacks when no answer can come. It knows no type of the schema.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from typing import TYPE_CHECKING, Any

from acp._calls import Call, Calls, session_of
from acp._dropped import Dropped
from acp._router import HELD_RESPONSES, NAMING_RESPONSES
from acp._stepping import current_run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from acp import _core
    from acp._dispatcher import Dispatcher
    from acp._options import ConnectionOptions
    from acp._outbox import Outbox
    from acp._profile import Profile
    from acp._workers import Worker, Workers
    from acp.exceptions import ConnectionClosed

    See = Callable[[Call, Any, Callable[[Any], Any] | None], Coroutine[Any, Any, None]]

__all__ = ("Caller",)

_log = logging.getLogger("acp")


class Caller:
    """Makes the requests of one connection."""

    __slots__ = (
        "_calls",
        "_core",
        "_dispatcher",
        "_outbox",
        "_see",
        "_send_cancel_request",
        "_turn",
        "_workers",
        "dropped",
        "runtime",
    )

    def __init__(
        self,
        core: _core.Connection,
        calls: Calls,
        workers: Workers,
        outbox: Outbox,
        dispatcher: Dispatcher,
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
        self._send_cancel_request = options.send_cancel_request
        self._turn = profile.turn
        self._see: See | None = None
        self.dropped = Dropped(workers.runtime, self._was_dropped)
        """The calls whose handle nobody has any more, though nobody awaited it."""

    def begin(self, method: str, params: Any = None) -> Call:
        """Queues a request. Its answer has to be awaited with `answer`, or the call given up."""
        request_id = self._core.request(method, params)
        held = method in HELD_RESPONSES
        lane = None if method in NAMING_RESPONSES else session_of(params)
        slot = self.runtime.slot()
        call = Call(request_id, method, slot, held=held, is_turn=method == self._turn, lane=lane)
        self._calls.add(call)
        if self._see is not None:
            self._have_seen(call, self._see)
        # The only one that waits has nothing to gain from others that might be queued in this turn.
        if len(self._calls) == 1:
            self._outbox.flush()
        else:
            self._outbox.schedule()
        return call

    async def answer(self, call: Call) -> Any:
        """What a call was answered with, for `outcome`. Cancelled, it tells the peer, once."""
        run = current_run.get()
        self._dispatcher.call_started(run)
        try:
            return await call.slot
        except BaseException:
            self.give_up(call)
            raise
        finally:
            self._dispatcher.call_ended(run)

    def expects(self, call: Call) -> bool:
        """Whether the answer of a call is still to come, and not given up."""
        return call.id in self._calls

    def give_up(self, call: Call, *, tell: bool = True, forget: bool = True) -> bool:
        """Nobody waits for the answer any more. False when it is here.

        With `tell` the peer learns of it. Without `forget` the request can be cancelled later.
        """
        if not self._calls.give_up(call):
            return False
        if tell and self._send_cancel_request:
            self.cancel(call)
        if forget:
            self._core.forget(call.id)
        return True

    def call_back(
        self, call: Call | None, callback: Callable[[Any], Any], failure: Exception | None
    ) -> None:
        """Has `callback` called in the place of the answer, or, where there is none, soon."""
        if call is not None and call.id in self._calls:
            call.held = True
            if call.seen:
                call.then = callback
            else:
                call.callback = callback
            return
        self._workers.assign(functools.partial(_call_late, call, callback, failure))

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

    def _was_dropped(self, call: Call) -> None:
        if not self.give_up(call):
            return
        _log.warning("A request %.200r was dropped unanswered, and cancelled", call.method)
        message = f"a request {call.method!r} was dropped without being awaited, and cancelled"
        # Where warnings are errors, it is no error of the connection, which has to go on.
        with contextlib.suppress(ResourceWarning):
            warnings.warn(message, ResourceWarning, stacklevel=2)

    def cancel(self, call: Call) -> bool:
        """Tells the peer, once, that a call is cancelled; whoever waits for it still gets what the
        peer answers.
        """
        told = not call.settled and self._core.cancel(call.id)
        if told:
            self._outbox.schedule()
        return told

    def fail_all(self, make: Callable[[], ConnectionClosed]) -> None:
        """No answer can come any more: whoever waits for one is told, with what `make` makes."""
        if not len(self._calls):
            return
        error = make()
        for call in self._calls.fail_all(error):
            self._workers.assign(functools.partial(_tell, call, error))


async def _tell(call: Call, error: ConnectionClosed, worker: Worker) -> None:
    """Runs the callback of a call whose answer can no longer come."""
    del worker
    assert call.callback is not None
    await _run_callback(call.callback, error)


async def _call_late(
    call: Call | None, callback: Callable[[Any], Any], failure: Exception | None, worker: Worker
) -> None:
    """Runs a callback that was given when the answer was here, or none could come."""
    del worker
    await _run_callback(callback, failure if call is None else await call.slot)


async def _run_callback(callback: Callable[[Any], Any], answer: Any) -> None:
    try:
        result = callback(answer)
        if hasattr(result, "__await__"):
            await result
    except Exception as exc:  # noqa: BLE001 - the boundary of user code
        _log.warning("A callback of a request failed: %s", type(exc).__name__)
