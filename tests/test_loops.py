"""Which event loop a connection lives on, and what is trio's alone.

The behaviour that all loops share is in the other files, which run on each of them.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import sniffio

import acp
from acp import Limits
from acp._runtime import Runtime, fill
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.raw_peer import agent_under_test, beside, client_under_test, prompt, serving, within
from tests.sides import Nothing, Prompted, Silent

AGENT = """
import os, sys, anyio, acp
from acp.agent.connection import AgentSideConnection

class Agent(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **kwargs):
        return acp.NewSessionResponse(session_id=cwd)

    async def prompt(self, session_id, prompt, **kwargs):
        word = prompt[0].text
        if word == "crash":
            print("about to crash", file=sys.stderr, flush=True)
            os._exit(7)
        for number in range(int(word)):
            print("noise on standard output")
            text = acp.update_agent_message_text(str(number))
            await self.client.session_update(session_id, text)
        return acp.PromptResponse(stop_reason="end_turn")

async def main():
    await AgentSideConnection(Agent(), acp.stdio_transport(), listening=False).listen()

anyio.run(main, backend=sys.argv[1])
"""


class Client(acp.Client):
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        if len(self.texts) % 10 == 0:
            await anyio.lowlevel.checkpoint()
        self.texts.append(update.content.text)


def agent_process() -> Any:
    loop = sniffio.current_async_library()
    return acp.process_transport(sys.executable, "-c", AGENT, loop)


async def test_an_agent_and_a_client_in_two_processes_run_on_any_loop() -> None:
    client, transport = Client(), agent_process()
    async with serving(ClientSideConnection, client, transport) as (agent, _):
        assert (await within(agent.initialize(1))).protocol_version == 1
        session = (await within(agent.new_session("/x"))).session_id
        turn = await within(agent.prompt(session, [acp.text_block("3000")]))
        assert turn.stop_reason == "end_turn"
        assert client.texts == [str(number) for number in range(3000)]
    assert transport.process.returncode == 0


async def test_a_crash_of_the_agent_fails_the_call_on_any_loop() -> None:
    async with serving(ClientSideConnection, Client(), agent_process()) as (agent, _):
        await within(agent.initialize(1))
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.prompt("s", [acp.text_block("crash")]))
    assert caught.value.exit_code == 7
    assert caught.value.stderr_tail == "about to crash\n"


async def test_a_cancelled_scope_around_a_process_still_ends_and_reaps_it() -> None:
    transport = acp.process_transport(sys.executable, "-c", "import sys; sys.stdin.read()")
    with anyio.CancelScope() as scope:
        async with transport:
            scope.cancel()
            await anyio.sleep(60)
    assert transport.process.returncode == 0


async def test_a_connection_whose_scope_is_cancelled_sends_what_is_queued_and_closes() -> None:
    ours, theirs = acp.memory_pair()
    connection = AgentSideConnection(Prompted(), ours, listening=False)
    async with anyio.create_task_group() as group:
        group.start_soon(connection.listen)
        await within(theirs.send(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n'))
        assert b"-32601" in await within(theirs.receive())
        await connection.session_update("s", acp.update_agent_message_text("last"))
        group.cancel_scope.cancel()
    assert b"last" in await within(theirs.receive())
    assert await within(theirs.receive()) == b""


# One process, two loops.


def test_connections_of_one_process_live_on_different_loops_at_once() -> None:
    both_run = threading.Barrier(2, timeout=20)
    seen: dict[str, list[str]] = {}

    async def converse() -> None:
        class Agent(acp.Agent):
            async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
                await anyio.to_thread.run_sync(both_run.wait)
                for number in range(300):
                    text = acp.update_agent_message_text(str(number))
                    await connection.session_update(session_id, text)
                return acp.PromptResponse(stop_reason="end_turn")

        one, other = acp.memory_pair()
        client = Client()
        async with (
            serving(AgentSideConnection, Agent(), one) as (connection, _),
            serving(ClientSideConnection, client, other) as (agent, _),
        ):
            await within(agent.prompt("s", [acp.text_block("x")]))
        seen[sniffio.current_async_library()] = client.texts

    threads = [
        threading.Thread(target=functools.partial(anyio.run, converse, backend=backend))
        for backend in ("asyncio", "trio")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    names = [str(number) for number in range(300)]
    assert seen == {"asyncio": names, "trio": names}


def test_a_connection_made_before_any_loop_runs_takes_the_loop_that_serves_it() -> None:
    async def ask(connection: Any, peer: Any) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(connection.listen)
            await within(peer.send(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n'))
            assert b"-32601" in await within(peer.receive())
            await within(connection.close())

    for backend in ("asyncio", "trio"):
        ours, theirs = acp.memory_pair()
        connection = AgentSideConnection(Nothing(), ours, listening=False)
        anyio.run(ask, connection, theirs, backend=backend)


def test_asyncio_users_load_no_trio() -> None:
    program = """
import asyncio, sys, acp

class Client(acp.Client):
    pass

async def main():
    one, other = acp.memory_pair()
    async with acp.connect_to_agent(Client(), one):
        await other.close()

