"""The life of a connection: what runs beside it, its block, the functions of `on_close`."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, v1
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
    wire_initialize,
)
from tests.raw_peer import PAIRS, RawPeer, within
from tests.sides import turns, until

# What runs beside.


@each_link
@each_version
async def test_background_functions_run_beside_each_connection_until_it_ends(
    v: Any, link: str
) -> None:
    """C-123"""
    client = v.Client()
    log: list[str] = []

    @client.background
    async def beside(connection: Any) -> None:
        log.append("begun")
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    @client.background
    async def short(connection: Any) -> None:
        log.append("short")

    for _ in range(2):
        async with facing_client(client, v, link) as (_, peer):
            assert await is_served(peer)
            assert sorted(log[-2:]) == ["begun", "short"]
        assert log.pop() == "cancelled"


@each_version
async def test_a_task_that_fails_ends_the_connection_with_its_error(v: Any) -> None:
    """C-123, C-082"""
    client = v.Client(version_guard=False)
    error = Failure()

    @client.background
    async def fails(connection: Any) -> None:
        await connection.request("_x/fail", {})
        raise error

    @client.background
    async def fails_later(connection: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise Failure("the second")

    with pytest.raises(acp.ConnectionClosed) as caught:
        async with facing(client) as (connection, peer):
            sent = connection.request("_x/pending", {})
            for _ in range(2):
                request = await peer.receive()
                if request["method"] == "_x/fail":
                    await peer.answer(request["id"], {})
            termination = await within(connection.wait_closed())
            assert termination == acp.Termination("handler_error", error)
            with pytest.raises(acp.ConnectionClosed) as pending:
                await within(sent)
            assert pending.value.__cause__ is error
    assert caught.value.__cause__ is error


@each_version
async def test_serving_ends_with_the_error_of_a_task(v: Any) -> None:
    """C-082"""
    agent = agent_of(v, version_guard=False)
    error = Failure()

    async def fail() -> None:
        raise error

    agent.on_notification("_x/spawn")(lambda _, ctx: ctx.connection.spawn(fail()))
    ours, theirs = acp.memory_pair()
    peer = RawPeer(theirs)
    await peer.notify("_x/spawn")
    with pytest.raises(acp.ConnectionClosed) as caught:
        await within(agent.serve(ours))
    assert caught.value.__cause__ is error


@each_version
@pytest.mark.asyncio_only
async def test_a_task_that_ends_in_a_cancellation_nobody_asked_for_has_failed(
    v: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_of(v, version_guard=False)

    async def cancelled() -> None:
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone.cancel("secret")
        await gone

    agent.on_notification("_x/spawn")(lambda _, ctx: ctx.connection.spawn(cancelled()))
    ours, theirs = acp.memory_pair()
    await RawPeer(theirs).notify("_x/spawn")
    with pytest.raises(acp.ConnectionClosed) as caught:
        await within(agent.serve(ours))
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    assert "A task of the connection failed: CancelledError" in caplog.text


@each_version
async def test_a_callback_that_fails_ends_the_connection_with_its_error(v: Any) -> None:
    """C-082"""
    error = Failure()

    async def fail(outcome: Any) -> None:
        raise error

    with pytest.raises(acp.ConnectionClosed) as caught:
        async with facing_client(v.Client(), v) as (connection, peer):
            connection.request("_x/any", {}).on_result(fail)
            request = await peer.receive()
            await peer.answer(request["id"], {})
            termination = await within(connection.wait_closed())
            assert termination.kind == "handler_error"
            assert termination.error is error
    assert caught.value.__cause__ is error


@each_version
async def test_what_is_spawned_when_the_connection_ends_is_not_run(v: Any) -> None:
    """C-125"""
    ran: list[str] = []

    async def work() -> None:
        ran.append("work")

    async with facing(v.Client()) as (connection, _):
        # It would begin in the next turn, and the block ends in this one.
        connection.spawn(work())
    await turns()
    with pytest.raises(acp.ConnectionClosed):
        connection.spawn(work())
    assert ran == []


@each_version
async def test_each_connection_has_the_state_that_was_made_for_it(v: Any) -> None:
    made: list[Any] = []

    def state(connection: Any) -> dict[str, Any]:
        made.append(connection)
        return {"number": len(made)}

    agent = agent_of(v, state=state)
    agent.on_request("_x/state")(lambda _, ctx: ctx.state)
    for number in (1, 2):
        async with facing_agent(agent, v) as (connection, peer):
            assert (await ask(peer, "_x/state"))["result"] == {"number": number}
            assert made[-1] is connection


# The end of input.


@each_link
@each_version
async def test_what_is_to_be_called_at_the_beginning_is_called_before_anything_runs(
    v: Any, link: str
) -> None:
    client = v.Client()
    log: list[str] = []

    @client.background
    async def beside(connection: Any) -> None:
        log.append("background")

    client.when_begun(lambda connection: log.append(type(connection).__name__))
    for _ in range(2):
        async with facing_client(client, v, link) as (_, peer):
            assert await is_served(peer)
        assert log == ["Connection", "background"]
        log.clear()


@each_link
@each_version
async def test_functions_of_on_close_run_in_their_order_when_the_input_ends(
    v: Any, link: str
) -> None:
    """C-126, C-127"""
    client, other = v.Client(), v.Client()
    log: list[str] = []

    @client.on_close
    async def first(connection: Any) -> None:
        await anyio.lowlevel.checkpoint()
        await connection.notify("_x/bye", {})
        log.append("first")

    client.include(other)
    client.on_close(lambda _: log.append("third"))
    other.on_close(lambda _: log.append("second"))
    async with facing_client(client, v, link) as (connection, peer):
        sent = connection.request("_x/pending", {})
        assert (await peer.receive())["method"] == "_x/pending"

        async def fails() -> None:
            with pytest.raises(acp.ConnectionClosed):
                await sent
            log.append("failed")

        async with anyio.create_task_group() as group:
            group.start_soon(fails)
            await turns(3)
            await peer.send_text('{"method":"_x/last"}')
            end_input(peer)
            # The block goes on, and learns of the end when all has been called.
            termination = await within(connection.wait_closed())
            log.append("closed")
        assert termination.kind == "incoming_closed"
        assert log == ["failed", "first", "second", "third", "closed"]
        assert connection.termination == acp.Termination("incoming_closed")
        # What they have sent still goes out.
        assert (await peer.receive())["method"] == "_x/bye"
    assert log[-1] == "closed"


@each_version
async def test_every_function_of_on_close_runs_and_the_first_error_counts(
    v: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """C-127"""
    client = v.Client()
    errors = [Failure("secret 1"), Failure("secret 2")]
    log: list[int] = []

    def failing(number: int) -> Any:
        async def close(connection: Any) -> None:
            log.append(number)
            raise errors[number]

        return close

    client.on_close(failing(0))
    client.on_close(failing(1))
    client.on_close(lambda _: log.append(2))

    async def fail() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise Failure("of a task")

    with pytest.raises(acp.ConnectionClosed) as caught:
        async with facing(client) as (connection, peer):
            connection.spawn(fail())
            await turns()
            await peer.transport.close()
            termination = await within(connection.wait_closed())
            assert termination == acp.Termination("handler_error", errors[0])
    assert caught.value.__cause__ is errors[0]
    assert log == [0, 1, 2]
    assert "A function of `on_close` failed: Failure" in caplog.text
    assert "secret" not in caplog.text


@each_version
async def test_functions_of_on_close_are_not_called_when_this_side_ends_the_connection(
    v: Any,
) -> None:
    """C-127"""
    log: list[str] = []
    client = v.Client()
    client.on_close(lambda _: log.append("called"))

    async def fail() -> None:
        raise Failure

    async with facing(client):
        pass
    async with facing(client) as (connection, _):
        await within(connection.close())
    with pytest.raises(acp.ConnectionClosed):
        async with facing(client) as (connection, _):
            connection.spawn(fail())
            await within(connection.wait_closed())
    with pytest.raises(Failure):
        async with facing(client):
            raise Failure
    assert log == []


async def test_a_function_of_on_close_that_does_not_end_is_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = v1.Client(limits=Limits(close_callbacks=0.01))
    client.on_close(lambda _: anyio.sleep_forever())
    async with facing(client) as (connection, peer):
        await peer.transport.close()
        termination = await within(connection.wait_closed())
    assert termination.kind == "incoming_closed"
    assert "do not end" in caplog.text


@each_link
@each_version
async def test_serving_returns_when_the_input_has_ended_and_everything_is_sent(
    v: Any, link: str
) -> None:
    """C-124"""
    agent = agent_of(v)
    log: list[str] = []

    @agent.on_request("_x/slow")
    async def slow(params: Any) -> Any:
        await turns()
        return {"slow": True}

    @agent.background
    async def beside(connection: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    agent.on_close(lambda connection: connection.notify("_x/bye", {}))
    ours, theirs = PAIRS[link]()
    await theirs.open()
    peer = RawPeer(theirs)
    async with anyio.create_task_group() as group:

        async def serve() -> None:
            await agent.serve(ours)
            log.append("returned")

        group.start_soon(serve)
        assert (await ask(peer, "initialize", wire_initialize(v)))["result"]
        await peer.request(2, "_x/slow")
        end_input(peer)
        messages = await peer.receive_all()
        sent = [each.get("result", each.get("method")) for each in messages]
        assert sent == [{"slow": True}, "_x/bye"]
        await until(lambda: "returned" in log)
    await theirs.close()
    assert log == ["cancelled", "returned"]
