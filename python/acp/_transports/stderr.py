"""What a child process writes to stderr, kept within bounds.

Owns the pipe, the ring of the last bytes and the stream that users read them from.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ("StderrPipe", "StderrReader")

CAPACITY = 64 * 1024
"""Bytes kept.

What is older and unread is dropped: a child must never wait for somebody to read its stderr.
"""


class StderrReader(asyncio.StreamReader):
    """The stream `process.stderr`: reading it works as usual, and leaving it unread blocks nobody.

    Of what nobody reads, the last 64 KiB stay.
    """

    def __init__(self) -> None:
        super().__init__(limit=CAPACITY)
        self._tail = bytearray()
        self._unread = 0
        self._readers = 0

    @property
    def tail(self) -> str:
        """The last 64 KiB, read or not."""
        return self._tail.decode("utf-8", "replace")

    def collect(self, data: bytes) -> None:
        """Adds what the child wrote."""
        self._tail += data
        if len(self._tail) > CAPACITY:
            del self._tail[:-CAPACITY]
        self._unread = min(self._unread + len(data), CAPACITY)
        if self._readers:
            self._hand_over()

    def _hand_over(self) -> None:
        if self._unread:
            self.feed_data(bytes(self._tail[-self._unread :]))
            self._unread = 0

    @contextlib.contextmanager
    def _reading(self) -> Generator[None, None, None]:
        self._hand_over()
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1

    def at_eof(self) -> bool:
        return not self._unread and super().at_eof()

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
    """Reads one end of a pipe into a `StderrReader` for as long as it is open."""

    def __init__(self, fd: int) -> None:
        self.reader = StderrReader()
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        if sys.platform == "win32":
            threading.Thread(target=self._read_blocking, name="acp_stderr", daemon=True).start()
        else:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._on_readable)

    def close(self) -> None:
        """Collects what is left in the pipe and closes it."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        if sys.platform != "win32":
            self._loop.remove_reader(fd)
            with contextlib.suppress(OSError):
                # The ring's size bounds this even when the child's own children go on writing.
                for _ in range(4):
                    if not (data := os.read(fd, CAPACITY)):
                        break
                    self.reader.collect(data)
            os.close(fd)
        self.reader.feed_eof()

    def _on_readable(self) -> None:
        try:
            data = os.read(self._fd, CAPACITY)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self.reader.collect(data)
        else:
            self.close()

    def _read_blocking(self) -> None:
        fd = self._fd
        with contextlib.suppress(OSError, RuntimeError):
            while data := os.read(fd, CAPACITY):
                self._loop.call_soon_threadsafe(self.reader.collect, data)
            self._loop.call_soon_threadsafe(self.close)
        os.close(fd)
