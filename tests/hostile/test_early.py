"""What arrives before a handshake is done: it is refused at once, and floods of it have bounds."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import v1, v2
from acp.negotiation import AgentRouter
from reliability.opened import opened
from reliability.places import answering, initialize, initialized
from tests import raw_peer
from tests.raw_peer import RawPeer, within

pytestmark = pytest.mark.usefixtures("link")
each_version = pytest.mark.parametrize("version", [v1, v2], ids=["v1", "v2"])

TOO_EARLY = "ACP initialization must complete before `_ping` can be used"
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"_ping"}\n'


async def test_a_client_refuses_at_once_while_it_waits_for_its_own_initialize() -> None:
    """Also where what arrives is looked at for answers first."""
    client = v2.Client()
    async with opened(client, handshake=False) as (connection, peer):
        opening = peer.start(connection.initialize())
        asked = await peer.receive()
        for number in range(3):
            await peer.request(number, "_ping", {})
            refused = await peer.receive()
            assert (refused["id"], refused["error"]["data"]) == (number, TOO_EARLY)
        # An answer and a request that is behind it, at once.
        await peer.send(
            {"id": asked["id"], "result": initialized(2)}, {"id": "last", "method": "_ping"}
        )
        assert (await peer.receive())["error"]["code"] == -32601
        assert (await within(opening)).protocol_version == 2


async def flood(peer: RawPeer, line: bytes) -> None:
    """Sends without end, and reads nothing."""
    with anyio.fail_after(raw_peer.BOUND):
        try:
            while True:
                await peer.transport.send(line * 500)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


@each_version
async def test_refusals_that_nobody_reads_end_the_connection_above_a_bound(version: Any) -> None:
    hard = 200_000
    limits = acp.Limits(unsent_bytes_hard=hard, write_stall=None, closing=0.05, draining=0.05)
    most = 0
    async with opened(version.Agent(limits=limits), handshake=False) as (connection, peer):
        flooding = peer.start(flood(peer, REQUEST))
        while not flooding.done():
            most = max(most, connection.stats().unsent_bytes)
            await anyio.lowlevel.checkpoint()
        await within(flooding)
        await within(connection.wait_closed())
    # What is in the hands of the writer, the mark, and what the last chunks were answered with.
    assert hard < most < 3 * 1024 * 1024


@pytest.mark.parametrize("line", [b"noise\n", REQUEST], ids=["noise", "requests"])
async def test_a_router_whose_refusals_nobody_reads_gives_up(line: bytes) -> None:
    limits = acp.Limits(draining=0.05)
    router = AgentRouter(v2=answering(2, "agent"), close_on_rejection=False, limits=limits)
    ours, theirs = raw_peer.pair()
    await theirs.open()
    with anyio.fail_after(raw_peer.BOUND):
        async with anyio.create_task_group() as group:
            group.start_soon(router.serve, ours)
            await flood(RawPeer(theirs, group), line)
            await theirs.close()


async def test_noise_in_front_of_initialize_costs_a_router_nothing_else() -> None:
    """C-195."""
    router = AgentRouter(answering(1, "agent"), answering(2, "agent"))
    ours, theirs = raw_peer.pair()
    await theirs.open()
    with anyio.fail_after(raw_peer.BOUND):
        async with anyio.create_task_group() as group:
            group.start_soon(router.serve, ours)
            peer = RawPeer(theirs, group)
            for _ in range(200):
                await theirs.send(b"noise\n" * 20)
                refused = [await peer.receive() for _ in range(20)]
                assert {each["error"]["code"] for each in refused} == {-32700}
            await peer.request(0, "initialize", initialize(2))
            assert (await peer.receive())["result"]["protocolVersion"] == 2
            await theirs.close()
