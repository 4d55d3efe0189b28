"""Running a connection beside the block of code that uses it.

Owns the task that a connection runs in: on asyncio a task of its own, so that a connection may be
opened in one task and closed in another; on trio a nursery around the block. It knows no message.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyio import create_task_group

from acp._runtime import is_on_trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from anyio.abc import TaskGroup

    from acp._endpoint.connection import Connection

__all__ = ("Hosted",)

C = TypeVar("C", bound="Connection")

_LAST_WAIT = 0.25
"""Seconds for the tasks of a connection to end after all else of it has."""


class Hosted(Generic[C]):
    """`async with`: a connection that runs until the block ends.

    An exception of the block leaves it as it is, never in a group.
    """

    def __init__(self, make: Callable[[], C], closed: Callable[[C], Awaitable[None]]) -> None:
        self._make = make
        self._closed = closed
        self._connection: Any = None
        self._host: asyncio.Task[None] | None = None
        self._group: TaskGroup | None = None

    async def __aenter__(self) -> C:
        self._connection = connection = self._make()
        if is_on_trio():
            self._group = await create_task_group().__aenter__()
            self._group.start_soon(connection.raw.run)
        else:
            self._host = asyncio.create_task(connection.raw.run(), name="acp connection")
            self._host.add_done_callback(connection.raw.ended)
        connection.begin()
        return connection

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        try:
            await self._connection.close()
        finally:
            if self._group is not None:
                self._group.cancel_scope.cancel()
                await self._group.__aexit__(None, None, None)
            elif self._host is not None:
                await asyncio.wait([self._host], timeout=_LAST_WAIT)
        await self._closed(self._connection)
