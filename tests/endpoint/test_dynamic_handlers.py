"""Handlers that are added to a connection while it runs, and messages that wait for them."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import anyio.lowlevel

import acp
from tests.endpoint.ends import (
    Seen,
    Take,
    each_link,
    each_version,
    facing_agent,
    facing_client,
    is_served,
    send_updates,
    wire_update,
)
from tests.sides import turns

# Guards.


@each_link
@each_version
async def test_a_handler_is_called_as_long_as_its_guard_is_held(v: Any, link: str) -> None:
    """C-119"""
    seen = Seen()
    async with facing_client(v.Client(), v, link) as (connection, peer):
        with connection.handler(seen) as guard:
            assert guard.is_active
            await send_updates(peer, "inside")
        assert not guard.is_active
        await send_updates(peer, "outside")
    assert seen.messages == [("notification", "session/update"), ("request", "_nobody")]


@each_version
async def test_a_handler_that_is_removed_is_not_called_for_what_is_on_its_way(v: Any) -> None:
    """C-119"""
    client = v.Client()
    go = anyio.Event()

    @client.session_update
    async def holds(notification: Any) -> Any:
        await go.wait()
        return acp.UNHANDLED

    taken = Take()
    async with facing_client(client, v) as (connection, peer):
        guard = connection.handler(taken)
        await peer.send(wire_update("1"), wire_update("2"))
        await turns()
        guard.remove()
        go.set()
        assert await is_served(peer)
    assert taken.texts == []


@each_version
async def test_a_detached_handler_stays_until_the_connection_ends(v: Any) -> None:
    """C-119"""
    taken = Take("s")
    async with facing_client(v.Client(), v) as (connection, peer):
        connection.handler(taken).detach()
        gc.collect()
        await send_updates(peer, "1")
        await send_updates(peer, "2")
    assert taken.texts == ["1", "2"]


@each_version
async def test_a_handler_whose_guard_is_dropped_is_called_no_more(v: Any) -> None:
    """C-119"""
    taken = Take("s")
    async with facing_client(v.Client(), v) as (connection, peer):
        guard = connection.handler(taken)
        await send_updates(peer, "1")
        del guard
        gc.collect()
        await send_updates(peer, "2")
        assert not connection.router.chain.is_extended
    assert taken.texts == ["1"]


@each_version
async def test_a_handler_that_is_added_while_others_are_asked_is_asked_too(v: Any) -> None:
    """C-111"""
    agent = v.Agent()
    go = anyio.Event()

    @agent.fallback_request
    async def holds(params: Any) -> Any:
        await go.wait()
        return acp.UNHANDLED

    async with facing_agent(agent, v) as (connection, peer):
        with connection.handler(Seen()):
            await peer.request(1, "_x/any")
            await turns()
            # The fallback is asked by now, and this one would have come before it.
            with connection.handler(Seen({"added": True})):
                go.set()
                assert (await peer.receive())["result"] == {"added": True}


@each_version
async def test_a_handler_added_in_the_place_of_an_answer_gets_the_very_next_message(v: Any) -> None:
    """C-079"""
    taken = Take("s")
    guards: list[Any] = []
    async with facing_client(v.Client(), v) as (connection, peer):
        request = connection.request("_x/any", {})
        request.on_result(lambda _: guards.append(connection.handler(taken)))
        sent = await peer.receive()
        await peer.send({"id": sent["id"], "result": {}}, wire_update("next"))
        assert await is_served(peer)
    assert taken.texts == ["next"]
