"""Users' functions that look at the messages of one connection, as JSON.

Owns when an observer is called, and that none of them costs a message: they see what has arrived
before it is handled, and what goes to the transport. It changes nothing and knows no method.
"""

from __future__ import annotations

import functools
import inspect
import logging
from typing import TYPE_CHECKING

from acp._core import decode
from acp._spawned import Spawned
from acp._stream_events import StreamDirection, StreamEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from acp._inbox import Inbox
    from acp._limits import Limits
    from acp._outbox import Outbox
    from acp._stream_events import StreamObserver
    from acp._workers import Workers

__all__ = ("Observers", "observe")

_log = logging.getLogger("acp")

_MOST_AWAITED = 1024
"""Observations that may be awaited at once."""


def observe(
    function: StreamObserver, inbox: Inbox, outbox: Outbox, workers: Workers, limits: Limits
) -> None:
    """Has a function see each message that comes in or goes out from now on."""
    if inbox.observers is None:
        inbox.observers = outbox.observers = Observers(workers, limits.max_message_bytes)
    inbox.observers.add(function)


class Observers:
    """The observers of one connection, and the frames on their way to them.

    A frame that is no JSON is not shown, nor one that is longer than the connection reads.
    """

    __slots__ = ("_awaited", "_functions", "_longest", "_partial", "_skips", "_told", "_workers")

    def __init__(self, workers: Workers, longest: int) -> None:
        self._workers = workers
        self._longest = longest
        self._functions: list[StreamObserver] = []
        self._partial = bytearray()
        """The beginning of a frame that is on its way to us."""
        self._skips = False
        """The rest of the frame is that of one that is too long."""
        self._awaited = 0
        self._told = False

    def add(self, function: StreamObserver) -> None:
        """Has one more function see what comes from now on."""
        self._functions.append(function)

    def received(self, data: bytes) -> None:
        """A chunk has arrived; b"" at the end of input, which ends a last frame."""
        *frames, rest = data.split(b"\n") if data else (b"", b"")
        for frame in frames:
            whole = bytes(self._partial) + frame
            if not self._skips and len(whole) <= self._longest and whole.strip():
                self._show(StreamDirection.INCOMING, whole)
            self._partial.clear()
            self._skips = False
        if not self._skips:
            self._partial += rest
            if len(self._partial) > self._longest:
                self._partial.clear()
                self._skips = True

    def sent(self, frames: bytes) -> None:
        """Whole frames of ours go to the transport, each ending in a newline."""
        for frame in frames.split(b"\n")[:-1]:
            self._show(StreamDirection.OUTGOING, frame)

    def _show(self, direction: StreamDirection, frame: bytes) -> None:
        try:
            # Any type of open values reads as the connection itself does.
            message = decode(1, "ExtRequest", frame)
        except (ValueError, RecursionError):
            return
        event = StreamEvent(direction, message)
        for function in tuple(self._functions):
            try:
                result = function(event)
            except Exception as exc:  # noqa: BLE001 - the user's own, which costs no message
                self._failed(exc)
                continue
            if result is not None and inspect.isawaitable(result):
                self._await(result)

    def _await(self, result: Awaitable[None]) -> None:
        if self._awaited >= _MOST_AWAITED:
            _close(result)
            self._fault("Observers are slower than the messages: some are not observed")
            return
        self._awaited += 1
        drop = functools.partial(_close, result)
        failure_of = self._workers.runtime.failure_of
        self._workers.assign(Spawned(self._follow(result), bool, self._failed, failure_of, drop))

    async def _follow(self, result: Awaitable[None]) -> None:
        try:
            await result
        except Exception as exc:  # noqa: BLE001 - the user's own, which costs no message
            self._failed(exc)
        except BaseException as exc:  # noqa: BLE001 - raised again where it is not the observer's
            self._failed(self._workers.runtime.failure_of(exc))
        finally:
            self._awaited -= 1

    def _failed(self, exc: BaseException) -> None:
        self._fault(f"An observer failed with {type(exc).__name__}")

    def _fault(self, text: str) -> None:
        """Warns of the first fault; the others would say the same for each message."""
        if not self._told:
            self._told = True
            _log.warning("%s; more faults of observers are not told", text)


def _close(result: Awaitable[None]) -> None:
    """It is not begun any more."""
    if inspect.iscoroutine(result):
        result.close()
