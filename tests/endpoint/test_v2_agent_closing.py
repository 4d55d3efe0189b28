"""`session/close` on an agent of version 2: what ends before it is answered."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import v2
from tests.endpoint.v2_client import (
    CLOSE,
    CLOSED,
    OPTIONS,
    RUNNING,
    Gate,
    Peer,
    accepted,
    agent_of,
    cancelled,
    chunk,
    failed,
    idle,
    prompt,
    said,
    schema,
    session_of,
    user_message,
    withdrawal,
)

BEGUN = (user_message("m1"), accepted(1, "m1"), RUNNING)


class Slow:
    """An agent that says something on the way to its end, when the test lets it."""

    def __init__(self, **options: Any) -> None:
        self.ending = Gate()
        self.agent = agent_of(self.on_prompt, **options)

    async def on_prompt(self, request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground(f"m{ctx.request_id}"):
            try:
                await Gate().wait()
            finally:
                with anyio.CancelScope(shield=True):
                    await self.ending.wait()
                    await ctx.session.update(said("last words"))


@pytest.mark.parametrize("options", [{}, {"cancel_prompts": False}])
async def test_closing_waits_for_the_last_updates_and_the_idle(options: dict[str, Any]) -> None:
    """C-239."""
    slow = Slow(**options)
    async with session_of(slow.agent) as peer:
        await peer.send(prompt(1), prompt(2))
        await peer.expect(*BEGUN)
        await peer.send(CLOSE)
        await peer.expect(cancelled(2))
        await slow.ending.until_reached()
        await peer.quiet()
        slow.ending.open()
        await peer.expect(chunk("last words"), idle("cancelled"), CLOSED)
        await peer.quiet()


async def test_closing_an_idle_session_sends_the_answer_alone() -> None:
    """C-239."""
    async with session_of(agent_of()) as peer:
        await peer.send(CLOSE)
        await peer.expect(CLOSED)
        await peer.quiet()


async def test_prompts_during_the_closing_are_refused_and_unknown_behind_it() -> None:
    """C-239."""
    slow = Slow()
    async with session_of(slow.agent) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        await peer.send(CLOSE)
        await slow.ending.until_reached()
        await peer.prompt(2)
        await peer.expect(cancelled(2))
        slow.ending.open()
        await peer.expect(chunk("last words"), idle("cancelled"), CLOSED)
        await peer.prompt(3)
        await peer.expect(failed(3, -32002, "Session not found", {"sessionId": "s1"}))
        await peer.send({**CLOSE, "id": 10})
        await peer.expect(failed(10, -32002, "Session not found", {"sessionId": "s1"}))


async def test_closing_twice_at_once_is_answered_twice_at_the_end() -> None:
    """C-239."""
    slow = Slow()
    async with session_of(slow.agent) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        await peer.send(CLOSE, {**CLOSE, "id": 10})
        await slow.ending.until_reached()
        await peer.quiet()
        slow.ending.open()
        await peer.expect(chunk("last words"), idle("cancelled"))
        await peer.expect_mixed([CLOSED], [{**CLOSED, "id": 10}])
        await peer.quiet()


async def test_a_closing_that_is_cancelled_leaves_the_session_open() -> None:
    """C-239."""
    slow = Slow()
    async with session_of(slow.agent) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        await peer.send(CLOSE)
        await slow.ending.until_reached()
        await peer.send(withdrawal(9))
        await peer.expect(cancelled(9))
        slow.ending.open()
        await peer.expect(chunk("last words"), idle("cancelled"))
        await peer.prompt(2)
        await peer.expect(user_message("m2"), accepted(2, "m2"), RUNNING)
        await peer.quiet()


async def test_the_agents_own_handler_of_closing_runs_behind_the_end_of_the_work() -> None:
    """C-239."""
    slow = Slow()
    slow.ending.open()
    seen: list[str] = []

    @slow.agent.close_session
    async def _(request: Any, ctx: v2.Context) -> schema.CloseSessionResponse:
        seen.append(ctx.session.state)
        await ctx.session.update(said("goodbye"))
        return schema.CloseSessionResponse(field_meta={"a": 1})

    async with session_of(slow.agent) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        await peer.send(CLOSE)
        await peer.expect(
            chunk("last words"),
            idle("cancelled"),
            chunk("goodbye"),
            {"id": 9, "result": {"_meta": {"a": 1}}},
        )
    assert seen == ["idle"]


async def test_reported_by_hand_the_work_of_a_handler_ends_before_the_answer_as_well() -> None:
    """C-239."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        await ctx.session.running()
        await Gate().wait()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        await peer.send(CLOSE)
        await peer.expect(idle("cancelled"), CLOSED)
        await peer.quiet()


@pytest.mark.parametrize("options", [{}, {"cancel_prompts": False}])
async def test_a_prompt_that_is_not_inserted_yet_is_refused_before_the_answer(
    options: dict[str, Any],
) -> None:
    """C-239."""
    reached = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        await reached.wait()

    async with session_of(agent_of(on_prompt, **options)) as peer:
        await peer.prompt(1)
        await reached.until_reached()
        await peer.send(CLOSE)
        await peer.expect(cancelled(1), CLOSED)
        await peer.quiet()


