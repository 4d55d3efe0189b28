"""Connections at rest that end: closed by either side, by errors, with their process."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp.client.connection import ClientSideConnection
from tests.raw_peer import chunk, serving, within
from tests.rest import (
    Notes,
    Tasks,
    both_kinds,
    client_at_rest,
    inbox_of,
    json_line,
    look,
    memory,
    rested,
    sockets,
)
from tests.sides import Silent, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rest import Pair

asyncio_only = pytest.mark.asyncio_only


@both_kinds
@asyncio_only
async def test_closing_works_at_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, Silent()) as (client, peer, tasks):
        calling = asyncio.ensure_future(client.ext_method("x", {}))
        await peer.receive()
        await within(client.close())
        with pytest.raises(acp.ConnectionClosed):
            await within(calling)
        assert await peer.receive() is None
        await until(lambda: tasks.names == [])


@both_kinds
@asyncio_only
async def test_the_peers_end_is_seen_at_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, notes := Notes()) as (client, peer, tasks):
        calling = asyncio.ensure_future(client.ext_method("x", {}))
        await peer.receive()
        # Its last words, the last of them without a newline, are in the same turn.
        await peer.send(chunk("a"))
        await peer.send_text(json_line("b").rstrip("\n"))
        await peer.transport.close()
        with pytest.raises(acp.ConnectionClosed):
            await within(calling)
        assert notes.texts == ["a", "b"]
        await until(lambda: tasks.names == [])
        await within(client.close())


@both_kinds
@asyncio_only
async def test_an_answer_and_the_end_are_seen_at_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, Silent()) as (client, peer, tasks):
        calling = asyncio.ensure_future(client.ext_method("x", {}))
        request = await peer.receive()
        await peer.answer(request["id"], {"x": 1})
        await peer.transport.close()
        assert await within(calling) == {"x": 1}
        await until(lambda: tasks.names == [])
        await within(client.close())


@asyncio_only
async def test_an_error_of_reading_is_seen_at_rest() -> None:
    async with client_at_rest(sockets, Silent()) as (client, peer, tasks):
        calling = asyncio.ensure_future(client.ext_method("x", {}))
        # A socket that is closed with bytes unread resets the other end.
        connection = client._connection
        await until(lambda: len(connection._calls) == 1 and connection._outbox.unsent == 0)
        await peer.transport.close()
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(calling)
        assert isinstance(caught.value.__cause__, anyio.BrokenResourceError)
        await until(lambda: tasks.names == [])


@both_kinds
@asyncio_only
async def test_a_transport_closed_by_others_ends_a_connection_at_rest(
    make: Callable[[], Pair],
) -> None:
    ours, theirs = make()
    tasks = Tasks()
    async with serving(ClientSideConnection, Silent(), ours) as (client, _), theirs:
        await rested(client)
        await ours.close()
        await until(lambda: tasks.names == [])


@asyncio_only
async def test_a_cancelled_host_leaves_nothing_at_rest() -> None:
    async with client_at_rest(sockets, Silent()) as (client, peer, tasks):
        client._conn._host.cancel()
        await until(lambda: tasks.names == [])
        assert await peer.receive() is None


@asyncio_only
async def test_closing_in_the_turn_of_a_rest_or_of_its_end() -> None:
    for before in (False, True):
        async with client_at_rest(memory, Notes()) as (client, peer, tasks):
            await peer.send(chunk("a"))
            if before:
                await until(lambda: inbox_of(client)._reader is not None)
                look(client)
                look(client)
            await within(client.close())
            await until(lambda: tasks.names == [])


PROGRAM = """
    import asyncio, sys
    import acp
    from acp.agent.connection import AgentSideConnection
    from tests.rest import Tasks, look, rested

    class Agent(acp.Agent):
        async def ext_method(self, method, params):
            return {"tasks": seen}

        async def ext_notification(self, method, params):
            if method == "exit":
                sys.exit(3)
            resting.set()

    async def main():
        tasks = Tasks()
        agent = AgentSideConnection(Agent(), acp.stdio_transport())
        while True:
            await resting.wait()
            resting.clear()
            await rested(agent)
            await asyncio.sleep(0)
            seen[:] = tasks.names
            await agent.ext_notification("rests", {})

    seen = []
    resting = asyncio.Event()
    asyncio.run(main())
"""


class Told(acp.Client):
    def __init__(self) -> None:
        self.count = 0

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.count += 1


@asyncio_only
async def test_two_programs_rest_and_the_end_of_one_is_seen_at_rest() -> None:
    transport = acp.process_transport(
        sys.executable,
        "-c",
        textwrap.dedent(PROGRAM),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    tasks = Tasks()
    client = ClientSideConnection(told := Told(), transport)
    for count in (1, 2):
        await within(client.ext_notification("rest", {}))
        await until(lambda count=count: told.count == count)
        await rested(client)
        assert await within(client.ext_method("tasks", {})) == {"tasks": ["acp agent"]}
        assert inbox_of(client)._resting
        assert tasks.names == ["acp client"]
    await within(client.ext_notification("exit", {}))
    with pytest.raises(acp.ConnectionClosed) as caught:
        await within(client.ext_method("tasks", {}))
    assert caught.value.exit_code == 3
    await until(lambda: tasks.names == [])
