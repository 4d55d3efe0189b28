"""An agent that works on a file: it reads it, asks before it changes it, and runs a check.

A prompt names the file. The editor that started it does the reading, writing and running, so that
the agent sees what the user sees and touches nothing that the user did not allow.
"""

import asyncio
import sys
from itertools import count
from typing import Any

import acp
from acp import schema


class FixingAgent(acp.Agent):
    def __init__(self) -> None:
        self.numbers = count(1)
        self.folders: dict[str, str] = {}

    def on_connect(self, conn: acp.Client) -> None:
        self.editor = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=acp.PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        session = f"fix-{next(self.numbers)}"
        self.folders[session] = cwd
        return acp.NewSessionResponse(session_id=session)

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        path = f"{self.folders[session_id]}/{prompt[0].text}"
        old = (await self.editor.read_text_file(session_id=session_id, path=path)).content
        new = old.replace("\t", "    ")
        if new == old:
            await self.say(session_id, "There is no tab in it.")
        elif not await self.change(session_id, path, old, new):
            await self.say(session_id, "Then I leave it as it is.")
        elif await self.check(session_id, path):
            await self.say(session_id, "The tabs are gone, and it still compiles.")
        else:
            await self.say(session_id, "The tabs are gone, but it does not compile.")
        return acp.PromptResponse(stop_reason="end_turn")

    async def change(self, session: str, path: str, old: str, new: str) -> bool:
        """Changes the file if the user allows it."""
        call = f"change-{next(self.numbers)}"
        diff = acp.tool_diff_content(path, new, old)
        await self.editor.session_update(
            session, acp.start_tool_call(call, "Replace tabs", kind="edit", content=[diff])
        )
        answer = await self.editor.request_permission(
            session_id=session,
            tool_call=schema.ToolCallUpdate(tool_call_id=call),
            options=[
                schema.PermissionOption(option_id="yes", name="Replace", kind="allow_once"),
                schema.PermissionOption(option_id="no", name="Keep", kind="reject_once"),
            ],
        )
        outcome = answer.outcome
        allowed = outcome.outcome == "selected" and outcome.option_id == "yes"
        if allowed:
            await self.editor.write_text_file(session_id=session, path=path, content=new)
        status = "completed" if allowed else "failed"
        await self.editor.session_update(session, acp.update_tool_call(call, status=status))
        return allowed

    async def check(self, session: str, path: str) -> bool:
        """Compiles the file in a terminal that the user can watch."""
        call = f"check-{next(self.numbers)}"
        terminal = await self.editor.create_terminal(
            session_id=session,
            command=sys.executable,
            args=["-m", "py_compile", path],
            cwd=self.folders[session],
        )
        number = terminal.terminal_id
        content = [acp.tool_terminal_ref(number)]
        await self.editor.session_update(
            session, acp.start_tool_call(call, "Compile", kind="execute", content=content)
        )
        ended = await self.editor.wait_for_terminal_exit(session_id=session, terminal_id=number)
        output = await self.editor.terminal_output(session_id=session, terminal_id=number)
        await self.editor.release_terminal(session_id=session, terminal_id=number)
        status = "completed" if ended.exit_code == 0 else "failed"
        await self.editor.session_update(
            session, acp.update_tool_call(call, status=status, raw_output=output.output)
        )
        return ended.exit_code == 0

    async def say(self, session: str, text: str) -> None:
        await self.editor.session_update(session, acp.update_agent_message_text(text))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(FixingAgent()))
