"""Agents of both versions as processes: handlers, chain and life over standard streams."""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from tests.endpoint.ends import Seen, each_version, text_of
from tests.raw_peer import within
from tests.sides import until

AGENT = """
import os, sys
import anyio
import acp
from acp import v1, v2

v = {"v1": v1, "v2": v2}[sys.argv[1]]
s = v.schema
agent, tools = v.Agent("agent", "1", state=lambda _: {"prompts": 0}), v.Agent()

@agent.new_session
async def new_session(request, ctx):
    return s.NewSessionResponse(session_id="s")

agent.include(tools)

@agent.prompt
async def prompt(request, ctx):
    ctx.state["prompts"] += 1
    more = {} if v is v1 else {"message_id": "m"}
    kind = s.SessionNotification if v is v1 else s.UpdateSessionNotification
    for text in ("a", "b"):
        chunk = s.AgentMessageChunk(content=s.TextContentBlock(text=text), **more)
        await ctx.connection.notify(kind(session_id=request.session_id, update=chunk))
    echoed = await ctx.connection.request("_x/echo", {"prompts": ctx.state["prompts"]})
    await ctx.connection.notify("_x/echoed", echoed)
    return s.PromptResponse(stop_reason="end_turn") if v is v1 else s.PromptResponse(message_id="m")

@tools.prompt
async def leaves_it(request, ctx):
    return acp.unhandled(request)

agent.list_sessions(lambda _: s.ListSessionsResponse(sessions=[]))
agent.resume_session(lambda _: s.ResumeSessionResponse())
agent.close_session(lambda _: s.CloseSessionResponse())
agent.cancel(lambda _: None)

@agent.on_request("_x/exit")
async def leave(params):
    os._exit(3)

@agent.on_close
async def closed(connection):
    await connection.notify("_x/bye", {})
    print("closed", connection.state["prompts"], file=sys.stderr, flush=True)

async def main():
    await agent.serve(acp.stdio_transport())
    print("served", file=sys.stderr, flush=True)

anyio.run(main, backend=sys.argv[2])
"""


def agent_process(v: Any, backend: str = "asyncio") -> Any:
    """A transport to that agent, which runs on a backend of anyio."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(acp.__file__)))
    return acp.process_transport(
        *(sys.executable, "-c", AGENT, v.__name__.split(".")[1], backend),
        env={"PYTHONPATH": package},
    )


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@each_version
async def test_an_agent_in_a_process_is_prompted_asks_back_and_ends_cleanly(
    v: Any, backend: str
) -> None:
    """C-124, C-125"""
    client = v.Client("client", "1")
    texts: list[str] = []
    echoed: list[Any] = []
    seen = Seen()
    client.add_handler(seen)
    client.session_update(lambda notification: texts.append(text_of(notification)))
    client.on_request("_x/echo")(lambda params: params)
    client.on_notification("_x/echoed")(echoed.append)
    transport = agent_process(v, backend)
    async with client.connect(transport) as connection:
        with anyio.fail_after(20):
            await connection.initialize()
        new = v.schema.NewSessionRequest(cwd="/", mcp_servers=[])
        session = (await within(connection.request(new))).session_id
        for number in (1, 2):
            block = v.schema.TextContentBlock(text="x")
            prompt = v.schema.PromptRequest(session_id=session, prompt=[block])
            assert await within(connection.request(prompt))
            assert texts == ["a", "b"] * number
        await until(lambda: len(echoed) == 2)
    assert echoed == [{"prompts": 1}, {"prompts": 2}]
    assert ("request", "_x/echo") in seen.messages
    assert connection.termination == acp.Termination("local_shutdown")
    # The agent has served to the end of its input, and left by itself.
    ended = transport.closed_error()
    assert (ended.exit_code, ended.stderr_tail) == (0, "closed 2\nserved\n")


@each_version
async def test_an_agent_that_dies_fails_what_is_open_with_its_exit_code(v: Any) -> None:
    """C-128, C-126"""
    client = v.Client()
    closed: list[Any] = []
    client.on_close(closed.append)
    async with client.connect(agent_process(v)) as connection:
        with anyio.fail_after(20):
            await connection.initialize()
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(connection.request("_x/exit", {}))
        assert caught.value.exit_code == 3
        termination = await within(connection.wait_closed())
        assert termination == acp.Termination("incoming_closed")
        assert closed == [connection]
