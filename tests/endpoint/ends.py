"""Endpoints of either version, and what is at the other end of their connection.

Owns the setting of tests: pairs of endpoints, an endpoint in front of a peer written by hand, and
agents that serve what belongs to sessions. It knows no requirement.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

import acp
from acp import v1, v2
from acp._transports.descriptors import DescriptorTransport
from tests.raw_peer import PAIRS, RawPeer, within

VERSIONS: dict[str, Any] = {"v1": v1, "v2": v2}

each_version = pytest.mark.parametrize("v", list(VERSIONS.values()), ids=list(VERSIONS))
each_link = pytest.mark.parametrize("link", list(PAIRS))

BASELINE = ("new_session", "list_sessions", "resume_session", "close_session", "prompt", "cancel")


def agent_of(v: Any, **options: Any) -> Any:
    """An agent that serves what belongs to sessions."""
    return with_sessions(v, v.Agent("agent", "1", **options))


def with_sessions(v: Any, agent: Any, leave_out: tuple[str, ...] = ()) -> Any:
    """Adds handlers for what belongs to sessions: a prompt is answered at once."""
    s = v.schema
    results: dict[str, Any] = {
        "new_session": s.NewSessionResponse(session_id="s"),
        "list_sessions": s.ListSessionsResponse(sessions=[]),
        "resume_session": s.ResumeSessionResponse(),
        "close_session": s.CloseSessionResponse(),
        "prompt": prompted(v),
    }
    for name in BASELINE:
        if name not in leave_out:
            getattr(agent, name)(returning(results.get(name)))
    return agent


def returning(result: Any) -> Any:
    """A handler that returns something, whatever it gets."""
    return lambda _: result


def prompted(v: Any) -> Any:
    """The answer of a prompt."""
    if v is v1:
        return v1.schema.PromptResponse(stop_reason="end_turn")
    return v2.schema.PromptResponse(message_id="m")


def update(v: Any, text: str, session: str = "s") -> Any:
    """A notification with a piece of text."""
    s = v.schema
    more = {} if v is v1 else {"message_id": "m"}
    kind = s.SessionNotification if v is v1 else s.UpdateSessionNotification
    content = s.TextContentBlock(text=text)
    return kind(session_id=session, update=s.AgentMessageChunk(content=content, **more))


def wire_update(text: str, session: str = "s") -> dict[str, Any]:
    """The same as it is sent, with what either version needs."""
    content = {"type": "text", "text": text}
    chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content}
    return {"method": "session/update", "params": {"sessionId": session, "update": chunk}}


def text_of(notification: Any) -> str:
    """The text of such a notification."""
    return notification.update.content.text


def wire_initialize(v: Any) -> dict[str, Any]:
    """The params of `initialize`."""
    if v is v1:
        return {"protocolVersion": 1}
    return {"protocolVersion": 2, "info": {"name": "peer", "version": "1"}, "capabilities": {}}


def wire_initialized(v: Any, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
    """The result of `initialize`."""
    told = capabilities or {}
    if v is v1:
        return {"protocolVersion": 1, "agentCapabilities": told}
    info = {"name": "peer", "version": "1"}
    return {"protocolVersion": 2, "info": info, "capabilities": told}


def unguarded(endpoint: Any) -> None:
    """Has an endpoint do without the rules of initialization, which the test is not about."""
    endpoint._profile = replace(endpoint._profile, guard=False)


@asynccontextmanager
async def joined(
    agent: Any, client: Any, link: str = "memory", *, initialized: bool = True
) -> AsyncGenerator[tuple[Any, Any], None]:
    """The connections of an agent and of a client that talk to each other."""
    one, other = PAIRS[link]()
    if not initialized:
        unguarded(agent)
        unguarded(client)
    async with agent.connect(one) as ours, client.connect(other) as theirs:
        if initialized:
            await within(theirs.initialize())
        yield ours, theirs


@asynccontextmanager
async def facing(endpoint: Any, link: str = "memory") -> AsyncGenerator[tuple[Any, RawPeer], None]:
    """A connection of an endpoint, and the peer that the test plays."""
    ours, theirs = PAIRS[link]()
    await theirs.open()
    try:
        async with endpoint.connect(ours) as connection:
            yield connection, RawPeer(theirs)
    finally:
        with anyio.CancelScope(shield=True):
            await theirs.close()


@asynccontextmanager
async def facing_agent(
    agent: Any, v: Any, link: str = "memory"
) -> AsyncGenerator[tuple[Any, RawPeer], None]:
    """The same for an agent that the peer has initialized."""
    async with facing(agent, link) as (connection, peer):
        await ask(peer, "initialize", wire_initialize(v), request_id="first")
        yield connection, peer


@asynccontextmanager
async def facing_client(
    client: Any, v: Any, link: str = "memory", capabilities: dict[str, Any] | None = None
) -> AsyncGenerator[tuple[Any, RawPeer], None]:
    """The same for a client that has initialized the peer."""
    async with facing(client, link) as (connection, peer):
        opening = connection.request(client.facts.opening(client))
        request = await peer.receive()
        await peer.answer(request["id"], wire_initialized(v, capabilities))
        await within(opening)
        yield connection, peer


async def ask(peer: RawPeer, method: str, params: Any = None, request_id: Any = 1) -> Any:
    """Sends a request and returns its answer, which has to be the next message."""
    await peer.request(request_id, method, {} if params is None else params)
    answer = await peer.receive()
    assert answer.get("id") == request_id, answer
    return answer


def end_input(peer: RawPeer) -> None:
    """Ends what the connection under test reads; it can still write."""
    transport: Any = peer.transport
    if isinstance(transport, DescriptorTransport):
        transport.end_output()
    else:
        transport._outgoing.end()


async def is_served(peer: RawPeer) -> bool:
    """Whether a request is answered next, whatever came before: what nobody serves is refused."""
    return (await ask(peer, "_nobody", request_id="alive"))["error"]["code"] == -32601


class Seen:
    """A low-level handler that notes every message and lets it pass."""

    def __init__(self, answer: Any = acp.UNHANDLED) -> None:
        self.messages: list[tuple[str, str]] = []
        self.answer = answer

    async def handle(self, message: acp.Message, ctx: Any) -> Any:
        self.messages.append((message.kind, message.method))
        return self.answer


class Take:
    """Takes what belongs to one session, or, without one, everything."""

    def __init__(self, session: str | None = None) -> None:
        self.session = session
        self.texts: list[str] = []
        self.go: anyio.Event | None = None

    async def handle(self, message: acp.Message, ctx: Any) -> Any:
        if self.session not in (None, message.session_id):
            return acp.UNHANDLED
        if self.go is not None:
            await self.go.wait()
        self.texts.append(text_of(message.params))
        return None


async def send_updates(peer: RawPeer, *texts: str, session: str = "s") -> None:
    """Sends updates, and waits until they were handled."""
    await peer.send(*(wire_update(text, session) for text in texts))
    assert await is_served(peer)


class Failure(Exception):
    """What goes wrong in tests of endpoints."""


def declining(seen: list[str], name: str) -> Any:
    """A handler that notes that it was asked, and declines."""

    async def handler(params: Any) -> acp.Unhandled:
        seen.append(name)
        return acp.UNHANDLED

    return handler
