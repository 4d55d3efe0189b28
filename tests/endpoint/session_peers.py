"""A client under test, whose agent is the test, and the messages of sessions on the wire.

Owns what the tests of sessions have in common for both protocol versions.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import Limits, v1, v2
from tests.raw_peer import PAIRS, RawPeer, within
from tests.sides import turns

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

EVERYTHING: dict[int, dict[str, Any]] = {
    1: {
        "loadSession": True,
        "sessionCapabilities": {
            "resume": {},
            "close": {},
            "delete": {},
            "additionalDirectories": {},
            "systemPrompt": {"mode": {"override": {}}},
        },
    },
    2: {
        "session": {
            "delete": {},
            "fork": {},
            "additionalDirectories": {},
            "systemPrompt": {"mode": {"override": {}}},
        }
    },
}
"""Capabilities of an agent that can do all that these tests ask for."""


END = {"stopReason": "end_turn"}
"""How a turn of version 1 ends."""
CANCELLED = {"outcome": {"outcome": "cancelled"}}
"""What a question is answered with that is not to be decided any more."""

each_version = pytest.mark.parametrize("version", [1, 2])
each_wire = pytest.mark.parametrize("wire", list(PAIRS))


@asynccontextmanager
async def opened(
    client: Any,
    *,
    wire: str = "memory",
    capabilities: dict[str, Any] | None = None,
    fails: bool = False,
) -> AsyncGenerator[tuple[Any, RawPeer], None]:
    """A connection of this client that is initialized, and its peer. With `fails`, its block ends
    with what it has failed with.
    """
    ours, theirs = PAIRS[wire]()
    await theirs.open()
    version = client.facts.version
    async with anyio.create_task_group() as group:
        try:
            with pytest.raises(acp.ConnectionClosed) if fails else nullcontext():
                async with client.connect(ours) as connection:
                    peer = RawPeer(theirs, group)
                    starting = peer.start(connection.initialize())
                    request = await peer.receive()
                    offered = EVERYTHING[version] if capabilities is None else capabilities
                    result: dict[str, Any] = {"protocolVersion": version}
                    if version == 1:
                        result["agentCapabilities"] = offered
                    else:
                        result |= {"info": {"name": "a", "version": "1"}, "capabilities": offered}
                    await peer.answer(request["id"], result)
                    await within(starting)
                    yield connection, peer
        finally:
            await theirs.close()
            group.cancel_scope.cancel()


def client_of(version: int, **options: Any) -> Any:
    """A client without handlers, which does not wait long for those that it is given."""
    options.setdefault("limits", Limits(closing=0.05))
    return (v1 if version == 1 else v2).Client("c", "1", **options)


def text(words: str, session: str = "s1") -> dict[str, Any]:
    """An update with a piece of what the agent says."""
    content = {"type": "text", "text": words}
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def words_of(update: Any) -> str:
    """What such an update says."""
    return update.content.text


def noting(words: list[str]) -> Callable[[Any], None]:
    """A handler of updates that notes what they say."""
    return lambda notification: words.append(words_of(notification.update))


def counting(told: list[str]) -> Callable[[str, int], None]:
    """A hook for counters that notes what has grown, as often as it has."""

    def count(name: str, grown: int) -> None:
        told.extend([name] * grown)

    return count


def user(message_id: str, session: str = "s1") -> dict[str, Any]:
    """An update with a message of the user."""
    update: dict[str, Any] = {"sessionUpdate": "user_message", "messageId": message_id}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def state(name: str, session: str = "s1", **members: Any) -> dict[str, Any]:
    """An update with the state of a session."""
    update = {"sessionUpdate": "state_update", "state": name, **members}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def permission(request_id: int | str, session: str = "s1") -> dict[str, Any]:
    """A question of the agent, as either version reads it."""
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    call = {"toolCallId": "t", "title": "Run"}
    params = {"sessionId": session, "title": "Run", "toolCall": call, "options": options}
    return {"id": request_id, "method": "session/request_permission", "params": params}


def mode(name: str, session: str = "s1") -> dict[str, Any]:
    """An update of version 1 with the mode of a session."""
    update = {"sessionUpdate": "current_mode_update", "currentModeId": name}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


async def answer_setup(
    peer: RawPeer, *before: dict[str, Any], behind: Any = (), session: str = "s1", **members: Any
) -> Any:
    """Receives a request that opens a session, and answers it between other messages in one
    chunk; returns the request.
    """
    request = await peer.receive()
    result = {"sessionId": session, **members} if _names(request["method"]) else members
    await peer.send(*before, {"id": request["id"], "result": result}, *behind)
    return request


def _names(method: str) -> bool:
    return method in ("session/new", "session/fork")


async def open_session(builder: Any, peer: RawPeer, **answer: Any) -> Any:
    """What awaiting a builder returns."""
    starting = peer.start(builder)
    await answer_setup(peer, **answer)
    return await within(starting)


async def anext_of(updates: Any) -> Any:
    """The next of what is iterated."""
    return await updates.__anext__()


async def served(peer: RawPeer) -> None:
    """Returns when all that was sent before is handled."""
    await peer.request("served", "_x/nobody", {})
    message = await peer.receive()
    assert message["id"] == "served", message
    await turns()


async def texts_of(session: Any, updates: Any, count: int) -> list[str]:
    """The texts of the next updates of a session, whichever version it is of."""
    found: list[str] = []
    for _ in range(count):
        if isinstance(session, v1.ActiveSession):
            message = await within(session.read_update())
            found.append(message.update.content.text)
        else:
            found.append((await within(anext_of(updates))).content.text)
    return found


async def start_reading(version: int, connection: Any, peer: Any, **answer: Any) -> tuple[Any, Any]:
    """A session that was opened, and what its updates are read from."""
    builder = connection.new_session("/")
    if version == 1:
        session = await open_session(builder, peer, **answer)
        return session, session
    updates = builder.updates()
    session, _ = await open_session(builder, peer, **answer)
    return session, updates


def shown(item: v1.SessionMessage | v1.PromptOutcome) -> Any:
    """An item of a stream of version 1, in short."""
    if isinstance(item, v1.PromptOutcome):
        error = item.error()
        return item.result().stop_reason if error is None else type(error)
    return item.method if item.update is None else words_of(item.update)


async def read(session: v1.ActiveSession[Any], count: int) -> list[Any]:
    """The next items of such a stream, in short."""
    return [shown(await within(session.read_update())) for _ in range(count)]


async def new(connection: Any, peer: RawPeer, session: str = "s1") -> Any:
    """The handle of a session that was opened."""
    got: Any = await open_session(connection.new_session("/"), peer, session=session)
    return getattr(got, "session", got)


async def answered(peer: RawPeer, sent: Any, result: dict[str, Any]) -> Any:
    """What awaiting a request returns that is answered so; and the request."""
    waiting = peer.start(sent)
    request = await peer.receive()
    await peer.answer(request["id"], result)
    return await within(waiting), request
