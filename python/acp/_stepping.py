"""Running a handler that did not end in its first step, which the core's `Steps` took.

It is driven on by the task that made the first step, so that `current_task()`, timeouts and cancel
scopes stay true for it from first to last step. Owns that mechanism and the mark that tells code
which handler it runs for. It knows no message.
"""

from __future__ import annotations

from contextvars import Context, ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator
    from types import CoroutineType

__all__ = ("Suspended", "current_run", "finish")

current_run: ContextVar[Any] = ContextVar("acp_current_run", default=None)
"""The run of the handler that this context, or the one it was copied from, belongs to."""


class Suspended:
    """Awaitable: drives a suspended coroutine to its end, each step in its own context."""

    __slots__ = ("_body", "_context", "_yielded", "since")

    def __init__(
        self, body: CoroutineType[Any, Any, Any], context: Context, yielded: object
    ) -> None:
        self._body = body
        self._context = context
        self._yielded = yielded
        self.since = monotonic()
        """When it was suspended, by the clock of `time.monotonic`."""

    def __await__(self) -> Generator[Any, Any, Any]:
        run, send, throw = self._context.run, self._body.send, self._body.throw
        yielded = self._yielded
        while True:
            try:
                sent = yield yielded
            except GeneratorExit:
                run(self._body.close)
                raise
            except BaseException as exc:  # noqa: BLE001 - whatever is thrown is the body's
                step, value = throw, exc
            else:
                step, value = send, sent
            try:
                yielded = run(step, value)
            except StopIteration as stop:
                return stop.value


async def finish(value: Awaitable[Any]) -> Any:
    """Any awaitable, as a coroutine."""
    return await value
