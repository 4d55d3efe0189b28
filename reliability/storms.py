"""Many requests that are cancelled, and many sessions that stream, at once.

Owns what is asked and cancelled, and the count of how each request ended.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from typing import Any

import anyio
import anyio.lowlevel

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from reliability import footprint
from reliability.figures import Form, Values
from tests.raw_peer import RawPeer, agent_under_test, serving, within
from tests.sides import Silent
from tests.test_order_at_scale import Counting, Streaming

AT_ONCE = 200
BOUND = 120.0
CANCELLED = -32800


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
    parts = [each._connection for each in connections]

    def left() -> int:
        return sum(
            len(each._calls)
            + len(each._core.pending)
            + each._core.in_flight
            + len(each._dispatcher._serving)
            + len(each._dispatcher._backlog)
            + each._core.output_size
            for each in parts
        )

    with anyio.move_on_after(5):
        while left():
            await asyncio.sleep(0)
    return left()


async def _calls(count: int, seed: int) -> tuple[Counter[str], int, float]:
    """Cancels our own calls: how they ended, what is left, and how memory grew in the second half.

    The other end is an agent that handlers of ours run in, so that it is seen from both ends.
    """
    choose = random.Random(seed)
    ends: Counter[str] = Counter()
    working = Working()
    ours, theirs = acp.memory_pair()
    half = 0
    async with (
        AgentSideConnection(working, ours) as agent_side,
        ClientSideConnection(Silent(), theirs) as agent,
    ):
        for start in range(0, count, AT_ONCE):
            if start >= count // 2 and not half:
                gc.collect()
                half = footprint.resident()
            numbers = range(start, min(start + AT_ONCE, count))
            await within(asyncio.gather(*(caller(agent, n, choose, ends) for n in numbers)))
        left = await quiet(agent, agent_side) + working.running
        gc.collect()
        grown = footprint.resident() - half
    return ends, left, grown / footprint.MIB


async def storm_at(peer: RawPeer, numbers: range, choose: random.Random) -> Counter[Any]:
    """Requests and cancellations in one stream: how often each request is answered."""
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
    sending = asyncio.ensure_future(
        peer.send(*messages, {"id": "end", "method": "_work", "params": {"turns": 0}})
    )
    while answers.total() < len(numbers) + 1:
        answer = await peer.receive()
        is_right = "result" in answer or answer["error"]["code"] == CANCELLED
        answers[answer["id"] if is_right else "wrong"] += 1
    await within(sending)
    del answers["end"]
    return answers


async def _requests(count: int, seed: int) -> tuple[int, int]:
    """Has a peer cancel its requests: how many have not exactly one answer, and what is left."""
    choose = random.Random(seed)
    wrong = 0
    working = Working()
    async with agent_under_test(working) as (peer, connection):
        for start in range(0, count, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, count))
            answers = await storm_at(peer, numbers, choose)
            wrong += sum(answers[number] != 1 for number in numbers) + answers["wrong"]
        left = await quiet(connection) + working.running
    return wrong, left


async def _cancellations(form: Form) -> Values:
    count = form.count(100_000, 50_000) // 2
    ends, left, grown = await _calls(count, form.seed)
    wrong, left_theirs = await _requests(count, form.seed)
    return {
        "requests": ends.total() + count,
        "without exactly one outcome": ends["wrong"] + count - ends.total() + wrong,
        "cancelled calls": ends["cancelled"],
        "left in tables": left + left_theirs,
        "growth in the second half": grown,
    }


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
