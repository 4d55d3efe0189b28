"""A command that is given so much time and no more.

Owns starting it, and ending it with all that it started. It knows nothing of what it runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

__all__ = ("Ended", "run")


class Ended(NamedTuple):
    """How a command ended."""

    code: int | None
    """Its exit code; None when its time was up."""
    out: str
    err: str
    seconds: float


def run(
    command: list[str], seconds: float, *, cwd: Path, env: dict[str, str] | None = None
) -> Ended:
    """Runs a command to its end, or kills its process group when its time is up.

    `env` is added to the variables of this process. Raises OSError when it cannot be started.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            out, err = process.communicate(timeout=max(seconds, 0))
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            _kill(process)
            out, err = process.communicate()
            code = None
        except BaseException:
            _kill(process)
            raise
    return Ended(code, out, err, time.monotonic() - started)


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
