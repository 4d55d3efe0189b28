"""The primitives on trio.

Owns what is trio's in the connection layer. It is imported by code that runs on trio alone, and
knows nothing of asyncio.
"""

from __future__ import annotations

import contextlib
import logging
import math
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio import current_effective_deadline, move_on_after
from trio import Cancelled, ClosedResourceError, current_time
from trio.lowlevel import (
    Abort,
    Task,
    checkpoint,
    current_task,
    current_trio_token,
    notify_closing,
    reschedule,
    spawn_system_task,
    wait_readable,
    wait_task_rescheduled,
    wait_writable,
)

from acp._runtime import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ("TrioReadiness", "TrioSlot", "primitive")

_log = logging.getLogger("acp")


def primitive(name: str) -> Callable[..., Any]:
    """A primitive of the running loop."""
    if name == "soon":
        return partial(current_trio_token().run_sync_soon, _call)
    if name == "behind":
        # Tasks of one turn run in any order, so that the first of these calls may still be made in
        # this turn, and the second before tasks of the next one. The third is behind all of them.
        later = current_trio_token().run_sync_soon
        return partial(later, later, later, _call)
    if name == "from_thread":
        return current_trio_token().run_sync_soon
    return _OF_ANY_LOOP[name]


def _call(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception as exc:  # noqa: BLE001 - here it would end everything that runs on trio
        _log.error("A call in the loop failed with %s", type(exc).__name__)
        if _log.isEnabledFor(logging.DEBUG):
            from acp._wire_log import log_failure

            log_failure("A call in the loop", exc)


class TrioSlot:
    """A slot whose waiter is rescheduled when it is filled."""

    __slots__ = ("_done", "_task", "_value")

    def __init__(self) -> None:
        self._done = False
        self._task: Task | None = None
        self._value: Any = None

    def done(self) -> bool:
        return self._done

    def set_result(self, result: Any, /) -> None:
        self._done = True
        self._value = result
        if self._task is not None:
            reschedule(self._task)

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self._done:
            self._task = current_task()
            # An `__await__` cannot await.
            yield from wait_task_rescheduled(self._abort).__await__()  # noqa: ASYNC105
        return self._value

    def _abort(self, _: object) -> Abort:
        self._done = True
        return Abort.SUCCEEDED


def _later(
    delay: float, callback: Callable[[], None], assign: Callable[[Any], None]
) -> Callable[[], object]:
    prevented = TrioSlot()

    async def wait(_: object) -> None:
        with move_on_after(delay):
            await prevented
            return
        callback()

    assign(wait)
    return lambda: fill(prevented, None)


def _failure_of(exc: BaseException) -> BaseException:
    # A nursery's group; its class is a builtin from Python 3.11 on only.
    split: Any = getattr(exc, "split", None)
    rest: Any = exc
    if split is not None:
        _, rest = split(Cancelled)
    elif isinstance(exc, Cancelled):
        rest = None
    # What went wrong beside a cancellation of this task swallows none: while the scope is
    # cancelled, the next checkpoint raises again.
    if isinstance(rest, Exception):
        return rest
    if rest is not None or current_effective_deadline() == -math.inf:
        raise exc
    return exc


class TrioReadiness:
    """Waits for a descriptor in the task that wants its bytes."""

    __slots__ = ("_fd", "_read", "_watching")

    unattended = False

    def __init__(self, fd: int, read: Callable[[], object]) -> None:
        self._fd = fd
        self._read = read
        self._watching = False

    async def readable(self) -> bool:
        """Returns when `read` was called once more, or the wait was ended."""
        with contextlib.suppress(ClosedResourceError):
            await wait_readable(self._fd)
            self._read()
        return True

    def rest(self) -> bool:
        """Nothing is read but by the task that waits."""
        return False

    def watch(self) -> None:
        """Has `read` called whenever there are bytes, though nobody waits."""
        self._watching = True
        # No task of the user's is there to wait. This one ends with `end_reading()` or the run.
        spawn_system_task(self._watch, name="acp watch")

    async def _watch(self) -> None:
        while self._watching:
            await self.readable()

    def pause(self) -> None:
        """Stops watching until the next wait: `read` is not called any more."""
        self._watching = False

    async def writable(self, fd: int) -> None:
        """Returns when the descriptor takes bytes, or the wait was ended."""
        with contextlib.suppress(ClosedResourceError):
            await wait_writable(fd)

    def end_reading(self) -> None:
        """Ends the wait: the descriptor is about to be closed."""
        self._watching = False
        notify_closing(self._fd)

    def end_writing(self, fd: int) -> None:
        """Ends the wait: the descriptor is about to be closed."""
        notify_closing(fd)


_OF_ANY_LOOP: dict[str, Callable[..., Any]] = {
    "slot": TrioSlot,
    "turn": checkpoint,
    "later": _later,
    "failure_of": _failure_of,
    "now": current_time,
    "readiness": TrioReadiness,
}
