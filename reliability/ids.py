"""Request ids: one that is used again while it is in use, and answers that nobody asked for.

Owns what a peer may do with ids on a whole connection over memory.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import anyio

import acp
from reliability.figures import Form, Values
from tests.raw_peer import agent_under_test, client_under_test, within
from tests.sides import Silent

PENDING = 1000
BLOCK = 2000
BOUND = 10.0


class Waiting(acp.Agent):
    """Answers each request when it is let go, with the number that it carries."""

    def __init__(self) -> None:
        self.gates: dict[int, anyio.Event] = {}

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = params["number"]
        gate = self.gates[number] = anyio.Event()
        await gate.wait()
        return {"number": number}


async def _reuse(cycles: int) -> Values:
    agent = Waiting()
    wrong = 0
    async with agent_under_test(agent) as (peer, connection):
        for cycle in range(cycles):
            request_id = (7, "7", None)[cycle % 3]
            numbers = [2 * cycle, 2 * cycle + 1]
            for number in numbers:
                await peer.request(request_id, "_wait", {"number": number})
            with anyio.fail_after(BOUND):
                while len(agent.gates) < 2:
                    await asyncio.sleep(0)
            if cycle % 2:
                numbers.reverse()
            for number in numbers:
                agent.gates.pop(number).set()
                answer = await peer.receive()
                wrong += answer != {
                    "jsonrpc": "2.0",
                    "id": request_id,
                    "result": {"number": number},
                }
        left = connection.stats().unanswered
    return {"cycles": cycles, "answers that are wrong": wrong, "requests left": left}


def reuse(form: Form) -> Values:
    """B3: an id in use names a second request; each gets its own answer, in any order."""
    return asyncio.run(_reuse(form.count(10_000, 5_000)))


def forged(choose: random.Random) -> bytes:
    """An answer with an id that is not one of ours, or only looks like it."""
    at = choose.randrange(PENDING)
    like = (
        f'"{at}"',
        f'" {at}"',
        f'"{at:x}"',
        f"{at}.0",
        f"{at}e0",
        f"{at}.00001",
        f"-{at}",
        f"-{at + 1}",
        f"0{at}",
        f"+{at}",
        f"[{at}]",
        f'{{"id":{at}}}',
        f"{PENDING + at}",
        f"{2**32 + at}",
        f"{2**63 + at}",
        f"{2**64 + at}",
        f"{10**30 + at}",
        "true",
        "false",
        "null",
        '""',
        f'"\\u003{at % 10}"',
        f"{at}n",
        f"0x{at:x}",
    )
    text = choose.choice(like)
    kind = choose.choice(('"result":{"forged":1}', '"error":{"code":1,"message":"forged"}'))
    if choose.randrange(4) == 0:
        return f'{{{kind},"jsonrpc":"2.0","id":{text}}}\n'.encode()
    if choose.randrange(8) == 0:
        return f'[{{"jsonrpc":"2.0","id":{text},{kind}}}]\n'.encode()
    return f'{{"jsonrpc":"2.0","id":{text},{kind}}}\n'.encode()


async def _forging(form: Form) -> Values:
    choose = random.Random(form.seed)
    wanted = form.count(1_000_000, 500_000)
    resolved = sent = 0
    async with client_under_test(Silent()) as (agent, peer):
        calls = [asyncio.ensure_future(agent.ext_method("m", {})) for _ in range(PENDING)]
        ids = [(await peer.receive())["id"] for _ in calls]
        assert ids == list(range(PENDING))
        while sent < wanted:
            lines = b"".join(forged(choose) for _ in range(BLOCK))
            await within(peer.transport.send(lines))
            sent += BLOCK
            await asyncio.sleep(0)
        # An answer behind them shows that all were read.
        await peer.answer(0, {"real": 0})
        await within(calls[0])
        resolved = sum(call.done() for call in calls[1:])
        for number in range(1, PENDING):
            await peer.answer(number, {"real": number})
        values = await within(asyncio.gather(*calls, return_exceptions=True))
        wrong = sum(value != {"real": number} for number, value in enumerate(values))
    return {"forged answers": sent, "calls resolved": resolved, "calls with a wrong end": wrong}


def forging(form: Form) -> Values:
    """B4."""
    return asyncio.run(_forging(form))
