"""Peers that send without end, or never read; sessions and connections that come and go.

Owns what is sent, and the look at tasks, queues and memory meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import anyio

import acp
from acp import v2
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from reliability import footprint
from reliability.ends import Held
from reliability.figures import Form, Values
from reliability.footprint import MIB
from reliability.hostile import TransportWire, pinged
from reliability.opened import opened
from tests.raw_peer import within
from tests.sides import Nothing, Silent

FLOOD = 100_000
UPDATES = 50_000
TEXT = "x" * 2048
STALL = 0.5
ROUND_TRIPS = 1000
WARM_UP = 3000


class Hosting(acp.Agent):
    """Hangs, answers with much, or does what sessions need."""

    def __init__(self) -> None:
        self.sessions = 0

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "hang":
            await anyio.Event().wait()
        return {"text": TEXT} if method == "much" else {}

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        self.sessions += 1
        return acp.NewSessionResponse(session_id=f"session-{self.sessions}")

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        return acp.PromptResponse(stop_reason="end_turn")

    async def close_session(self, session_id: str, **kwargs: Any) -> acp.CloseSessionResponse:
        return acp.CloseSessionResponse()


def deferring(**options: Any) -> v2.Agent:
    """The same in version 2: it leaves every answer to a responder, and keeps those that hang."""
    agent = v2.Agent(**options)
    kept: list[acp.Responder] = []

    @agent.on_request("_hang")
    def hang(params: Any, ctx: v2.Context) -> None:
        kept.append(ctx.defer())

    @agent.on_request("_much")
    def much(params: Any, ctx: v2.Context) -> None:
        ctx.defer().respond({"text": TEXT})

    @agent.on_request("_ping")
    def ping(params: Any) -> Any:
        return {}

    return agent


async def sent(transport: acp.Transport, method: str, count: int) -> None:
    """Sends requests as fast as the other end takes them."""
    line = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{}}\n'
    for start in range(0, count, 100):
        numbers = range(start, min(start + 100, count))
        await transport.send(b"".join(line % (at, method.encode()) for at in numbers))


@contextlib.asynccontextmanager
async def host(layer: str = "drop-in", **options: Any) -> AsyncIterator[tuple[Any, acp.Transport]]:
    """A connection of an agent of a layer, and the other end of its transport."""
    if layer == "v2":
        async with opened(deferring(**options)) as (served, peer):
            yield served, peer.transport
        return
    ours, theirs = acp.memory_pair()
    connection = AgentSideConnection(Hosting(), ours, **options)
    try:
        yield connection, theirs
    finally:
        await theirs.close()
        await within(connection.close())


@contextlib.asynccontextmanager
async def pair(**options: Any) -> AsyncIterator[ClientSideConnection]:
    """The client's end of a connection to an agent in this process."""
    async with host() as (_, transport):
        client = ClientSideConnection(Silent(), transport, **options)
        try:
            yield client
        finally:
            await within(client.close())


async def round_trips(client: ClientSideConnection) -> float:
    """Milliseconds that 99 of 100 requests take at most."""
    found: list[float] = []
    for _ in range(ROUND_TRIPS):
        started = time.perf_counter()
        await within(client.ext_method("ping", {}))
        found.append(time.perf_counter() - started)
        # The flood has its turn between any two.
        await asyncio.sleep(0)
    return statistics.quantiles(found, n=100)[-1] * 1000


async def beside_hanging(layer: str, count: int) -> float:
    """Milliseconds that a session waits at most while others of its connection hang."""
    async with host(layer) as (_, transport):
        wire = TransportWire(transport)
        await sent(transport, "_hang", count)
        found = [(await pinged(wire))[2] for _ in range(ROUND_TRIPS)]
    return statistics.quantiles(found, n=100)[-1] * 1000


async def _hanging(layer: str) -> Values:
    async with pair() as other, host(layer) as (connection, transport):
        await round_trips(other)
        gc.collect()
        before, resident = Held.now(), footprint.resident()
        footprint.forget_peak()
        flood = asyncio.ensure_future(sent(transport, "_hang", FLOOD))
        meanwhile = await round_trips(other)
        tasks = len(asyncio.all_tasks()) - before.tasks
        grown = footprint.peak() - resident
        read = connection.stats().counters["requests"]
        flood.cancel()
        await asyncio.wait([flood])
        started = time.perf_counter()
        await within(connection.close())
        closing = time.perf_counter() - started
        left = Held.now().tasks - before.tasks
    return {
        "requests read": read,
        "tasks": tasks,
        "growth": grown / MIB,
        "99 % of another connection's requests": meanwhile,
        "99 % of this connection's, 1,000 hanging": await beside_hanging(layer, 1000),
        "tasks left": max(left, 0),
        "time to close": closing,
    }


