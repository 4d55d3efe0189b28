"""Tasks of asyncio that end together.

Owns which tasks there are, and who is told when one fails. It knows no message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["ErrorHandler", "TaskSupervisor"]

_log = logging.getLogger("acp")

ErrorHandler = Callable[["asyncio.Task[Any]", BaseException], None]
"""Is told of a task and what it has raised."""


class TaskSupervisor:
    """Makes tasks, keeps them until they end, and cancels those that are left.

    `source` names it in the log.
    """

    def __init__(self, *, source: str) -> None:
        self._source = source
        self._tasks: set[asyncio.Task[Any]] = set()
        self._handlers: list[ErrorHandler] = []
        self._closed = False

    def add_error_handler(self, handler: ErrorHandler) -> None:
        """Has a function be told of failures that no other is for."""
        self._handlers.append(handler)

    def create(
        self,
        coroutine: Awaitable[Any],
        *,
        name: str | None = None,
        on_error: ErrorHandler | None = None,
    ) -> asyncio.Task[Any]:
        """A task that awaits `coroutine`. `on_error` is told when it fails, in the place of others.

        Raises RuntimeError after `shutdown()`; a coroutine is closed then.
        """
        if self._closed:
            if asyncio.iscoroutine(coroutine):
                coroutine.close()
            message = f"The tasks of {self._source} were shut down: make a TaskSupervisor anew"
            raise RuntimeError(message)
        task = asyncio.create_task(_await(coroutine), name=name)
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, on_error))
        return task

    async def shutdown(self) -> None:
        """Cancels all tasks and returns when they have ended; it makes none any more.

        Called in one of them, it neither cancels that one nor waits for it.
        """
        self._closed = True
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ended(self, task: asyncio.Task[Any], on_error: ErrorHandler | None) -> None:
        self._tasks.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is None:
            return
        handlers = self._handlers if on_error is None else [on_error]
        for handler in handlers:
            self._tell(handler, task, failure)
        if not handlers:
            _log.warning("A task of %s failed with %s", self._source, type(failure).__name__)

    def _tell(self, handler: ErrorHandler, task: asyncio.Task[Any], failure: BaseException) -> None:
        try:
            handler(task, failure)
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            name = type(exc).__name__
            _log.warning("An error handler of %s failed with %s", self._source, name)


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
