"""Connections beside a block of code: what entering raises, and who is told of the end when."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v1, v2
from tests.raw_peer import BOUND


@pytest.mark.parametrize("version", [v1, v2])
async def test_a_command_that_cannot_be_started_is_told_where_the_connection_is_opened(
    version: Any,
) -> None:
    with anyio.fail_after(BOUND), pytest.raises(FileNotFoundError, match="/no/such/agent"):
        async with version.Client().connect(acp.process_transport("/no/such/agent")):
            pytest.fail("the block runs")


async def test_the_process_is_there_where_the_connection_is() -> None:
    transport = acp.process_transport(sys.executable, "-c", "import sys; sys.stdin.read()")
    with anyio.fail_after(BOUND):
        async with v2.Client().connect(transport):
            assert transport.process.pid > 0
    assert transport.process.returncode == 0


async def test_a_client_is_told_of_the_end_while_its_block_runs() -> None:
    client, told = v2.Client(), anyio.Event()

    @client.on_close
    async def _(connection: v2.Connection) -> None:
        assert connection.stats().handlers == 0
        told.set()

    there, here = acp.memory_pair()
    await there.open()
    with anyio.fail_after(BOUND):
        async with client.connect(here):
            assert not told.is_set()
            await there.close()
            await told.wait()


async def test_an_ordered_inbox_tells_its_consumer_that_the_agent_has_gone() -> None:
    """C-271, C-272."""
    inbox, client = acp.OrderedInbox(), v2.Client()
    inbox.attach(client)
    there, here = acp.memory_pair()
    await there.open()
    with anyio.fail_after(BOUND):
        async with client.connect(here) as connection:
            await there.close()
            event = await anext(inbox)
            assert isinstance(event, acp.InboxClosed)
            assert event.connection is connection
