"""Bytes over two file descriptors that no event loop can watch: files, terminals, and Windows.

Owns one reader thread and one writer thread, which do nothing but blocking reads and writes. It
opens no descriptor.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from anyio import BrokenResourceError, ClosedResourceError

from acp._runtime import Runtime, Slot, fill
from acp._transports.base import Transport

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("ThreadTransport",)

CHUNK = 64 * 1024


class ThreadTransport(Transport):
    """Receives from one descriptor and sends to another by blocking calls in two threads.

    A thread that waits for input cannot be woken: it is a daemon, and takes its descriptor with it
    when it ends.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._runtime = Runtime()
        self._in_loop: Callable[..., object] | None = None
        self._chunk: bytes | None = None
        self._failure: OSError | None = None
        self._reading = False
        self._reader: Slot[None] | None = None
        self._writer: Slot[OSError | None] | None = None
        self._wanted = threading.Semaphore(0)
        self._output: SimpleQueue[tuple[bytes, Slot[OSError | None]] | None] = SimpleQueue()
        self._closed = False

    async def open(self) -> None:
        if self._in_loop is not None:
            return
        self._in_loop = self._runtime.from_thread
        for target in (self._read_all, self._write_all):
            threading.Thread(target=target, name=f"acp{target.__name__}", daemon=True).start()

    async def receive(self) -> bytes:
        if self._closed:
            raise ClosedResourceError
        if self._chunk is None and self._failure is None:
            # A read whose caller gave up goes on in its thread; its bytes are the next one's.
            if not self._reading:
                self._reading = True
                self._wanted.release()
            self._reader = self._runtime.slot()
            await self._reader
        if self._failure is not None:
            raise BrokenResourceError from self._failure
        data = self._chunk or b""
        if data:
            self._chunk = None
        return data

    async def send(self, data: bytes | memoryview) -> None:
        if self._closed:
            raise ClosedResourceError
        self._writer = waiter = self._runtime.slot()
        self._output.put((bytes(data), waiter))
        failure = await waiter
        if failure is not None:
            raise BrokenResourceError from failure
        if self._closed:
            raise ClosedResourceError

    def end_output(self) -> None:
        """Closes the sending side alone, once what was sent is out: the other end reads an end of
        input.
        """
        self._output.put(None)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._in_loop is None:
            os.close(self._read_fd)
            os.close(self._write_fd)
            return
        self._wanted.release()
        self.end_output()
        if self._reader is not None:
            fill(self._reader, None)
        if self._writer is not None:
            fill(self._writer, None)

    def _read_all(self) -> None:
        try:
            while True:
                self._wanted.acquire()
                if self._closed:
                    return
                try:
                    data, failure = os.read(self._read_fd, CHUNK), None
                except OSError as exc:
                    data, failure = b"", exc
                if not self._call(self._received, data, failure) or not data:
                    return
        finally:
            os.close(self._read_fd)

    def _received(self, data: bytes, failure: OSError | None) -> None:
        self._reading = False
        self._chunk, self._failure = data, failure
        if self._reader is not None:
            fill(self._reader, None)

    def _write_all(self) -> None:
        try:
            while (item := self._output.get()) is not None:
                data, waiter = item
                failure = None
                try:
                    rest = memoryview(data)
                    while rest:
                        rest = rest[os.write(self._write_fd, rest) :]
                except OSError as exc:
                    failure = exc
                if not self._call(fill, waiter, failure):
                    return
        finally:
            os.close(self._write_fd)

    def _call(self, function: Callable[..., object], *args: object) -> bool:
        """Runs the function in the loop. False when the loop has ended."""
        try:
            if self._in_loop is None:
                return False
            self._in_loop(function, *args)
        except RuntimeError:
            return False
        return True
