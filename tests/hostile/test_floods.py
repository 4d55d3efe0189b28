"""Peers that send without end, to endpoints whose answers others owe: what is kept has bounds, and
each request has one answer.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from typing import Any

import anyio
import pytest

import acp
from acp import v2
from acp.v2 import schema
from reliability.opened import opened
from tests.raw_peer import RawPeer, chunk, within
from tests.sides import turns, until

pytestmark = pytest.mark.usefixtures("link")

MANY = 1000
FILLER = {"filler": "x" * 1000}


class Deferring:
    """An agent that leaves the answer of `_hang` to those who have its responders, and that of
    `_lose` to nobody.
    """

    def __init__(self, **limits: Any) -> None:
        self.responders: list[acp.Responder] = []
        self.agent = v2.Agent(limits=acp.Limits(**limits))
        self.agent.on_request("_hang")(self.hang)
        self.agent.on_request("_lose")(self.lose)

    def hang(self, params: Any, ctx: v2.Context) -> None:
        self.responders.append(ctx.defer())

    def lose(self, params: Any, ctx: v2.Context) -> None:
        ctx.defer()


def requests(method: str, count: int) -> list[dict[str, Any]]:
    return [{"id": number, "method": method, "params": FILLER} for number in range(count)]


async def answers_of(peer: RawPeer, count: int) -> Counter[Any]:
    """How often each id is answered, with what kind of answer, in that many answers."""
    found: Counter[Any] = Counter()
    while found.total() < count:
        answer = await peer.receive()
        found[answer["id"], answer.get("error", {}).get("code")] += 1
    return found


async def test_responders_that_are_kept_hold_up_reading_until_they_answer() -> None:
    limit, mark = 10, 20
    deferring = Deferring(running_handlers=limit, waiting_messages=mark)
    async with opened(deferring.agent) as (connection, peer):
        sending = peer.start(peer.send(*requests("_hang", MANY)))
        await until(lambda: connection.stats().waiting_messages > mark)
        await turns(200)
        stats = connection.stats()
        # Above the mark there is what came in one chunk with it.
        assert (stats.deferred, stats.handlers, sending.done()) == (limit, 0, False)
        assert stats.waiting_messages < MANY / 2
        assert len(deferring.responders) == limit
        found: Counter[Any] = Counter()
        while found.total() < MANY:
            await until(lambda: bool(deferring.responders))
            assert len(deferring.responders) <= limit
            responder = deferring.responders.pop()
            assert responder.respond({})
            assert not responder.respond({})
            found += await answers_of(peer, 1)
        await within(sending)
        assert connection.stats().deferred == 0
    assert found == {(number, None): 1 for number in range(MANY)}


async def test_responders_that_are_dropped_are_each_answered_once() -> None:
    async with opened(Deferring().agent) as (connection, peer):
        sending = peer.start(peer.send(*requests("_lose", MANY)))
        found = await answers_of(peer, MANY)
        await within(sending)
        assert connection.stats().deferred == 0
    assert found == {(number, -32603): 1 for number in range(MANY)}


async def test_cancellations_again_and_again_are_answered_once() -> None:
    deferring = Deferring()
    cancels = [
        {"method": "$/cancel_request", "params": {"requestId": target}}
        for target in (0, 1, "0", 99, None, 0)
    ]
    async with opened(deferring.agent) as (connection, peer):
        await peer.send(*requests("_hang", 2))
        await peer.send(*cancels * 100)
        await until(lambda: connection.stats().counters["cancelled"] == 2)
        first, second = deferring.responders
        assert first.cancellation.is_cancelled
        assert first.cancelled()
        assert not first.respond({})
        # What is done is done, whether or not it was to be.
        assert second.respond({})
        await peer.send(*cancels * 100)
        await peer.request("last", "nobody", {})
        found = await answers_of(peer, 3)
        assert connection.stats().counters["cancelled"] == 2
    assert found == {(0, -32800): 1, (1, None): 1, ("last", -32601): 1}


async def test_answers_that_nobody_reads_end_the_connection_above_a_bound() -> None:
    hard = 100_000
    deferring = Deferring(unsent_bytes_hard=hard, write_stall=None, closing=0.05, draining=0.05)
    async with opened(deferring.agent) as (connection, peer):
        await peer.send(*requests("_hang", 500))
        await until(lambda: len(deferring.responders) == 500)
        most = 0
        taken: list[bool] = []
        for responder in deferring.responders:
            taken.append(responder.respond({"text": "x" * 10_000}))
            most = max(most, connection.stats().unsent_bytes)
            await anyio.lowlevel.checkpoint()
        await within(connection.wait_closed())
        # What is on its way, in the transport and in the writer's hands, and one answer more.
        assert most < 3 * 256 * 1024 + hard
        assert taken[0]
        assert not deferring.responders[-1].respond({})


async def test_a_callback_that_waits_holds_up_what_floods_its_session() -> None:
    """What comes behind the answer waits for the callback, and is read no further than the mark."""
    client = v2.Client(limits=acp.Limits(waiting_messages=20, reading_patience=0.05))
    order: list[str] = []
    go = anyio.Event()

    @client.session_update
    def update(params: Any) -> None:
        order.append(params.update.content.text)

    async def callback(outcome: Any) -> None:
        order.append("began")
        await go.wait()
        order.append("ended")

    async with opened(client) as (connection, peer):
        asked = schema.ResumeSessionRequest(session_id="s", cwd="/")
        connection.request(asked, unchecked=True).on_result(callback)
        request = await peer.receive()
        flood = [chunk(f"{number} {'x' * 1000}") for number in range(MANY)]
        for message in flood:
            message["params"]["update"]["messageId"] = "m"
        answer: dict[str, Any] = {"id": request["id"], "result": {}}
        sending = peer.start(peer.send(*flood[:3], answer, *flood[3:]))
        await until(lambda: connection.stats().waiting_messages > 20)
        await turns(200)
        assert connection.stats().waiting_messages < MANY / 2
        assert not sending.done()
        go.set()
        await within(sending)
        await until(lambda: len(order) == MANY + 2)
    told = [each.split()[0] for each in order]
    assert told == ["0", "1", "2", "began", "ended", *map(str, range(3, MANY))]


async def test_handles_that_are_dropped_are_each_told_once_and_leave_nothing() -> None:
    async with opened(v2.Client()) as (connection, peer):
        count = 200
        for _ in range(count):
            connection.request("_m", {})
        gc.collect()
        told: Counter[Any] = Counter()
        for _ in range(2 * count):
            message = await peer.receive()
            told[message["method"], message.get("id", message["params"].get("requestId"))] += 1
        ids = range(1, count + 1)
        assert told == {(name, each): 1 for name in ("_m", "$/cancel_request") for each in ids}
        assert connection.stats().calls == 0
        for each in ids:
            # Their answers are nobody's, and no fault of the peer's.
            await peer.answer(each, {"late": 1})
        await peer.request("last", "nobody", {})
        assert (await peer.receive())["id"] == "last"
        counters = connection.stats().counters
    assert counters["swallowed_responses"] == count
    assert counters["rejected_response"] == 0


def array_of(hanging: int, count: int, first: int) -> list[dict[str, Any]]:
    """One array: a request that nobody answers, and many that are answered at once."""
    version = {"jsonrpc": "2.0"}
    echoes = [
        {**version, "id": first + number, "method": "_echo", "params": {}}
        for number in range(count)
    ]
    return [{**version, "id": hanging, "method": "_hang", "params": {}}, *echoes]


@pytest.mark.parametrize("text", [10_000, 1])
async def test_replies_that_wait_for_one_of_their_array_end_the_connection_above_a_bound(
    text: int,
) -> None:
    """What a peer can have kept with one request that hangs in each of many arrays."""
    hard, count = 500_000, 40 if text > 1 else 1000
    deferring = Deferring(unsent_bytes_hard=hard, closing=0.05, draining=0.05)
    held: list[int] = []

    @deferring.agent.on_request("_echo")
    def echo(params: Any, ctx: v2.Context) -> dict[str, str]:
        held.append(ctx.connection.raw.core.held_replies)
        return {"text": "x" * text}

    async with opened(deferring.agent) as (connection, peer):
        for number in range(100):
            line = json.dumps(array_of(-1 - number, count, number * count)) + "\n"
            try:
                await within(peer.transport.send(line.encode()))
            except anyio.BrokenResourceError:
                break
        await within(connection.wait_closed())
        assert hard / 2 < max(held) < hard + 2 * count * (text + 200)
        assert connection.raw.core.held_replies == 0


async def test_replies_of_arrays_are_held_up_to_the_bound_and_go_out_together() -> None:
    deferring = Deferring(unsent_bytes_hard=10_000_000)
    deferring.agent.on_request("_echo")(lambda params: {"text": "x" * 1000})
    async with opened(deferring.agent) as (connection, peer):
        for number in range(5):
            line = json.dumps(array_of(-1 - number, 100, number * 100)) + "\n"
            await within(peer.transport.send(line.encode()))
        await until(lambda: len(deferring.responders) == 5)
        await until(lambda: connection.raw.core.held_replies > 500_000)
        for responder in deferring.responders:
            assert responder.respond({})
        arrays = [await peer.receive() for _ in range(5)]
        assert [len(array) for array in arrays] == [101] * 5
        assert connection.raw.core.held_replies == 0
