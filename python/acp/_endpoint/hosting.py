"""Running a connection beside the block of code that uses it.

Owns the task that a connection runs in: on asyncio a task of its own, so that a connection may be
opened in one task and closed in another; on trio a nursery around the block. It knows no message.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyio import CancelScope, Event, create_task_group, get_cancelled_exc_class, move_on_after

from acp._runtime import is_on_trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from anyio.abc import TaskGroup

    from acp._endpoint.connection import Connection
    from acp._transports.base import Transport

__all__ = ("Hosted", "close_with", "drive")

_log = logging.getLogger("acp")

C = TypeVar("C", bound="Connection")

_LAST_WAIT = 0.25
"""Seconds for the tasks of a connection to end after all else of it has."""
_CANCELLED_WAIT = 10.0
"""Seconds for a connection to end whose block was cancelled: longer than its last output takes."""


class Hosted(Generic[C]):
    """`async with`: a connection that runs until the block ends.

    On asyncio it may be left in another task than it was entered in, and in any order; on trio
    blocks nest. An exception of the block leaves it as it is, never in a group. When the connection
    has ended by what code of this side has raised (a task, a callback, a function of `on_close`),
    and the block itself raises nothing, ConnectionClosed is raised from that. When the block is
    cancelled its handlers are, too; otherwise they have their time to end, as `Limits.closing` is.
    """

    def __init__(self, make: Callable[[], C], transport: Transport) -> None:
        self._make: Callable[[], C] | None = make
        self._transport = transport
        self._connection: Any = None
        self._ended: Event | None = None
        self._failure: BaseException | None = None
        """What running the connection ended with."""
        self._host: asyncio.Task[None] | None = None
        self._group: TaskGroup | None = None

    async def __aenter__(self) -> C:
        make, self._make = self._make, None
        if make is None:
            message = "A connection is opened once; call `connect` again, with another transport"
            raise RuntimeError(message)
        self._connection = connection = make()
        try:
            # What this raises is the caller's, and not what the connection ends with.
            await self._transport.open()
        except BaseException:
            with CancelScope(shield=True):
                await self._transport.close()
            raise
        self._ended = Event()
        connection.begin()
        if is_on_trio():
            self._group = await create_task_group().__aenter__()
            # It counts as running from here on: when its task has the first step is trio's choice.
            running = connection.raw.run()
            self._group.start_soon(self._run, running, self._ended)
        else:
            self._host = asyncio.create_task(connection.raw.run(), name="acp connection")
            self._host.add_done_callback(self._host_ended)
        return connection

    async def _run(self, running: Awaitable[None], ended: Event) -> None:
        try:
            await running
        finally:
            ended.set()

    def _host_ended(self, host: asyncio.Task[None]) -> None:
        self._connection.raw.ended(host)
        if not host.cancelled():
            self._failure = _alone(host.exception())
        if self._ended is not None:
            self._ended.set()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        raw = self._connection.raw
        raw.end_foreground(exc)
        try:
            if exc is None or isinstance(exc, Exception):
                await raw.close()
                await self._wait(_LAST_WAIT)
            else:
                await self._cancel()
        except BaseException:
            # The block was through, and closing was not.
            await self._cancel()
            await self._end_group()
            # On trio it is what ended the connection that cancels the block, too.
            if self._failure is None:
                raise
        else:
            await self._end_group()
        if self._failure and not (
            isinstance(exc, Exception) and isinstance(self._failure, Exception)
        ):
            raise self._failure
        if exc is None and raw.termination and raw.termination.kind == "handler_error":
            raw.raise_failure()

    async def _wait(self, seconds: float) -> None:
        if self._ended is not None:
            with move_on_after(seconds):
                await self._ended.wait()

    async def _cancel(self) -> None:
        """Ends the tasks of the connection, and has it send what was accepted."""
        if self._host is not None:
            self._host.cancel()
            with CancelScope(shield=True):
                await self._wait(_CANCELLED_WAIT)

    async def _end_group(self) -> None:
        """On trio every task has to end with the block."""
        if self._group is None:
            return
        self._group.cancel_scope.cancel()
        try:
            await self._group.__aexit__(None, None, None)
        except get_cancelled_exc_class():
            # From around the block, which has its own, or its next wait tells it.
            return
        except BaseException as exc:  # noqa: BLE001 - raised by who calls this
            self._failure = _alone(exc)


def _alone(failure: BaseException | None) -> Any:
    """What is in a group that holds nothing else."""
    found: Any = failure
    while len(inner := getattr(found, "exceptions", ())) == 1:
        (found,) = inner
    return found


async def close_with(function: Callable[[Any], Any], connection: Connection) -> Exception | None:
    """Calls a function of `on_close`. Returns what it raises."""
    try:
        result = function(connection)
        if hasattr(result, "__await__"):
            await result
    except Exception as exc:  # noqa: BLE001 - the boundary of user code
        _log.warning("A function of `on_close` failed: %s", type(exc).__name__)
        return exc
    return None


async def drive(child: Connection) -> None:
    """Runs a connection that was not closed before. Raises ConnectionClosed when it fails."""
    if not child.raw.is_closing:
        await child.raw.run()
        child.raw.raise_failure()