def hanging(form: Form) -> Values:
    """C2."""
    del form
    return worst(_hanging)


def worst(measure: Callable[[str], Coroutine[Any, Any, Values]]) -> Values:
    """The larger of each value, with the drop-in names and in version 2."""
    one, other = (asyncio.run(measure(layer)) for layer in ("drop-in", "v2"))
    return {name: max(value, other[name]) for name, value in one.items()}


async def until_closed(
    connection: Any, send: Callable[[], Any], count: int
) -> tuple[int, float, float, float]:
    """Sends until the connection ends: how often, the MiB that were unsent and by which memory grew
    at most, and the seconds that a send took at most.
    """
    gc.collect()
    before = footprint.resident()
    footprint.forget_peak()
    done = unsent = 0
    longest = 0.0
    try:
        for _ in range(count):
            started = time.perf_counter()
            await within(send())
            longest = max(longest, time.perf_counter() - started)
            done += 1
            unsent = max(unsent, connection.stats().unsent_bytes)
    except acp.ConnectionClosed:
        return done, unsent / MIB, (footprint.peak() - before) / MIB, longest
    raise AssertionError("everything was sent to a peer that reads nothing")


async def _never_reading() -> Values:
    limits = acp.Limits(write_stall=STALL)
    update = acp.update_agent_message_text(TEXT)
    before = Held.now()
    async with host(limits=limits) as (agent, _):
        over_memory = await until_closed(agent, lambda: agent.session_update("s", update), UPDATES)
    kept = {"shutdown_timeout": 0.2}
    async with acp.spawn_agent_process(
        Silent(), "sleep", "60", transport_kwargs=kept, limits=limits
    ) as (client, _):
        params = {"text": TEXT}
        over_pipe = await until_closed(
            client, lambda: client.ext_notification("n", params), UPDATES
        )
    ends = (over_memory, over_pipe)
    return {
        "messages sent": max(each[0] for each in ends),
        "queue": max(each[1] for each in ends),
        "growth": max(each[2] for each in ends),
        "longest send": max(each[3] for each in ends),
        "left over": Held.now().more_than(before),
    }


def never_reading(form: Form) -> Values:
    """C3."""
    del form
    return asyncio.run(_never_reading())


async def _answers_unread(layer: str) -> Values:
    async with host(layer, limits=acp.Limits(write_stall=STALL)) as (connection, transport):
        gc.collect()
        before = footprint.resident()
        footprint.forget_peak()
        flood = asyncio.ensure_future(sent(transport, "_much", FLOOD))
        inner = connection.raw if layer == "v2" else connection._connection
        with anyio.move_on_after(20 * STALL) as patience:
            await inner.wait_closed()
        grown = footprint.peak() - before
        ended = not patience.cancelled_caught
        flood.cancel()
        await asyncio.wait([flood])
    return {"growth": grown / MIB, "connections that did not end": not ended}


def answers_unread(form: Form) -> Values:
    """C3a."""
    del form
    return worst(_answers_unread)


async def _churn(sessions: int, connections: int) -> Values:
    async def session(client: ClientSideConnection) -> None:
        opened = await client.new_session("/")
        await client.prompt(opened.session_id, [acp.text_block("x")])
        await client.close_session(opened.session_id)

    async def grown(step: Callable[[], Any], count: int) -> float:
        """KiB by which memory grows while a step is done `count` times, after some to warm up."""
        for number in range(WARM_UP + count):
            if number == WARM_UP:
                gc.collect()
                before = footprint.resident()
            await within(step())
        gc.collect()
        return (footprint.resident() - before) / 1024

    async with pair(use_unstable_protocol=True) as client:
        # `session/close` is unstable, so that the agent here refuses it; that has to be flat, too.
        async def one() -> None:
            with contextlib.suppress(acp.RequestError):
                await session(client)

        by_sessions = await grown(one, sessions)

    async def connection() -> None:
        ours, theirs = acp.memory_pair()
        async with AgentSideConnection(Nothing(), ours), ClientSideConnection(Silent(), theirs):
            pass

    before = Held.now()
    by_connections = await grown(connection, connections)
    return {
        "sessions": sessions,
        "growth by sessions": by_sessions,
        "connections": connections,
        "growth by connections": by_connections,
        "left over": Held.now().more_than(before),
    }


def churn(form: Form) -> Values:
    """C12."""
    return asyncio.run(_churn(10_000, form.count(20_000, 4_000)))
