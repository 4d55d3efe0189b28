"""The agent of the demo: `python -m acp._cli.demo_agent SECONDS_PER_WORD`.

Owns a small, made-up piece of work that shows what an agent can send. It uses the library as any
agent does.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from typing import Any

import acp
from acp import schema

__all__ = ("NEW", "OLD", "PATH", "STEPS", "DemoAgent")

PATH = "/demo/hello.py"
OLD = 'print("hello")\n'
NEW = 'print("hello, world")\n'
STEPS = ("Read the file", "Change the greeting", "Check the result")


class DemoAgent(acp.Agent):
    """Changes a greeting when asked to; asked to count, it counts until it is cancelled."""

    _client: acp.Client

    def __init__(self, seconds_per_word: float) -> None:
        self._pace = seconds_per_word
        self._sessions = itertools.count(1)

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **kwargs: Any,
    ) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=schema.Implementation(name="acp-demo-agent", version=acp.__version__),
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Any = None,
        **kwargs: Any,
    ) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id=f"demo-{next(self._sessions)}")

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        text = " ".join(
            block.text for block in prompt if isinstance(block, schema.TextContentBlock)
        )
        if "count" in text.lower():
            await self._count(session_id)
        else:
            await self._change_greeting(session_id)
        return acp.PromptResponse(stop_reason="end_turn")

    async def _count(self, session: str) -> None:
        for number in itertools.count(1):
            await self._send(session, acp.update_agent_message_text(f"{number} "))
            await asyncio.sleep(self._pace or 0.001)

    async def _change_greeting(self, session: str) -> None:
        await self._send(session, acp.update_agent_thought_text("The greeting names nobody."))
        await self._say(session, "I will make the greeting a little friendlier. ")
        await self._show_plan(session, done=1)
        await self._send(
            session,
            acp.start_edit_tool_call("edit-1", "Change the greeting in hello.py", PATH, NEW),
        )
        if await self._may_edit(session):
            change = acp.tool_diff_content(PATH, NEW, OLD)
            news = acp.update_tool_call("edit-1", status="completed", content=[change])
            await self._send(session, news)
            await self._show_plan(session, done=3)
            await self._say(session, "Done: the program now greets the world. ")
        else:
            await self._send(session, acp.update_tool_call("edit-1", status="failed"))
            await self._say(session, "I left the file as it is. ")

    async def _may_edit(self, session: str) -> bool:
        answer = await self._client.request_permission(
            session,
            schema.ToolCallUpdate(tool_call_id="edit-1"),
            [
                schema.PermissionOption(option_id="yes", name="Allow once", kind="allow_once"),
                schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
            ],
        )
        outcome = answer.outcome
        return isinstance(outcome, schema.AllowedOutcome) and outcome.option_id == "yes"

    async def _show_plan(self, session: str, done: int) -> None:
        entries = [
            acp.plan_entry(step, status="completed" if place < done else "pending")
            for place, step in enumerate(STEPS)
        ]
        await self._send(session, acp.update_plan(entries))

    async def _say(self, session: str, text: str) -> None:
        for word in text.split():
            await self._send(session, acp.update_agent_message_text(word + " "))
            await asyncio.sleep(self._pace)

    async def _send(self, session: str, update: Any) -> None:
        await self._client.session_update(session, update)


if __name__ == "__main__":
    asyncio.run(acp.run_agent(DemoAgent(float(sys.argv[1]))))
