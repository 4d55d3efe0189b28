"""One agent for both versions of the protocol: `python two_versions_agent.py [--v2]`.

What it can do is written once, and an adapter for each version puts that into its words. The router
looks at what a client asks for and steps aside. Version 2 is a draft, and off without `--v2`.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from itertools import count

import acp
from acp import v1, v2
from acp.negotiation import AgentRouter


class Listener:
    """What the agent does. It knows no protocol."""

    def __init__(self) -> None:
        self.heard: dict[str, list[str]] = {}

    async def answer(self, session_id: str, text: str) -> AsyncIterator[str]:
        heard = self.heard.setdefault(session_id, [])
        heard.append(text)
        yield f"You said: {text}"
        if len(heard) > 1:
            yield f" (and {len(heard) - 1} before)"


def text_of(blocks: Iterable[v1.schema.ContentBlock | v2.schema.ContentBlock]) -> str:
    kinds = (v1.schema.TextContentBlock, v2.schema.TextContentBlock)
    return " ".join(block.text for block in blocks if isinstance(block, kinds))


def agent_of_version_1(listener: Listener) -> v1.Agent:
    agent, numbers = v1.Agent("listener", "1.0.0"), count(1)

    @agent.new_session
    def new_session(request: v1.schema.NewSessionRequest) -> v1.schema.NewSessionResponse:
        return v1.schema.NewSessionResponse(session_id=f"one-{next(numbers)}")

    @agent.prompt
    async def prompt(request: v1.schema.PromptRequest, ctx: v1.Context) -> v1.schema.PromptResponse:
        async for part in listener.answer(request.session_id, text_of(request.prompt)):
            content = v1.schema.TextContentBlock(text=part)
            chunk = v1.schema.AgentMessageChunk(content=content)
            note = v1.schema.SessionNotification(session_id=request.session_id, update=chunk)
            await ctx.connection.notify(note)
        return v1.schema.PromptResponse(stop_reason="end_turn")

    return agent


def agent_of_version_2(listener: Listener) -> v2.Agent:
    agent, numbers = v2.Agent("listener", "1.0.0").keep_sessions(replay_from=()), count(1)
    # Sessions of the other version are none of its own: their clients were told other things.
    folders: dict[str, str] = {}

    @agent.new_session
    def new_session(request: v2.schema.NewSessionRequest) -> v2.schema.NewSessionResponse:
        session_id = f"two-{next(numbers)}"
        folders[session_id] = request.cwd
        return v2.schema.NewSessionResponse(session_id=session_id)

    @agent.list_sessions
    def list_sessions(request: v2.schema.ListSessionsRequest) -> v2.schema.ListSessionsResponse:
        found = [
            v2.schema.SessionInfo(session_id=session_id, cwd=folder)
            for session_id, folder in folders.items()
            if request.cwd in (None, folder)
        ]
        return v2.schema.ListSessionsResponse(sessions=found)

    @agent.resume_session
    def resume_session(
        request: v2.schema.ResumeSessionRequest,
    ) -> v2.schema.ResumeSessionResponse:
        if request.session_id not in folders:
            raise acp.RequestError.session_not_found(request.session_id)
        return v2.schema.ResumeSessionResponse()

    @agent.prompt
    async def prompt(request: v2.schema.PromptRequest, ctx: v2.Context) -> None:
        message_id = f"said-{next(numbers)}"
        async with ctx.foreground():
            async for part in listener.answer(request.session_id, text_of(request.prompt)):
                content = v2.schema.TextContentBlock(text=part)
                chunk = v2.schema.AgentMessageChunk(message_id=message_id, content=content)
                await ctx.session.update(chunk)

    return agent


async def main(*arguments: str) -> None:
    listener = Listener()
    router = AgentRouter(v1=agent_of_version_1(listener))
    if "--v2" in arguments:
        router.add(agent_of_version_2(listener))
    await router.serve(acp.stdio_transport())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
