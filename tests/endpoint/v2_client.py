"""The client of an agent of version 2 under test, written by hand: it sends and gets plain JSON.

Owns the messages that tests of agents expect, and an agent that waits where a test wants it to.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio

import acp
from acp import v2
from tests.raw_peer import RawPeer, within
from tests.sides import turns

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

schema = v2.schema

QUICK = acp.Limits(closing=0.05, seconds_per_turn=10.0)
"""Handlers that a test leaves waiting end soon after it, and what comes in one chunk is looked at
in one go, also where the machine is slow.
"""


def text(value: str) -> schema.TextContentBlock:
    return schema.TextContentBlock(text=value)


def said(value: str, message_id: str = "a1") -> schema.AgentMessageChunk:
    """What an agent says, for `session.update`."""
    return schema.AgentMessageChunk(message_id=message_id, content=text(value))


OPTIONS = [schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once")]


# What goes over the wire.


def update(content: dict[str, Any], session: str = "s1") -> dict[str, Any]:
    return {"method": "session/update", "params": {"sessionId": session, "update": content}}


def state(name: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    return update({"sessionUpdate": "state_update", "state": name, **more}, session)


def idle(stop_reason: str | None = None, session: str = "s1", **more: Any) -> dict[str, Any]:
    if stop_reason is not None:
        more["stopReason"] = stop_reason
    return state("idle", session, **more)


RUNNING = state("running")
REQUIRES_ACTION = state("requires_action")


def user_message(message_id: str, value: str = "hi", session: str = "s1") -> dict[str, Any]:
    content = [{"type": "text", "text": value}]
    return update(
        {"sessionUpdate": "user_message", "messageId": message_id, "content": content}, session
    )


def chunk(value: str, message_id: str = "a1", session: str = "s1") -> dict[str, Any]:
    content = {"type": "text", "text": value}
    of_agent = {"sessionUpdate": "agent_message_chunk", "messageId": message_id}
    return update({**of_agent, "content": content}, session)


def accepted(request_id: Any, message_id: str) -> dict[str, Any]:
    return {"id": request_id, "result": {"messageId": message_id}}


def failed(request_id: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    error = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"id": request_id, "error": error}


def cancelled(request_id: Any) -> dict[str, Any]:
    return failed(request_id, -32800, "Request cancelled")


def withdrawal(request_id: Any) -> dict[str, Any]:
    return {"method": "$/cancel_request", "params": {"requestId": request_id}}


def permission(request_id: int, session: str = "s1") -> dict[str, Any]:
    """The permission that an agent asks for with `OPTIONS` and the title `May I?`."""
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
    params = {"sessionId": session, "title": "May I?", "options": options}
    return {"id": request_id, "method": "session/request_permission", "params": params}


CLOSE: dict[str, Any] = {"id": 9, "method": "session/close", "params": {"sessionId": "s1"}}
CLOSED: dict[str, Any] = {"id": 9, "result": {}}
YES = {"outcome": {"outcome": "selected", "optionId": "yes"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


class Peer(RawPeer):
    """Sends and receives single messages, without what all of them have in common."""

    async def receive(self) -> Any:
        message = await super().receive()
        for each in cast("list[Any]", message) if type(message) is list else [message]:
            assert each is None or each.pop("jsonrpc") == "2.0"
        return cast("Any", message)

    async def expect(self, *messages: dict[str, Any]) -> None:
        """These messages come next, in this order, and are exactly so."""
        received = [await self.receive() for _ in messages]
        assert received == list(messages), f"received {received}"

    async def expect_mixed(self, *streams: list[dict[str, Any]]) -> None:
        """The messages of these streams come next, each stream in its order."""
        received = [await self.receive() for stream in streams for _ in stream]
        for stream in streams:
            kept = [message for message in received if message in stream]
            assert kept == stream, f"received {received}"

    async def quiet(self) -> None:
        """Nothing else has been sent, once everything that could run has run."""
        await turns()
        await self.request("ping", "_test/ping", {})
        await self.expect({"id": "ping", "result": {}})

    async def prompt(self, request_id: Any, value: str = "hi", session: str = "s1") -> None:
        await self.send(prompt(request_id, value, session))

    async def cancel(self, session: str = "s1") -> None:
        await self.send(cancel(session))

    async def open(self, session: str = "s1") -> None:
        """Makes a session; the agent has to answer with its id."""
        await self.request("new", "session/new", {"cwd": "/"})
        answer = await self.receive()
        assert answer["result"]["sessionId"] == session


def prompt(request_id: Any, value: str = "hi", session: str = "s1") -> dict[str, Any]:
    content = [{"type": "text", "text": value}]
    params = {"sessionId": session, "prompt": content}
    return {"id": request_id, "method": "session/prompt", "params": params}


def cancel(session: str = "s1") -> dict[str, Any]:
    return {"method": "session/cancel", "params": {"sessionId": session}}


# Agents.


def agent_of(
    on_prompt: Callable[[schema.PromptRequest, v2.Context], Awaitable[Any]] | None = None,
    *,
    keep: bool = True,
    **options: Any,
) -> v2.Agent:
    """An agent that makes the sessions s1, s2, … and handles prompts as it is told."""
    agent = v2.Agent("test", limits=QUICK, **options)
    if keep:
        agent.keep_sessions()
    made: list[str] = []

    @agent.new_session
    async def _(request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        made.append(f"s{len(made) + 1}")
        return schema.NewSessionResponse(session_id=made[-1])

    @agent.list_sessions
    async def _(request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        return schema.ListSessionsResponse(sessions=[])

    @agent.on_request("_test/ping")
    async def _(params: Any) -> Any:
        return {}

    if on_prompt is not None:
        agent.prompt(on_prompt)
    return agent


@asynccontextmanager
async def served(
    agent: v2.Agent, *, capabilities: dict[str, Any] | None = None
) -> AsyncGenerator[Peer]:
    """The test as the initialized client of an agent, which is served while the body runs."""
    ours, theirs = acp.memory_pair()
    await theirs.open()
    is_over = False

    async def serve() -> None:
        try:
            await agent.serve(ours)
        except acp.exceptions.ConnectionClosed:
            # What still waited at the end of the test may have had something to say.
            assert is_over

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        peer = Peer(theirs, group)
        try:
            info = {"name": "peer", "version": "1"}
            offer = {"protocolVersion": 2, "info": info, "capabilities": capabilities or {}}
            await peer.request("init", "initialize", offer)
            answer = await peer.receive()
            assert answer["id"] == "init"
            yield peer
        finally:
            is_over = True
            await theirs.close()


@asynccontextmanager
async def session_of(agent: v2.Agent, **options: Any) -> AsyncGenerator[Peer]:
    """As `served`, with the session s1 made."""
    async with served(agent, **options) as peer:
        await peer.open()
        yield peer


class Gate:
    """Where work waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self._open = anyio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await within(self._open.wait())

    def open(self) -> None:
        self._open.set()

    async def until_reached(self) -> None:
        await within(self.reached.wait())


class Held:
    """An agent whose prompts say `go on` when the test lets them."""

    def __init__(self, **options: Any) -> None:
        self.gates: dict[str, Gate] = {}
        self.agent = agent_of(self.on_prompt, **options)

    def gate(self, text: str) -> Gate:
        return self.gates.setdefault(text, Gate())

    async def on_prompt(self, request: Any, ctx: v2.Context) -> None:
        name = request.prompt[0].text
        async with ctx.foreground(f"m-{name}"):
            await self.gate(name).wait()
            await ctx.session.update(said(name))


def begins(request_id: int, name: str) -> tuple[dict[str, Any], ...]:
    return user_message(f"m-{name}", name), accepted(request_id, f"m-{name}"), RUNNING
