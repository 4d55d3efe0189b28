"""A connection that is quiet: one task, little memory, and everything arrives as before."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
import sniffio

import acp
import acp._inbox
from acp._transports.memory import MemoryTransport
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.raw_peer import RawPeer, chunk, client_under_test, prompt, serving, within
from tests.rest import (
    Notes,
    Tasks,
    both_kinds,
    client_at_rest,
    inbox_of,
    json_line,
    look,
    rested,
    sockets,
)
from tests.sides import Nothing, Recorder, Silent, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rest import Pair

asyncio_only = pytest.mark.asyncio_only


@both_kinds
@asyncio_only
async def test_a_connection_at_rest_is_one_task_without_a_timer(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, Silent()) as (client, _, tasks):
        await until(lambda: tasks.names == ["acp client"])
        assert inbox_of(client)._end_quiet is None


@asyncio_only
async def test_the_quiet_time_brings_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acp._inbox, "QUIET", 0.01)
    tasks = Tasks()
    async with client_under_test(notes := Notes()) as (client, peer):
        for text in "ab":
            await until(lambda: inbox_of(client)._resting)
            await until(lambda: tasks.names == ["acp client"])
            await peer.send(chunk(text))
            await until(lambda text=text: notes.texts[-1:] == [text])
    assert notes.texts == ["a", "b"]


@both_kinds
@asyncio_only
async def test_requests_and_notifications_end_a_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, notes := Notes()) as (client, peer, tasks):
        await peer.send(chunk("a"), chunk("b"))
        await until(lambda: notes.texts == ["a", "b"])
        await rested(client)
        await peer.request(1, "_echo", {"x": 1})
        assert await peer.receive() == {"jsonrpc": "2.0", "id": 1, "result": {"echo": {"x": 1}}}
        await rested(client)
        await until(lambda: tasks.names == ["acp client"])


@both_kinds
@asyncio_only
async def test_an_answer_does_not_end_a_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, Silent()) as (client, peer, tasks):
        # An answer in many chunks is as good as one.
        for text in ("short", "x" * 500_000):
            calling = asyncio.ensure_future(client.ext_method("x", {}))
            request = await peer.receive()
            sending = asyncio.ensure_future(peer.answer(request["id"], {"text": text}))
            assert await within(calling) == {"text": text}
            await within(sending)
            assert inbox_of(client)._resting
            assert tasks.names == ["acp client"]


@both_kinds
@asyncio_only
async def test_what_comes_behind_an_answer_ends_a_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, notes := Notes()) as (client, peer, _):
        calling = asyncio.ensure_future(client.ext_method("x", {}))
        request = await peer.receive()
        await peer.send({"id": request["id"], "result": {}}, chunk("a"), chunk("b"))
        # More comes before any task goes on with the first.
        await peer.send(chunk("c"))
        assert await within(calling) == {}
        await peer.send(chunk("d"))
        await until(lambda: len(notes.texts) >= 4)
        assert notes.texts == list("abcd")


@asyncio_only
async def test_bytes_behind_a_chunk_that_was_offered_are_not_taken_for_it() -> None:
    ours, theirs = acp.memory_pair()
    async with serving(ClientSideConnection, notes := Notes(), ours) as (client, _):
        await rested(client)
        peer = RawPeer(theirs)
        calling = asyncio.ensure_future(client.ext_method("x", {}))
        request = await peer.receive()
        await peer.send({"id": request["id"], "result": {}}, chunk("a"))
        ours._incoming._offer()
        assert not inbox_of(client)._resting
        await peer.send(chunk("b"))
        assert await within(calling) == {}
        await until(lambda: len(notes.texts) >= 2)
        assert notes.texts == ["a", "b"]
        await theirs.close()


@both_kinds
@asyncio_only
async def test_bytes_of_the_turn_in_which_it_goes_to_rest_are_handled_once(
    make: Callable[[], Pair],
) -> None:
    async with client_at_rest(make, notes := Notes()) as (client, peer, _):
        count = 0

        async def next_is(*texts: str) -> None:
            nonlocal count
            count += len(texts)
            await until(lambda: len(notes.texts) >= count)
            assert notes.texts[-len(texts) :] == list(texts)
            await until(lambda: inbox_of(client)._reader is not None)
            # Notes that something was heard.
            look(client)

        await peer.send(chunk("wake"))
        await next_is("wake")
        # No other task runs between these: a send does not wait while there is room.
        await peer.send(chunk("a"))
        look(client)
        await peer.send(chunk("b"))
        await next_is("a", "b")
        assert look(client)
        await peer.send(chunk("c"))
        await peer.send(chunk("d"))
        await next_is("c", "d")
        assert len(notes.texts) == count


@asyncio_only
async def test_no_rest_begins_where_bytes_were_read_already() -> None:
    ours, theirs = sockets()
    async with serving(ClientSideConnection, notes := Notes(), ours) as (client, _), theirs:
        await until(lambda: inbox_of(client)._reader is not None)
        readiness: Any = ours._readiness
        for text in "abc":
            await until(lambda: inbox_of(client)._reader is not None)
            await RawPeer(theirs).send(chunk(text))
            readiness._on_readable()
            inbox_of(client)._heard = False
            assert not look(client)
            await until(lambda text=text: notes.texts[-1:] == [text])
        assert notes.texts == ["a", "b", "c"]


@both_kinds
@asyncio_only
async def test_order_lasts_through_many_rests(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, notes := Notes()) as (client, peer, tasks):
        sent = 0
        for turn in range(100):
            await rested(client)
            calling = asyncio.ensure_future(client.ext_method("x", {})) if turn % 3 else None
            if calling is not None:
                request = await peer.receive()
            for _ in range(turn % 5 + 1):
                text = json_line(str(sent))
                sent += 1
                # Cut anywhere, also so that a chunk ends no message.
                cut = len(text) * (turn % 7) // 7
                await peer.send_text(text[:cut])
                if turn % 2:
                    await anyio.lowlevel.checkpoint()
                await peer.send_text(text[cut:])
            if calling is not None:
                await peer.answer(request["id"], {})
                assert await within(calling) == {}
            await until(lambda sent=sent: len(notes.texts) >= sent)
        assert notes.texts == [str(number) for number in range(sent)]
        await rested(client)
        await until(lambda: tasks.names == ["acp client"])


@both_kinds
@asyncio_only
async def test_tasks_without_a_duty_stay_until_a_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, recorder := Recorder()) as (client, peer, tasks):
        for session in "ab":
            recorder.go = anyio.Event()
            await peer.send(chunk("x", session), chunk("y", session))
            await until(lambda: len(recorder.started) > len(recorder.texts))
            recorder.go.set()
            await until(lambda: len(recorder.started) % 2 == 0)
            await until(lambda: len(inbox_of(client)._workers._parked) == 1)
            assert len(tasks.names) == 3
            await rested(client)
            await until(lambda: tasks.names == ["acp client"])
        assert recorder.texts == ["x", "y", "x", "y"]


@both_kinds
@asyncio_only
async def test_more_than_the_transport_holds_ends_a_rest(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, notes := Notes()) as (_, peer, _):
        texts = ["x" * 1_000_000, "last"]
        await peer.send(*map(chunk, texts))
        await until(lambda: len(notes.texts) == 2)
        assert notes.texts == texts


@both_kinds
@asyncio_only
async def test_a_handler_goes_on_at_rest(make: Callable[[], Pair]) -> None:
    ours, theirs = make()
    tasks = Tasks()
    async with serving(ClientSideConnection, recorder := Recorder(), ours) as (client, _), theirs:
        peer = RawPeer(theirs)
        await peer.send(chunk("a"), chunk("b"))
        await until(lambda: recorder.started == ["a"])
        await rested(client)
        await until(lambda: len(tasks.names) == 2)
        # An answer that has to wait for the updates before it.
        calling = asyncio.ensure_future(client.prompt(session_id="s", prompt=[]))
        request = await peer.receive()
        await peer.answer(request["id"], {"stopReason": "end_turn"})
        await peer.send(chunk("c"))
        await until(lambda: not inbox_of(client)._resting)
        await rested(client)
        assert not calling.done()
        recorder.go.set()
        assert (await within(calling)).stop_reason == "end_turn"
        await until(lambda: recorder.texts == ["a", "b", "c"])
        await rested(client)
        await until(lambda: tasks.names == ["acp client"])


def task_groups() -> int:
    """How many there are."""
    gc.collect()
    return sum(type(each).__name__ == "TaskGroup" for each in gc.get_objects())


@both_kinds
@asyncio_only
async def test_a_connection_at_rest_has_no_task_group(make: Callable[[], Pair]) -> None:
    before = task_groups()
    async with client_at_rest(make, recorder := Recorder()) as (client, peer, tasks):
        await until(lambda: task_groups() == before)
        for session in "ab":
            recorder.go = anyio.Event()
            await peer.send(chunk("x", session))
            await until(lambda session=session: recorder.started[-1:] == ["x"])
            await until(lambda: len(tasks.names) > 1)
            assert task_groups() == before + 1
            recorder.go.set()
            await rested(client)
            await until(lambda: task_groups() == before)
            assert tasks.names == ["acp client"]
            recorder.started.clear()


@both_kinds
@asyncio_only
async def test_a_connection_that_is_cancelled_at_rest_sends_what_is_queued_and_ends(
    make: Callable[[], Pair],
) -> None:
    ours, theirs = make()
    client = ClientSideConnection(Silent(), ours, listening=False)
    peer = RawPeer(theirs)
    async with theirs:
        for_life = asyncio.ensure_future(client.listen())
        await rested(client)
        calling = asyncio.ensure_future(client.ext_method("x", {}))
        # The call is queued in this turn, and the cancellation comes before any is sent.
        await anyio.lowlevel.checkpoint()
        for_life.cancel()
        assert (await peer.receive())["method"] == "_x"
        with pytest.raises(acp.ConnectionClosed):
            await within(calling)
        with pytest.raises(asyncio.CancelledError):
            await within(for_life)
        await within(client.close())


@both_kinds
@asyncio_only
async def test_a_connection_that_is_closed_at_rest_ends(make: Callable[[], Pair]) -> None:
    async with client_at_rest(make, Silent()) as (client, peer, tasks):
        await within(client.close())
        await until(lambda: tasks.names == [])
        assert await peer.receive_all() == []


class Own(MemoryTransport):
    """Has to see every byte."""

    seen = b""

    async def receive(self) -> bytes:
        data = await super().receive()
        self.seen += data
        return data


async def test_a_transport_that_sees_every_byte_keeps_its_task() -> None:
    ours, theirs = acp.memory_pair()
    own = Own(ours._incoming, ours._outgoing)
    async with serving(ClientSideConnection, notes := Notes(), own) as (client, _):
        await until(lambda: inbox_of(client)._reader is not None)
        assert not look(client)
        await RawPeer(theirs).send(chunk("a"))
        await until(lambda: notes.texts == ["a"])
        assert own.seen.endswith(b"\n")
        await theirs.close()


@both_kinds
async def test_only_on_asyncio_does_anything_look_for_quiet(make: Callable[[], Pair]) -> None:
    ours, theirs = make()
    async with serving(AgentSideConnection, Nothing(), ours) as (agent, _), theirs:
        await until(lambda: inbox_of(agent)._reader is not None)
        await until(lambda: inbox_of(agent)._rests or sniffio.current_async_library() == "trio")
        waits = inbox_of(agent)._end_quiet is not None
        assert waits == (sniffio.current_async_library() == "asyncio")
        await RawPeer(theirs).request(1, "session/prompt", prompt())
        await RawPeer(theirs).receive()


@asyncio_only
async def test_a_connection_at_rest_costs_at_most_8_kib_a_side() -> None:
    pairs: list[tuple[AgentSideConnection, ClientSideConnection]] = []

    async def add(count: int) -> None:
        added = [acp.memory_pair() for _ in range(count)]
        both = [
            (AgentSideConnection(Opened(), one), ClientSideConnection(Silent(), other))
            for one, other in added
        ]
        for _, client in both:
            await within(client.initialize(protocol_version=1))
        await rested(*(side for pair in both for side in pair))
        pairs.extend(both)

    await add(20)
    tasks = Tasks()
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        await add(100)
        await until(lambda: len(tasks.names) == 200)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    for pair in pairs:
        for side in pair:
            await within(side.close())
    assert (after - before) / 200 <= 8 * 1024


class Opened(acp.Agent):
    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)
