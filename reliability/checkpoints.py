"""Cancellation at one checkpoint of a coroutine, the first, the second, and so on.

Owns the counting of checkpoints, on asyncio and trio. It knows nothing of what is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any

import anyio
import sniffio

__all__ = ("BOUND", "Outcome", "cancelled_at")

BOUND = 10.0
"""Seconds after which a coroutine that was cancelled counts as hanging."""


@dataclass(frozen=True)
class Outcome:
    """How a coroutine ended that was to be cancelled at its n-th checkpoint."""

    reached: bool
    """It had so many checkpoints."""
    cancelled: bool
    """It ended with the cancellation."""
    hangs: bool
    """It did not end."""


class Counted:
    """Awaits something, and calls `reached` at its n-th checkpoint."""

    def __init__(self, awaitable: Awaitable[Any], at: int, on_checkpoint: Callable[[int], None]):
        self.awaitable = awaitable
        self.at = at
        self.on_checkpoint = on_checkpoint
        self.count = 0
        self.cancel: Callable[[], object] = lambda: None

    def __await__(self) -> Generator[Any, Any, Any]:
        steps: Any = self.awaitable.__await__()
        step, argument = steps.send, None
        while True:
            try:
                waits_for = step(argument)
            except StopIteration as stop:
                return stop.value
            self.count += 1
            if self.count == self.at:
                self.cancel()
            self.on_checkpoint(self.count)
            try:
                argument = yield waits_for
                step = steps.send
            except BaseException as exc:  # noqa: BLE001 - goes where it would have gone
                step, argument = steps.throw, exc


async def cancelled_at(
    coroutine: Coroutine[Any, Any, Any],
    at: int,
    on_checkpoint: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Runs `coroutine` and cancels it when it suspends for the `at`-th time.

    As users do: the task on asyncio, its cancel scope on trio.
    """
    counted = Counted(coroutine, at, on_checkpoint)
    if sniffio.current_async_library() == "asyncio":
        return await _on_asyncio(counted)
    return await _on_trio(counted)


async def _on_asyncio(counted: Counted) -> Outcome:
    async def body() -> Any:
        return await counted

    task = asyncio.ensure_future(body())
    counted.cancel = task.cancel
    await asyncio.wait([task], timeout=BOUND)
    hangs = not task.done()
    if hangs:
        task.cancel()
        await asyncio.wait([task], timeout=1)
    elif not task.cancelled():
        # Errors of the other end are a way to end, too.
        task.exception()
    return Outcome(counted.count >= counted.at, task.cancelled(), hangs)


async def _on_trio(counted: Counted) -> Outcome:
    with anyio.move_on_after(BOUND) as bound, anyio.CancelScope() as scope:
        counted.cancel = scope.cancel
        try:
            await counted
        except Exception as exc:  # noqa: BLE001 - errors of the other end are a way to end, too
            del exc
    return Outcome(counted.count >= counted.at, scope.cancelled_caught, bound.cancelled_caught)
