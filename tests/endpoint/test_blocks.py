"""The block of a connection: what its end means, how exceptions leave it, tasks of asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, v1, v2
from tests.endpoint.ends import (
    Failure,
    agent_of,
    ask,
    each_link,
    each_version,
    facing,
    facing_client,
    joined,
    update,
    wire_initialize,
    wire_update,
)
from tests.raw_peer import PAIRS, RawPeer, within
from tests.sides import turns, until

# The block.


@each_version
async def test_nothing_is_handled_any_more_when_the_block_has_ended(v: Any) -> None:
    """C-125"""
    client = v.Client()
    texts: list[str] = []
    go = anyio.Event()

    @client.session_update
    async def slow(notification: Any) -> None:
        texts.append(notification.update.content.text)
        await go.wait()

    async with facing_client(client, v) as (_, peer):
        await peer.send(*(wire_update(str(number)) for number in range(5)))
        await until(lambda: texts == ["0"])
        await peer.send(wire_update("other", session="other"))
        go.set()
    await turns()
    assert texts == ["0"]


@each_link
@each_version
async def test_what_was_sent_in_the_block_still_goes_out(v: Any, link: str) -> None:
    """C-125"""
    received: list[str] = []
    agent = agent_of(v)

    @agent.on_notification("_x/note")
    async def note(params: Any) -> None:
        await anyio.lowlevel.checkpoint()
        received.append(params["text"])

    closed = anyio.Event()
    agent.on_close(lambda _: closed.set())
    one, other = PAIRS[link]()
    async with anyio.create_task_group() as group:
        group.start_soon(agent.serve, one)
        async with v.Client().connect(other) as connection:
            await within(connection.initialize())
            for number in range(200):
                await connection.notify("_x/note", {"text": f"{number} " + "x" * 5_000})
        await within(closed.wait())
    assert len(received) == 200


@each_version
async def test_requests_that_are_open_when_the_block_ends_are_not_cancelled_at_the_peer(
    v: Any,
) -> None:
    """C-125"""
    ours, theirs = acp.memory_pair()
    peer = RawPeer(theirs)
    async with anyio.create_task_group() as group:

        async def wait(sent: Any) -> None:
            with pytest.raises(acp.ConnectionClosed) as caught:
                await sent
            assert caught.value.termination == acp.Termination("local_shutdown")

        async with v.Client(version_guard=False).connect(ours) as connection:
            group.start_soon(wait, connection.request("_x/any", {}))
            await turns()
    assert [each["method"] for each in await peer.receive_all()] == ["_x/any"]


@each_version
async def test_a_running_handler_may_still_answer_when_the_block_has_ended(v: Any) -> None:
    agent = agent_of(v)
    go = anyio.Event()

    @agent.on_request("_x/slow")
    async def slow(params: Any) -> Any:
        await go.wait()
        return {"slow": True}

    ours, theirs = acp.memory_pair()
    peer = RawPeer(theirs)
    async with agent.connect(ours):
        assert (await ask(peer, "initialize", wire_initialize(v)))["result"]
        await peer.request(2, "_x/slow")
        await turns()
        go.set()
    assert (await peer.receive())["result"] == {"slow": True}


@each_link
@each_version
async def test_an_exception_of_the_block_leaves_it_as_it_is(v: Any, link: str) -> None:
    error = Failure()
    closed: list[Any] = []
    with pytest.raises(Failure) as caught:
        async with facing(v.Client(), link) as (connection, _):
            closed.append(connection)
            raise error
    assert caught.value is error
    assert closed[0].termination == acp.Termination("foreground_error", error)
    with pytest.raises(acp.ConnectionClosed) as late:
        await within(closed[0].request("_x/any", {}))
    assert late.value.termination == closed[0].termination


@each_version
async def test_a_cancelled_block_cancels_its_handlers_and_sends_what_was_accepted(v: Any) -> None:
    # They have no time to end by themselves, however long that could be.
    agent = agent_of(v, limits=Limits(closing=None))
    log: list[str] = []

    @agent.on_request("_x/forever")
    async def forever(params: Any) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    ours, theirs = acp.memory_pair()
    peer = RawPeer(theirs)
    kept: list[Any] = []
    with anyio.CancelScope() as scope:
        async with agent.connect(ours) as connection:
            kept.append(connection)
            assert (await ask(peer, "initialize", wire_initialize(v)))["result"]
            await peer.request(2, "_x/forever")
            await turns()
            await connection.notify(update(v, "accepted"))
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert log == ["cancelled"]
    assert kept[0].termination.kind == "dropped"
    assert not kept[0].termination.is_clean
    assert (await peer.receive())["method"] == "session/update"


@each_version
async def test_a_connection_over_a_transport_that_cannot_be_opened_is_not_made(v: Any) -> None:
    transport = acp.process_transport("/no/such/program")
    with pytest.raises(FileNotFoundError):
        async with v.Client().connect(transport):
            raise AssertionError


@each_version
async def test_a_connection_can_be_left_as_soon_as_it_is_entered(v: Any) -> None:
    for _ in range(20):
        async with facing(v.Client()) as (connection, _):
            pass
        assert connection.termination == acp.Termination("local_shutdown")


async def test_what_connect_gives_is_entered_once() -> None:
    ours, _ = acp.memory_pair()
    hosted = v1.Client().connect(ours)
    async with hosted:
        pass
    with pytest.raises(RuntimeError, match="once"):
        async with hosted:
            raise AssertionError


async def test_what_is_no_transport_is_refused() -> None:
    with pytest.raises(TypeError, match="transport"):
        async with v1.Client().connect(object()):  # pyright: ignore[reportArgumentType]
            raise AssertionError


# On asyncio a connection belongs to no task.


@pytest.mark.asyncio_only
@each_version
async def test_a_connection_may_be_closed_in_another_task_and_out_of_order(v: Any) -> None:
    pairs = [acp.memory_pair() for _ in range(3)]
    hosts = [v.Client(version_guard=False).connect(ours) for ours, _ in pairs]

    async def enter(host: Any) -> Any:
        return await host.__aenter__()

    connections = [await asyncio.create_task(enter(host)) for host in hosts]
    peers = [RawPeer(theirs) for _, theirs in pairs]
    for host, connection in zip(hosts[:2], connections[:2], strict=True):
        await within(asyncio.create_task(leave(host)))
        assert connection.termination is not None
    # The one that is left works.
    sent = connections[2].request("_x/any", {})
    request = await peers[2].receive()
    await peers[2].answer(request["id"], {"a": 1})
    assert await within(sent) == {"a": 1}
    await within(leave(hosts[2]))
    assert [task.get_name() for task in asyncio.all_tasks() if "acp" in task.get_name()] == []


async def leave(host: Any) -> None:
    await host.__aexit__(None, None, None)


@pytest.mark.asyncio_only
async def test_a_task_that_is_cancelled_in_the_block_leaves_no_task_behind() -> None:
    ours, _ = acp.memory_pair()
    entered = asyncio.Event()
    kept: list[Any] = []

    async def main() -> None:
        async with v2.Client().connect(ours) as connection:
            kept.append(connection)
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(main())
    await within(entered.wait())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(task)
    assert kept[0].termination.kind == "dropped"
    assert [each for each in asyncio.all_tasks() if "acp" in each.get_name()] == []


async def test_connections_nest_on_any_loop() -> None:
    async with joined(agent_of(v1), v1.Client()) as (_, outer):
        async with joined(agent_of(v2), v2.Client()) as (_, inner):
            assert (outer.protocol_version, inner.protocol_version) == (1, 2)
        assert outer.termination is None
        assert inner.termination is not None
