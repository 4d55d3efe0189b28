"""Bytes over two file descriptors that the event loop can watch: pipes and sockets.

Owns non-blocking reads and writes and the state of the descriptors' flags. It opens no descriptor.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from anyio import BrokenResourceError, ClosedResourceError, WouldBlock

from acp._runtime import Runtime
from acp._transports.base import Transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._runtime.readiness import Readiness

__all__ = ("DescriptorTransport", "is_watchable")

CHUNK = 64 * 1024
_LAST_READS = 32
"""A pipe holds so many chunks at most; what comes behind them is from somebody else."""
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
        self._readiness: Readiness | None = None
        self._chunk: bytes | None = None
        self._take: Callable[[bytes], bool] | None = None
        self._waiting = False
        self._resting = False
        self._reads_left: int | None = None
        """Set when no more is to come than what is there."""
        self._failure: OSError | None = None
        self._closed = False

    async def open(self) -> None:
        if self._readiness is not None or self._closed:
            return
        self._readiness = Runtime().readiness(self._read_fd, self._read)
        # Read both before setting one: they may be the same pipe or socket.
        self._flags = [(fd, _is_blocking(fd)) for fd in (self._read_fd, self._write_fd)]
        for fd, _ in self._flags:
            _set_blocking(fd, False)

    async def receive(self) -> bytes:
        self._resting = False
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
            if self._readiness is None:
                raise ClosedResourceError
            if self._reads_left is not None:
                self._read()
                continue
            self._waiting = True
            try:
                found = await self._readiness.readable()
            finally:
                self._waiting = False
            if not found:
                raise WouldBlock

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        self._take = take
        return self._readiness is not None and self._readiness.unattended

    def rest(self) -> bool:
        if self._take is None or self._readiness is None or not self._readiness.rest():
            return False
        self._resting = True
        return True

    def _read(self) -> bool:
        """Reads what is there. Whether there is something for who waits."""
        try:
            if self._closed:
                return True
            if self._reads_left is not None:
                self._reads_left -= 1
            if self._reads_left == -1:
                self._chunk = b""
            elif self._chunk is None:
                data = os.read(self._read_fd, CHUNK)
                offers = self._waiting or self._resting
                if data and offers and self._take is not None and self._take(data):
                    return False
                self._chunk = data
                if data:
                    self._resting = False
                    return True
        except (BlockingIOError, InterruptedError):
            if self._reads_left is None:
                return False
            self._chunk = b""
        except OSError as exc:
            self._failure = exc
        # One chunk is kept ahead; more stays in the pipe, where it holds back the sender.
        if self._readiness is not None:
            self._readiness.pause()
        self._end_rest()
        return True

    def no_more(self) -> None:
        """Tells that what is there is the last, whoever else holds the other end open."""
        self._reads_left = _LAST_READS
        if self._readiness is not None:
            self._readiness.end_reading()
        self._end_rest()

    def _end_rest(self) -> None:
        """Tells who rests that there is no more to come."""
        if self._resting and self._take is not None:
            self._resting = False
            self._take(b"")

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
            if self._readiness is None:
                raise ClosedResourceError
            await self._readiness.writable(self._write_fd)

    def end_output(self) -> None:
        """Closes the sending side alone: the other end reads an end of input."""
        if self._write_fd < 0:
            return
        if self._readiness is not None:
            self._readiness.end_writing(self._write_fd)
        if self._write_fd != self._read_fd:
            self._close_fd(self._write_fd)
        self._write_fd = -1

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._readiness is not None:
            self._readiness.end_reading()
        self.end_output()
        self._readiness = None
        self._close_fd(self._read_fd)
        self._end_rest()

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
