"""What the connection layer needs of an event loop.

Owns the few primitives that are too hot for the neutral ones: a slot that one task waits on, a call
in the next turn, giving up the rest of this turn. Everything else uses anyio. It knows no protocol.
"""

from __future__ import annotations

import asyncio
import sys
from types import coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ("Slot", "absorb_cancellation", "fill", "later", "slot", "soon", "turn")

Slot = asyncio.Future


def slot() -> Slot[Any]:
    """A place for one value that one task waits on with `await`."""
    return asyncio.get_running_loop().create_future()


def fill(target: Slot[Any], value: Any) -> bool:
    """Puts `value` into the slot and wakes its waiter.

    False when it was filled, or its waiter was cancelled.
    """
    if target.done():
        return False
    target.set_result(value)
    return True


def soon(callback: Callable[[], None]) -> None:
    """Calls `callback` in the next turn of the loop."""
    asyncio.get_running_loop().call_soon(callback)


def later(delay: float, callback: Callable[[], None]) -> Callable[[], None]:
    """Calls `callback` after `delay` seconds; the result, called before, prevents it."""
    return asyncio.get_running_loop().call_later(delay, callback).cancel


@coroutine
def turn() -> Generator[None, None, None]:
    """Lets every task that is ready run once."""
    yield


def absorb_cancellation() -> None:
    """Settles the bookkeeping of a cancellation that was meant for code that has ended, and not for
    this task.
    """
    task = asyncio.current_task()
    # Python 3.10 keeps no such books.
    if sys.version_info >= (3, 11) and task is not None:
        while task.cancelling() > 0:
            task.uncancel()
