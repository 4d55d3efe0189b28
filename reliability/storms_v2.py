"""Requests that are cancelled, on endpoints of version 2: responders, callbacks, dropped handles.

Owns the handlers that leave their answers to responders, or to nobody, and the ways in which a
request of this side is given up. How many there are, and what is counted, is `reliability.storms`'.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

import acp
from acp import v2
from tests.raw_peer import within

__all__ = ("Keeping", "handled", "is_lost", "joined")

CANCELLED, INTERNAL = -32800, -32603


def is_lost(number: int) -> bool:
    """Whether the responder of a request is dropped."""
    return number % 4 == 3


class Keeping:
    """An agent that answers at once, after some turns, or only when it is cancelled; by the handler
    itself, by a responder in a task, or not at all. Counts what is still to be answered.
    """

    def __init__(self) -> None:
        self.running = 0
        self.agent = v2.Agent()
        self.agent.on_request("_hang")(self.serve)
        self.agent.on_request("_work")(self.serve)

    async def serve(self, params: Any, ctx: v2.Context) -> Any:
        hangs = ctx.method == "_hang"
        if is_lost(params["number"]):
            ctx.defer()
            return None
        self.running += 1
        if params["number"] % 2:
            ctx.connection.spawn(self.answer_later(ctx.defer(), params, hangs))
            return None
        try:
            if hangs:
                await anyio.Event().wait()
            await turns(params["turns"])
        finally:
            self.running -= 1
        return params

    async def answer_later(self, responder: acp.Responder, params: Any, hangs: bool) -> None:
        if hangs:
            await responder.cancellation.wait()
        await turns(params["turns"])
        # One of the two is too late, whichever it is.
        cancelled = responder.cancellation.is_cancelled and responder.cancelled()
        answered = responder.respond(params)
        assert cancelled is not answered
        assert responder.is_answered
        self.running -= 1


@asynccontextmanager
async def joined(agent: v2.Agent) -> AsyncGenerator[tuple[v2.Connection, v2.Connection], None]:
    """A client's connection to an agent in this process, and that agent's."""
    ours, theirs = acp.memory_pair()
    async with agent.connect(ours) as served, v2.Client().connect(theirs) as connection:
        await within(connection.initialize())
        yield connection, served


async def turns(count: int) -> None:
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


async def handled(
    connection: v2.Connection, number: int, choose: random.Random, ends: Counter[str]
) -> None:
    """One request, and how its handle is done with."""
    hangs = number % 3 == 0
    params = {"number": number, "turns": choose.randrange(4)}
    # Before it is sent, while it is on its way, while it runs, beside its answer, or twice.
    before = choose.randrange(10)
    times = choose.randrange(1, 3) if hangs else choose.randrange(3)
    request = connection.request("_hang" if hangs else "_work", params)
    way = choose.choice((awaited, called_back, told, dropped) if times else (awaited, called_back))
    outcome = await way(request, before, times)
    if outcome == params:
        ends["answered"] += 1
    elif outcome == CANCELLED and times:
        ends["cancelled"] += 1
    else:
        ends["lost" if outcome == INTERNAL and is_lost(number) else "wrong"] += 1


def code_of(error: BaseException | None) -> int | None:
    return error.code if isinstance(error, acp.RequestError) else None


async def awaited(request: Any, before: int, times: int) -> Any:
    """Somebody awaits it, and is cancelled."""
    found: list[Any] = []
    ended = anyio.Event()

    async def wait(scope: anyio.CancelScope) -> None:
        try:
            with scope:
                try:
                    found.append(await request)
                except acp.RequestError as exc:
                    found.append(exc.code)
        finally:
            ended.set()

    async with anyio.create_task_group() as group:
        scope = anyio.CancelScope()
        group.start_soon(wait, scope)
        await turns(before)
        for _ in range(times):
            scope.cancel()
            await anyio.lowlevel.checkpoint()
        await ended.wait()
    return found[0] if found else CANCELLED


async def called_back(request: Any, before: int, times: int) -> Any:
    """A callback gets the outcome, once, whoever cancels it."""
    outcomes: list[Any] = []
    called = anyio.Event()

    def callback(outcome: Any) -> None:
        outcomes.append(outcome)
        called.set()

    handle = request.on_result(callback)
    del request
    await turns(before)
    for _ in range(times):
        handle.cancel()
        await anyio.lowlevel.checkpoint()
    await called.wait()
    (outcome,) = outcomes
    error = outcome.error()
    return outcome.result() if error is None else code_of(error)


async def told(request: Any, before: int, times: int) -> Any:
    """The peer is told, and the answer is awaited all the same."""
    await turns(before)
    for _ in range(times):
        request.cancel()
        await anyio.lowlevel.checkpoint()
    try:
        return await request
    except acp.RequestError as exc:
        return exc.code


async def dropped(request: Any, before: int, times: int) -> Any:
    """Nobody has the handle any more, which cancels it."""
    del times
    await turns(before)
    del request
    return CANCELLED
