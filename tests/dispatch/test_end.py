"""The end of a connection: of its input, by closing it, by cancelling it."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits
from acp._transports.descriptors import DescriptorTransport
from acp.agent.connection import AgentSideConnection
from tests.raw_peer import (
    RawPeer,
    agent_under_test,
    chunk,
    client_under_test,
    pipe_pair,
    prompt,
    serving,
    within,
)
from tests.sides import Prompted

NEW = {"cwd": "/", "mcpServers": []}


async def test_the_end_of_input_fails_calls_and_delivers_answers_that_are_here() -> None:
    """C-133."""
    go = anyio.Event()

    class Client(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            await go.wait()

    async with client_under_test(Client()) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        listing = peer.start(agent.list_sessions())
        await peer.receive()
        await peer.send(chunk("x"), {"id": request["id"], "result": {"stopReason": "end_turn"}})
        await peer.transport.close()
        with pytest.raises(acp.ConnectionClosed):
            await within(listing)
        go.set()
        assert (await within(turn)).stop_reason == "end_turn"
        with pytest.raises(ConnectionError):
            await within(agent.new_session("/"))


async def test_the_end_of_input_ends_a_handler_that_awaits_an_answer_at_once() -> None:
    """I10."""

    class Client(acp.Client):
        agent: Any
        failures: list[Exception]

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            try:
                await self.agent.set_session_mode(session_id, "m")
            except acp.ConnectionClosed as exc:
                self.failures.append(exc)

    client = Client()
    client.failures = []
    async with client_under_test(client, limits=Limits(closing=None)) as (agent, peer):
        client.agent = agent
        await peer.send(chunk("1"), chunk("2"))
        await peer.receive()
        await peer.transport.close()
        await within(agent._connection._closed.wait())
    assert len(client.failures) == 2


async def test_a_handler_that_never_ends_is_cancelled_when_the_connection_ends() -> None:
    agent = Prompted()
    async with agent_under_test(agent, limits=Limits(closing=0.05)) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        await within(agent.started.wait())
    assert agent.ended == ["cancelled", "ended"]


async def test_closing_sends_what_is_queued_and_ends_the_peers_input() -> None:
    async with agent_under_test(Prompted()) as (peer, connection):
        for number in range(5):
            text = acp.update_agent_message_text(str(number))
            await connection.session_update("s", text)
        await within(connection.close())
        assert len(await peer.receive_all()) == 5
        with pytest.raises(acp.ConnectionClosed):
            await connection.session_update("s", acp.update_agent_message_text("late"))


async def test_a_handler_may_close_its_own_connection_and_goes_on_after_it() -> None:
    class Agent(acp.Agent):
        connection: Any
        after = False

        def on_connect(self, conn: Any) -> None:
            self.connection = conn

        async def ext_notification(self, method: str, params: Any) -> None:
            await self.connection.close()
            await anyio.lowlevel.checkpoint()
            self.after = True

    agent = Agent()
    async with agent_under_test(agent) as (peer, connection):
        await peer.notify("_close", {})
        assert await peer.receive() is None
        await within(connection.close())
    assert agent.after


async def test_closing_from_several_tasks_waits_for_the_one_end() -> None:
    async with agent_under_test(Prompted()) as (peer, connection):
        for closing in [peer.start(connection.close()) for _ in range(3)]:
            await within(closing)


async def test_a_connection_that_was_never_listened_to_can_be_closed() -> None:
    ours, theirs = acp.memory_pair()
    connection = AgentSideConnection(Prompted(), ours, listening=False)
    await within(connection.close())
    assert await within(theirs.receive()) == b""


@pytest.mark.asyncio_only
async def test_run_agent_that_is_cancelled_closes_its_transport() -> None:
    ours, theirs = acp.memory_pair()
    running = asyncio.ensure_future(acp.run_agent(Prompted(), ours))
    await within(theirs.send(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n'))
    assert await within(theirs.receive())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(running)
    assert await within(theirs.receive()) == b""


@pytest.mark.asyncio_only
async def test_a_failing_body_leaves_the_connection_as_it_is_and_closes_it() -> None:
    ours, theirs = acp.memory_pair()
    with pytest.raises(KeyError, match="mine"):
        async with AgentSideConnection(Prompted(), ours):
            raise KeyError("mine")
    assert await within(theirs.receive()) == b""


async def test_no_task_is_left_behind() -> None:
    before = {task.id for task in anyio.get_running_tasks()}
    async with agent_under_test(Prompted()) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        await peer.request(2, "x")
        await peer.receive()
        await peer.notify("$/cancel_request", {"requestId": 1})
        await peer.receive()
    assert {task.id for task in anyio.get_running_tasks()} == before


async def test_a_request_whose_handler_is_cancelled_by_the_end_of_input_is_answered() -> None:
    """Its sender has ended its side and still reads: one answer, and then the end."""
    agent = Prompted()
    ours, theirs = pipe_pair()
    await theirs.open()
    async with serving(AgentSideConnection, agent, ours, limits=Limits(closing=0.02)) as (_, group):
        peer = RawPeer(theirs, group)
        await peer.request(1, "session/prompt", prompt())
        await within(agent.started.wait())
        assert isinstance(theirs, DescriptorTransport)
        theirs.end_output()
        answers = await peer.receive_all()
        assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(1, -32800)]
        assert agent.ended == ["cancelled", "ended"]
        await theirs.close()
