"""One connection: protocol state, transport, handlers and callers, from opening to close.

Owns the life of a connection and what can be sent on it. It knows no type of the schema and no
method; the two connection classes of the public surface are thin layers on it.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal

from anyio import CancelScope, WouldBlock, create_task_group

from acp import _core
from acp._calls import Calls, session_of
from acp._dispatcher import Dispatcher
from acp._early import hold_back
from acp._ending import Ending
from acp._entry import Entry, check_thread
from acp._log_environment import heed_environment
from acp._malformed_input import MalformedInput
from acp._outbox import Outbox
from acp._profile import DROP_IN, Profile
from acp._runtime import Runtime
from acp._stats import ConnectionStats, Counters, HandlerInfo, running
from acp._stepping import current_run
from acp._traced import parts
from acp._workers import Workers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from acp._ending import Life
    from acp._options import ConnectionOptions
    from acp._router import Routes
    from acp._stream_events import StreamObserver
    from acp._termination import Termination
    from acp._transports.base import Transport
    from acp.exceptions import ConnectionClosed

__all__ = ("Connection",)


class Connection:
    """A connection over one transport, with the handlers of one user object.

    `run()` does the work and is awaited by one task; everything else may be called from any task of
    the same loop.
    """

    __slots__ = (
        "_calls",
        "_closed",
        "_dispatcher",
        "_ending",
        "_entry",
        "_malformed",
        "_options",
        "_outbox",
        "_runtime",
        "_started",
        "_thread",
        "_transport",
        "_workers",
        "caller",
        "core",
        "counters",
        "serving",
    )

    def __init__(
        self,
        side: Literal["agent", "client"],
        router: Routes,
        transport: Transport,
        options: ConnectionOptions,
        profile: Profile = DROP_IN,
    ) -> None:
        heed_environment()
        limits = options.limits
        self._transport = transport
        self._options = options
        self._malformed = MalformedInput(options.on_malformed)
        self.core = _core.Connection(
            side,
            version=profile.version,
            batches=options.batches,
            require_initialize=options.require_initialize,
            lax=profile.lax,
            guard=profile.guard,
            allow_reinitialize=options.allow_reinitialize,
            unknown_values=options.unknown_values,
            observer=self._malformed,
            shown_bytes=self._malformed.shown_bytes,
            max_message_bytes=limits.max_message_bytes,
            max_batch_entries=limits.max_batch_entries,
        )
        self.counters = Counters(self.core, options.on_count)
        """What was seen so far."""
        self._malformed.count_in(self.counters)
        self._runtime = Runtime()
        self._workers = Workers(self._runtime)
        self._ending = Ending(transport, self._workers, limits)
        self._closed = self._ending.closed
        self._outbox = Outbox(
            self._workers, self.core, transport, limits, self._ending.output_failed
        )
        self._calls = Calls()
        serving, caller, router = parts(options.telemetry, profile, router)
        self.serving = serving(
            self.core, options, profile, self._outbox, self._calls, self._workers, self._malformed
        )
        self._dispatcher = Dispatcher(
            self.core,
            router,
            transport,
            self._calls,
            self._workers,
            self.serving,
            limits,
            self._outbox,
            self.counters,
            self._malformed,
            self._ending.input_ended,
            self._ending.failed,
            overtakes=profile.overtakes,
        )
        self.caller = caller(
            self.core,
            self._calls,
            self._workers,
            self._outbox,
            self._dispatcher,
            self._malformed,
            options,
            profile,
        )
        """Its requests of the peer."""
        self._ending.attach(self.caller, self.serving, self._dispatcher, self._outbox)
        self._started = False
        self._thread: int | None = None
        """The thread of the loop, once the connection runs."""
        self._entry: Entry | None = None

    # Sending.

    async def request(
        self, method: str, params: Any = None, *, timeout: float | None = None
    ) -> Any:
        """Sends a request and returns its result.

        Raises RequestError when the peer answers with an error, ConnectionClosed when no answer can
        come, RequestTimeout when none has come after `timeout` seconds, ValidationError when params
        or result do not fit their type. Cancelling it tells the peer, as the timeout does.
        """
        self.check_open()
        call = self.caller.begin(method, params)
        if timeout is None:
            return self.caller.outcome(await self.caller.answer(call))
        return self.caller.outcome(await self.caller.answer_within(call, timeout))

    def unread(self, event: Any, exc: Exception) -> None:
        """The params of a message do not fit its method."""
        self._malformed.params(event, exc, answered=isinstance(event, _core.RequestReceived))

    def spawn(
        self, work: Coroutine[Any, Any, Any], dropped: Callable[[], object] | None = None
    ) -> None:
        """Runs a coroutine beside the handlers; an exception of it ends the connection.

        When that ends before the coroutine has begun, `dropped` is called. Raises ConnectionClosed
        when it ends already; the coroutine is closed then.
        """
        spawned = self._ending.spawned(work, dropped)
        if self.is_closing:
            raise self._ending.error()
        self._workers.assign(spawned)

    def in_turn(self, session: str | None) -> bool:
        """Whether a turn of the session runs, which this side has asked for."""
        return self._calls.in_turn(session)

    def post(self, method: str, params: Any = None) -> bool:
        """Queues a notification. True when the sender has to `pause()` before the next one."""
        if self._thread != get_ident():
            self.check_thread()
        if self._ending.output_ended or self._outbox.broken:
            raise self._ending.error()
        if self._options.hold_early_updates and hold_back(
            self._dispatcher, self.core, self._outbox, self._options.limits, method, params
        ):
            return False
        self.core.notify(method, params)
        return self._outbox.sent()

    async def pause(self) -> None:
        """Lets other tasks run, and waits while the peer takes too little of what was sent.

        Raises ConnectionClosed when it takes nothing any more.
        """
        await self._outbox.pause()
        if self._outbox.is_full:
            run = current_run.get()
            self._dispatcher.call_started(run)
            try:
                await self._outbox.room()
            finally:
                self._dispatcher.call_ended(run)
        if self._outbox.broken:
            # What was just queued may be what is lost.
            raise self._ending.error()

    async def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification. Raises ConnectionClosed when nothing can be sent any more."""
        if self.post(method, params):
            await self.pause()

    def post_nowait(self, method: str, params: Any = None) -> None:
        """Queues a notification. Raises WouldBlock when too much is unsent, ConnectionClosed when
        nothing can be sent.
        """
        if self._outbox.is_full:
            raise WouldBlock
        self.post(method, params)

    async def cancel_turn(self, method: str, params: Any) -> None:
        """Sends the notification that cancels a session's turn, and ends what the peer asks."""
        is_full = self.post(method, params)
        self.end_questions(params)
        if is_full:
            await self.pause()

    def end_questions(self, params: Any) -> None:
        """Ends what the peer asks for the session that `params` name, as cancelled."""
        self._dispatcher.end_questions(session_of(params))

    # Life.

    def run(self) -> Coroutine[Any, Any, None]:
        """Serves the connection until its input ends or it is closed, and gives everything back.

        The connection counts as running from this call on, which has to be awaited. Raises
        RuntimeError when it is run a second time; errors of the transport end the connection and
        are the cause of the `ConnectionClosed` that callers get.
        """
        if self._started:
            message = "The connection runs already, or is closed"
            raise RuntimeError(message)
        self._started = True
        self._thread = self.serving.thread = self.caller.thread = get_ident()
        return self._run()

    async def _run(self) -> None:
        self._entry = Entry(self._workers, self._closed)
        try:
            try:
                await self._transport.open()
            except Exception as exc:
                self._ending.begin("transport_error", exc)
                raise
            self._dispatcher.inbox.open()
            self._outbox.open()
            self._workers.assign(self._dispatcher.pump)
            while not self._workers.finished:
                async with create_task_group() as group:
                    try:
                        await self._workers.supply(group)
                    except BaseException:
                        # Cancelled from outside, it still sends what is queued, before tasks end.
                        await self._drop()
                        raise
                # A group takes memory, and a connection at rest has no task to put into one.
                del group
                if (due := self._workers.due()) is not None:
                    await due
        finally:
            await self._drop()
            self._dispatcher.inbox.stop()
            self._ending.fail_calls()
            self._workers.drop()
            with CancelScope(shield=True):
                await self._transport.close()
            self.ended()

    async def _drop(self) -> None:
        self._ending.begin("dropped")
        await self._ending.end_output()

    def abandon(self) -> None:
        """The connection is never run."""
        self._started = True
        self._ending.begin("dropped")
        self._ending.fail_calls()
        self._workers.drop()
        self.ended()

    def ended(self, _host: object = None) -> None:
        """Tells that the task that was to run the connection has ended, perhaps without a step."""
        self._closed.set()
        if self._entry is not None:
            self._entry.end()

    def from_thread(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Runs `await function(*args)` in a task of the connection, for another thread.

        Returns or raises what that does; ConnectionClosed when the connection does not run, or
        ends meanwhile.
        """
        if self._entry is None:
            raise self._ending.error()
        return self._entry.run(function, args)

    # Seen from outside.

    def stats(self) -> ConnectionStats:
        """The connection in numbers."""
        return self._dispatcher.stats()

    def observe(self, observer: StreamObserver) -> None:
        """Has a function see each message that comes or goes from now on."""
        from acp._observing import observe

        observe(observer, self._dispatcher.inbox, self._outbox, self._workers, self._options.limits)

    def handlers(self) -> list[HandlerInfo]:
        """The handlers that have suspended and not ended, oldest first."""
        return running(self._workers.runs)

    async def close(self) -> None:
        """Ends the connection and returns when the transport is closed.

        From inside a handler it does not wait for that handler. Closing again waits for the first.
        """
        self._dispatcher.closes_in(current_run.get())
        self._ending.begin("local_shutdown")
        if not self._started:
            self._started = True
            self._ending.output_ended = True
            self._ending.fail_calls()
            await self._transport.close()
            self._closed.set()
        await self._closed.wait()

    async def wait_closed(self) -> None:
        """Returns when the transport is closed."""
        await self._closed.wait()

    def when_closed(self, function: Callable[[], object]) -> None:
        """Has a function called when the transport is closed."""
        self._closed.add(function)

    @property
    def termination(self) -> Termination | None:
        """How the connection ended; None before the transport is closed."""
        return self._ending.termination() if self._closed.is_set() else None

    def closed_error(self) -> ConnectionClosed:
        """What callers get once nothing can be sent any more, made anew."""
        return self._ending.error()

    def raise_failure(self) -> None:
        """Raises ConnectionClosed when the connection has ended by a failure."""
        if not self._ending.is_clean:
            raise self._ending.error()

    def has_part(self, life: Life) -> None:
        """Tells what stands on the connection and has a part in its end."""
        self._ending.life = life

    def end_foreground(self, failure: BaseException | None) -> None:
        """What the connection was opened for has ended: no further handler is started.

        It has to be closed then.
        """
        self._dispatcher.stop()
        if failure is None:
            self._ending.begin("local_shutdown")
        elif isinstance(failure, Exception):
            self._ending.begin("foreground_error", failure)
        else:
            self._ending.begin("dropped", failure)

    @property
    def is_closing(self) -> bool:
        """Whether the connection has begun to end."""
        return self._ending.closing.is_set()

    def check_thread(self) -> None:
        """Raises RuntimeError in another thread than that of the loop."""
        check_thread(self._thread)

    def check_open(self) -> None:
        """Raises ConnectionClosed when no request can be sent any more, RuntimeError in another
        thread.
        """
        if self._thread != get_ident():
            self.check_thread()
        if self._ending.closing.is_set() or self._outbox.broken:
            raise self._ending.error()
