"""What a process holds: memory, descriptors, children, as Linux tells it.

Owns reading `/proc`. It knows nothing of what is measured.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ("MIB", "children", "descriptors", "forget_peak", "peak", "resident")

MIB = 1 << 20


def _status(field: str, pid: int | None) -> int:
    lines = Path(f"/proc/{pid or 'self'}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def resident(pid: int | None = None) -> int:
    """Bytes of a process (this one when None) that are in memory."""
    return _status("VmRSS", pid)


def peak(pid: int | None = None) -> int:
    """The most bytes that it ever had in memory."""
    return _status("VmHWM", pid)


def forget_peak(pid: int | None = None) -> None:
    """Has `peak` begin anew."""
    Path(f"/proc/{pid or 'self'}/clear_refs").write_text("5")


def descriptors() -> int:
    """Descriptors that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def children() -> set[int]:
    """The children of this process, dead ones that nobody has waited for included."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (thread / "children").read_text().split()}
    return found
