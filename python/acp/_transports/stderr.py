"""What a child process writes to stderr, kept within bounds.

Owns the pipe, the ring of the last bytes and, on asyncio, the stream that users read them from.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from acp._runtime import Runtime, is_on_trio
from acp._transports.descriptors import is_watchable
from acp._transports.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from acp._runtime.readiness import Readiness
    from acp._transports.stderr_on_trio import TrioStderrReader

__all__ = ("Ring", "StderrPipe", "StderrReader")

CAPACITY = 64 * 1024
"""Bytes kept.

What is older and unread is dropped: a child must never wait for somebody to read its stderr.
"""


class Ring:
    """The last 64 KiB of a stream, read or not."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self.unread = 0
        """How many of them nobody has read."""

    @property
    def text(self) -> str:
        """All that it holds."""
        return self._bytes.decode("utf-8", "replace")

    def add(self, data: bytes) -> None:
        """Adds what the child wrote."""
        self._bytes += data
        if len(self._bytes) > CAPACITY:
            del self._bytes[:-CAPACITY]
        self.unread = min(self.unread + len(data), CAPACITY)

    def take(self, size: int) -> bytes:
        """The next unread bytes, at most `size`."""
        start = len(self._bytes) - self.unread
        data = bytes(self._bytes[start : start + size])
        self.unread -= len(data)
        return data


class StderrReader(asyncio.StreamReader):
    """The stream `process.stderr`: reading it works as usual, and leaving it unread blocks nobody.

    Of what nobody reads, the last 64 KiB stay.
    """

    def __init__(self) -> None:
        super().__init__(limit=CAPACITY)
        self._ring = Ring()
        self._readers = 0

    @property
    def tail(self) -> str:
        """The last 64 KiB, read or not."""
        return self._ring.text

    def collect(self, data: bytes) -> None:
        """Adds what the child wrote."""
        self._ring.add(data)
        if self._readers:
            self._hand_over()

    def feed_eof(self) -> None:
        """Tells that nothing more comes. What is unread can be read before that."""
        self._hand_over()
        super().feed_eof()

    def _hand_over(self) -> None:
        if self._ring.unread:
            self.feed_data(self._ring.take(CAPACITY))

    @contextlib.contextmanager
    def _reading(self) -> Generator[None, None, None]:
        self._hand_over()
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1

    def at_eof(self) -> bool:
        return not self._ring.unread and super().at_eof()

    async def read(self, n: int = -1) -> bytes:
        with self._reading():
            return await super().read(n)

    async def readexactly(self, n: int) -> bytes:
        with self._reading():
            return await super().readexactly(n)

    async def readuntil(self, separator: Any = b"\n") -> bytes:
        with self._reading():
            return await super().readuntil(separator)


class StderrPipe:
    """Reads one end of a pipe into a reader for as long as it is open, and gives each line to
    `take_line`, if any, right where it is read.
    """

    def __init__(self, fd: int, take_line: Callable[[str], object] | None = None) -> None:
        self.reader = _reader()
        self._lines = None if take_line is None else Lines(take_line, "on_stderr")
        self._fd = fd
        runtime = Runtime()
        self._in_loop = runtime.from_thread
        self._readiness: Readiness | None = None
        self._collected = threading.Semaphore(0)
        if sys.platform != "win32" and is_watchable(fd):
            os.set_blocking(fd, False)
            self._readiness = runtime.readiness(fd, self._on_readable)
            self._readiness.watch()
        else:
            threading.Thread(target=self._read_blocking, name="acp_stderr", daemon=True).start()

    def close(self) -> None:
        """Collects what is left in the pipe and closes it."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        if self._readiness is not None:
            self._readiness.end_reading()
            self._readiness = None
            with contextlib.suppress(OSError):
                # The ring's size bounds this even when the child's own children go on writing.
                for _ in range(4):
                    if not (data := os.read(fd, CAPACITY)):
                        break
                    self._collect(data)
            os.close(fd)
        if self._lines is not None:
            self._lines.end()
        self.reader.feed_eof()

    def _collect(self, data: bytes) -> None:
        self.reader.collect(data)
        if self._lines is not None:
            self._lines.add(data)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._fd, CAPACITY)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._collect(data)
        else:
            self.close()

    def _read_blocking(self) -> None:
        fd = self._fd
        with contextlib.suppress(OSError, RuntimeError):
            while data := os.read(fd, CAPACITY):
                self._in_loop(self._collect_one, data)
                # The next one stays in the pipe until the loop has had this one.
                self._collected.acquire()
            self._in_loop(self.close)
        os.close(fd)

    def _collect_one(self, data: bytes) -> None:
        try:
            if self._fd >= 0:
                self._collect(data)
        finally:
            self._collected.release()


def _reader() -> StderrReader | TrioStderrReader:
    if not is_on_trio():
        return StderrReader()
    from acp._transports.stderr_on_trio import TrioStderrReader

    return TrioStderrReader()
