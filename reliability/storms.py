"""Many requests that are cancelled, and many sessions that stream, at once.

Owns what is asked and cancelled, and the count of how each request ended. What endpoints of
version 2 do with it is `reliability.storms_v2`'s.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from reliability import footprint
from reliability.figures import Form, Values
from reliability.opened import opened
from reliability.storms_v2 import Keeping, handled, is_lost, joined
from tests.raw_peer import RawPeer, agent_under_test, serving, within
from tests.sides import Silent
from tests.test_order_at_scale import Counting, Streaming

AT_ONCE = 200
BOUND = 120.0
CANCELLED, INTERNAL = -32800, -32603
LAYERS = ("drop-in", "v2")


class Working(acp.Agent):
    """Answers at once, after some turns, or only when it is cancelled; counts its handlers."""

    def __init__(self) -> None:
        self.running = 0

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.running += 1
        try:
            if method == "hang":
                await anyio.Event().wait()
            for _ in range(params["turns"]):
                await anyio.lowlevel.checkpoint()
        finally:
            self.running -= 1
        return params


async def cancelled_at(call: asyncio.Future[Any], turns: int, times: int) -> None:
    """Cancels a call after some turns of the loop, or not at all."""
    for _ in range(turns):
        await asyncio.sleep(0)
    for _ in range(times):
        call.cancel()
        await asyncio.sleep(0)


async def caller(agent: Any, number: int, choose: random.Random, ends: Counter[str]) -> None:
    """One request and what becomes of it."""
    hangs = number % 3 == 0
    params = {"number": number, "turns": choose.randrange(4)}
    call = asyncio.ensure_future(agent.ext_method("hang" if hangs else "work", params))
    # Before it is sent, while it is on its way, while it runs, beside its answer, or twice.
    times = choose.randrange(1, 3) if hangs else choose.randrange(3)
    await cancelled_at(call, choose.randrange(10), times)
    (ended,) = await asyncio.gather(call, return_exceptions=True)
    if isinstance(ended, asyncio.CancelledError):
        ends["cancelled" if times else "wrong"] += 1
    else:
        ends["answered" if ended == params else "wrong"] += 1


async def quiet(*connections: Any) -> int:
    """What is left on connections once everything that is ready has run."""

    def left() -> int:
        stats = [each.stats() for each in connections]
        return sum(
            each.calls
            + each.unanswered
            + each.deferred
            + each.handlers
            + each.waiting_messages
            + each.unsent_bytes
            for each in stats
        )

    with anyio.move_on_after(5):
        while left():
            await anyio.lowlevel.checkpoint()
    return left()


Layer = tuple[Any, Callable[..., Awaitable[None]], tuple[Any, ...]]


@asynccontextmanager
async def calling(layer: str) -> AsyncGenerator[Layer, None]:
    """An agent in this process and a client's connection to it: the agent, what makes one request
    and sees to its end, and both connections.
    """
    if layer == "v2":
        keeping = Keeping()
        async with joined(keeping.agent) as (connection, served):
            yield keeping, partial(handled, connection), (connection, served)
        return
    working = Working()
    ours, theirs = acp.memory_pair()
    async with (
        AgentSideConnection(working, ours) as agent_side,
        ClientSideConnection(Silent(), theirs) as agent,
    ):
        yield working, partial(caller, agent), (agent, agent_side)


async def calls(layer: str, count: int, seed: int) -> tuple[Counter[str], int, float]:
    """Cancels our own calls: how they ended, what is left, and how memory grew in the second half.

    The other end is an agent that handlers of ours run in, so that it is seen from both ends.
    """
    choose = random.Random(seed)
    ends: Counter[str] = Counter()
    half = 0
    async with calling(layer) as (working, call, connections):
        for start in range(0, count, AT_ONCE):
            if start >= count // 2 and not half:
                gc.collect()
                half = footprint.resident()
            with anyio.fail_after(BOUND):
                async with anyio.create_task_group() as group:
                    for number in range(start, min(start + AT_ONCE, count)):
                        group.start_soon(call, number, choose, ends)
        left = await quiet(*connections) + working.running
        gc.collect()
        grown = footprint.resident() - half
    return ends, left, grown / footprint.MIB


async def storm_at(
    peer: RawPeer, numbers: range, choose: random.Random, lost: Callable[[int], bool]
) -> Counter[Any]:
    """Requests and cancellations in one stream: how often each request is answered. Those that are
    lost, because nobody answers them, may get an internal error.
    """
    messages: list[dict[str, Any]] = []
    for number in numbers:
        method = "_hang" if number % 2 else "_work"
        params = {"number": number, "turns": choose.randrange(3)}
        messages.append({"id": number, "method": method, "params": params})
    for number in numbers:
        # Those that hang are cancelled; and others, twice, or under ids that nobody uses.
        targets = [number] if number % 2 or choose.randrange(2) else []
        targets += choose.choice(([], [number], [str(number)], [number + 10**9]))
        messages += [
            {"method": "$/cancel_request", "params": {"requestId": target}} for target in targets
        ]
    answers: Counter[Any] = Counter()
    end = {"id": "end", "method": "_work", "params": {"number": 0, "turns": 0}}
    sending = peer.start(peer.send(*messages, end))
    while answers.total() < len(numbers) + 1:
        answer = await peer.receive()
        code = answer.get("error", {}).get("code")
        is_right = code in (None, CANCELLED) or (code == INTERNAL and lost(answer["id"]))
        answers[answer["id"] if is_right else "wrong"] += 1
    await within(sending)
    del answers["end"]
    return answers


@asynccontextmanager
async def asked(layer: str) -> AsyncGenerator[tuple[Any, RawPeer, Any], None]:
    """An agent whose client is written by hand: the agent, the hand, and the connection."""
    if layer == "v2":
        keeping = Keeping()
        async with opened(keeping.agent) as (connection, peer):
            yield keeping, peer, connection
    else:
        working = Working()
        async with agent_under_test(working) as (peer, connection):
            yield working, peer, connection


async def requests(layer: str, count: int, seed: int) -> tuple[int, int]:
    """Has a peer cancel its requests: how many have not exactly one answer, and what is left."""
    choose = random.Random(seed)
    wrong = 0
    lost = is_lost if layer == "v2" else lambda number: False
    async with asked(layer) as (working, peer, connection):
        for start in range(0, count, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, count))
            answers = await storm_at(peer, numbers, choose, lost)
            wrong += sum(answers[number] != 1 for number in numbers) + answers["wrong"]
        left = await quiet(connection) + working.running
    return wrong, left


async def _cancellations(form: Form) -> Values:
    count = form.count(100_000, 50_000) // (2 * len(LAYERS))
    found: Counter[str] = Counter()
    growth = 0.0
    for layer in LAYERS:
        ends, left, grown = await calls(layer, count, form.seed)
        wrong, left_theirs = await requests(layer, count, form.seed)
        found["requests"] += ends.total() + count
        found["without exactly one outcome"] += ends["wrong"] + count - ends.total() + wrong
        found["cancelled calls"] += ends["cancelled"]
        found["left in tables"] += left + left_theirs
        growth = max(growth, grown)
    return {**found, "left in tables": found["left in tables"], "growth in the second half": growth}


def cancellations(form: Form) -> Values:
    """B5."""
    return asyncio.run(_cancellations(form))


async def _order(sessions: int, updates: int) -> Values:
    client = Counting()
    client.let_go.set()
    late = 0

    async def converse(agent: Any, session: str) -> None:
        nonlocal late
        turn = await agent.prompt(session, [acp.text_block(str(updates))])
        assert turn.stop_reason == "end_turn"
        late += updates - client.seen[session]

    limits = acp.Limits(lane_patience=None)
    one, other = acp.memory_pair()
    async with (
        serving(AgentSideConnection, Streaming(), one),
        serving(ClientSideConnection, client, other, limits=limits) as (agent, _),
    ):
        with anyio.fail_after(BOUND):
            await asyncio.gather(*(converse(agent, f"s{number}") for number in range(sessions)))
    return {
        "updates": sessions * updates,
        "out of order or lost": sessions * updates - client.seen.total(),
        "behind the end of their turn": late,
    }


def order(form: Form) -> Values:
    """B6: the sessions of the test of order at scale, which asserts the same in each handler."""
    return asyncio.run(_order(1000, form.count(1000, 300)))
