"""A transport whose lines somebody looks at.

Owns showing what passes, in either direction, and changes none of it. What a line means it does not
know.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

from acp._transports.base import may_offer
from acp._transports.lines import Lines
from acp._transports.passing import PassingTransport

if TYPE_CHECKING:
    from acp._transports.base import Transport

__all__ = ("LineObserver", "observed")

LineObserver = Callable[[Literal["sent", "received", "stderr"], str], object]
"""Gets each line with where it was seen."""


class ObservedTransport(PassingTransport):
    """Passes everything on to another transport, and shows its lines."""

    def __init__(self, transport: Transport, observer: LineObserver) -> None:
        super().__init__(transport)
        self._sent = Lines(partial(observer, "sent"), "on_line")
        self._received = Lines(partial(observer, "received"), "on_line")
        self._closed = False
        stderr = Lines(partial(observer, "stderr"), "on_line")
        transport.observe_stderr(lambda line: stderr.add(f"{line}\n".encode()))

    async def receive(self) -> bytes:
        data = await self._transport.receive()
        self._received.add(data)
        return data

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        def take_and_show(data: bytes) -> bool:
            taken = take(data)
            # What is not taken comes through `receive`.
            if taken:
                self._received.add(data)
            return taken

        return may_offer(self._transport) and self._transport.offer_to(take_and_show)

    def rest(self) -> bool:
        return self._transport.rest()

    async def send(self, data: bytes | memoryview) -> None:
        await super().send(data)
        self._sent.add(bytes(data))

    def send_nowait(self, data: bytes | memoryview) -> int:
        sent = super().send_nowait(data)
        self._sent.add(bytes(data[:sent]))
        return sent

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            if not self._closed:
                self._closed = True
                self._sent.end()
                self._received.end()


def observed(transport: Transport, on_line: LineObserver) -> Transport:
    """The same transport, with a function that sees each line which passes, for finding faults.

    Args:
        transport: A transport that is not open yet.
        on_line: Gets `"sent"`, `"received"` or `"stderr"` (of a process that `process_transport`
            started, and whose stderr it reads) and the line as a str without its end; bytes that
            are no UTF-8 are replaced. Of what was sent it sees what the other end has taken. A
            line of more than 64 KiB comes in pieces, and a last one without an end when the
            transport is closed. It is called in the thread of the loop, which it keeps while it
            runs; an exception of it is logged once, and changes nothing.

    Lines hold whole messages, with all that is secret in them: the log of this library
    (docs/logging.md) has them with less. Raises TypeError for a function that has to be awaited.
    Part of this library, not of the protocol.
    """
    if not callable(on_line) or inspect.iscoroutinefunction(on_line):
        message = "on_line has to be a plain function that gets a direction and a line as a str"
        raise TypeError(message)
    return ObservedTransport(transport, on_line)
