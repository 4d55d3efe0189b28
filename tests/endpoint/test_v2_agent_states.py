"""The states that an agent of version 2 reports: what goes over the wire, once, and when."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import v2
from tests.endpoint.v2_client import (
    REQUIRES_ACTION,
    RUNNING,
    Gate,
    accepted,
    agent_of,
    chunk,
    idle,
    said,
    schema,
    served,
    session_of,
    state,
    user_message,
)


async def test_a_block_reports_running_at_its_begin_and_idle_at_its_end() -> None:
    """C-231, C-237."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            await ctx.session.update(said("one"))
            assert ctx.session.state == "running"
        assert ctx.session.state == "idle"

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(
            user_message("m1"), accepted(1, "m1"), RUNNING, chunk("one"), idle("end_turn")
        )
        await peer.quiet()


async def test_each_prompt_has_its_own_running_and_idle() -> None:
    """C-231, C-232."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground(f"m{ctx.request_id}"):
            pass

    async with session_of(agent_of(on_prompt)) as peer:
        for request_id in (1, 2):
            name = f"m{request_id}"
            await peer.prompt(request_id)
            await peer.expect(
                user_message(name), accepted(request_id, name), RUNNING, idle("end_turn")
            )
        await peer.quiet()


async def test_what_was_reported_is_not_reported_again() -> None:
    """C-232."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        session = ctx.session
        for _ in range(3):
            await session.running()
        for _ in range(3):
            await session.requires_action()
        await session.running()
        for stop_reason in ("max_tokens", "max_tokens", None, "cancelled"):
            await session.idle(stop_reason)
        await session.idle(error=acp.RequestError.auth_required())

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(
            user_message("m1"),
            accepted(1, "m1"),
            RUNNING,
            REQUIRES_ACTION,
            RUNNING,
            idle("max_tokens"),
        )
        await peer.quiet()


async def test_work_may_begin_blocked_and_end_so() -> None:
    """C-235."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        await ctx.session.requires_action()
        await ctx.session.idle("refusal")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), REQUIRES_ACTION, idle("refusal"))
        await peer.quiet()


async def test_a_new_session_is_idle_without_being_told_so() -> None:
    """C-233."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        await ctx.session.idle()
        await ctx.session.idle("end_turn")
        raise acp.RequestError(-32000, "no")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.quiet()
        await peer.prompt(1)
        await peer.expect({"id": 1, "error": {"code": -32000, "message": "no"}})
        await peer.quiet()


async def test_a_state_told_before_the_answer_of_a_new_session_stays() -> None:
    """C-233."""
    gate = Gate()
    agent = v2.Agent("test").keep_sessions()

    @agent.new_session
    async def _(request: Any, ctx: v2.Context) -> schema.NewSessionResponse:
        session = ctx.connection.agent_sessions.open("s1")

        async def begin_by_itself() -> None:
            async with session.foreground():
                await gate.wait()

        ctx.connection.spawn(begin_by_itself())
        await gate.reached.wait()
        return schema.NewSessionResponse(session_id="s1")

    async with served(agent) as peer:
        await peer.request(1, "session/new", {"cwd": "/", "mcpServers": []})
        await peer.expect(RUNNING)
        assert (await peer.receive())["id"] == 1
        gate.open()
        await peer.expect(idle("end_turn"))


async def test_work_without_a_prompt_has_the_same_states() -> None:
    """C-231."""
    agent = agent_of()

    @agent.on_notification("_test/begin")
    async def _(params: Any, ctx: v2.Context) -> None:
        async with ctx.connection.agent_sessions.get("s1").foreground() as work:
            work.stop("refusal")

    async with session_of(agent) as peer:
        await peer.notify("_test/begin", {})
        await peer.expect(RUNNING, idle("refusal"))
        await peer.quiet()


async def test_one_blocked_block_among_others_is_no_required_action() -> None:
    """C-235."""
    agent = agent_of()
    gates = {name: Gate() for name in ("a1", "a2", "b1", "b2")}

    @agent.on_request("_test/both")
    async def _(params: Any, ctx: v2.Context) -> Any:
        session = ctx.connection.agent_sessions.get("s1")

        async def work(name: str) -> None:
            async with session.foreground() as block:
                await gates[f"{name}1"].wait()
                async with block.blocked():
                    await session.update(said(name))
                    await gates[f"{name}2"].wait()
                await session.update(said(name.upper()))

        async with anyio.create_task_group() as group:
            group.start_soon(work, "a")
            group.start_soon(work, "b")
        return {}

    async with session_of(agent) as peer:
        await peer.request(1, "_test/both", {})
        await peer.expect(RUNNING)
        await gates["b1"].until_reached()
        gates["a1"].open()
        await peer.expect(chunk("a"))
        gates["b1"].open()
        await peer.expect(REQUIRES_ACTION, chunk("b"))
        gates["a2"].open()
        await peer.expect(RUNNING, chunk("A"))
        # The only one that is left is blocked.
        await peer.expect(REQUIRES_ACTION)
        gates["b2"].open()
        await peer.expect(RUNNING, chunk("B"), idle("end_turn"), {"id": 1, "result": {}})
        await peer.quiet()


async def test_what_has_failed_in_one_of_several_blocks_is_told_at_the_end_of_all() -> None:
    """C-240."""
    agent = agent_of()
    gate = Gate()

    @agent.on_request("_test/both")
    async def _(params: Any, ctx: v2.Context) -> Any:
        session = ctx.connection.agent_sessions.get("s1")

        async def fail() -> None:
            with pytest.raises(acp.RequestError):
                async with session.foreground():
                    raise acp.RequestError(-32042, "broken", {"why": "test"})

        async with session.foreground(), anyio.create_task_group() as group:
            group.start_soon(fail)
            await gate.wait()
        return {}

    async with session_of(agent) as peer:
        await peer.request(1, "_test/both", {})
        await peer.expect(RUNNING)
        await peer.quiet()
        gate.open()
        error = {"code": -32042, "message": "broken", "data": {"why": "test"}}
        await peer.expect(idle("error", error=error), {"id": 1, "result": {}})
        await peer.quiet()


async def test_inside_a_block_idle_is_not_reported_by_hand() -> None:
    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1") as work:
            with pytest.raises(RuntimeError, match="stop"):
                await ctx.session.idle("end_turn")
            work.stop("max_turn_requests")
        with pytest.raises(ValueError, match="'error'"):
            await ctx.session.idle("end_turn", error=acp.RequestError(1, "x"))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING, idle("max_turn_requests"))
        await peer.quiet()


async def test_work_in_the_background_is_part_of_each_report() -> None:
    """C-231."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            await ctx.session.set_background([schema.BackgroundToolCall(tool_call_id="t1")])
            await ctx.session.set_background([schema.BackgroundToolCall(tool_call_id="t1")])
        await ctx.session.set_background([])

    agent = agent_of(on_prompt).keep_sessions(background=True)
    async with session_of(agent) as peer:
        await peer.prompt(1)
        some = [{"type": "tool_call", "toolCallId": "t1"}]
        await peer.expect(
            user_message("m1"),
            accepted(1, "m1"),
            state("running", background=[]),
            state("running", background=some),
            idle("end_turn", background=some),
            # The end of the work is not told again.
            idle(background=[]),
        )
        await peer.quiet()
