"""The job of a child on Windows, where there is no process group that a signal ends.

Owns the job object: who starts in it, also below the child, ends with it. It knows no signal and no
pipe. The calls of the system come as an object, so that what is called with what can be tested
anywhere.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ("Job", "job_of")

_EXTENDED_LIMITS = 9
_KILL_ON_CLOSE = 0x2000
_SET_QUOTA_AND_TERMINATE = 0x0101
_KILLED = 1
"""The exit code of who is ended, as with `TerminateProcess` in `subprocess`."""


# The widths are Windows's on every platform, and not those of `ctypes.wintypes`.
class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class Job:
    """A process and all that it starts from now on.

    Args:
        handle: The job object of the system.
        kernel: Its functions, as those of kernel32.
    """

    def __init__(self, handle: int, kernel: Any) -> None:
        self._handle = handle
        self._kernel = kernel

    @classmethod
    def holding(cls, pid: int, kernel: Any) -> Self | None:
        """A job with the process in it, or None where the system refuses that."""
        handle = kernel.CreateJobObjectW(None, None)
        if not handle:
            return None
        job = cls(handle, kernel)
        limits = _Limits()
        limits.basic.flags = _KILL_ON_CLOSE
        size = ctypes.sizeof(limits)
        taken = kernel.SetInformationJobObject(
            handle, _EXTENDED_LIMITS, ctypes.byref(limits), size
        ) and job._take(pid)
        if not taken:
            job.close()
            return None
        return job

    def _take(self, pid: int) -> bool:
        process = self._kernel.OpenProcess(_SET_QUOTA_AND_TERMINATE, False, pid)
        if not process:
            return False
        try:
            return bool(self._kernel.AssignProcessToJobObject(self._handle, process))
        finally:
            self._kernel.CloseHandle(process)

    def kill(self) -> None:
        """Ends every process in it."""
        if self._handle:
            self._kernel.TerminateJobObject(self._handle, _KILLED)

    def close(self) -> None:
        """Gives the job back, which ends who is left in it. Closing it again does nothing."""
        handle, self._handle = self._handle, 0
        if handle:
            self._kernel.CloseHandle(handle)


def job_of(pid: int) -> Job | None:
    """A job with the process in it; None where it cannot be had, and elsewhere than on Windows."""
    if sys.platform != "win32":
        return None
    kernel = ctypes.WinDLL("kernel32")
    for name in ("CreateJobObjectW", "OpenProcess"):
        getattr(kernel, name).restype = ctypes.c_void_p
    handle = ctypes.c_void_p
    kernel.SetInformationJobObject.argtypes = (handle, ctypes.c_int, handle, ctypes.c_uint32)
    kernel.AssignProcessToJobObject.argtypes = (handle, handle)
    kernel.TerminateJobObject.argtypes = (handle, ctypes.c_uint32)
    kernel.CloseHandle.argtypes = (handle,)
    return Job.holding(pid, kernel)
