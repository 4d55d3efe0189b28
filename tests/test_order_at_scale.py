"""A thousand sessions on one connection, each with a thousand updates."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.raw_peer import serving

SESSIONS = 1_000
UPDATES = 1_000
HELD_UPDATES = 100
BOUND = 120.0


class Streaming(acp.Agent):
    """Streams as many numbered updates as the prompt says."""

    client: Any

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        for number in range(int(prompt[0].text)):
            update = acp.update_agent_message_text(str(number))
            await self.client.session_update(session_id, update)
        return acp.PromptResponse(stop_reason="end_turn")


class Counting(acp.Client):
    """Counts updates that come in order. Every tenth handler suspends; one waits to be let go."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.let_go = anyio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        number = int(update.content.text)
        if session_id == "held" and number == 0:
            await self.let_go.wait()
        elif number % 10 == 0:
            await anyio.lowlevel.checkpoint()
        assert self.seen[session_id] == number
        self.seen[session_id] += 1


@pytest.mark.timeout(BOUND + 20)
async def test_a_thousand_sessions_keep_their_order_and_none_holds_up_another() -> None:
    client = Counting()
    ended: list[str] = []

    async def converse(agent: Any, session: str, updates: int) -> None:
        turn = await agent.prompt(session, [acp.text_block(str(updates))])
        assert turn.stop_reason == "end_turn"
        # Whoever gets the answer has seen every update before it.
        assert client.seen[session] == updates
        ended.append(session)

    # However slow the machine: answers never go past the handler that keeps its session waiting.
    limits = acp.Limits(lane_patience=None)
    one, other = acp.memory_pair()
    async with (
        serving(AgentSideConnection, Streaming(), one),
        serving(ClientSideConnection, client, other, limits=limits) as (agent, _),
    ):
        with anyio.fail_after(BOUND):
            async with anyio.create_task_group() as held:
                held.start_soon(converse, agent, "held", HELD_UPDATES)
                async with anyio.create_task_group() as others:
                    for number in range(SESSIONS):
                        others.start_soon(converse, agent, f"s{number}", UPDATES)
                assert len(ended) == SESSIONS
                assert client.seen["held"] == 0
                client.let_go.set()
    assert len(ended) == SESSIONS + 1
    assert client.seen.total() == SESSIONS * UPDATES + HELD_UPDATES
