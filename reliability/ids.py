"""Request ids: one that is used again while it is in use, and answers that nobody asked for.

Owns what a peer may do with ids on a whole connection over memory: one of the drop-in surface, or
one of `acp.v2`, where responders, callbacks and dropped handles are in play.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

import acp
from acp import v2
from reliability.figures import Form, Values
from reliability.opened import opened
from tests.raw_peer import RawPeer, agent_under_test, client_under_test, within
from tests.sides import Silent, turns, until

LAYERS = ("drop-in", "v2")
PENDING = 1000
BLOCK = 2000
REUSED: dict[str, tuple[Any, ...]] = {"drop-in": (7, "7", None), "v2": (7, "7", "")}
"""Ids that are used again; version 2 has no null ids."""

Gates = dict[int, Callable[[], object]]
"""By the number of a request, what lets its answer go."""


class Waiting(acp.Agent):
    """Answers each request when it is let go, with the number that it carries."""

    def __init__(self) -> None:
        self.gates: Gates = {}

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = params["number"]
        gate = anyio.Event()
        self.gates[number] = gate.set
        await gate.wait()
        return {"number": number}


def deferring(gates: Gates) -> v2.Agent:
    """The same in version 2; every other answer is left to a responder."""
    agent = v2.Agent()

    @agent.on_request("_wait")
    async def wait(params: Any, ctx: v2.Context) -> Any:
        number = params["number"]
        result = {"number": number}
        if number % 2:
            responder = ctx.defer()
            gates[number] = lambda: responder.respond(result)
            return None
        gate = anyio.Event()
        gates[number] = gate.set
        await gate.wait()
        return result

    return agent


@asynccontextmanager
async def waiting(layer: str) -> AsyncGenerator[tuple[RawPeer, Any, Gates], None]:
    """An agent of a layer that answers when it is let to."""
    if layer == "drop-in":
        agent = Waiting()
        async with agent_under_test(agent) as (peer, connection):
            yield peer, connection, agent.gates
    else:
        gates: Gates = {}
        async with opened(deferring(gates)) as (connection, peer):
            yield peer, connection, gates


async def reusing(layer: str, cycles: int) -> Values:
    """Two requests with one id at a time, answered in both orders."""
    wrong = 0
    async with waiting(layer) as (peer, connection, gates):
        for cycle in range(cycles):
            request_id = REUSED[layer][cycle % 3]
            # Of each two one has a responder, in version 2; which of them comes first changes.
            numbers = [2 * cycle + (cycle // 2) % 2, 2 * cycle + 1 - (cycle // 2) % 2]
            for number in numbers:
                await peer.request(request_id, "_wait", {"number": number})
            await until(lambda: len(gates) == 2)
            if cycle % 2:
                numbers.reverse()
            for number in numbers:
                gates.pop(number)()
                answer = await peer.receive()
                wrong += answer != {
                    "jsonrpc": "2.0",
                    "id": request_id,
                    "result": {"number": number},
                }
        stats = connection.stats()
        left = stats.unanswered + stats.deferred + stats.handlers
    return {"cycles": cycles, "answers that are wrong": wrong, "requests left": left}


async def _reuse(cycles: int) -> Values:
    found: Values = {}
    for layer in LAYERS:
        for name, value in (await reusing(layer, cycles)).items():
            found[name] = found.get(name, 0) + value
    return found


def reuse(form: Form) -> Values:
    """B3: an id in use names a second request; each gets its own answer, in any order."""
    return asyncio.run(_reuse(form.count(10_000, 5_000)))


def forged(choose: random.Random, first: int = 0, pending: int = PENDING) -> bytes:
    """An answer with an id that is not one of ours, or only looks like it."""
    at = first + choose.randrange(pending)
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
        f"{pending + at}",
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


class Caught:
    """Requests of ours that wait, and how each ended."""

    def __init__(self) -> None:
        self.ends: dict[int, list[Any]] = {}
        """By the number of a request, everything that it ended with."""
        self.waited: list[tuple[int, Any]] = []
        self.cancelled: set[int] = set()

    def called_back(self, number: int) -> Callable[[Any], None]:
        def ended(outcome: Any) -> None:
            self.ends.setdefault(number, []).append(outcome.error() or outcome.result())

        return ended

    async def all(self) -> None:
        for number, waiting in self.waited:
            try:
                value = await within(waiting)
            except acp.RequestError as exc:
                value = exc
            self.ends.setdefault(number, []).append(value)


@asynccontextmanager
async def asking(layer: str, pending: int) -> AsyncGenerator[tuple[RawPeer, Any, Caught], None]:
    """A client of a layer that waits for many answers. In version 2 every second of them is for a
    callback, and every fifth handle is dropped.
    """
    caught = Caught()
    if layer == "drop-in":
        async with client_under_test(Silent()) as (agent, peer):
            for number in range(pending):
                call = peer.start(agent.ext_method("m", {}))
                assert (await peer.receive())["id"] == number
                caught.waited.append((number, call))
            yield peer, agent, caught
        return
    async with opened(v2.Client()) as (connection, peer):
        handles = [connection.request("_m", {}) for _ in range(pending)]
        for request in handles:
            assert request.id == (await peer.receive())["id"]
            if request.id % 5 == 0:
                caught.cancelled.add(request.id)
            elif request.id % 2:
                request.on_result(caught.called_back(request.id))
            else:
                caught.waited.append((request.id, peer.start(request)))
        del handles, request
        told = [await peer.receive() for _ in caught.cancelled]
        assert {message["method"] for message in told} == {"$/cancel_request"}
        assert {message["params"]["requestId"] for message in told} == caught.cancelled
        yield peer, connection, caught


async def forging(layer: str, wanted: int, choose: random.Random, pending: int = PENDING) -> Values:
    """Forged answers while many requests wait, and then the real ones."""
    sent = 0
    first = LAYERS.index(layer)
    async with asking(layer, pending) as (peer, connection, caught):
        while sent < wanted:
            lines = b"".join(forged(choose, first, pending) for _ in range(min(BLOCK, wanted)))
            await within(peer.transport.send(lines))
            sent += min(BLOCK, wanted)
            await anyio.lowlevel.checkpoint()
        # A request behind them shows that all were read.
        await peer.request("last", "nothing/like/it", {})
        assert (await peer.receive())["id"] == "last"
        await turns()
        done = sum(call.done() for _, call in caught.waited)
        resolved = len(caught.ends) + done
        numbers = range(first, first + pending)
        for number in numbers:
            await peer.answer(number, {"real": number})
        await caught.all()
        await until(lambda: len(caught.ends) == pending - len(caught.cancelled))
        right = {number: [{"real": number}] for number in numbers}
        wrong = sum(caught.ends.get(n) != right[n] for n in numbers if n not in caught.cancelled)
        wrong += connection.stats().calls
    return {"forged answers": sent, "calls resolved": resolved, "calls with a wrong end": wrong}


async def _forging(form: Form) -> Values:
    choose = random.Random(form.seed)
    found: Values = {}
    for layer in LAYERS:
        half = form.count(1_000_000, 500_000) // len(LAYERS)
        for name, value in (await forging(layer, half, choose)).items():
            found[name] = found.get(name, 0) + value
    return found


def forgeries(form: Form) -> Values:
    """B4."""
    return asyncio.run(_forging(form))
