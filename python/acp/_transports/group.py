"""A child and what it has started, as one.

Owns signals to a whole process group, also when its leader is gone, what Windows has instead, and
noticing the leader's exit. It knows no pipe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Protocol

from anyio import move_on_after, sleep

from acp._runtime import Runtime

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable

    from acp._runtime.readiness import Readiness
    from acp._transports.job import Job

__all__ = ("ExitNotice", "Group", "PosixGroup", "WindowsGroup", "group_of")

_LOOK = 0.01
"""Seconds between two looks whether a group without its leader has ended."""
_SIGKILL = 9
"""Windows has no name for it."""


class Group(Protocol):
    """A child and what it has started."""

    def terminate(self) -> bool:
        """Asks all of them to end. False where none can be asked."""
        ...

    def kill(self) -> None:
        """Ends all of them."""
        ...

    async def end_orphans(self, grace: float) -> None:
        """Ends what a child that was reaped has left behind. Who can be asked gets `grace` seconds
        for it.
        """
        ...

    def close(self) -> None:
        """Gives back what it holds. Nothing else is called after it."""
        ...


def group_of(process: Process) -> Group:
    """The group of a child that was started as the leader of one."""
    if sys.platform == "win32":
        from acp._transports.job import job_of

        return WindowsGroup(process, job_of(process.pid))
    return PosixGroup(process)


class PosixGroup:
    """The processes that have the child's number as that of their group."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def terminate(self) -> bool:
        if not _signal_group(self._process.pid, signal.SIGTERM):
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
        return True

    def kill(self) -> None:
        if self._process.returncode is not None:
            # Its number may be another's by now.
            _kill_orphans(self._process.pid)
        elif not _signal_group(self._process.pid, _SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def end_orphans(self, grace: float) -> None:
        pid = self._process.pid
        if not _is_orphaned(pid):
            return
        _signal_group(pid, signal.SIGTERM)
        with move_on_after(grace):
            # Nobody tells when the last of a group has ended that is not our child.
            while _is_orphaned(pid):  # noqa: ASYNC110
                await sleep(_LOOK)
            return
        _kill_orphans(pid)

    def close(self) -> None:
        return


class WindowsGroup:
    """The processes of a job; the child alone where there could be none.

    Windows has no way to ask a process without a window to end, but the end of its input.
    """

    def __init__(self, process: Process, job: Job | None) -> None:
        self._process = process
        self._job = job

    def terminate(self) -> bool:
        return False

    def kill(self) -> None:
        if self._job is not None:
            self._job.kill()
        elif self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def end_orphans(self, grace: float) -> None:
        del grace
        self.kill()

    def close(self) -> None:
        if self._job is not None:
            self._job.close()


def _signal_group(pid: int, number: int) -> bool:
    """Sends a signal to the group that `pid` leads or led. False when there is none."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _is_orphaned(pid: int) -> bool:
    """Whether the leader is gone and others of its group are left.

    A number is not given to a new process while a group has it, so that a group without a process
    of its number is still the old one.
    """
    if sys.platform == "win32" or not _signal_group(pid, 0):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # The number is another's by now.
        pass
    return False


def _kill_orphans(pid: int) -> None:
    """Kills what a child that was reaped has left behind in its group."""
    if _is_orphaned(pid):
        _signal_group(pid, _SIGKILL)


class ExitNotice:
    """Calls a function in the loop when a process has exited, where the system can tell."""

    def __init__(self, pid: int, exited: Callable[[], None]) -> None:
        self._exited = exited
        self._fd = -1
        self._readiness: Readiness | None = None
        # Linux; elsewhere an exit shows by the end of the process's output alone.
        if sys.platform == "linux" and hasattr(os, "pidfd_open"):
            try:
                self._fd = os.pidfd_open(pid)
            except ProcessLookupError:
                # It has exited already, and was reaped.
                exited()
                return
            except OSError:
                return
            self._readiness = Runtime().readiness(self._fd, self._notice)
            self._readiness.watch()

    def _notice(self) -> None:
        if self._readiness is not None:
            self._readiness.pause()
            self._exited()

    def close(self) -> None:
        """Gives back what it holds; the function is not called any more."""
        readiness, self._readiness = self._readiness, None
        if readiness is not None:
            readiness.end_reading()
            os.close(self._fd)
