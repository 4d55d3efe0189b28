"""Bytes over two file descriptors that the event loop can watch: pipes and sockets.

Owns non-blocking reads and writes and the state of the descriptors' flags. It opens no descriptor.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys

from anyio import BrokenResourceError, ClosedResourceError

from acp._runtime import Slot, fill, slot
from acp._transports.base import Transport

__all__ = ("DescriptorTransport", "is_watchable")

CHUNK = 64 * 1024
"""Bytes of one read: what a pipe holds, and small enough for the allocator's fast path."""


def is_watchable(fd: int) -> bool:
    """Whether readiness of the descriptor can be told by the event loop: pipes and sockets, not
    files and terminals.
    """
    mode = os.fstat(fd).st_mode
    return os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


class DescriptorTransport(Transport):
    """Receives from one descriptor and sends to another, both non-blocking while it is open.

    It closes both at its end, their flags as they were: a pipe's flags are shared by all processes
    that hold it.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._flags: list[tuple[int, bool]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._chunk: bytes | None = None
        self._failure: OSError | None = None
        self._watching = False
        self._reader: Slot[None] | None = None
        self._writer: Slot[None] | None = None
        self._closed = False

    async def open(self) -> None:
        if self._loop is not None:
            return
        self._loop = asyncio.get_running_loop()
        # Read both before setting one: they may be the same pipe or socket.
        self._flags = [(fd, _is_blocking(fd)) for fd in (self._read_fd, self._write_fd)]
        for fd, _ in self._flags:
            _set_blocking(fd, False)

    async def receive(self) -> bytes:
        while True:
            if self._closed:
                raise ClosedResourceError
            if self._chunk is not None:
                data = self._chunk
                if data:
                    self._chunk = None
                return data
            if self._failure is not None:
                raise BrokenResourceError from self._failure
            if not self._watching:
                self._watch()
            self._reader = slot()
            await self._reader

    def _watch(self) -> None:
        if self._loop is None:
            raise ClosedResourceError
        self._loop.add_reader(self._read_fd, self._on_readable)
        self._watching = True

    def _unwatch(self) -> None:
        if self._watching and self._loop is not None:
            self._loop.remove_reader(self._read_fd)
            self._watching = False

    def _on_readable(self) -> None:
        if self._chunk is not None:
            # One chunk is kept ahead; more stays in the pipe, where it holds back the sender.
            self._unwatch()
            return
        try:
            self._chunk = os.read(self._read_fd, CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as exc:
            self._failure = exc
        if not self._chunk:
            self._unwatch()
        if self._reader is not None:
            fill(self._reader, None)
            self._reader = None

    def send_nowait(self, data: bytes | memoryview) -> int:
        if self._closed or self._write_fd < 0:
            raise ClosedResourceError
        try:
            return os.write(self._write_fd, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as exc:
            raise BrokenResourceError from exc

    async def send(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        while rest := rest[self.send_nowait(rest) :]:
            await self._writable()

    async def _writable(self) -> None:
        loop, fd = self._loop, self._write_fd
        if loop is None:
            raise ClosedResourceError
        self._writer = waiter = slot()
        loop.add_writer(fd, fill, waiter, None)
        try:
            await waiter
        finally:
            if self._write_fd == fd:
                loop.remove_writer(fd)

    def end_output(self) -> None:
        """Closes the sending side alone: the other end reads an end of input."""
        if self._write_fd < 0:
            return
        if self._loop is not None:
            self._loop.remove_writer(self._write_fd)
        if self._write_fd != self._read_fd:
            self._close_fd(self._write_fd)
        self._write_fd = -1
        if self._writer is not None:
            fill(self._writer, None)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._unwatch()
        self.end_output()
        self._close_fd(self._read_fd)
        if self._reader is not None:
            fill(self._reader, None)

    def _close_fd(self, fd: int) -> None:
        for flagged, blocking in self._flags:
            if flagged == fd:
                _set_blocking(fd, blocking)
        os.close(fd)


def _is_blocking(fd: int) -> bool:
    return True if sys.platform == "win32" else os.get_blocking(fd)


def _set_blocking(fd: int, blocking: bool) -> None:
    if sys.platform != "win32":
        os.set_blocking(fd, blocking)
