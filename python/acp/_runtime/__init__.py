"""What the connection layer needs of an event loop.

Owns the choice between asyncio and trio, and the few primitives that are too hot for the neutral
ones: a slot that one task waits on, a call in the next turn, giving up the rest of this turn.
Everything else uses anyio. It knows no protocol.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from acp._runtime.readiness import Readiness

__all__ = ("Runtime", "Slot", "fill", "is_on_trio")

T = TypeVar("T")


class Slot(Protocol[T]):
    """A place for one value that one task waits on with `await`."""

    def done(self) -> bool:
        """Whether it was filled, or its waiter was cancelled."""
        ...

    def set_result(self, result: T, /) -> None:
        """Puts the value in; only `fill` calls this."""
        ...

    def __await__(self) -> Generator[Any, Any, T]: ...


def fill(target: Slot[T], value: T) -> bool:
    """Puts `value` into the slot and wakes its waiter.

    False when it was filled, or its waiter was cancelled.
    """
    if target.done():
        return False
    target.set_result(value)
    return True


def is_on_trio() -> bool:
    """Whether the running task is one of trio's."""
    # Code that runs on trio has imported it, and who runs on asyncio need not.
    found = getattr(sys.modules.get("trio.lowlevel"), "in_trio_task", None)
    return found is not None and found()


class Runtime:
    """The primitives of one event loop.

    Each connection and each transport has one. Its primitives are those of the loop in which each
    is first used, so that it can be made before any loop runs, and connections of one process can
    live on different loops. Where no loop runs, that first use raises RuntimeError.
    """

    slot: Callable[[], Slot[Any]]
    """Makes a slot that is empty."""
    soon: Callable[[Callable[[], object]], object]
    """Calls the function in the next turn of the loop."""
    behind: Callable[[Callable[[], object]], object]
    """Calls the function once every task that is ready now has had its step."""
    turn: Callable[[], Awaitable[None]]
    """Lets every task that is ready run once."""
    later: Callable[[float, Callable[[], None], Callable[[Any], None]], Callable[[], object]]
    """`later(delay, callback, assign)` calls `callback` after `delay` seconds; the result, called
    before, prevents it. Where that takes a task, the one that waits gets it by `assign`.
    """
    from_thread: Callable[..., object]
    """Calls a function with its arguments in the loop, from another thread.

    It has to be taken from here in the loop. It raises RuntimeError when the loop has ended.
    """
    failure_of: Callable[[BaseException], BaseException]
    """What an exception that escaped from a handler says about the handler.

    A cancellation that was meant for the running task is raised instead.
    """
    now: Callable[[], float]
    """The time that deadlines count in, in seconds; unlike anyio's also where there is no task."""
    readiness: Callable[[int, Callable[[], object]], Readiness]
    """Makes what tells when a descriptor can be read, and what then to call."""

    __slots__ = (
        "behind",
        "failure_of",
        "from_thread",
        "later",
        "now",
        "readiness",
        "slot",
        "soon",
        "turn",
    )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Reached once for each primitive; those that are never used take no memory.
            if name not in self.__slots__:
                raise AttributeError(name)
            if is_on_trio():
                from acp._runtime.on_trio import primitive
            else:
                from acp._runtime.on_asyncio import primitive
            found = primitive(name)
            setattr(self, name, found)
            return found
