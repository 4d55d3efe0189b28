"""One ordered stream of updates, outcomes and the end of a connection."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v2
from tests.raw_peer import BOUND

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

schema = v2.schema


def chunk(text: str, session: str = "s") -> Any:
    return schema.UpdateSessionNotification(
        session_id=session,
        update=schema.AgentMessageChunk(message_id="m", content=schema.TextContentBlock(text=text)),
    )


def replaying_agent() -> v2.Agent:
    agent = v2.Agent()

    @agent.resume_session
    async def _(request: Any, ctx: v2.Context) -> Any:
        for number in range(3):
            await ctx.connection.notify(chunk(f"replay {number}", request.session_id))
        ctx.after_answer(ctx.connection.notify, chunk("live", request.session_id))
        return schema.ResumeSessionResponse()

    @agent.on_request("_test/ping")
    def _(params: Any) -> Any:
        return params

    @agent.on_request("_test/flood")
    async def _(params: Any, ctx: v2.Context) -> Any:
        for number in range(params["count"]):
            await ctx.connection.notify(chunk(str(number)))
        return {}

    return agent


@asynccontextmanager
async def connected(inbox: acp.OrderedInbox) -> AsyncGenerator[v2.Connection, None]:
    agent, client = replaying_agent(), v2.Client()
    inbox.attach(client)
    there, here = acp.memory_pair()
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as group:
            group.start_soon(agent.serve, there)
            async with client.connect(here) as connection:
                await connection.initialize()
                yield connection


def told(event: Any) -> str:
    if isinstance(event, acp.InboxUpdate):
        return event.params.update.content.text
    return event.key if isinstance(event, acp.InboxFinished) else "closed"


RESUME = schema.ResumeSessionRequest(session_id="s", cwd="/", mcp_servers=[])


@pytest.mark.parametrize("way", ["request", "prepare"])
async def test_replay_response_live_updates_and_the_end_come_in_this_order(way: str) -> None:
    """C-271, C-272 and C-274: handlers only put in; one consumer sees the order of the wire."""
    inbox = acp.OrderedInbox()
    async with connected(inbox) as connection:
        asked = getattr(connection, way)(RESUME, unchecked=True)
        inbox.expect(asked, "resumed")
        events = [told(await anext(inbox)) for _ in range(5)]
    assert events == ["replay 0", "replay 1", "replay 2", "resumed", "live"]
    assert told(await anext(inbox)) == "closed"


async def test_a_consumer_that_stands_still_holds_up_nothing_else() -> None:
    """C-273: responses and requests of other sessions still flow."""
    inbox = acp.OrderedInbox(limit=2)
    async with connected(inbox) as connection:
        flood = connection.request("_test/flood", {"count": 10})
        for number in range(3):
            assert await connection.request("_test/ping", {"n": number}) == {"n": number}
        await flood
        assert [told(await anext(inbox)) for _ in range(10)] == [str(n) for n in range(10)]
    assert told(await anext(inbox)) == "closed"


async def test_the_oldest_are_dropped_and_counted_where_that_was_asked_for() -> None:
    """C-275: the bound has a policy."""
    inbox = acp.OrderedInbox(limit=2, policy="drop_oldest")
    for number in range(5):
        await inbox.put(number)
    assert (len(inbox), inbox.dropped) == (2, 3)
    inbox.close()
    assert [event async for event in inbox] == [3, 4]


async def test_a_full_inbox_fails_its_consumer_where_that_was_asked_for() -> None:
    """C-275."""
    inbox = acp.OrderedInbox(limit=2, policy="fail")
    for number in range(5):
        await inbox.put(number)
    assert [await anext(inbox), await anext(inbox)] == [0, 1]
    for _ in range(2):
        with pytest.raises(acp.InboxFull):
            await anext(inbox)
        inbox.close()


async def test_who_puts_in_waits_for_room_and_a_closed_inbox_lets_it_go() -> None:
    inbox = acp.OrderedInbox(limit=1)
    done: list[int] = []

    async def put() -> None:
        for number in range(3):
            await inbox.put(number)
            done.append(number)

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as group:
            group.start_soon(put)
            await anyio.wait_all_tasks_blocked()
            assert done == [0]
            assert await anext(inbox) == 0
            await anyio.wait_all_tasks_blocked()
            assert done == [0, 1]
            inbox.close()
        assert [event async for event in inbox] == [1]
    assert done == [0, 1, 2]
