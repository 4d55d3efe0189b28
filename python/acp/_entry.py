"""The way into a connection from other threads.

Owns what other threads wait for, and that all of them get an outcome. What is run for them is a
duty of the connection's own tasks.
"""

from __future__ import annotations

from concurrent.futures import Future
from threading import get_ident
from typing import TYPE_CHECKING, Any

from acp.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp._runtime.flag import Flag
    from acp._workers import Worker, Workers

__all__ = ("Entry", "check_thread")


def check_thread(thread: int | None) -> None:
    """Raises RuntimeError in another thread than that of a connection, which may not run yet."""
    if thread is not None and thread != get_ident():
        message = "A connection is used in the thread of its loop; see `from_thread`"
        raise RuntimeError(message)


class Entry:
    """Runs async functions for other threads. It is made in the thread of the loop."""

    __slots__ = ("_closed", "_ended", "_in_loop", "_thread", "_waiting", "_workers")

    def __init__(self, workers: Workers, closed: Flag) -> None:
        self._workers = workers
        self._closed = closed
        self._in_loop = workers.runtime.from_thread
        self._thread = get_ident()
        self._waiting: set[Future[Any]] | None = None
        self._ended = False

    def run(self, function: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> Any:
        """What `await function(*args)` returns or raises. Called in another thread."""
        if self._thread == get_ident():
            message = "This is the thread of the connection's loop: await it here"
            raise RuntimeError(message)
        future: Future[Any] = Future()
        try:
            self._in_loop(self._begin, future, function, args)
        except RuntimeError as exc:
            # The loop itself has ended.
            raise ConnectionClosed from exc
        return future.result()

    def end(self) -> None:
        """The connection has ended, and runs nothing more."""
        self._ended = True
        for future in tuple(self._waiting or ()):
            self._fail(future, ConnectionClosed())

    def _begin(
        self, future: Future[Any], function: Callable[..., Awaitable[Any]], args: tuple[Any, ...]
    ) -> None:
        # Its tasks end somewhat later than who closes it is told.
        if self._ended or self._closed.is_set():
            future.set_exception(ConnectionClosed())
            return
        if self._waiting is None:
            self._waiting = set()
        waiting = self._waiting
        waiting.add(future)

        async def duty(worker: Worker) -> None:
            del worker
            try:
                result = await function(*args)
            except Exception as exc:  # noqa: BLE001 - it is who called that gets it
                self._fail(future, exc)
            except BaseException:
                self._fail(future, ConnectionClosed())
                raise
            else:
                if future in waiting:
                    waiting.discard(future)
                    future.set_result(result)

        self._workers.assign(duty)

    def _fail(self, future: Future[Any], failure: Exception) -> None:
        if self._waiting is not None and future in self._waiting:
            self._waiting.discard(future)
            future.set_exception(failure)
