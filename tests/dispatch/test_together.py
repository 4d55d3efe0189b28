"""Many sessions on one connection at once; handlers suspend, ask back and are cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, schema
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.raw_peer import beside, serving

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

BOUND = 40.0


class Agent(acp.Agent):
    """Streams as many updates as the prompt says, and now and then asks for a permission."""

    client: Any

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id=cwd)

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        turn, count = prompt[0].text.split()
        for number in range(int(count)):
            text = acp.update_agent_message_text(f"{turn} {number}")
            await self.client.session_update(session_id, text)
            if self._chance.random() < 0.1:
                await anyio.lowlevel.checkpoint()
            elif self._chance.random() < 0.1:
                call = schema.ToolCallUpdate(tool_call_id="t")
                await self.client.request_permission(session_id, call, [])
        return acp.PromptResponse(stop_reason="end_turn")


class Client(acp.Client):
    """Notes the updates of each session; now and then its handlers suspend."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.seen: defaultdict[str, list[str]] = defaultdict(list)

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        for _ in range(self._chance.choice((0, 0, 0, 1, 3))):
            await anyio.lowlevel.checkpoint()
        self.seen[session_id].append(update.content.text)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
    ) -> acp.RequestPermissionResponse:
        await anyio.lowlevel.checkpoint()
        return acp.RequestPermissionResponse(outcome=schema.DeniedOutcome())


@pytest.mark.parametrize("seed", range(4))
async def test_every_turn_ends_and_returns_after_its_updates_in_order(seed: int) -> None:
    chance = random.Random(seed)
    limits = Limits(
        waiting_messages=chance.choice((5, 1024)), running_handlers=chance.choice((3, 1024))
    )
    client = Client(chance)
    one, other = acp.memory_pair()
    before = {task.id for task in anyio.get_running_tasks()}

    async def converse(agent: Any, group: TaskGroup, name: str) -> None:
        session = (await agent.new_session(name)).session_id
        for turn in range(4):
            count = chance.randrange(30)
            task = beside(group, agent.prompt(session, [acp.text_block(f"{turn} {count}")]))
            kind = chance.random()
            for _ in range(chance.randrange(20)):
                await anyio.lowlevel.checkpoint()
            if kind < 0.2:
                await agent.cancel(session)
                assert (await task).stop_reason in {"cancelled", "end_turn"}
            elif kind < 0.3:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            else:
                assert (await task).stop_reason == "end_turn"
                seen = [text for text in client.seen[session] if text.startswith(f"{turn} ")]
                assert seen == [f"{turn} {number}" for number in range(count)]

    async with (
        serving(AgentSideConnection, Agent(chance), one, limits=limits),
        serving(ClientSideConnection, client, other, limits=limits) as (agent, _),
    ):
        with anyio.fail_after(BOUND):
            async with anyio.create_task_group() as group:
                for number in range(30):
                    group.start_soon(converse, agent, group, f"/{number}")
    assert {task.id for task in anyio.get_running_tasks()} == before
