"""Transports of messages that take little, or nothing."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import Limits
from tests.message_transports.links import ON_THE_WAY, Ends, causes, client_over
from tests.raw_peer import beside, within
from tests.sides import turns, until


async def test_one_task_waits_for_a_send_that_blocks_and_the_others_for_room(
    ends: Ends,
) -> None:
    """The transport takes nothing: what is unsent stays below its mark."""
    ours, theirs = ends
    limits = Limits(unsent_bytes=4096, sends_per_turn=1)
    ended = 0

    async def flood(connection: Any) -> None:
        nonlocal ended
        for _ in range(100):
            await connection.notify("_x/note", {"text": "x" * 100})
        ended += 1

    async with client_over(ours, limits=limits) as (agent, group):
        async with anyio.create_task_group() as tasks:
            flooding = [beside(group or tasks, flood(agent)) for _ in range(5)]
            await until(lambda: agent.stats().unsent_bytes > 4096)
            await turns()
            assert (ended, ours.sending) == (0, 1)
            assert agent.stats().unsent_bytes < 4096 + 5 * 200
            assert ours.outgoing.statistics().current_buffer_used == ON_THE_WAY
            for _ in range(500):
                assert (await within(theirs.receive()))["method"] == "_x/note"
            for each in flooding:
                await within(each)
        assert agent.stats().unsent_bytes == 0
    assert ended == 5


async def test_closing_ends_a_send_that_blocks(ends: Ends) -> None:
    ours, _theirs = ends
    limits = Limits(draining=0.05, unsent_bytes=100_000)
    async with client_over(ours, limits=limits) as (agent, _):
        for _ in range(2 * ON_THE_WAY):
            await within(agent.notify("_x/note"))
        await until(lambda: ours.sending == 1)
        await within(agent.close())
        assert (ours.sending, ours.closed) == (0, 1)


async def test_a_transport_that_takes_a_message_now_and_then_is_not_stalled(
    ends: Ends,
) -> None:
    """All of them together take longer than the time that one may take."""
    ours, theirs = ends
    send = ours.send

    async def slowly(message: dict[str, Any]) -> None:
        await anyio.sleep(0.06)
        await send(message)

    ours.send = slowly
    async with client_over(ours, limits=Limits(write_stall=0.4)) as (agent, _):
        for number in range(ON_THE_WAY):
            await within(agent.notify("_x/note", {"number": number}))
        got = [(await within(theirs.receive()))["params"]["number"] for _ in range(ON_THE_WAY)]
        assert got == list(range(ON_THE_WAY))
        await within(agent.notify("_x/note", {"number": 8}))
        assert (await within(theirs.receive()))["params"] == {"number": 8}


async def test_a_transport_that_takes_nothing_for_too_long_ends_the_connection(
    ends: Ends,
) -> None:
    ours, _theirs = ends
    async with client_over(ours, limits=Limits(write_stall=0.05, closing=0.05)) as (agent, _):
        for _ in range(ON_THE_WAY):
            await within(agent.notify("_x/note"))
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
        assert "TimeoutError" in causes(caught.value)
    assert ours.closed == 1
