"""What a transport around another one passes on as it is.

Owns that and nothing else: what arrives is each subclass's to receive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp._transports.base import Transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp.exceptions import ConnectionClosed

__all__ = ("PassingTransport",)


class PassingTransport(Transport):
    """Passes on all but `receive`, and what stands for it where nobody waits."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def open(self) -> None:
        await self._transport.open()

    async def send(self, data: bytes | memoryview) -> None:
        await self._transport.send(data)

    def part_of(self, data: memoryview) -> memoryview:
        return self._transport.part_of(data)

    def send_nowait(self, data: bytes | memoryview) -> int:
        return self._transport.send_nowait(data)

    async def close(self) -> None:
        await self._transport.close()

    def observe_stderr(self, take: Callable[[str], object]) -> None:
        self._transport.observe_stderr(take)

    def closed_error(self) -> ConnectionClosed:
        return self._transport.closed_error()