asyncio.run(main())
assert "trio" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=50)


# The primitives.


async def test_a_slot_is_filled_once_and_wakes_its_one_waiter() -> None:
    slot = Runtime().slot()
    async with anyio.create_task_group() as group:
        waiting = beside(group, _value_of(slot))
        await anyio.lowlevel.checkpoint()
        assert fill(slot, 5)
        assert not fill(slot, 6)
        assert await within(waiting) == 5


async def test_a_slot_that_is_filled_first_does_not_wait() -> None:
    slot = Runtime().slot()
    assert fill(slot, 5)
    assert await within(slot) == 5


async def test_a_slot_whose_waiter_was_cancelled_takes_nothing() -> None:
    slot = Runtime().slot()
    with anyio.move_on_after(0.01):
        await slot
    assert not fill(slot, 5)


async def test_a_delayed_call_comes_unless_it_is_prevented() -> None:
    calls: list[str] = []
    runtime = Runtime()
    async with anyio.create_task_group() as group:

        def assign(duty: Callable[[Any], Any]) -> None:
            group.start_soon(duty, None)

        come = anyio.Event()
        prevent = runtime.later(0.01, lambda: calls.append("prevented"), assign)
        runtime.later(0.02, come.set, assign)
        prevent()
        await within(come.wait())
    assert calls == []


def test_without_a_loop_the_primitives_say_so() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        Runtime().slot()


# Names that are asyncio's, on trio.


trio_only = pytest.mark.parametrize("anyio_backend", [pytest.param(("trio", {}), id="trio")])


@trio_only
async def test_names_that_need_asyncio_say_so_on_trio_and_start_nothing() -> None:
    def names_itself(name: str) -> Any:
        return pytest.raises(RuntimeError, match=f"{name} runs on asyncio; on trio")

    for kind, handlers in ((AgentSideConnection, Nothing()), (ClientSideConnection, Silent())):
        with names_itself(kind.__name__):
            kind(handlers, acp.memory_pair()[0])
    with names_itself("ClientSideConnection"):
        acp.connect_to_agent(Silent(), acp.memory_pair()[0])
    with names_itself("run_agent"):
        await acp.run_agent(Nothing())
    with names_itself("spawn_agent_process"):
        async with acp.spawn_agent_process(Silent(), "/no/such/command"):
            pass
    with names_itself("spawn_client_process"):
        async with acp.spawn_client_process(Nothing(), "/no/such/command"):
            pass
    with names_itself("stdio_streams"):
        await acp.stdio_streams()


# What only trio does.


@trio_only
async def test_a_handler_may_keep_a_nursery_of_its_own() -> None:
    import trio

    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            found: list[int] = []

            async def add(number: int) -> None:
                await trio.lowlevel.checkpoint()
                found.append(number)

            async with trio.open_nursery() as nursery:
                for number in range(5):
                    nursery.start_soon(add, number)
            return acp.NewSessionResponse(session_id=str(sum(found)))

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/new", {"cwd": "/", "mcpServers": []})
        assert (await peer.receive())["result"] == {"sessionId": "10"}


class Failing:
    """Handlers of which a child fails while they are cancelled, which makes a group of both."""

    def __init__(self) -> None:
        self.started = anyio.Event()

    async def _fail(self) -> None:
        import trio

        async def fail_when_cancelled() -> None:
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("secret")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail_when_cancelled)
            self.started.set()
            await trio.sleep_forever()

    async def prompt(self, session_id: str, **kwargs: Any) -> Any:
        await self._fail()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        await self._fail()


@trio_only
async def test_a_nursery_that_fails_while_its_request_is_cancelled_is_an_error_answer() -> None:
    agent = Failing()
    async with agent_under_test(agent) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        await within(agent.started.wait())
        await peer.notify("$/cancel_request", {"requestId": 1})
        answer = await peer.receive()
        assert answer["error"]["code"] == -32603
        assert "secret" not in str(answer)
        await peer.request(2, "x")
        assert (await peer.receive())["id"] == 2


@trio_only
async def test_a_nursery_that_fails_while_the_connection_ends_does_not_fail_the_connection() -> (
    None
):
    agent, client = Failing(), Failing()
    limits = Limits(closing=0.05)
    async with agent_under_test(agent, limits=limits) as (peer, connection):
        await peer.request(1, "session/prompt", prompt())
        await within(agent.started.wait())
        await within(connection.close())
    async with client_under_test(client, limits=limits) as (connection, peer):
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}}
        await peer.notify("session/update", {"sessionId": "s", "update": update})
        await within(client.started.wait())
        await within(connection.close())


@trio_only
async def test_a_stderr_reader_that_is_closed_reads_no_more_and_blocks_nobody() -> None:
    import trio

    program = "import sys; sys.stderr.write('x' * (1 << 18)); sys.stderr.flush(); print('done')"
    async with acp.process_transport(sys.executable, "-c", program) as transport:
        stderr: Any = transport.process.stderr
        await stderr.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await within(stderr.receive_some(1))
        assert await within(transport.receive()) == b"done\n"


async def _value_of(slot: Any) -> Any:
    return await slot
