"""What bounds reading, running and sending."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import sniffio

import acp
from acp import Limits
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.raw_peer import agent_under_test, chunk, client_under_test, prompt, serving, within
from tests.sides import Nothing, Recorder, turns


async def test_handlers_that_never_suspend_let_other_tasks_run() -> None:
    class Client(acp.Client):
        count = 0

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            self.count += 1

    client = Client()
    async with client_under_test(client) as (_, peer), anyio.create_task_group() as group:
        group.start_soon(peer.send, *(chunk("x") for _ in range(2000)))
        seen: list[int] = []
        while client.count < 2000:
            seen.append(client.count)
            await anyio.lowlevel.checkpoint()
    # In trio's turns the tasks have no order: between two of ours the other may have two.
    most = 64 * (2 if sniffio.current_async_library() == "trio" else 1)
    assert max(after - before for before, after in itertools.pairwise(seen)) <= most


async def test_requests_above_the_limit_wait_unstarted_and_cancels_still_reach_the_others() -> None:
    class Agent(acp.Agent):
        started = 0

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            self.started += 1
            await anyio.Event().wait()

    agent = Agent()
    async with agent_under_test(agent, limits=Limits(running_handlers=3)) as (peer, _):
        await peer.send(
            *({"id": number, "method": "session/prompt", "params": prompt()} for number in range(5))
        )
        await turns()
        assert agent.started == 3
        # The fourth is answered though it never started, the first makes room for the fifth.
        await peer.notify("$/cancel_request", {"requestId": 3})
        assert (await peer.receive())["id"] == 3
        await peer.notify("$/cancel_request", {"requestId": 0})
        assert (await peer.receive())["id"] == 0
        await turns()
        assert agent.started == 4


async def test_reading_pauses_above_the_mark_and_goes_on_below_it() -> None:
    client = Recorder()
    limits = Limits(waiting_messages=10)
    async with client_under_test(client, limits=limits) as (_, peer):
        filler = [chunk("x" * 1000) for _ in range(1000)]
        sending = peer.start(peer.send(*filler))
        await turns(200)
        assert not sending.done()
        client.go.set()
        await within(sending)
        while len(client.texts) < 1000:
            await anyio.lowlevel.checkpoint()


async def test_reading_goes_on_above_the_mark_while_a_handler_awaits_an_answer() -> None:
    """I4."""

    class Client(acp.Client):
        agent: Any
        count = 0

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            if not self.count:
                await self.agent.set_session_mode(session_id, "mode")
            self.count += 1

    client = Client()
    async with client_under_test(client, limits=Limits(waiting_messages=10)) as (agent, peer):
        client.agent = agent
        await peer.send(*(chunk("x" * 1000) for _ in range(1000)))
        request = await peer.receive()
        await peer.answer(request["id"], {})
        while client.count < 1000:
            await anyio.lowlevel.checkpoint()


async def test_above_the_hard_mark_the_connection_ends() -> None:
    client = Recorder()
    limits = Limits(waiting_messages=10, waiting_messages_hard=100)
    async with client_under_test(client, limits=limits) as (agent, peer):
        listing = peer.start(agent.list_sessions())
        await peer.receive()
        await peer.send(*(chunk("x") for _ in range(500)))
        with pytest.raises(acp.ConnectionClosed):
            await within(listing)
        client.go.set()


async def test_a_sender_waits_while_the_peer_reads_nothing_and_can_be_cancelled() -> None:
    async with agent_under_test(Nothing()) as (peer, connection):
        sent = 0

        async def send() -> None:
            nonlocal sent
            while True:
                await connection.session_update("s", acp.update_agent_message_text("x" * 1000))
                sent += 1

        sending = peer.start(send())
        before = -1
        while sent != before:
            before = sent
            await turns(200)
        # 256 KiB are on the way, 1 MiB is queued.
        assert 900 < sent < 1500
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        received = 0
        while received < sent:
            assert (await peer.receive())["method"] == "session/update"
            received += 1


async def test_two_ends_that_both_send_before_they_read_go_on() -> None:
    """C-134, I6."""

    class Agent(acp.Agent):
        client: Any

        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def ext_notification(self, method: str, params: Any) -> None:
            for _ in range(20):
                update = acp.update_agent_message_text("y" * 20_000)
                await self.client.session_update("s", update)

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            return acp.PromptResponse(stop_reason="end_turn")

    class Client(acp.Client):
        count = 0

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            self.count += 1

    one, other = acp.memory_pair()
    client = Client()
    async with (
        serving(AgentSideConnection, Agent(), one),
        serving(ClientSideConnection, client, other) as (agent, _),
    ):
        for _ in range(20):
            await within(agent.ext_notification("flood", {"filler": "x" * 100_000}))
        await within(agent.prompt("s", [acp.text_block("x")]))
        while client.count < 400:
            await anyio.lowlevel.checkpoint()


async def test_a_batch_is_answered_when_all_its_handlers_are_done() -> None:
    class Agent(acp.Agent):
        def __init__(self) -> None:
            self.go = anyio.Event()

        async def cancel(self, session_id: str, **kwargs: Any) -> None:
            await self.go.wait()

        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            return acp.NewSessionResponse(session_id="s")

    agent = Agent()
    async with agent_under_test(agent) as (peer, _):
        await peer.send_text(
            '[{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}},'
            '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}},'
            '{"jsonrpc":"2.0","id":2,"method":"unknown"}]\n'
        )
        await turns()
        agent.go.set()
        answers = await peer.receive()
        assert sorted(answer["id"] for answer in answers) == [1, 2]
