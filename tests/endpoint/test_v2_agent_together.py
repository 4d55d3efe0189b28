"""Many prompts, cancellations and withdrawals at once: what holds for every run of them."""

from __future__ import annotations

import itertools
import random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v2
from tests.endpoint.v2_client import (
    OPTIONS,
    YES,
    Peer,
    agent_of,
    cancel,
    prompt,
    said,
    session_of,
    withdrawal,
)

PROMPTS = 40
KINDS = ["quick", "slow", "asks", "fails", "rejects", "steers", "by hand"]


async def on_prompt(request: Any, ctx: v2.Context) -> None:
    kind = request.prompt[0].text
    session = ctx.session
    name = f"m{ctx.request_id}"
    if kind == "rejects":
        await anyio.lowlevel.checkpoint()
        raise acp.RequestError(-32042, "no")
    if kind == "by hand":
        async with session.turn():
            ctx.accept(name)
            async with session.foreground():
                await anyio.lowlevel.checkpoint()
        return
    async with ctx.foreground(name, hold=kind != "steers") as work:
        if kind == "asks":
            async with work.blocked():
                await session.request_permission("May I?", OPTIONS)
        elif kind == "fails":
            raise acp.RequestError(-32042, "broken")
        for _ in range(5 if kind == "slow" else 1):
            await session.update(said("x"))
            await anyio.lowlevel.checkpoint()


class Watching:
    """A client that answers permissions now and then, and keeps all that it is told."""

    def __init__(self, peer: Peer, chance: random.Random) -> None:
        self.peer = peer
        self.chance = chance
        self.told: list[Any] = []
        self.answers: dict[Any, Any] = {}
        self.open: list[int] = []

    async def read(self) -> None:
        message = await self.peer.receive()
        self.told.append(message)
        if "method" not in message:
            assert message["id"] not in self.answers, "answered twice"
            self.answers[message["id"]] = message
        elif message["method"] == "session/request_permission":
            self.open.append(message["id"])
            if self.chance.random() < 0.7:
                await self.answer_all()

    async def answer_all(self) -> None:
        while self.open:
            await self.peer.answer(self.open.pop(), YES)


@pytest.mark.parametrize("seed", range(12))
async def test_each_prompt_has_one_answer_and_the_states_alternate(seed: int) -> None:
    """C-232, C-237, C-238, C-240."""
    chance = random.Random(seed)
    async with session_of(agent_of(on_prompt)) as peer:
        client = Watching(peer, chance)
        for request_id in range(PROMPTS):
            chunk = [prompt(request_id, chance.choice(KINDS))]
            if chance.random() < 0.2:
                chunk.insert(chance.randrange(2), cancel())
            if chance.random() < 0.2:
                chunk.append(withdrawal(chance.randrange(request_id + 1)))
            await peer.send(*chunk)
            for _ in range(chance.randrange(4)):
                await anyio.lowlevel.checkpoint()
        while len(client.answers) < PROMPTS:
            await client.read()
            await client.answer_all()
        await peer.request("ping", "_test/ping", {})
        while "ping" not in client.answers:
            await client.read()
        await peer.cancel()
        while states_of(client.told)[-1] != "idle":
            await client.read()
        await peer.quiet()
    check_answers(client)
    states = states_of(client.told)
    assert all(one != other for one, other in itertools.pairwise(states))
    assert states[0] == "running"


def states_of(told: list[Any]) -> list[str]:
    updates = [each["params"]["update"] for each in told if each.get("method") == "session/update"]
    return [each["state"] for each in updates if each["sessionUpdate"] == "state_update"]


def check_answers(client: Watching) -> None:
    inserted = 0
    for at, message in enumerate(client.told):
        if message.get("id") == "ping" or "method" in message:
            continue
        if "error" in message:
            assert message["error"]["code"] in (-32800, -32042)
            continue
        inserted += 1
        before = client.told[at - 1]["params"]["update"]
        assert before["sessionUpdate"] == "user_message"
        assert before["messageId"] == message["result"]["messageId"] == f"m{message['id']}"
    told = [each for each in client.told if each.get("method") == "session/update"]
    kinds = [each["params"]["update"]["sessionUpdate"] for each in told]
    assert kinds.count("user_message") == inserted
