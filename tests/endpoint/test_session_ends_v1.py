"""Cancelling, closing and leaving a session of version 1."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from tests.endpoint.session_peers import (
    CANCELLED,
    END,
    answer_setup,
    client_of,
    each_wire,
    new,
    opened,
    permission,
    read,
    served,
    shown,
    text,
)
from tests.raw_peer import within
from tests.sides import turns, until

if TYPE_CHECKING:
    from acp.v1 import Connection
    from tests.raw_peer import RawPeer


@each_wire
@pytest.mark.parametrize("where", ["stream", "read", "handler", "deferred"])
async def test_cancelling_answers_what_the_agent_waits_for(where: str, wire: str) -> None:
    """C-263: permissions of that session, once; a later answer goes nowhere."""
    client = client_of(1)
    responders: list[acp.Responder] = []
    started: list[str] = []
    if where in ("handler", "deferred"):

        @client.request_permission
        async def _(request: Any, ctx: Any) -> Any:
            started.append(ctx.session_id)
            if where == "deferred":
                responders.append(ctx.defer())
                return
            await anyio.Event().wait()

    async with opened(client, wire=wire) as (connection, peer):
        session, other = await new(connection, peer), await new(connection, peer, "s2")
        session.send_prompt("hi")
        turn = await peer.receive()
        await peer.send(permission(1), permission(2), permission(3, "s2"))
        if where == "read":
            messages = [await within(session.read_update()) for _ in range(2)]
            responders += [message.responder for message in messages]
        elif where != "stream":
            await until(lambda: len(started) == 3)
        else:
            await turns()
        await within(session.cancel())
        sent = [await peer.receive() for _ in range(3)]
        assert {m["id"]: m["result"] for m in sent if "id" in m} == {1: CANCELLED, 2: CANCELLED}
        assert [m["params"] for m in sent if "method" in m] == [{"sessionId": "s1"}]
        late = [responder for responder in responders if responder.session_id == "s1"]
        assert [responder.respond(CANCELLED) for responder in late] == [False] * len(late)
        # It was on its way when the turn was cancelled.
        await peer.send(permission(4), {"id": turn["id"], "result": {"stopReason": "cancelled"}})
        assert await peer.receive() == {"jsonrpc": "2.0", "id": 4, "result": CANCELLED}
        # There is nothing to decide any more.
        assert await read(session, 1) == ["cancelled"]
        if where in ("stream", "read"):
            assert await read(other, 1) == ["session/request_permission"]


async def test_a_session_is_iterated_until_it_is_closed() -> None:
    """C-263."""
    async with opened(client_of(1)) as (connection, peer):
        session = await new(connection, peer)
        found: list[Any] = []

        async def collect() -> None:
            async for item in session:
                found.append(shown(item))  # noqa: PERF401 - what is there at any moment counts

        collecting = peer.start(collect())
        await peer.send(text("a"), text("b"))
        await until(lambda: found == ["a", "b"])
        closing = peer.start(session.close())
        request = await peer.receive()
        assert request["method"] == "session/close"
        await peer.send(text("c"), {"id": request["id"], "result": {}})
        await within(closing)
        await within(collecting)
        assert found == ["a", "b", "c"]


async def test_closing_needs_an_agent_that_can() -> None:
    async with opened(client_of(1), capabilities={}) as (connection, peer):
        session = await new(connection, peer)
        with pytest.raises(acp.UnsupportedByPeer):
            await session.close()
        assert not session.is_closed
        await served(peer)


@pytest.mark.parametrize("how", ["drop", "leave"])
@pytest.mark.parametrize("prompting", [True, False])
async def test_messages_of_a_session_that_was_left_are_unhandled(
    how: str, prompting: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """C-269: also while its prompt runs; nothing is sent to the agent."""
    caplog.set_level(logging.ERROR, "acp")
    async with opened(client_of(1)) as (connection, peer):
        session = await new(connection, peer)
        turn: Any = None
        if prompting:
            session.send_prompt("hi")
            turn = await peer.receive()
        await peer.send(permission(1), text("a"))
        await until(lambda: connection.stats().deferred == 1)
        if how == "drop":
            del session
            gc.collect()
        else:
            async with session:
                assert not session.is_closed
            assert session.is_closed
            with pytest.raises(acp.SessionClosed):
                session.send_prompt("x")
            with pytest.raises(acp.SessionClosed):
                await session.read_update()
            await session.close()
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32603 if how == "drop" else -32601)
        await peer.send(text("b"), permission(2))
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (2, -32601)
        if turn is not None:
            await peer.answer(turn["id"], END)
        await served(peer)
        assert "session/update" not in connection.router.direct
        assert connection.stats().deferred == 0


async def test_requests_that_wait_on_a_stream_that_is_left_are_not_served() -> None:
    """C-269."""
    async with opened(client_of(1)) as (connection, peer):
        waiting = peer.start(use_for_nothing(connection, peer))
        await answer_setup(peer)
        await peer.send(permission(1), permission(2))
        answers = [await peer.receive() for _ in range(2)]
        assert [(each["id"], each["error"]["code"]) for each in answers] == [
            (1, -32601),
            (2, -32601),
        ]
        await within(waiting)


async def use_for_nothing(connection: Connection, peer: RawPeer) -> None:
    async with connection.new_session("/"):
        await until(lambda: connection.stats().deferred == 2)