async def test_work_that_somebody_else_does_is_told_as_ended_behind_the_agents_own_handler() -> (
    None
):
    """C-239."""
    agent = agent_of()

    @agent.prompt
    async def _(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        await ctx.session.running()

    @agent.close_session
    async def _(request: Any, ctx: v2.Context) -> None:
        await ctx.session.update(said("stopped"))

    async with session_of(agent) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        await peer.quiet()
        await peer.send(CLOSE)
        await peer.expect(chunk("stopped"), idle("cancelled"), CLOSED)
        await peer.quiet()


async def test_a_handler_that_goes_on_in_the_background_holds_up_no_closing() -> None:
    """C-239."""
    behind = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            pass
        await behind.wait()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, idle("end_turn"))
        await behind.until_reached()
        await peer.send(CLOSE)
        await peer.expect(CLOSED)
        behind.open()
        await peer.quiet()


@pytest.mark.parametrize("ending", ["delete", "archive"])
async def test_a_deleted_or_archived_session_ends_like_a_closed_one(ending: str) -> None:
    slow = Slow(features=["session_archive"])
    slow.ending.open()
    slow.agent.delete_session(lambda request: None)
    slow.agent.archive_session(lambda request: None)
    async with session_of(slow.agent) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        await peer.request(2, f"session/{ending}", {"sessionId": "s1"})
        await peer.expect(chunk("last words"), idle("cancelled"), {**CLOSED, "id": 2})
        await peer.prompt(3)
        await peer.expect(failed(3, -32002, "Session not found", {"sessionId": "s1"}))


@pytest.mark.parametrize("options", [{}, {"cancel_prompts": False}])
async def test_work_that_closes_its_own_session_ends(options: dict[str, Any]) -> None:
    """C-239."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        if request.prompt[0].text == "block":
            async with ctx.foreground("m1"):
                await ctx.session.close()
        else:
            ctx.accept("m1")
            await ctx.session.running()
            await ctx.session.close()

    async with session_of(agent_of(on_prompt, **options)) as peer:
        await peer.prompt(1, "block")
        await peer.expect(
            user_message("m1", "block"), accepted(1, "m1"), RUNNING, idle("cancelled")
        )
        await peer.prompt(2, "by hand")
        await peer.expect(
            user_message("m1", "by hand"), accepted(2, "m1"), RUNNING, idle("cancelled")
        )
        await peer.quiet()


async def test_by_hand_a_session_is_closed_by_any_handler() -> None:
    """C-239."""
    agent = agent_of(keep=False)

    @agent.prompt
    async def _(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        async with ctx.session.foreground():
            await Gate().wait()

    @agent.close_session
    async def _(request: Any, ctx: v2.Context) -> schema.CloseSessionResponse:
        # It is seen to already, and once more does no harm.
        await ctx.session.close()
        return schema.CloseSessionResponse()

    @agent.on_request("_test/close")
    async def _(params: Any, ctx: v2.Context) -> Any:
        sessions = ctx.connection.agent_sessions
        await sessions.get(params["session"]).close()
        return {"left": len(sessions)}

    async with session_of(agent) as peer:
        for closing, answer in (
            (CLOSE, CLOSED),
            ({"id": 9, "method": "_test/close", "params": {"session": "s1"}}, LEFT_NONE),
        ):
            await peer.prompt(1)
            await peer.expect(*BEGUN)
            await peer.send(closing)
            await peer.expect(idle("cancelled"), answer)
            await peer.quiet()


LEFT_NONE: dict[str, Any] = {"id": 9, "result": {"left": 0}}


async def test_the_sessions_of_a_connection_can_be_looked_through() -> None:
    found: list[Any] = []
    agent = agent_of()

    @agent.on_notification("_test/look")
    async def _(params: Any, ctx: v2.Context) -> None:
        sessions = ctx.connection.agent_sessions
        found.append(([session.id for session in sessions], len(sessions), "s1" in sessions))
        sessions.discard(sessions.get("s1"))
        found.append(sessions.find("s1"))
        with pytest.raises(acp.RequestError):
            sessions.get(None)

    async with session_of(agent) as peer:
        await peer.open("s2")
        await peer.notify("_test/look", {})
        await peer.quiet()
    assert found == [(["s1", "s2"], 2, True), None]


@pytest.mark.parametrize("kind", ["block", "asks", "by hand"])
async def test_a_client_that_goes_away_in_the_middle_of_work_is_no_failure(kind: str) -> None:
    reached = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        if kind == "by hand":
            ctx.accept("m1")
            await ctx.session.running()
            await reached.wait()
        async with ctx.foreground("m1") as work:
            if kind == "asks":
                async with work.blocked():
                    reached.reached.set()
                    await ctx.session.request_permission("May I?", OPTIONS)
            await reached.wait()

    ours, theirs = acp.memory_pair()
    await theirs.open()
    peer = Peer(theirs)
    async with anyio.create_task_group() as group:
        group.start_soon(agent_of(on_prompt).serve, ours)
        info = {"name": "peer", "version": "1"}
        params = {"protocolVersion": 2, "info": info, "capabilities": {}}
        await peer.request("init", "initialize", params)
        await peer.receive()
        await peer.open()
        await peer.prompt(1)
        await reached.until_reached()
        while (await peer.receive()) != RUNNING:
            pass
        # The task group would raise what serving raises.
        await theirs.close()
