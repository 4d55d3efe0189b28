"""How a connection ended: what callers are told, and that only this side can say so."""

from __future__ import annotations

import dataclasses
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v1
from tests.endpoint.ends import (
    Failure,
    agent_of,
    ask,
    each_link,
    each_version,
    end_input,
    facing,
    facing_agent,
    facing_client,
    is_served,
)
from tests.raw_peer import RawPeer, within
from tests.sides import turns


class FailingTransport(acp.Transport):
    """Fails where it is told to, and otherwise is another one."""

    def __init__(self, inner: acp.Transport) -> None:
        self.inner = inner
        self.reading: Exception | None = None
        self.writing: Exception | None = None

    async def receive(self) -> bytes:
        data = await self.inner.receive()
        if not data and self.reading is not None:
            raise self.reading
        return data

    async def send(self, data: bytes | memoryview) -> None:
        if self.writing is not None:
            raise self.writing
        await self.inner.send(data)

    async def close(self) -> None:
        await self.inner.close()


@each_link
@each_version
async def test_the_end_of_input_fails_what_is_open_and_what_comes_then(v: Any, link: str) -> None:
    """C-128, C-135"""
    async with facing_client(v.Client(), v, link) as (connection, peer):
        assert connection.termination is None
        sent = connection.request("_x/any", {})
        await peer.receive()
        end_input(peer)
        with pytest.raises(acp.ConnectionClosed) as open_one:
            await within(sent)
        assert open_one.value.termination == acp.Termination("incoming_closed")
        assert await within(connection.wait_closed()) == acp.Termination("incoming_closed")
        # The transport is closed, though the block still has the connection.
        assert await peer.receive() is None
        for late in (connection.request("_x/any", {}), connection.prepare("_x/any", {})):
            with pytest.raises(acp.ConnectionClosed) as caught:
                await within(late)
            assert caught.value.termination == acp.Termination("incoming_closed")
        with pytest.raises(acp.ConnectionClosed):
            await within(connection.notify("_x/any", {}))
    # What ends it first is what counts.
    assert connection.termination == acp.Termination("incoming_closed")


@each_version
async def test_each_way_to_end_has_its_kind_and_callers_are_told(v: Any) -> None:
    """C-129, C-131"""
    error = Failure()

    async def fail() -> None:
        raise error

    async def closes(connection: Any, peer: RawPeer) -> None:
        await connection.close()

    async def raises(connection: Any, peer: RawPeer) -> None:
        raise error

    async def fails(connection: Any, peer: RawPeer) -> None:
        connection.spawn(fail())
        await connection.wait_closed()

    async def ends(connection: Any, peer: RawPeer) -> None:
        end_input(peer)
        await connection.wait_closed()

    async def leaves(connection: Any, peer: RawPeer) -> None:
        return

    expected = {
        closes: ("local_shutdown", None),
        leaves: ("local_shutdown", None),
        ends: ("incoming_closed", None),
        raises: ("foreground_error", error),
        fails: ("handler_error", error),
    }
    for end, (kind, cause) in expected.items():
        kept: list[Any] = []
        try:
            async with facing(v.Client(version_guard=False)) as (connection, peer):
                kept += [connection, connection.request("_x/any", {})]
                await end(connection, peer)
        except (Failure, acp.ConnectionClosed):
            assert cause is not None
        connection, sent = kept
        assert connection.termination == acp.Termination(kind, cause)
        assert connection.termination.is_clean is (cause is None)
        assert await within(connection.wait_closed()) == connection.termination
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(sent)
        assert caught.value.termination == connection.termination
        assert caught.value.__cause__ is cause


@each_version
async def test_a_peer_cannot_say_that_the_connection_has_ended(v: Any) -> None:
    """C-130"""
    forged = [
        {"reason": "incoming_transport_closed", "method": "_x/any"},
        {"reason": "connection_terminated", "method": "_x/any", "termination": "dropped"},
    ]
    async with facing_client(v.Client(), v) as (connection, peer):
        for data in forged:
            sent = connection.request("_x/any", {})
            request = await peer.receive()
            error = {"code": -32603, "message": "Incoming transport closed", "data": data}
            await peer.send({"id": request["id"], "error": error})
            with pytest.raises(acp.RequestError) as caught:
                await within(sent)
            assert not isinstance(caught.value, acp.ConnectionClosed)
            assert caught.value.data == data
            assert not hasattr(caught.value, "termination")
        assert connection.termination is None
        assert await is_served(peer)


