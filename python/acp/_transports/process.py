"""A child process as a transport: its standard input and output.

Owns the child from start to reaping, with its process group, and the pipes. It knows no message.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

from anyio import CancelScope, Event, move_on_after

from acp._runtime import is_on_trio
from acp._transports.base import Transport
from acp._transports.descriptors import DescriptorTransport
from acp._transports.environment import default_environment
from acp._transports.group import ExitNotice, end_orphans, kill_orphans, signal_group
from acp._transports.stderr import StderrPipe
from acp._transports.threads import ThreadTransport
from acp.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ("ProcessTransport", "process_transport")

_EXIT_NOTICE = 0.05
"""Seconds between the end of a child's output and its exit code, for an error that names the code.
"""


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
        cwd: str | Path | None = None,
        stderr: int | None = subprocess.PIPE,
        shutdown_timeout: float = 2.0,
    ) -> None:
        self._command = (command, *args)
        self._env = {**default_environment(), **(env or {})}
        self._cwd = cwd
        self._stderr = stderr
        self._shutdown_timeout = shutdown_timeout
        self._process: Process | None = None
        self._inner: DescriptorTransport | ThreadTransport | None = None
        self._stderr_pipe: StderrPipe | None = None
        self._exit: ExitNotice | None = None
        self._closed: Event | None = None

    @property
    def process(self) -> Process:
        """The running process: asyncio's, or on trio a `trio.Process`.

        Its `stderr` may be read or left alone. Raises RuntimeError before `open()`.
        """
        if self._process is None:
            raise RuntimeError(_NOT_OPEN)
        return self._process

    async def open(self) -> None:
        if self._process is not None:
            return
        pipes = _Pipes()
        stderr_fd = -1
        try:
            stdin, write_fd = pipes.to_child()
            stdout, read_fd = pipes.from_child()
            stderr = self._stderr
            if stderr == subprocess.PIPE:
                stderr, stderr_fd = pipes.from_child()
            process = await _start(
                *self._command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )
        except BaseException:
            pipes.close_ours()
            raise
        finally:
            pipes.close_theirs()
        self._process = process
        watchable = sys.platform != "win32"
        self._inner = (DescriptorTransport if watchable else ThreadTransport)(read_fd, write_fd)
        await self._inner.open()
        if isinstance(self._inner, DescriptorTransport):
            self._exit = ExitNotice(process.pid, self._inner.no_more)
        if stderr_fd >= 0:
            self._stderr_pipe = StderrPipe(stderr_fd)
            process.stderr = cast("Any", self._stderr_pipe.reader)

    async def receive(self) -> bytes:
        data = await self._opened().receive()
        if not data and self._process is not None:
            with move_on_after(_EXIT_NOTICE):
                await self._process.wait()
        return data

    def offer_to(self, take: Callable[[bytes], bool]) -> bool:
        return self._opened().offer_to(take)

    def rest(self) -> bool:
        return self._opened().rest()

    def send_nowait(self, data: bytes | memoryview) -> int:
        return self._opened().send_nowait(data)

    async def send(self, data: bytes | memoryview) -> None:
        await self._opened().send(data)

    def closed_error(self) -> ConnectionClosed:
        return ConnectionClosed(
            exit_code=None if self._process is None else self._process.returncode,
            stderr_tail="" if self._stderr_pipe is None else self._stderr_pipe.reader.tail,
        )

    async def close(self) -> None:
        if self._process is None or self._inner is None:
            return
        if self._closed is not None:
            await self._closed.wait()
            return
        self._closed = Event()
        try:
            # Each step is bounded, and one left out would leave a child behind.
            with CancelScope(shield=True):
                if self._process.returncode is None:
                    await self._end(self._process, self._inner)
                else:
                    await end_orphans(self._process.pid, self._shutdown_timeout)
        finally:
            if self._exit is not None:
                self._exit.close()
            await self._inner.close()
            if self._stderr_pipe is not None:
                self._stderr_pipe.close()
            self._closed.set()

    async def _end(self, process: Process, inner: DescriptorTransport | ThreadTransport) -> None:
        try:
            inner.end_output()
            with move_on_after(self._shutdown_timeout):
                await process.wait()
                return
            _terminate(process)
            with move_on_after(self._shutdown_timeout):
                await process.wait()
        finally:
            # Also when the child is gone: what it started may be left.
            _kill(process)
        with move_on_after(self._shutdown_timeout):
            await process.wait()

    def _opened(self) -> DescriptorTransport | ThreadTransport:
        if self._inner is None:
            raise RuntimeError(_NOT_OPEN)
        return self._inner


_NOT_OPEN = "The process has not been started: use `async with`, or give it to a connection"


async def _start(*command: str, **options: Any) -> Process:
    try:
        return await _start_process(*command, **options)
    except OSError as exc:
        if exc.filename is not None or exc.errno is None:
            raise
        # uvloop does not tell what it was that could not be found or run.
        cwd = options.get("cwd")
        name = command[0] if cwd is None or os.path.isdir(cwd) else cwd  # noqa: ASYNC240
        raise type(exc)(exc.errno, os.strerror(exc.errno), str(name)) from None


async def _start_process(*command: str, **options: Any) -> Process:
    if is_on_trio():
        from trio.lowlevel import open_process

        return cast("Process", await open_process(command, **options))
    from asyncio import create_subprocess_exec, get_running_loop

    if type(get_running_loop()).__module__.startswith("uvloop"):
        # It hands on copies that it has made of the child's pipes, and whatever else is open.
        options["preexec_fn"] = _close_others_on_exec
    return await create_subprocess_exec(*command, **options)


def _close_others_on_exec() -> None:
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.set_inheritable(int(name), False)


class _Pipes:
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


def _terminate(process: Process) -> None:
    if not signal_group(process.pid, signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            process.terminate()


def _kill(process: Process) -> None:
    if process.returncode is not None:
        # Its number may be another's by now.
        kill_orphans(process.pid)
    elif sys.platform == "win32" or not signal_group(process.pid, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            process.kill()


def process_transport(command: str, *args: str, **options: Any) -> ProcessTransport:
    """A transport to a command that it starts, for a client that talks to an agent.

    Args:
        command: The program; it is looked up on PATH and no shell is involved.
        *args: Its arguments.
        **options: `env` (added to the few inherited variables), `cwd`, `stderr` (as in
            `subprocess`; a pipe by default, of which the last 64 KiB are kept), `shutdown_timeout`
            (seconds, default 2).

    Opening it raises OSError when the command cannot be started. Part of this library, not of the
    protocol.
    """
    return ProcessTransport(command, *args, **options)
