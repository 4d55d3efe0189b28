"""Sending to a peer that is gone, and answers that are none."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import acp
from acp import Limits
from acp._transports.descriptors import DescriptorTransport
from tests.field.wires import SIDES, Echo, answer_of, each_cut, each_side, each_wire, wired
from tests.raw_peer import beside, serving, within
from tests.sides import turns


@asynccontextmanager
async def to_a_pipe_without_reader(
    side: str, **options: Any
) -> AsyncGenerator[tuple[Any, int, Any], None]:
    """A connection whose peer reads nothing any more and may still write: to the descriptor."""
    read_fd, their_write_fd = os.pipe()
    their_read_fd, write_fd = os.pipe()
    transport = DescriptorTransport(read_fd, write_fd)
    async with serving(SIDES[side], Echo(), transport, **options) as (connection, group):
        os.close(their_read_fd)
        try:
            yield connection, their_write_fd, group
        finally:
            os.close(their_write_fd)


async def noted(sending: Any) -> Exception | None:
    try:
        await within(sending)
    except acp.ConnectionClosed as exc:
        return exc
    return None


@each_side
async def test_every_send_to_a_peer_that_reads_no_more_fails_at_once(side: str) -> None:
    """C04: the first may go out before that is known; none waits."""
    limits = Limits(closing=0.05)
    async with to_a_pipe_without_reader(side, limits=limits) as (connection, _, _group):
        failures: list[Exception | None] = []
        for _ in range(4):
            failures.append(await noted(connection.ext_notification("x", {})))
            await turns(3)
        assert all(failure is not None for failure in failures[1:])
        for _ in range(2):
            with pytest.raises(acp.ConnectionClosed) as caught:
                await within(connection.ext_method("x", {}))
            assert isinstance(caught.value, ConnectionError)
        with anyio.fail_after(2):
            await connection.close()


@each_side
async def test_a_call_that_is_the_first_to_find_the_peer_gone_fails(side: str) -> None:
    """C04: nothing stays pending of a request that could not be sent."""
    limits = Limits(closing=0.05)
    async with to_a_pipe_without_reader(side, limits=limits) as (connection, _, _group):
        with pytest.raises(acp.ConnectionClosed):
            await within(connection.ext_method("x", {}))


@each_side
async def test_many_calls_at_the_time_of_the_break_all_fail(side: str) -> None:
    """C04."""
    limits = Limits(closing=0.05)
    async with (
        to_a_pipe_without_reader(side, limits=limits) as (connection, _, group),
        anyio.create_task_group() as tasks,
    ):
        calls = [beside(group or tasks, connection.ext_method("x", {})) for _ in range(50)]
        notes = [beside(group or tasks, noted(connection.ext_notification("n", {}))) for _ in "123"]
        for call in calls:
            with pytest.raises(acp.ConnectionClosed):
                await within(call)
        for note in notes:
            await within(note)


@each_side
async def test_a_sender_that_waits_for_room_fails_when_the_peer_goes(side: str) -> None:
    """C04: it is not left on a queue that nobody serves."""
    async with wired(side, Echo(), limits=Limits(closing=0.05)) as (connection, peer):
        sent = 0

        async def send() -> None:
            nonlocal sent
            while True:
                await connection.ext_notification("x", {"filler": "x" * 20_000})
                sent += 1

        senders = [peer.start(send()) for _ in range(3)]
        before = -1
        while sent != before:
            before = sent
            await turns(100)
        await peer.transport.close()
        for sender in senders:
            with pytest.raises(acp.ConnectionClosed):
                await within(sender)


@each_side
@each_wire
async def test_what_is_sent_to_a_closed_connection_fails_whatever_it_is(
    side: str, wire: str
) -> None:
    """C04, C06."""
    async with wired(side, Echo(), wire=wire) as (connection, _):
        await within(connection.close())
        for _ in range(3):
            with pytest.raises(acp.ConnectionClosed):
                await within(connection.ext_notification("x", {}))
            with pytest.raises(acp.ConnectionClosed):
                await within(connection.ext_method("x", {}))
        await within(connection.close())


async def test_an_agent_whose_client_reads_no_more_still_hears_it() -> None:
    """C04: what the peer wrote before counts: a cancel, an answer."""
    echo = Echo()
    read_fd, their_write_fd = os.pipe()
    their_read_fd, write_fd = os.pipe()
    transport = DescriptorTransport(read_fd, write_fd)
    async with serving(SIDES["agent"], echo, transport):
        os.close(their_read_fd)
        os.write(their_write_fd, b'{"jsonrpc":"2.0","id":1,"method":"_x/e"}\n' * 3)
        os.write(their_write_fd, b'{"jsonrpc":"2.0","method":"_n/last"}\n')
        os.close(their_write_fd)
        with anyio.fail_after(5):
            while not echo.notes:
                await anyio.lowlevel.checkpoint()
    assert echo.notes == [("n/last", {})]


MALFORMED = [
    '"error":"boom"',
    '"error":7',
    '"error":[]',
    '"error":{}',
    '"error":{"code":"text","message":"m"}',
    '"error":{"code":1.5,"message":"m"}',
    '"error":{"code":-32000}',
    '"error":{"code":-32000,"message":5}',
    '"error":{"message":"m"}',
    '"result":1,"error":{"code":1,"message":"m"}',
    '"what":1',
    '"result":1,"result":2',
    '"jsonrpc":"1.0","result":1',
]


@each_side
@each_cut
@pytest.mark.parametrize("members", MALFORMED)
async def test_a_malformed_answer_fails_its_caller_alone_and_nothing_is_sent_back(
    side: str, cut: int | None, members: str
) -> None:
    """C05."""
    async with wired(side, Echo(), cut=cut) as (connection, peer):
        first = peer.start(answer_of(connection))
        await peer.receive()
        second = peer.start(answer_of(connection))
        await peer.receive()
        version = "" if members.startswith('"jsonrpc"') else '"jsonrpc":"2.0",'
        await peer.send_bytes(
            f'{{{version}"id":0,{members}}}\n'.encode(),
            b'{"jsonrpc":"2.0","id":{"a":1},"result":1}\n',
            b'{"jsonrpc":"2.0","id":1,"result":"B"}\n',
        )
        with pytest.raises((acp.RemoteProtocolError, acp.RequestError)):
            await within(first)
        assert await within(second) == "B"
        assert (await peer.exchange(9))["id"] == 9


@each_side
async def test_a_result_beside_a_null_error_is_a_result(side: str) -> None:
    """C05."""
    async with wired(side, Echo()) as (connection, peer):
        calling = peer.start(answer_of(connection))
        await peer.receive()
        await peer.send({"id": 0, "result": {"a": 1}, "error": None})
        assert await within(calling) == {"a": 1}


@each_side
@pytest.mark.parametrize("member", ['"result":1', '"error":{"code":1,"message":"m"}', '"error":1'])
async def test_an_answer_to_nobody_is_ignored(
    side: str, member: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C05: no answer to an answer, and no traceback."""
    async with wired(side, Echo()) as (connection, peer):
        calling = peer.start(answer_of(connection))
        await peer.receive()
        for written in ("null", "99", '"x"', "[]"):
            await peer.send_bytes(f'{{"jsonrpc":"2.0","id":{written},{member}}}\n'.encode())
        assert (await peer.exchange(9))["id"] == 9
        assert not calling.done()
        await peer.answer(0, {})
        await within(calling)
    assert [r for r in caplog.records if r.levelno >= logging.ERROR or r.exc_info] == []


@each_side
async def test_a_second_answer_to_the_same_request_is_ignored(side: str) -> None:
    """C05."""
    async with wired(side, Echo()) as (connection, peer):
        calling = peer.start(answer_of(connection))
        await peer.receive()
        await peer.send(*({"id": 0, "result": {"n": number}} for number in range(3)))
        assert await within(calling) == {"n": 0}
        assert (await peer.exchange(9))["id"] == 9
