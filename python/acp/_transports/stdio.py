"""The standard streams of this process as a transport.

Owns the descriptors 0 and 1 while it is open: the connection gets private copies, and what the
program itself reads or prints cannot touch the connection. It knows no message.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from acp._transports.base import Transport
from acp._transports.descriptors import DescriptorTransport, is_watchable
from acp._transports.threads import ThreadTransport

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("StdioTransport", "stdio_transport")


class StdioTransport(Transport):
    """Standard input and output, kept from everybody else in this process and its children.

    While it is open, descriptor 0 reads as empty and descriptor 1 is stderr, so that a stray
    `print` or a child's output never lands between two frames. Closing puts both back.
    """

    def __init__(self) -> None:
        self._inner: Transport | None = None
        self._saved: tuple[int, int] | None = None

    async def open(self) -> None:
        if self._inner is not None:
            return
        _flush_standard_output()
        read_fd, write_fd = os.dup(0), os.dup(1)
        watchable = is_watchable(read_fd) and is_watchable(write_fd)
        inner = (DescriptorTransport if watchable else ThreadTransport)(read_fd, write_fd)
        self._saved = (os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        if _has_stderr():
            os.dup2(2, 1)
        else:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.close(nowhere)
        self._inner = inner
        await inner.open()

    async def receive(self) -> bytes:
        return await self._open_transport().receive()

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        return self._open_transport().offer_to(take)

    def rest(self) -> bool:
        return self._open_transport().rest()

    def send_nowait(self, data: bytes | memoryview) -> int:
        return self._open_transport().send_nowait(data)

    async def send(self, data: bytes | memoryview) -> None:
        await self._open_transport().send(data)

    async def close(self) -> None:
        if self._inner is not None:
            await self._inner.close()
        if self._saved is not None:
            _flush_standard_output()
            for fd, saved in enumerate(self._saved):
                os.dup2(saved, fd)
                os.close(saved)
            self._saved = None

    def _open_transport(self) -> Transport:
        if self._inner is None:
            message = (
                "The transport is not open: use it as `async with`, or give it to a connection"
            )
            raise RuntimeError(message)
        return self._inner


def _has_stderr() -> bool:
    """Whether descriptor 2 is a stderr. Where it was closed, something else has that number."""
    if sys.__stderr__ is None:
        return False
    try:
        os.fstat(2)
    except OSError:
        return False
    return True


def _flush_standard_output() -> None:
    # What was printed before belongs to where descriptor 1 pointed then.
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()


def stdio_transport() -> StdioTransport:
    """A transport over this process's standard input and output, for an agent that a client starts.

    Give it to a connection, or use it as `async with`. While it is open, `print` goes to stderr and
    reading standard input finds its end; both are as before once it is closed. Part of this
    library, not of the protocol.
    """
    return StdioTransport()
