"""Floods and many sessions: how much of a host they may take."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits
from tests.field.wires import each_wire, wired
from tests.raw_peer import chunk, prompt
from tests.sides import Silent, turns

TEXT = "x" * 250


class Stalled(acp.Client):
    """Handles nothing until it is let go."""

    def __init__(self) -> None:
        self.go = anyio.Event()
        self.started = 0
        self.handled: dict[str, list[int]] = {}

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.started += 1
        await self.go.wait()
        number = int(update.content.text.split()[0])
        self.handled.setdefault(session_id, []).append(number)


async def until(holds: Any) -> None:
    with anyio.fail_after(30):
        while not holds():
            await anyio.lowlevel.checkpoint()


@each_wire
@pytest.mark.parametrize("sessions", [1, 7])
async def test_a_flood_at_a_stalled_handler_makes_no_tasks_and_holds_back_the_sender(
    wire: str, sessions: int
) -> None:
    """C15: twenty thousand updates."""
    client = Stalled()
    before = len(anyio.get_running_tasks())
    async with wired("client", client, wire=wire) as (_, peer):

        async def flood() -> None:
            for start in range(0, 20_000, 1000):
                numbers = range(start, start + 1000)
                updates = [chunk(f"{n} {TEXT}", f"s{n % sessions}") for n in numbers]
                with anyio.fail_after(30):
                    await peer.send(*updates)

        flooding = peer.start(flood())
        await turns(2000)
        assert not flooding.done()
        assert client.started == sessions
        # The lanes of the sessions, what reads and writes, and those of this test.
        assert len(anyio.get_running_tasks()) - before <= sessions + 12
        client.go.set()
        await until(lambda: sum(map(len, client.handled.values())) == 20_000)
        await flooding
    for session in range(sessions):
        assert client.handled[f"s{session}"] == list(range(session, 20_000, sessions))


async def test_a_flood_over_many_sessions_stops_at_the_limit_of_running_handlers() -> None:
    """C15: one update for each of thousands of sessions."""
    client = Stalled()
    limits = Limits(running_handlers=100)
    before = len(anyio.get_running_tasks())
    async with wired("client", client, limits=limits) as (_, peer):
        updates = [chunk(f"{n} {TEXT}", f"s{n}") for n in range(5000)]
        flooding = peer.start(peer.send(*updates))
        await turns(2000)
        assert not flooding.done()
        # What one read brought counts as begun.
        assert client.started <= 2000
        assert len(anyio.get_running_tasks()) - before <= client.started + 12
        client.go.set()
        await until(lambda: len(client.handled) == 5000)
        await flooding


class Serving(acp.Agent):
    client: Any
    count = 0

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        self.count += 1
        return acp.NewSessionResponse(session_id=f"session-{self.count}")

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        await self.client.session_update(session_id, acp.update_agent_message_text("x"))
        await anyio.lowlevel.checkpoint()
        return acp.PromptResponse(stop_reason="end_turn")

    async def close_session(self, session_id: str, **kwargs: Any) -> None:
        return


async def open_and_close(peer: Any, count: int) -> None:
    """Sessions one after another, with a turn in each."""
    for _ in range(count):
        answer = await peer.exchange(0, "session/new", {"cwd": "/", "mcpServers": []})
        session = answer["result"]["sessionId"]
        await peer.request(1, "session/prompt", prompt("x", session))
        assert (await peer.receive())["method"] == "session/update"
        assert (await peer.receive())["id"] == 1
        await peer.notify("session/cancel", {"sessionId": session})
        answer = await peer.exchange(2, "session/close", {"sessionId": session})
        assert "error" not in answer


async def test_sessions_that_came_and_went_leave_nothing_behind() -> None:
    """C15: an agent that lives for years."""
    async with wired("agent", Serving(), use_unstable_protocol=True) as (_, peer):
        await open_and_close(peer, 200)
        gc.collect()
        tasks, blocks = len(anyio.get_running_tasks()), sys.getallocatedblocks()
        await open_and_close(peer, 2000)
        gc.collect()
        assert len(anyio.get_running_tasks()) == tasks
        # Less than one block for each session.
        assert sys.getallocatedblocks() - blocks < 1000


async def test_calls_that_came_and_went_leave_nothing_behind() -> None:
    """C15: answered, failed and given up."""
    async with wired("client", Silent()) as (agent, peer):

        async def call(count: int) -> None:
            for number in range(count):
                calling = peer.start(agent.ext_method("x", {}))
                request = await peer.receive()
                if number % 3 == 0:
                    calling.cancel()
                    assert (await peer.receive())["method"] == "$/cancel_request"
                    await peer.answer(request["id"], {})
                elif number % 3 == 1:
                    error = {"code": -32000, "message": "no"}
                    await peer.send({"id": request["id"], "error": error})
                else:
                    await peer.answer(request["id"], {})
                try:
                    await calling
                except (acp.RequestError, asyncio.CancelledError) as exc:
                    assert number % 3 < 2, exc

        await call(100)
        gc.collect()
        blocks = sys.getallocatedblocks()
        await call(2000)
        gc.collect()
        assert sys.getallocatedblocks() - blocks < 1000
