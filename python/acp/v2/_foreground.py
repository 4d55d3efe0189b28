"""Foreground work of a session: its blocks, and their end.

Owns what goes on in the foreground of one session, and the state that follows from it. It sends
nothing but that state, and knows no message.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from anyio import CancelScope, Event

from acp._stepping import current_run
from acp.exceptions import ConnectionClosed, RequestError
from acp.v2._turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from types import TracebackType

    from typing_extensions import Self

    from acp._errors import WireError
    from acp._lanes import RequestRun
    from acp.v2 import schema
    from acp.v2._endpoint import Connection
    from acp.v2._reporting import Reported

__all__ = ("Foreground", "Work", "is_of_closing")

_CANCELLED = -32800
"""The code of an error for what was cancelled."""


def is_of_closing(connection: Connection, exc: BaseException) -> bool:
    """Whether work has ended for no other reason than that the connection ends: that end says as
    much, and the client may read nothing more.
    """
    without_peer = isinstance(exc, ConnectionClosed) or not isinstance(exc, Exception)
    return without_peer and connection.raw.is_closing


class Work:
    """What goes on in the foreground of one session."""

    __slots__ = (
        "_blocks",
        "_change",
        "_error_of",
        "_failure",
        "_turns",
        "_was_cancelled",
        "closings",
        "is_closed",
        "prompts",
        "session_id",
        "state",
    )

    def __init__(
        self, session_id: str, state: Reported, error_of: Callable[[Exception], WireError]
    ) -> None:
        self.session_id = session_id
        self.state = state
        self._error_of = error_of
        self._turns: Turns | None = None
        self._blocks: dict[Foreground, None] | None = None
        self.prompts: dict[RequestRun, None] = {}
        """The prompts whose handlers run."""
        self._failure: WireError | None = None
        self._was_cancelled = False
        self.closings = 0
        """How many are closing the session."""
        self.is_closed = False
        self._change: Event | None = None

    @property
    def turns(self) -> Turns:
        """Who waits for the turn to begin."""
        if self._turns is None:
            self._turns = Turns(lambda: not self.is_ending)
        return self._turns

    @property
    def blocks(self) -> tuple[Foreground, ...]:
        """The blocks of foreground work that have not ended."""
        return tuple(self._blocks or ())

    @property
    def is_ending(self) -> bool:
        """Whether work that was cancelled has not ended yet."""
        return any(block.is_cancelled for block in self._blocks or ())

    def is_busy(self, besides: Any) -> bool:
        """Whether something runs that the session cannot be closed before."""
        return bool(self._blocks) or any(
            run is not besides and not (run.answered and run.ends_itself) for run in self.prompts
        )

    async def changed(self) -> None:
        """Returns when something has ended."""
        if self._change is None:
            self._change = Event()
        await self._change.wait()

    def moved(self) -> None:
        """Something has ended."""
        change, self._change = self._change, None
        if change is not None:
            change.set()

    def check_open(self) -> None:
        """Raises RequestError (-32800) while the session is being closed."""
        if self.closings:
            raise RequestError.request_cancelled()

    def began(self, block: Foreground) -> None:
        """A block of work begins."""
        self.check_open()
        if self._blocks is None:
            self._blocks = {}
        self._blocks[block] = None
        try:
            self.tell()
        except BaseException:
            del self._blocks[block]
            raise

    def tell(self) -> bool:
        """Reports the state that follows from the blocks. True when the sender has to pause."""
        if not self._blocks or self.is_ending:
            return False
        waits = all(block.is_blocked for block in self._blocks)
        return self.state.active("requires_action" if waits else "running")

    def ended(self, block: Foreground, failure: Exception | None, *, was_cancelled: bool) -> None:
        """A block of work has ended; with the last one the session is idle.

        What went wrong in any block is what that tells.
        """
        assert self._blocks is not None
        del self._blocks[block]
        if was_cancelled:
            self._was_cancelled = True
        elif failure is not None:
            self._failure = self._error_of(failure)
        try:
            if self._blocks:
                self.tell()
            else:
                self._end(block.stop_reason, block.usage)
        except ConnectionClosed:
            # Nobody is left to be told.
            return
        finally:
            if self._turns is not None:
                self._turns.call_next()
            self.moved()

    def _end(self, stop_reason: str, usage: schema.Usage | None) -> None:
        failure, self._failure = self._failure, None
        was_cancelled, self._was_cancelled = self._was_cancelled, False
        if was_cancelled:
            self.state.idle("cancelled", usage=usage)
        elif failure is not None:
            self.state.failed(failure)
        else:
            self.state.idle(stop_reason, usage=usage)

    def prompt_failed(self, run: RequestRun, exc: BaseException) -> None:
        """The handler of an inserted prompt has ended with an exception."""
        if run.ends_itself or not self.state.owes_idle:
            # Its blocks have told, or whoever has reported idle.
            return
        if isinstance(exc, Exception):
            self._failure = self._error_of(exc)
        else:
            self._was_cancelled = True
        if not self._blocks:
            with suppress(ConnectionClosed):
                self._end("cancelled", None)

    def prompt_ended(self, run: RequestRun) -> None:
        """The handler of a prompt has ended."""
        if run in self.prompts:
            del self.prompts[run]
            self.moved()


class Foreground:
    """A block of foreground work: `async with`, once. There may be several, also side by side.

    While a block is open the session is `running`; when the last one ends it is `idle`, with the
    stop reason of that block, or `cancelled`, or `error` with what a block has raised, which goes
    on to who opened it. `session/cancel` and `session/close` cancel the block, which ends like a
    cancelled scope: what comes behind it in the code is done.

    Opening one waits until work that was cancelled before has ended, and raises RequestError
    (-32800) when the session is being closed.
    """

    __slots__ = (
        "_connection",
        "_holds",
        "_insert",
        "_run",
        "_scope",
        "_waits",
        "_work",
        "is_cancelled",
        "stop_reason",
        "usage",
    )

    def __init__(
        self,
        work: Work,
        connection: Connection,
        *,
        insert: Callable[[], None] | None = None,
        hold: bool = False,
    ) -> None:
        self._work = work
        self._connection = connection
        self._insert = insert
        self._holds = hold
        self._run: RequestRun | None = None
        self._scope: CancelScope | None = None
        self._waits = 0
        self.is_cancelled = False
        """Whether the client has cancelled it, or the session is being closed."""
        self.stop_reason = "end_turn"
        """What idle tells at the end, when nothing goes wrong; see `stop`."""
        self.usage: schema.Usage | None = None
        """Tokens that it took, as idle tells them."""

    @property
    def is_blocked(self) -> bool:
        """Whether it cannot go on without the user."""
        return self._waits > 0

    def stop(self, stop_reason: str, *, usage: schema.Usage | None = None) -> None:
        """Sets what idle tells at the end: `end_turn`, `max_tokens`, `refusal`, …"""
        self.stop_reason = stop_reason
        self.usage = usage

    @asynccontextmanager
    async def blocked(self) -> AsyncGenerator[None]:
        """`async with`: this work cannot go on without the user.

        Where all work of the session is blocked its state is `requires_action`, for that long.
        """
        self._waits += 1
        try:
            if self._work.tell():
                await self._connection.raw.pause()
            yield
        finally:
            self._waits -= 1
            if not self._connection.raw.is_closing:
                with suppress(ConnectionClosed):
                    self._work.tell()

    # What `session/cancel` does.

    def mark(self) -> None:
        """It is cancelled: however it ends, that is what idle tells."""
        self.is_cancelled = True

    def cancel(self) -> None:
        """Ends it at its next checkpoint, and with it a prompt that it has not inserted."""
        assert self._scope is not None
        self._scope.cancel()
        if self._run is not None and not self._run.answered:
            self._connection.raw.serving.cancel_turn(self._run)

    async def __aenter__(self) -> Self:
        if self._scope is not None:
            message = "A block of foreground work is used once"
            raise RuntimeError(message)
        self._scope = CancelScope()
        work, serving = self._work, self._connection.raw.serving
        found = current_run.get()
        run = found if serving.serves(found) else None
        work.check_open()
        if self._holds:
            await work.turns.take(serving, run)
        else:
            while work.is_ending:
                await work.changed()
        # No other task runs from here to the first line of the block.
        try:
            work.check_open()
            if self._insert is not None:
                self._insert()
            work.began(self)
        except BaseException:
            if self._holds:
                work.turns.leave()
            raise
        self._scope.__enter__()
        if run is not None and run.route.is_turn and run.event.lane == work.session_id:
            self._run = run
            run.ends_itself = True
            if run.turn_cancelled:
                self.mark()
                self._scope.cancel()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> bool:
        assert self._scope is not None
        left = exc
        try:
            # It is also true where there was nothing to swallow.
            if self._scope.__exit__(exc_type, exc, tb) and exc is not None:
                left = None
                self.is_cancelled = True
        except BaseException as rest:
            left = rest
            raise
        finally:
            self._ended(left)
        withdrawn = isinstance(left, RequestError) and left.code == _CANCELLED
        return exc is not None and (left is None or (self.is_cancelled and withdrawn))

    def _ended(self, left: BaseException | None) -> None:
        failure = left if isinstance(left, Exception) else None
        broke_off = left is not None and failure is None
        if left is not None and is_of_closing(self._connection, left):
            self._work.state.disown()
        try:
            self._work.ended(self, failure, was_cancelled=self.is_cancelled or broke_off)
        finally:
            if self._holds:
                self._work.turns.leave()
