"""The write side of one connection.

Owns when the core's output goes to the transport: once per turn of the loop, whatever was queued in
it; and who waits when the other end takes nothing. It knows no message.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from anyio import BrokenResourceError, ClosedResourceError, fail_after

from acp._messages import MESSAGES
from acp._runtime import Slot, fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._limits import Limits
    from acp._observing import Observers
    from acp._transports.base import Transport
    from acp._workers import Worker, Workers

__all__ = ("Outbox",)

_log = logging.getLogger("acp")

_NOTHING = memoryview(b"")


class _Output(Protocol):
    @property
    def output_size(self) -> int: ...
    @property
    def held_replies(self) -> int: ...
    def take_output(self) -> bytes: ...
    def abandon_output(self) -> None: ...


class Outbox:
    """Moves the core's output to the transport."""

    __slots__ = (
        "_backlog",
        "_core",
        "_failed",
        "_limits",
        "_opened",
        "_over",
        "_pause_at",
        "_runtime",
        "_scheduled",
        "_sends",
        "_transport",
        "_waiters",
        "_workers",
        "_writing",
        "broken",
        "observers",
    )

    def __init__(
        self,
        workers: Workers,
        core: _Output,
        transport: Transport,
        limits: Limits,
        failed: Callable[[Exception], None],
    ) -> None:
        self._workers = workers
        self._runtime = workers.runtime
        self._core = core
        self._transport = transport
        self._limits = limits
        self._failed = failed
        self._opened = False
        self._scheduled = False
        self._writing = False
        self.broken = False
        """Whether the other end takes nothing any more."""
        self.observers: Observers | None = None
        """Who sees what goes to the transport."""
        self._over = False
        """More is queued than the hard mark; the next message ends the connection."""
        self._backlog = _NOTHING
        self._sends = 0
        self._pause_at = limits.bytes_per_turn
        self._waiters: list[Slot[None]] | None = None

    @property
    def unsent(self) -> int:
        """Bytes that the transport has not taken."""
        return self._core.output_size + len(self._backlog)

    def open(self) -> None:
        """Tells that the transport is open. What was queued before goes out now."""
        self._opened = True
        self.schedule()

    def schedule(self) -> None:
        """Sees to it that what is queued goes out in the next turn of the loop."""
        if self._writing or self.broken:
            self._check_size()
        elif not self._scheduled and self._opened:
            self._scheduled = True
            self._runtime.soon(self._flush)

    def _check_size(self) -> None:
        """The other end takes nothing at the moment, or nothing any more."""
        held = self._core.held_replies
        if self.broken:
            self._core.abandon_output()
        elif self._over or held > self._limits.unsent_bytes_hard:
            size = self._core.output_size + held
            self._break(OverflowError(f"{size} bytes of output wait, and the peer takes nothing"))
        else:
            # One message may be as long as it likes.
            self._over = self._core.output_size > self._limits.unsent_bytes_hard

    def flush(self) -> None:
        """Has what is queued go out now, if it would go out alone: nothing else is on its way."""
        if self._writing or self.broken:
            self._check_size()
        elif self._opened:
            self._flush()

    def sent(self) -> bool:
        """Schedules the message just queued, and tells whether its sender has to `pause()`."""
        self.schedule()
        self._sends += 1
        return (
            self._sends >= self._limits.sends_per_turn or self._core.output_size >= self._pause_at
        )

    async def pause(self) -> None:
        """Lets other tasks run."""
        self._sends = 0
        await self._runtime.turn()
        self._pause_at = self._core.output_size + self._limits.bytes_per_turn

    @property
    def is_full(self) -> bool:
        """Whether more is unsent than the mark, so that a sender has to wait for `room()`."""
        return self.unsent > self._limits.unsent_bytes and not self.broken

    async def room(self) -> None:
        """Waits until less is unsent than the mark, or nothing can be sent any more."""
        await self._below(self._limits.unsent_bytes)
        self._pause_at = self._core.output_size + self._limits.bytes_per_turn

    async def drain(self) -> None:
        """Sends everything, unless nothing can be sent any more, or yet."""
        if self._opened:
            self._flush()
            await self._below(0)

    async def _below(self, size: int) -> None:
        while self.unsent > size and not self.broken and self._opened:
            waiter = self._runtime.slot()
            if self._waiters is None:
                self._waiters = []
            self._waiters.append(waiter)
            self.schedule()
            await waiter

    def _flush(self) -> None:
        self._scheduled = False
        if self._writing:
            return
        data = self._take_output()
        if self._core.held_replies > self._limits.unsent_bytes_hard:
            self._break(OverflowError("replies wait for others of their batches, and are too many"))
            return
        if data and not self.broken:
            try:
                taken = self._transport.send_nowait(data)
            except (BrokenResourceError, ClosedResourceError) as exc:
                self._break(exc)
                return
            if taken < len(data):
                self._backlog = memoryview(data)[taken:]
                self._writing = True
                self._workers.assign(self._write)
                return
        self._wake()

    def _take_output(self) -> bytes:
        data = self._core.take_output()
        self._over = False
        is_shown = MESSAGES.handlers or _log.isEnabledFor(logging.DEBUG)
        if is_shown and data and not self.broken:
            from acp._wire_log import log_sending

            log_sending(data, self._workers)
        if self.observers is not None and not self.broken:
            self.observers.sent(data)
        return data

    async def _write(self, worker: Worker) -> None:
        del worker
        try:
            while self._backlog:
                part = self._transport.part_of(self._backlog)
                # A send given up halfway would leave half a frame: it ends, or the connection does.
                with fail_after(self._limits.write_stall, shield=True):
                    await self._transport.send(part)
                self._backlog = self._backlog[len(part) :] or memoryview(self._take_output())
                self._wake()
        except (BrokenResourceError, ClosedResourceError, TimeoutError) as exc:
            self._break(exc)
        finally:
            self._writing = False

    def _break(self, exc: Exception) -> None:
        self.broken = True
        self._backlog = _NOTHING
        self._core.abandon_output()
        self._wake()
        self._failed(exc)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, None
        for waiter in waiters or ():
            fill(waiter, None)
