"""Handles of sessions that are closed, and ids that come back: either version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v1, v2
from tests.endpoint.session_peers import (
    answer_setup,
    client_of,
    each_version,
    each_wire,
    new,
    open_session,
    opened,
    served,
    start_reading,
    text,
    texts_of,
)
from tests.raw_peer import within
from tests.sides import until

if TYPE_CHECKING:
    from collections.abc import Callable


def uses(version: int, session: Any) -> dict[str, Callable[[], Any]]:
    """What can be asked of a handle, by name."""
    if version == 1:
        return {
            "prompt": lambda: session.prompt("x"),
            "send_prompt": lambda: session.send_prompt("x"),
            "cancel": session.cancel,
        }
    return {
        "send_prompt": lambda: session.send_prompt("x"),
        "cancel_active_work": session.cancel_active_work,
        "set_config_option": lambda: session.set_config_option("model", "a"),
        "updates": session.updates,
        "wait_idle": session.wait_idle,
    }


async def assert_closed(version: int, session: Any, peer: Any) -> None:
    """Nothing that is asked of the handle reaches the agent, and each says so."""
    assert session.is_closed
    for use in uses(version, session).values():
        with pytest.raises(acp.SessionClosed) as caught:
            await use()
        assert caught.value.session_id == "s1"
        assert "s1" not in str(caught.value)
    await session.close()
    await served(peer)


async def close(session: Any, peer: Any) -> None:
    closing = peer.start(session.close())
    request = await peer.receive()
    assert (request["method"], request["params"]) == ("session/close", {"sessionId": "s1"})
    await peer.answer(request["id"], {})
    await within(closing)


@each_version
@each_wire
async def test_an_id_that_comes_back_is_another_session(version: int, wire: str) -> None:
    """C46: the new handle has nothing of the old one, whose uses raise and send nothing."""
    async with opened(client_of(version), wire=wire) as (connection, peer):
        first, old = await start_reading(version, connection, peer, behind=[text("old")])
        await close(first, peer)
        schema = v1.schema if version == 1 else v2.schema
        deleting = peer.start(connection.request(schema.DeleteSessionRequest(session_id="s1")))
        await peer.answer((await peer.receive())["id"], {})
        await within(deleting)
        await peer.send(text("late for the first"))
        await served(peer)
        second, new = await start_reading(version, connection, peer, behind=[text("new")])
        await assert_closed(version, first, peer)
        assert await texts_of(second, new, 1) == ["new"]
        assert await texts_of(first, old, 1) == ["old"]
        assert [item async for item in old] == []
        await peer.send(text("more"))
        assert await texts_of(second, new, 1) == ["more"]
        assert not second.is_closed


@each_version
@pytest.mark.parametrize("how", ["result", "unknown session", "by a request", "unawaited"])
async def test_a_handle_is_of_no_use_once_its_session_is_closed(version: int, how: str) -> None:
    """C46: however it was closed."""
    async with opened(client_of(version)) as (connection, peer):
        session, _ = await start_reading(version, connection, peer)
        schema = v1.schema if version == 1 else v2.schema
        request = schema.CloseSessionRequest(session_id="s1")
        if how == "unawaited":
            connection.request("session/close", {"sessionId": "s1"}).detach()
        closing: Any = None
        if how == "by a request":
            closing = peer.start(connection.request(request))
        elif how != "unawaited":
            closing = peer.start(session.close())
        asked = await peer.receive()
        if how == "unknown session":
            error = {"code": -32002, "message": "Resource not found"}
            await peer.send({"id": asked["id"], "error": error})
        else:
            await peer.answer(asked["id"], {})
        if how == "unawaited":
            await until(lambda: session.is_closed)
        else:
            await within(closing)
        await assert_closed(version, session, peer)


@each_version
async def test_a_session_that_cannot_be_closed_is_open(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        session, updates = await start_reading(version, connection, peer)
        closing = peer.start(session.close())
        error = {"code": -32603, "message": "Busy"}
        await peer.send({"id": (await peer.receive())["id"], "error": error}, text("on"))
        with pytest.raises(acp.RequestError):
            await within(closing)
        assert not session.is_closed
        assert await texts_of(session, updates, 1) == ["on"]
        await close(session, peer)


@each_version
@pytest.mark.parametrize("again", ["new", "resume after delete"])
async def test_a_handle_is_of_no_use_once_its_id_is_another_session(
    version: int, again: str
) -> None:
    """C46: though this side never closed it."""
    async with opened(client_of(version)) as (connection, peer):
        first, old = await start_reading(version, connection, peer)
        unread = await new(connection, peer, "s2")
        if again == "new":
            second, _ = await start_reading(version, connection, peer)
            await new(connection, peer, "s2")
            assert unread.is_closed
        else:
            connection.request("session/delete", {"sessionId": "s1"}).detach()
            await peer.answer((await peer.receive())["id"], {})
            await served(peer)
            assert not first.is_closed
            got = await open_session(connection.resume_session("s1", "/"), peer)
            second = got if version == 1 else got.session
        await assert_closed(version, first, peer)
        assert [item async for item in old] == []
        assert not second.is_closed


@each_version
async def test_resuming_an_open_session_leaves_its_handles_as_they_are(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        first, updates = await start_reading(version, connection, peer)
        got = await open_session(connection.resume_session("s1", "/"), peer)
        second = got if version == 1 else got.session
        await peer.send(text("both"))
        assert await texts_of(first, updates, 1) == ["both"]
        assert not first.is_closed
        await close(second, peer)
        assert first.is_closed


@each_version
async def test_an_opening_that_nobody_waits_for_counts_as_well(version: int) -> None:
    """C46."""
    async with opened(client_of(version)) as (connection, peer):
        first, _ = await start_reading(version, connection, peer)
        schema = v1.schema if version == 1 else v2.schema
        connection.request(schema.NewSessionRequest(cwd="/", mcp_servers=[])).detach()
        await answer_setup(peer)
        await until(lambda: first.is_closed)


@each_version
async def test_what_came_before_the_answer_of_a_close_is_read_before_the_end(
    version: int,
) -> None:
    """Also when a handler holds it up."""
    client = client_of(version)
    go = anyio.Event()

    @client.session_update
    async def _(notification: Any) -> Any:
        await go.wait()
        return acp.UNHANDLED

    async with opened(client) as (connection, peer):
        session, updates = await start_reading(version, connection, peer)
        closing = peer.start(session.close())
        request = await peer.receive()
        await peer.send(text("1"), text("2"), {"id": request["id"], "result": {}}, text("after"))
        await served(peer)
        assert not closing.done()
        go.set()
        await within(closing)
        await served(peer)
        assert await texts_of(session, updates, 2) == ["1", "2"]
        assert [item async for item in updates] == []
