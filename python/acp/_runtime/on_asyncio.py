"""The primitives on asyncio.

Owns what is asyncio's in the connection layer. It knows nothing of trio.
"""

from __future__ import annotations

import asyncio
import math
import sys
from types import coroutine
from typing import TYPE_CHECKING, Any

from anyio import current_effective_deadline

from acp._runtime import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from acp._runtime import Slot

__all__ = ("LoopReadiness", "primitive")


def primitive(name: str) -> Callable[..., Any]:
    """A primitive of the running loop. Raises RuntimeError when none runs."""
    loop = asyncio.get_running_loop()
    if name == "slot":
        return loop.create_future
    if name in ("soon", "behind"):
        # It calls in the order in which it was asked to, and has tasks step by the same means.
        return loop.call_soon
    if name == "from_thread":
        return loop.call_soon_threadsafe
    if name == "now":
        return loop.time
    return _OF_ANY_LOOP[name]


@coroutine
def _turn() -> Generator[None, None, None]:
    yield


def _later(
    delay: float, callback: Callable[[], None], _assign: Callable[[Any], None]
) -> Callable[[], None]:
    return asyncio.get_running_loop().call_later(delay, callback).cancel


def _failure_of(exc: BaseException) -> BaseException:
    if not isinstance(exc, asyncio.CancelledError) or current_effective_deadline() == -math.inf:
        raise exc
    # It was meant for code that has ended, and not for this task, whose books still show it.
    task = asyncio.current_task()
    # Python 3.10 keeps no such books.
    if sys.version_info >= (3, 11) and task is not None:
        while task.cancelling() > 0:
            task.uncancel()
    return exc


class LoopReadiness:
    """Has the loop watch a descriptor from the first wait on."""

    __slots__ = ("_fd", "_loop", "_read", "_reader", "_watching", "_writer", "_written_fd")

    unattended = True

    def __init__(self, fd: int, read: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._read = read
        self._watching = False
        self._reader: Slot[bool] | None = None
        self._writer: Slot[None] | None = None
        self._written_fd = -1

    async def readable(self) -> bool:
        """Returns when `read` has found something, or the wait was ended; False by `rest`."""
        if not self._watching:
            self.watch()
        self._reader = reader = self._loop.create_future()
        return await reader

    def rest(self) -> bool:
        """Ends the wait of the reader, but goes on calling `read`. False when there was none."""
        reader, self._reader = self._reader, None
        return reader is not None and fill(reader, False)

    def watch(self) -> None:
        """Has `read` called whenever there are bytes, though nobody waits."""
        self._loop.add_reader(self._fd, self._on_readable)
        self._watching = True

    def _on_readable(self) -> None:
        if self._read():
            self._wake_reader()

    def _wake_reader(self) -> None:
        if self._reader is not None:
            fill(self._reader, True)
            self._reader = None

    def pause(self) -> None:
        """Stops watching until the next wait: `read` is not called any more."""
        if self._watching:
            self._loop.remove_reader(self._fd)
            self._watching = False

    async def writable(self, fd: int) -> None:
        """Returns when the descriptor takes bytes, or the wait was ended."""
        self._writer = waiter = self._loop.create_future()
        self._written_fd = fd
        self._loop.add_writer(fd, fill, waiter, None)
        try:
            await waiter
        finally:
            if self._written_fd == fd:
                self._loop.remove_writer(fd)
                self._written_fd = -1

    def end_reading(self) -> None:
        """Ends the wait: the descriptor is about to be closed."""
        self.pause()
        self._wake_reader()

    def end_writing(self, fd: int) -> None:
        """Ends the wait: the descriptor is about to be closed."""
        self._loop.remove_writer(fd)
        self._written_fd = -1
        if self._writer is not None:
            fill(self._writer, None)


_OF_ANY_LOOP: dict[str, Callable[..., Any]] = {
    "turn": _turn,
    "later": _later,
    "failure_of": _failure_of,
    "readiness": LoopReadiness,
}
