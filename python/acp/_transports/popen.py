"""A child process on an event loop that cannot start one, such as asyncio's selector loop on
Windows.

Owns the thread that waits for the child's end. It knows no pipe.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from acp._runtime import Runtime
from acp._runtime.flag import Flag

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("PopenProcess",)


class PopenProcess:
    """A started command, with the methods of `asyncio.subprocess.Process` that need no pipe.

    Raises OSError when it cannot be started. Starting it keeps the loop for that time.
    """

    def __init__(self, command: Sequence[str], options: dict[str, Any]) -> None:
        runtime = Runtime()
        self._in_loop = runtime.from_thread
        self._exited = Flag(runtime)
        self._popen = subprocess.Popen(command, **options)
        self.pid = self._popen.pid
        self.stdin = self.stdout = self.stderr = None
        self.returncode: int | None = None
        threading.Thread(target=self._wait, name="acp_process", daemon=True).start()

    async def wait(self) -> int:
        """The exit code, once the process has ended."""
        await self._exited.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, signal: int) -> None:
        """Sends a signal. Raises ProcessLookupError when the process has ended."""
        self._check()
        self._popen.send_signal(signal)

    def terminate(self) -> None:
        """Asks the process to end; on Windows, ends it."""
        self._check()
        self._popen.terminate()

    def kill(self) -> None:
        """Ends the process."""
        self._check()
        self._popen.kill()

    def _check(self) -> None:
        if self.returncode is not None:
            raise ProcessLookupError

    def _wait(self) -> None:
        code = self._popen.wait()
        with contextlib.suppress(RuntimeError):
            self._in_loop(self._ended, code)

    def _ended(self, code: int) -> None:
        self.returncode = code
        self._exited.set()
