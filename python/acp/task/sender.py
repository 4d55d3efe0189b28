"""Messages to a writer of asyncio, one after the other.

Owns their order and their form. What is done with them it does not know.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from acp._core import encode
from acp._lazy import passing_on

if TYPE_CHECKING:
    from acp.task.supervisor import TaskSupervisor

__all__ = ["MessageSender"]

if not TYPE_CHECKING:
    __getattr__ = passing_on(__name__, "acp.task.supervisor")


class MessageSender:
    """Writes messages as lines of JSON.

    `writer` is a StreamWriter, or has its `write` and `drain`. It needs no task, and so nothing of
    the supervisor.
    """

    def __init__(self, writer: asyncio.StreamWriter, supervisor: TaskSupervisor) -> None:
        del supervisor
        self._writer = writer
        self._turn = asyncio.Lock()
        self._closed = False

    async def send(self, payload: dict[str, Any]) -> None:
        """Writes one message, and returns when the writer takes more.

        Raises ConnectionError after `close()`, ValueError for what JSON has no form for, and what
        the writer does.
        """
        line = encode(payload) + b"\n"
        async with self._turn:
            if self._closed:
                message = "The sender is closed"
                raise ConnectionError(message)
            self._writer.write(line)
            await self._writer.drain()

    async def close(self) -> None:
        """Takes no further message, and returns when those that were given are written.

        The writer stays open.
        """
        async with self._turn:
            self._closed = True
