"""Terminals for agents: commands, what they write, and their end.

Owns the processes that agents start, bounded in number and in kept output, each in a process group
of its own, so that nothing of them is left. Of protocol version 1, where the client runs commands.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream

from acp._transports.group import group_of
from acp._transports.spawning import group_options
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from types import TracebackType

    from anyio.abc import Process, TaskGroup
    from typing_extensions import Self

__all__ = ("Terminals",)


_LAST_OUTPUT = 0.25
"""Seconds in which output is read on when a command has ended and a child of it has not."""


class _Terminal:
    """One command."""

    def __init__(self, session_id: str, process: Process, limit: int) -> None:
        self.session_id = session_id
        self.process = process
        # It has what the group needs of a process: its number, and whether it has ended.
        self._group = group_of(cast("Any", process))
        self.output = bytearray()
        self.truncated = False
        self.ended = anyio.Event()
        self._limit = limit

    async def run(self) -> None:
        """Reads what it writes until it ends and, for a moment, what others write that it left."""
        async with anyio.create_task_group() as group:
            drained = anyio.Event()
            group.start_soon(self._drain, drained)
            await self.process.wait()
            with anyio.move_on_after(_LAST_OUTPUT):
                await drained.wait()
            self.ended.set()

    async def _drain(self, drained: anyio.Event) -> None:
        assert self.process.stdout is not None
        with suppress(EndOfStream, BrokenResourceError, ClosedResourceError):
            while True:
                self.output += await self.process.stdout.receive()
                if len(self.output) > self._limit:
                    self.truncated = True
                    del self.output[: len(self.output) - self._limit]
        drained.set()

    def text(self) -> str:
        """What was kept, from the first whole character on."""
        start = 0
        # Of a character that the limit has cut, at most three bytes are left.
        if self.truncated:
            head = self.output[:3]
            start = next((at for at, byte in enumerate(head) if byte & 0xC0 != 0x80), len(head))
        return bytes(self.output[start:]).decode("utf-8", "replace")

    def status(self) -> dict[str, Any] | None:
        """How it has ended, or None."""
        code = self.process.returncode
        if code is None or not self.ended.is_set():
            return None
        if code < 0:
            return {"signal": signal.Signals(-code).name}
        return {"exitCode": code}

    def kill(self) -> None:
        """Ends it and what it has started."""
        self._group.kill()


class Terminals:
    """Handlers of the `terminal/…` methods: `async with Terminals() as terminals`.

    Leaving the block kills what still runs. A terminal belongs to the session that made it.

    Args:
        cwd: Where commands run that name no folder; None: where this program runs.
        env: Variables besides those of this program.
        max_output: Bytes of output that are kept of one command; a request may ask for fewer.
        max_terminals: Terminals that may be there at one time, in all sessions together.
    """

    def __init__(
        self,
        *,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        max_output: int = 1024 * 1024,
        max_terminals: int = 64,
    ) -> None:
        self._cwd = cwd
        self._env = env or {}
        self._max_output = max_output
        self._max_terminals = max_terminals
        self._terminals: dict[str, _Terminal] = {}
        self._numbers = count(1)
        self._group: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._group = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        group, self._group = self._group, None
        for terminal in self._terminals.values():
            terminal.kill()
        if group is not None:
            await group.__aexit__(None, None, None)
        self._terminals.clear()

    async def create_terminal(self, request: Any) -> dict[str, str]:
        """Starts a command."""
        if self._group is None:
            message = "Terminals are used inside of `async with`"
            raise RuntimeError(message)
        if len(self._terminals) >= self._max_terminals:
            raise RequestError(-32603, "There are too many terminals; release some")
        variables = {each.name: each.value for each in request.env or ()}
        try:
            process = await anyio.open_process(
                [request.command, *(request.args or ())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=request.cwd or self._cwd,
                env={**os.environ, **self._env, **variables},
                **group_options(windows=sys.platform == "win32"),
            )
        except (OSError, ValueError) as exc:
            reason = type(exc).__name__
            raise RequestError(-32603, f"The command cannot be started: {reason}") from None
        limit = min(self._max_output, request.output_byte_limit or self._max_output)
        terminal = _Terminal(request.session_id, process, limit)
        name = f"terminal-{next(self._numbers)}"
        self._terminals[name] = terminal
        self._group.start_soon(terminal.run)
        return {"terminalId": name}

    async def terminal_output(self, request: Any) -> dict[str, Any]:
        """What a command has written so far, and how it has ended if it has."""
        terminal = self._of(request)
        found: dict[str, Any] = {"output": terminal.text(), "truncated": terminal.truncated}
        status = terminal.status()
        return found if status is None else {**found, "exitStatus": status}

    async def wait_for_terminal_exit(self, request: Any) -> dict[str, Any]:
        """Waits for the end of a command."""
        terminal = self._of(request)
        await terminal.ended.wait()
        return terminal.status() or {}

    async def kill_terminal(self, request: Any) -> dict[str, Any]:
        """Ends a command; its output stays."""
        self._of(request).kill()
        return {}

    async def release_terminal(self, request: Any) -> dict[str, Any]:
        """Ends a command, if it runs, and forgets it."""
        terminal = self._of(request)
        del self._terminals[request.terminal_id]
        terminal.kill()
        return {}

    def _of(self, request: Any) -> _Terminal:
        terminal = self._terminals.get(request.terminal_id)
        if terminal is None or terminal.session_id != request.session_id:
            raise RequestError.resource_not_found()
        return terminal
