"""The process group of a child.

Owns signals to the whole group, also when its leader is gone, and noticing the leader's exit. It
knows no pipe.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from anyio import move_on_after, sleep

from acp._runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._runtime.readiness import Readiness

__all__ = ("ExitNotice", "end_orphans", "kill_orphans", "signal_group")

_LOOK = 0.01
"""Seconds between two looks whether a group without its leader has ended."""


def signal_group(pid: int, number: int) -> bool:
    """Sends a signal to the group that `pid` leads or led. False when there is none, or on
    Windows, which has no such groups.
    """
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
    if sys.platform == "win32" or not signal_group(pid, 0):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # The number is another's by now.
        pass
    return False


def kill_orphans(pid: int) -> None:
    """Kills what a child that was reaped has left behind in its group."""
    if sys.platform != "win32" and _is_orphaned(pid):
        signal_group(pid, signal.SIGKILL)


async def end_orphans(pid: int, grace: float) -> None:
    """Ends what a child that was reaped has left behind in its group: terminates, and kills what
    is there after `grace` seconds.
    """
    if sys.platform == "win32" or not _is_orphaned(pid):
        return
    signal_group(pid, signal.SIGTERM)
    with move_on_after(grace):
        # Nobody tells when the last of a group has ended that is not our child.
        while _is_orphaned(pid):  # noqa: ASYNC110
            await sleep(_LOOK)
        return
    kill_orphans(pid)


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
