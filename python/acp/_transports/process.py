"""A child process as a transport: its standard input and output.

Owns the child from start to reaping, with its process group, and the pipes. It knows no message.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from anyio import CancelScope, Event, move_on_after

from acp._transports.base import Transport
from acp._transports.descriptors import DescriptorTransport
from acp._transports.environment import environment
from acp._transports.first_bytes import FirstBytes
from acp._transports.group import ExitNotice, group_of
from acp._transports.lines import line_taker
from acp._transports.spawning import start
from acp._transports.stderr import StderrPipe
from acp._transports.threads import ThreadTransport
from acp.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from typing_extensions import Unpack

    from acp._transports.group import Group

__all__ = ("Pipes", "ProcessOptions", "ProcessTransport", "end_process", "process_transport")

_EXIT_NOTICE = 0.05
"""Seconds between the end of a child's output and its exit code, for an error that names the code.
"""


class ProcessOptions(TypedDict, total=False):
    """Keywords of `process_transport`, which describes them."""

    env: Mapping[str, str] | None
    inherit: bool | None
    allow: Iterable[str]
    cwd: str | Path | None
    stderr: int | None
    on_stderr: Callable[[str], object] | Literal["forward"] | None
    start_timeout: float | None
    shutdown_timeout: float


class ProcessTransport(Transport):
    """Starts a command when it is opened; sends to its input and receives from its output.

    Closing it closes the command's standard input, waits `shutdown_timeout` seconds for its exit,
    then terminates the process group, waits as long again, and then kills the group.
    """

    def __init__(
        self,
        command: str,
        *args: str,
        env: Mapping[str, str] | None = None,
        inherit: bool | None = None,
        allow: Iterable[str] = (),
        cwd: str | Path | None = None,
        stderr: int | None = subprocess.PIPE,
        on_stderr: Callable[[str], object] | Literal["forward"] | None = None,
        start_timeout: float | None = None,
        shutdown_timeout: float = 2.0,
    ) -> None:
        self._command = (command, *args)
        self._env = environment(env, inherit=inherit, allow=allow)
        self._cwd = cwd
        self._stderr = stderr
        self._take_line = line_taker(on_stderr)
        if self._take_line is not None and stderr != subprocess.PIPE:
            message = "on_stderr= needs the pipe that stderr= is by default"
            raise ValueError(message)
        self._start_timeout = start_timeout
        self._shutdown_timeout = shutdown_timeout
        self._process: Process | None = None
        self._inner: DescriptorTransport | ThreadTransport | None = None
        self._first: FirstBytes | None = None
        """Set until the process has said something."""
        self._stderr_pipe: StderrPipe | None = None
        self._exit: ExitNotice | None = None
        self._group: Group | None = None
        self._closed: Event | None = None

    @property
    def process(self) -> Process:
        """The running process: asyncio's, or on trio a `trio.Process`. On a loop of asyncio that
        cannot start one it has the same methods.

        Its `stderr` may be read or left alone. Raises RuntimeError before `open()`.
        """
        if self._process is None:
            raise RuntimeError(_NOT_OPEN)
        return self._process

    async def open(self) -> None:
        if self._process is not None:
            return
        pipes = Pipes()
        stderr_fd = -1
        try:
            stdin, write_fd = pipes.to_child()
            stdout, read_fd = pipes.from_child()
            stderr = self._stderr
            if stderr == subprocess.PIPE:
                stderr, stderr_fd = pipes.from_child()
            process = await start(
                self._command,
                env=self._env,
                cwd=self._cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
        except BaseException:
            pipes.close_ours()
            raise
        finally:
            pipes.close_theirs()
        self._process = process
        self._group = group_of(process)
        if self._start_timeout is not None:
            self._first = FirstBytes(self._start_timeout)
        watchable = sys.platform != "win32"
        self._inner = (DescriptorTransport if watchable else ThreadTransport)(read_fd, write_fd)
        await self._inner.open()
        if isinstance(self._inner, DescriptorTransport):
            self._exit = ExitNotice(process.pid, self._inner.no_more)
        if stderr_fd >= 0:
            self._stderr_pipe = StderrPipe(stderr_fd, self._take_line)
            process.stderr = cast("Any", self._stderr_pipe.reader)

    async def receive(self) -> bytes:
        inner, first = self._opened(), self._first
        if first is None:
            data = await inner.receive()
        else:
            data = await first.receive(inner.receive)
            self._first = None
        if not data and self._process is not None:
            with move_on_after(_EXIT_NOTICE):
                await self._process.wait()
        return data

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        inner, first = self._opened(), self._first
        if first is None:
            return inner.offer_to(take)

        def take_first(data: bytes) -> bool:
            first.came()
            self._first = None
            inner.offer_to(take)
            return take(data)

        return inner.offer_to(take_first)

    def rest(self) -> bool:
        # Who waits for the first bytes has their deadline.
        return self._first is None and self._opened().rest()

    def send_nowait(self, data: bytes | memoryview) -> int:
        sent = self._opened().send_nowait(data)
        if sent and self._first is not None:
            self._first.asked()
        return sent

    async def send(self, data: bytes | memoryview) -> None:
        if self._first is not None:
            self._first.asked()
        await self._opened().send(data)

    def observe_stderr(self, take: Callable[[str], object]) -> None:
        given = self._take_line

        def take_both(line: str) -> None:
            take(line)
            if given is not None:
                given(line)

        self._take_line = take if given is None else take_both

    def closed_error(self) -> ConnectionClosed:
        message = None
        if self._first is not None and self._first.overdue:
            message = f"Connection closed: {self._first.message}"
        return ConnectionClosed(
            message,
            exit_code=None if self._process is None else self._process.returncode,
            stderr_tail="" if self._stderr_pipe is None else self._stderr_pipe.reader.tail,
        )

    async def close(self) -> None:
        if self._process is None or self._inner is None or self._group is None:
            return
        if self._closed is not None:
            await self._closed.wait()
            return
        self._closed = Event()
        try:
            # Each step is bounded, and one left out would leave a child behind.
            with CancelScope(shield=True):
                if self._process.returncode is None:
                    self._inner.end_output()
                    await end_process(self._process, self._group, self._shutdown_timeout)
                else:
                    await self._group.end_orphans(self._shutdown_timeout)
        finally:
            self._group.close()
            if self._exit is not None:
                self._exit.close()
            await self._inner.close()
            if self._stderr_pipe is not None:
                self._stderr_pipe.close()
            self._closed.set()

    def _opened(self) -> DescriptorTransport | ThreadTransport:
        if self._inner is None:
            raise RuntimeError(_NOT_OPEN)
        return self._inner


async def end_process(process: Process, group: Group, seconds: float) -> None:
    """Waits for the exit of a process that has nothing more to read, then terminates its group,
    waits as long again, and kills the group.
    """
    try:
        with move_on_after(seconds):
            await process.wait()
            return
        if group.terminate():
            with move_on_after(seconds):
                await process.wait()
    finally:
        # Also when the child is gone: what it started may be left.
        group.kill()
    with move_on_after(seconds):
        await process.wait()


_NOT_OPEN = "The process has not been started: use `async with`, or give it to a connection"


class Pipes:
    """The pipes made for one child, by who keeps which end."""

    def __init__(self) -> None:
        self._ours: list[int] = []
        self._theirs: list[int] = []

    def to_child(self) -> tuple[int, int]:
        """The child's end and ours of a pipe to the child."""
        read_end, write_end = os.pipe()
        self._theirs.append(read_end)
        self._ours.append(write_end)
        return read_end, write_end

    def from_child(self) -> tuple[int, int]:
        """The child's end and ours of a pipe from the child."""
        read_end, write_end = os.pipe()
        self._theirs.append(write_end)
        self._ours.append(read_end)
        return write_end, read_end

    def close_ours(self) -> None:
        for fd in self._ours:
            os.close(fd)

    def close_theirs(self) -> None:
        for fd in self._theirs:
            os.close(fd)


def process_transport(
    command: str, *args: str, **options: Unpack[ProcessOptions]
) -> ProcessTransport:
    """A transport to a command that it starts, for a client that talks to an agent.

    Args:
        command: The program; it is looked up on PATH and no shell is involved.
        *args: Its arguments.
        **options: Of its environment: `env` (variables for it), `inherit` (of the host's variables:
            None, the default, for the short list of `default_environment()`, True for all, False
            for none) and `allow` (names and patterns of more to inherit, such as `"*_API_KEY"`).
            `cwd` (its working directory). `stderr` (as in `subprocess`; a pipe by default, of which
            the last 64 KiB are kept) and `on_stderr` (a function that gets each line of that pipe
            as a str, in the thread of the loop, which it keeps while it runs; `"forward"` for our
            own stderr). `start_timeout` (seconds from the first message to the process until it
            first writes anything; None, the default, for no end) and `shutdown_timeout` (seconds,
            default 2).

    Opening it raises OSError when the command cannot be started, with the PATH that was searched
    and the names of the variables in its text. What takes longer than `start_timeout` ends the
    connection with `ConnectionClosed`; a program that first has to be downloaded may take minutes.
    Part of this library, not of the protocol.
    """
    return ProcessTransport(command, *args, **options)
