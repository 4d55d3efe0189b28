"""Running the first step of a handler without a task.

A handler that never suspends ends in that step, which costs no task. One that suspends is driven on
by the task that made the first step, so that `current_task()`, timeouts and cancel scopes stay true
for it from first to last step. Owns that mechanism and the mark that tells code which handler it
runs for. It knows no message.
"""

from __future__ import annotations

from contextvars import Context, ContextVar
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ("Suspended", "as_coroutine", "current_run", "first_step")

current_run: ContextVar[Any] = ContextVar("acp_current_run", default=None)
"""The run of the handler that this context, or the one it was copied from, belongs to."""


def first_step(run: object, body: CoroutineType[Any, Any, Any]) -> Any:
    """Marks the current context, the handler's own, and takes the first step of `body`.

    Raises StopIteration when the body ended; otherwise the result goes into `Suspended`.
    """
    current_run.set(run)
    return body.send(None)


class Suspended:
    """Awaitable: drives a suspended coroutine to its end, each step in its own context."""

    __slots__ = ("_body", "_context", "_yielded")

    def __init__(
        self, body: CoroutineType[Any, Any, Any], context: Context, yielded: object
    ) -> None:
        self._body = body
        self._context = context
        self._yielded = yielded

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


def as_coroutine(value: Any) -> CoroutineType[Any, Any, Any]:
    """What a handler returned, as a coroutine: handlers may be plain functions or return any
    awaitable.
    """
    if type(value) is CoroutineType:
        return cast("CoroutineType[Any, Any, Any]", value)
    return _finish(value)


async def _finish(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value
