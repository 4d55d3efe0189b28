"""An agent of protocol version 2, a draft of the protocol: it says again what it is told.

`python v2_one_shot.py Hello python v2_agent.py` asks it something.
"""

import asyncio
from dataclasses import dataclass, field
from itertools import count

import acp
from acp import v2
from acp.v2 import schema


@dataclass
class Conversation:
    folder: str
    history: list[schema.SessionUpdate] = field(default_factory=list[schema.SessionUpdate])


agent = v2.Agent("echo-agent", "1.0.0").keep_sessions()
conversations: dict[str, Conversation] = {}
numbers = count(1)


@agent.new_session
def new_session(request: schema.NewSessionRequest) -> schema.NewSessionResponse:
    session_id = f"echo-{next(numbers)}"
    conversations[session_id] = Conversation(request.cwd)
    return schema.NewSessionResponse(session_id=session_id)


@agent.list_sessions
def list_sessions(request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
    found = [
        schema.SessionInfo(session_id=session_id, cwd=conversation.folder)
        for session_id, conversation in conversations.items()
        if request.cwd in (None, conversation.folder)
    ]
    return schema.ListSessionsResponse(sessions=found)


@agent.resume_session
async def resume_session(
    request: schema.ResumeSessionRequest, ctx: v2.Context
) -> schema.ResumeSessionResponse:
    conversation = conversations.get(request.session_id)
    if conversation is None:
        raise acp.RequestError.session_not_found(request.session_id)
    if request.replay_from is not None:
        await ctx.session.replay(conversation.history)
    return schema.ResumeSessionResponse()


@agent.prompt
async def prompt(request: schema.PromptRequest, ctx: v2.Context) -> None:
    history = conversations[request.session_id].history
    asked, answer = f"user-{next(numbers)}", f"agent-{next(numbers)}"
    # The client is told the message, its prompt is answered, and the session is running: from here
    # to the end of the block, which is idle again.
    async with ctx.foreground(asked):
        history.append(schema.UserMessage(message_id=asked, content=request.prompt))
        for block in request.prompt:
            chunk = schema.AgentMessageChunk(message_id=answer, content=block)
            history.append(chunk)
            await ctx.session.update(chunk)


if __name__ == "__main__":
    asyncio.run(agent.serve(acp.stdio_transport()))
