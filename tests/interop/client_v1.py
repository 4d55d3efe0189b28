"""A client of version 1 that drives an agent through the scenarios of the interop tests.

`python -m tests.interop.client_v1 COMMAND [ARGUMENT...]` starts the agent, prints one JSON object
per check and exits with 0 only when all held. Owns the handlers of the client; what is checked is
`tests.interop.scenarios_v1`'s. It is written as users write clients.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from anyio import Path

import acp
from acp import schema
from tests.interop.checks import Checks, within
from tests.interop.scenarios_v1 import Scenarios

__all__ = ("InteropClient",)


async def select_yes(session_id: str) -> Any:
    """Answers a permission request as most users do."""
    del session_id
    return schema.AllowedOutcome(option_id="yes")


class InteropClient(acp.Client):
    """Serves files, terminals, permissions and forms, and keeps what it is told."""

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.options: list[Any] = []
        self.forms: list[Any] = []
        self.told: list[dict[str, Any]] = []
        self.answer_permission: Callable[[str], Awaitable[Any]] = select_yes
        self._terminals: dict[str, _Terminal] = {}
        self._arrived = asyncio.Event()

    async def until(self, holds: Callable[[], Any]) -> None:
        """Returns once `holds` is true of what has arrived."""
        while not holds():
            self._arrived.clear()
            await within(self._arrived.wait())

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append((session_id, update))
        self._arrived.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
    ) -> acp.RequestPermissionResponse:
        self.options = options
        outcome = await self.answer_permission(session_id)
        return acp.RequestPermissionResponse(outcome=outcome)

    # Files.

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> acp.ReadTextFileResponse:
        try:
            text = await Path(path).read_text("utf-8")
        except OSError:
            raise acp.RequestError.resource_not_found(path) from None
        if line is not None or limit is not None:
            start = (line or 1) - 1
            lines = text.split("\n")[start:]
            text = "\n".join(lines[:limit])
        return acp.ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> acp.WriteTextFileResponse:
        await Path(path).write_text(content, "utf-8")
        return acp.WriteTextFileResponse()

    # Terminals.

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[schema.EnvVariable] | None = None,
        cwd: str | None = None,
        **kwargs: Any,
    ) -> acp.CreateTerminalResponse:
        process = await asyncio.create_subprocess_exec(
            command,
            *(args or ()),
            cwd=cwd,
            env={**os.environ, **{one.name: one.value for one in env or ()}},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        terminal_id = f"t{len(self._terminals) + 1}"
        self._terminals[terminal_id] = _Terminal(process)
        return acp.CreateTerminalResponse(terminal_id=terminal_id)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> acp.WaitForTerminalExitResponse:
        terminal = self._terminals[terminal_id]
        await asyncio.shield(terminal.reading)
        return acp.WaitForTerminalExitResponse(exit_code=terminal.process.returncode)

    async def terminal_output(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> acp.TerminalOutputResponse:
        terminal = self._terminals[terminal_id]
        code = terminal.process.returncode
        return acp.TerminalOutputResponse(
            output=terminal.output.decode("utf-8", "replace"),
            truncated=False,
            exit_status=None if code is None else schema.TerminalExitStatus(exit_code=code),
        )

    async def kill_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> acp.KillTerminalResponse:
        await self._terminals[terminal_id].end()
        return acp.KillTerminalResponse()

    async def release_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> acp.ReleaseTerminalResponse:
        await self._terminals.pop(terminal_id).end()
        return acp.ReleaseTerminalResponse()

    # Forms, and what is outside the protocol.

    async def create_elicitation(
        self, message: str, mode: Any, **kwargs: Any
    ) -> acp.CreateElicitationResponse:
        self.forms.append(mode.requested_schema)
        return acp.AcceptElicitationResponse(content={"name": "Ada", "age": 36})

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "interop.test/ask":
            raise acp.RequestError.method_not_found(f"_{method}")
        return {"n": params["n"] + 1}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "interop.test/told":
            self.told.append(params)
            self._arrived.set()


class _Terminal:
    """A command that runs, and what it has written."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = bytearray()
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(4096):
            self.output += data
        await self.process.wait()

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.reading


async def main(command: str, *arguments: str) -> int:
    checks = Checks()
    client = InteropClient()
    async with acp.spawn_agent_process(
        client, command, *arguments, transport_kwargs={"stderr": None}, use_unstable_protocol=True
    ) as (agent, process):
        await Scenarios(checks, agent, client).run()
    checks.equal("agent leaves when its input ends", process.returncode, 0)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
