"""The agent of the demo of version 2: `python -m acp._cli.demo_agent_v2 SECONDS_PER_WORD`.

Owns the same small, made-up piece of work as the agent of version 1, in the words of version 2. It
uses the library as any agent does.
"""

from __future__ import annotations

import asyncio
import itertools
import sys

import acp
from acp import v2
from acp._cli.demo_agent import NEW, OLD, PATH, STEPS
from acp.v2 import schema

__all__ = ("DemoAgent",)

_PATCH = f"""diff --git a{PATH} b{PATH}
--- a{PATH}
+++ b{PATH}
@@ -1 +1 @@
-{OLD}+{NEW}"""
_OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Allow once", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class DemoAgent:
    """Changes a greeting when asked to; asked to count, it counts until it is cancelled."""

    def __init__(self, seconds_per_word: float) -> None:
        self._pace = seconds_per_word
        self._sessions: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self.endpoint = v2.Agent("acp-demo-agent", acp.__version__).keep_sessions(replay_from=())
        self.endpoint.handle_with(self)

    def new_session(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        session_id = f"demo-{next(self._numbers)}"
        self._sessions[session_id] = request.cwd
        return schema.NewSessionResponse(session_id=session_id)

    def list_sessions(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        found = [
            schema.SessionInfo(session_id=session_id, cwd=cwd)
            for session_id, cwd in self._sessions.items()
            if request.cwd in (None, cwd)
        ]
        return schema.ListSessionsResponse(sessions=found)

    def resume_session(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        if request.session_id not in self._sessions:
            data = {"sessionId": request.session_id}
            raise acp.RequestError(-32002, "Session not found", data)
        return schema.ResumeSessionResponse()

    async def prompt(self, request: schema.PromptRequest, ctx: v2.Context) -> None:
        blocks = [block for block in request.prompt if isinstance(block, schema.TextContentBlock)]
        async with ctx.foreground(self._new_id()) as work:
            if any("count" in block.text.lower() for block in blocks):
                await self._count(ctx.session)
            else:
                await self._change_greeting(ctx.session, work)

    async def _count(self, session: v2.AgentSession) -> None:
        message_id = self._new_id()
        for number in itertools.count(1):
            await session.update(_chunk(message_id, f"{number} "))
            await asyncio.sleep(self._pace or 0.001)

    async def _change_greeting(self, session: v2.AgentSession, work: v2.Foreground) -> None:
        thought = schema.TextContentBlock(text="The greeting names nobody.")
        await session.update(schema.AgentThoughtChunk(message_id=self._new_id(), content=thought))
        await self._say(session, "I will make the greeting a little friendlier. ")
        await self._show_plan(session, done=1)
        call = schema.ToolCallUpdate(
            tool_call_id="edit-1",
            title="Change the greeting in hello.py",
            kind="edit",
            status="pending",
            locations=[schema.ToolCallLocation(path=PATH)],
        )
        await session.update(
            schema.ToolCallProgress(
                tool_call_id=call.tool_call_id, title=call.title, kind="edit", status="pending"
            )
        )
        async with work.blocked():
            answer = await session.request_permission(
                "Change hello.py?",
                _OPTIONS,
                subject=schema.ToolCallPermissionSubject(tool_call=call),
            )
        outcome = answer.outcome
        if isinstance(outcome, schema.AllowedOutcome) and outcome.option_id == "yes":
            change = schema.FileEditToolCallContent(
                changes=[schema.ModifyDiffChange(path=PATH)],
                patch=schema.DiffPatch(format="git_patch", text=_PATCH),
            )
            await session.update(
                schema.ToolCallProgress(tool_call_id="edit-1", status="completed", content=[change])
            )
            await self._show_plan(session, done=3)
            await self._say(session, "Done: the program now greets the world. ")
        else:
            await session.update(schema.ToolCallProgress(tool_call_id="edit-1", status="failed"))
            await self._say(session, "I left the file as it is. ")

    async def _show_plan(self, session: v2.AgentSession, done: int) -> None:
        entries = [
            schema.PlanEntry(
                content=step,
                priority="medium",
                status="completed" if place < done else "pending",
            )
            for place, step in enumerate(STEPS)
        ]
        plan = schema.PlanUpdateItems(plan_id="plan-1", entries=entries)
        await session.update(schema.AgentPlanContentUpdate(plan=plan))

    async def _say(self, session: v2.AgentSession, text: str) -> None:
        message_id = self._new_id()
        for word in text.split():
            await session.update(_chunk(message_id, word + " "))
            await asyncio.sleep(self._pace)

    def _new_id(self) -> str:
        return f"message-{next(self._numbers)}"


def _chunk(message_id: str, text: str) -> schema.AgentMessageChunk:
    content = schema.TextContentBlock(text=text)
    return schema.AgentMessageChunk(message_id=message_id, content=content)


if __name__ == "__main__":
    asyncio.run(DemoAgent(float(sys.argv[1])).endpoint.serve(acp.stdio_transport()))
