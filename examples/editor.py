"""What an editor does for an agent: files, terminals, permission.

`python editor.py FOLDER FILE yes|no COMMAND…` has the agent work on the file, answers its question
with yes or no, and prints what it does.
"""

import asyncio
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

import acp
from acp import schema


class Terminal:
    """A command that runs, and what it has written."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = b""
        self.reading = asyncio.create_task(self.read())

    async def read(self) -> None:
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(4096):
            self.output += data

    async def ended(self) -> int:
        await self.reading
        return await self.process.wait()


class Editor(acp.Client):
    def __init__(self, folder: str, allowed: bool) -> None:
        self.folder = Path(folder).resolve()
        self.allowed = allowed
        self.numbers = count(1)
        self.terminals: dict[str, Terminal] = {}

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        if update.session_update == "agent_message_chunk":
            print("agent:", update.content.text)
        elif update.session_update == "tool_call":
            print("tool:", update.title)
        elif update.session_update == "tool_call_update":
            print("tool:", update.status)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
    ) -> acp.RequestPermissionResponse:
        wanted = "allow_once" if self.allowed else "reject_once"
        chosen = next(option for option in options if option.kind == wanted)
        print("you:", chosen.name)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return acp.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(
        self, session_id: str, path: str, **kwargs: Any
    ) -> acp.ReadTextFileResponse:
        return acp.ReadTextFileResponse(content=self.inside(path).read_text("utf-8"))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> acp.WriteTextFileResponse:
        self.inside(path).write_text(content, "utf-8")
        return acp.WriteTextFileResponse()

    async def create_terminal(
        self, session_id: str, command: str, args: Any = None, cwd: Any = None, **kwargs: Any
    ) -> acp.CreateTerminalResponse:
        process = await asyncio.create_subprocess_exec(
            command,
            *(args or ()),
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        number = f"terminal-{next(self.numbers)}"
        self.terminals[number] = Terminal(process)
        return acp.CreateTerminalResponse(terminal_id=number)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> acp.WaitForTerminalExitResponse:
        code = await self.terminals[terminal_id].ended()
        if code < 0:
            return acp.WaitForTerminalExitResponse(signal=signal.Signals(-code).name)
        return acp.WaitForTerminalExitResponse(exit_code=code)

    async def terminal_output(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> acp.TerminalOutputResponse:
        text = self.terminals[terminal_id].output.decode("utf-8", "replace")
        return acp.TerminalOutputResponse(output=text, truncated=False)

    async def kill_terminal(self, session_id: str, terminal_id: str, **kwargs: Any) -> None:
        terminal = self.terminals[terminal_id]
        if terminal.process.returncode is None:
            terminal.process.kill()

    async def release_terminal(self, session_id: str, terminal_id: str, **kwargs: Any) -> None:
        await self.kill_terminal(session_id, terminal_id)
        await self.terminals.pop(terminal_id).ended()

    def inside(self, path: str) -> Path:
        """The path, which has to be in the folder: agents are not to read or write elsewhere."""
        found = Path(path).resolve()
        if not found.is_relative_to(self.folder):
            raise acp.RequestError.invalid_params({"path": "not in the folder of this session"})
        return found


async def main(folder: str, file: str, answer: str, command: str, *arguments: str) -> None:
    editor = Editor(folder, answer == "yes")
    async with acp.spawn_agent_process(editor, command, *arguments) as (agent, _):
        capabilities = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
            terminal=True,
        )
        await agent.initialize(acp.PROTOCOL_VERSION, client_capabilities=capabilities)
        session = await agent.new_session(str(editor.folder))
        turn = await agent.prompt(session.session_id, [acp.text_block(file)])
        print("turn:", turn.stop_reason)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