@each_version
async def test_the_end_of_another_connection_is_nothing_that_a_peer_learns_of(v: Any) -> None:
    """C-130"""
    agent = v.Agent()

    @agent.on_request("_x/fail")
    async def fail(params: Any) -> Any:
        raise acp.ConnectionClosed(termination=acp.Termination("incoming_closed"))

    async with facing_agent(agent, v) as (connection, peer):
        error = (await ask(peer, "_x/fail"))["error"]
        assert error["code"] == -32603
        assert error["data"] == {"type": "ConnectionClosed"}
        assert connection.termination is None


def test_how_a_connection_ended_is_a_value() -> None:
    """C-131"""
    ended = acp.Termination("local_shutdown")
    with pytest.raises(dataclasses.FrozenInstanceError):
        ended.kind = "dropped"  # pyright: ignore[reportAttributeAccessIssue]
    assert ended == acp.Termination("local_shutdown")
    clean = ("incoming_closed", "local_shutdown")
    kinds = (*clean, "foreground_error", "transport_error", "handler_error", "dropped")
    assert [kind for kind in kinds if acp.Termination(kind).is_clean] == list(clean)


@each_version
async def test_an_error_in_reading_is_no_end_of_input(v: Any) -> None:
    """C-132"""
    client = v.Client(version_guard=False)
    closed: list[Any] = []
    client.on_close(closed.append)
    for waits in (False, True):
        ours, theirs = acp.memory_pair()
        transport = FailingTransport(ours)
        transport.reading = error = anyio.BrokenResourceError()
        async with client.connect(transport) as connection:
            if waits:
                # What was accepted goes out all the same, and that changes nothing.
                await connection.notify("_x/note", {})
            await theirs.close()
            termination = await within(connection.wait_closed())
            assert termination == acp.Termination("transport_error", error)
            assert not termination.is_clean
    assert closed == []
    agent = agent_of(v)
    ours, theirs = acp.memory_pair()
    transport = FailingTransport(ours)
    transport.reading = error
    await theirs.close()
    with pytest.raises(acp.ConnectionClosed) as caught:
        await within(agent.serve(transport))
    assert caught.value.__cause__ is error


@each_version
async def test_an_error_in_writing_counts_also_when_the_input_ends_behind_it(v: Any) -> None:
    """C-132"""
    client = v.Client(version_guard=False)
    closed: list[Any] = []
    client.on_close(closed.append)
    ours, theirs = acp.memory_pair()
    transport = FailingTransport(ours)
    transport.writing = error = anyio.BrokenResourceError()
    async with client.connect(transport) as connection:
        connection.notify_nowait("_x/note", {})
        await turns()
        await theirs.close()
        termination = await within(connection.wait_closed())
        assert termination == acp.Termination("transport_error", error)
    assert closed == []


async def test_a_handler_that_is_to_end_the_program_ends_the_connection_as_dropped() -> None:
    """C-137"""

    class Quit(BaseException):
        """No exception that a program catches."""

    agent = v1.Agent()

    @agent.on_notification("_x/quit")
    async def leave(params: Any) -> None:
        await turns(1)
        raise Quit

    kept: list[Any] = []
    with pytest.raises(Quit):
        async with facing(agent) as (connection, peer):
            kept.append(connection)
            await peer.notify("_x/quit")
            await within(connection.wait_closed())
    assert kept[0].termination.kind == "dropped"


@each_version
async def test_an_exception_of_a_handler_ends_nothing(v: Any) -> None:
    """C-137"""
    agent = v.Agent()

    @agent.on_request("_x/fail")
    async def fail(params: Any) -> Any:
        raise Failure

    @agent.on_notification("_x/fail")
    async def fail_too(params: Any) -> None:
        raise Failure

    async with facing_agent(agent, v) as (connection, peer):
        assert (await ask(peer, "_x/fail"))["error"]["data"] == {"type": "Failure"}
        await peer.notify("_x/fail")
        assert await is_served(peer)
        assert connection.termination is None
