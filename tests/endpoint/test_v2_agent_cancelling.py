"""`session/cancel` on an agent of version 2: what ends, what is refused, and what goes on."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from acp import v2
from tests.endpoint.v2_client import (
    REQUIRES_ACTION,
    RUNNING,
    Gate,
    Held,
    accepted,
    agent_of,
    begins,
    cancel,
    cancelled,
    chunk,
    idle,
    prompt,
    said,
    schema,
    session_of,
    user_message,
)


@pytest.mark.parametrize("options", [{}, {"cancel_prompts": False}, {"cancel_handlers": False}])
async def test_cancelling_ends_the_work_and_refuses_what_is_held(options: dict[str, Any]) -> None:
    """C-238."""
    held = Held(**options)
    async with session_of(held.agent) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"), prompt(3, "c"))
        await peer.expect(*begins(1, "a"))
        await peer.cancel()
        await peer.expect_mixed([cancelled(2)], [cancelled(3)], [idle("cancelled")])
        await peer.quiet()


async def test_a_prompt_behind_a_cancellation_is_not_hit_by_it() -> None:
    """C-238."""
    held = Held()
    async with session_of(held.agent) as peer:
        await peer.prompt(1, "a")
        await peer.expect(*begins(1, "a"))
        await peer.send(cancel(), prompt(2, "b"), prompt(3, "c"))
        await peer.expect(idle("cancelled"), *begins(2, "b"))
        await peer.quiet()
        held.gate("b").open()
        await peer.expect(chunk("b"), idle("end_turn"), *begins(3, "c"))


async def test_a_prompt_and_its_cancellation_in_one_chunk_hit_that_prompt() -> None:
    """C-238."""
    held = Held()
    async with session_of(held.agent) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"), cancel(), prompt(3, "c"))
        await peer.expect(*begins(1, "a"))
        await peer.expect_mixed([cancelled(2)], [idle("cancelled"), *begins(3, "c")])


async def test_a_turn_that_was_given_and_not_used_is_refused_as_well() -> None:
    """C-238."""
    held = Held()
    taken: list[Any] = []

    @held.agent.on_notification("_test/take")
    async def _(params: Any, ctx: v2.Context) -> None:
        taken.append(ctx.connection.agent_sessions.get("s1").turn())
        await taken[-1].__aenter__()

    @held.agent.on_notification("_test/leave")
    async def _(params: Any) -> None:
        await taken.pop().__aexit__(None, None, None)

    async with session_of(held.agent) as peer:
        await peer.notify("_test/take", {})
        await peer.send(prompt(1, "a"), prompt(2, "b"))
        await peer.quiet()
        # The first has its turn when the cancellation is read, and no step was taken with it.
        await peer.send({"method": "_test/leave", "params": {}}, cancel())
        await peer.expect_mixed([cancelled(1)], [cancelled(2)])
        await peer.quiet()
        await peer.prompt(3, "c")
        await peer.expect(*begins(3, "c"))


async def test_an_idle_session_that_is_cancelled_sends_nothing() -> None:
    """C-232, C-238."""
    held = Held()
    held.gate("a").open()
    async with session_of(held.agent) as peer:
        await peer.cancel()
        await peer.quiet()
        await peer.prompt(1, "a")
        await peer.expect(*begins(1, "a"), chunk("a"), idle("end_turn"))
        await peer.send(cancel(), cancel(), cancel("nope"))
        await peer.quiet()


async def test_cancelling_one_session_leaves_the_others() -> None:
    """C-238."""
    held = Held()
    async with session_of(held.agent) as peer:
        await peer.open("s2")
        await peer.prompt(1, "a")
        await peer.expect(*begins(1, "a"))
        await peer.cancel("s2")
        await peer.quiet()


async def test_updates_on_the_way_to_the_end_come_before_the_idle() -> None:
    """C-238."""
    reached = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            try:
                await reached.wait()
            finally:
                with anyio.CancelScope(shield=True):
                    await ctx.session.update(said("stopping"))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING)
        await peer.cancel()
        await peer.expect(chunk("stopping"), idle("cancelled"))
        await peer.quiet()


async def test_whatever_cancelled_work_ends_with_it_is_told_as_cancelled() -> None:
    """C-238."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            try:
                await gate.wait()
            except anyio.get_cancelled_exc_class():
                raise OSError from None

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING)
        await peer.cancel()
        await peer.expect(idle("cancelled"))
        await peer.quiet()


async def test_work_in_the_background_goes_on_when_the_session_is_cancelled() -> None:
    """C-238."""
    gate = Gate()
    spawned = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        session = ctx.session

        async def beside() -> None:
            await spawned.wait()
            await session.update(said("beside"))

        async with ctx.foreground("m1"):
            ctx.connection.spawn(beside())
            await spawned.reached.wait()
        await gate.wait()
        await session.update(said("behind"))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING, idle("end_turn"))
        await gate.until_reached()
        await peer.cancel()
        await peer.quiet()
        gate.open()
        await peer.expect(chunk("behind"))
        spawned.open()
        await peer.expect(chunk("beside"))


async def test_what_comes_behind_a_cancelled_block_in_the_code_is_done() -> None:
    """C-238."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1") as work:
            await gate.wait()
        assert work.is_cancelled
        await ctx.session.update(said("noted"))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING)
        await peer.cancel()
        await peer.expect(idle("cancelled"), chunk("noted"))
        await peer.quiet()


async def test_all_blocks_of_a_session_end_before_it_is_idle() -> None:
    """C-238."""
    slow = Gate()
    gates = {name: Gate() for name in "abc"}

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        name = request.prompt[0].text
        async with ctx.foreground(f"m-{name}", hold=False) as work, work.blocked():
            try:
                await gates[name].wait()
            finally:
                if name == "a":
                    with anyio.CancelScope(shield=True):
                        await slow.wait()

    async with session_of(agent_of(on_prompt)) as peer:
        for request_id, name in ((1, "a"), (2, "b")):
            await peer.prompt(request_id, name)
            await peer.expect(*begins(request_id, name), REQUIRES_ACTION)
        await peer.cancel()
        await slow.until_reached()
        # One has ended, and is not running again; a new one waits for the other.
        await peer.prompt(3, "c")
        await peer.quiet()
        slow.open()
        await peer.expect(idle("cancelled"), *begins(3, "c"), REQUIRES_ACTION)


async def test_prompts_that_are_neither_held_nor_inserted_are_refused_as_well() -> None:
    """C-238."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        await gate.wait()
        ctx.accept("m1")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await gate.until_reached()
        await peer.cancel()
        await peer.expect(cancelled(1))
        await peer.quiet()


async def test_a_prompt_that_was_left_to_a_responder_is_refused_as_well() -> None:
    """C-238."""
    kept: list[Any] = []

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        kept.append((ctx, ctx.defer()))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.quiet()
        await peer.cancel()
        await peer.expect(cancelled(1))
        ctx, responder = kept.pop()
        assert not responder.respond(schema.PromptResponse(message_id="m1"))
        with pytest.raises(RuntimeError, match="answered already"):
            ctx.accept("m1")
        await peer.quiet()


async def test_work_that_had_begun_before_insertion_ends_without_inserting() -> None:
    """C-238."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.session.foreground():
            await gate.wait()
            ctx.accept("m1")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(RUNNING)
        await peer.cancel()
        await peer.expect(idle("cancelled"), cancelled(1))
        await peer.quiet()


async def test_reported_by_hand_the_work_of_a_cancelled_handler_ends_as_cancelled() -> None:
    """C-238."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        await ctx.session.running()
        await gate.wait()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING)
        await peer.cancel()
        await peer.expect(idle("cancelled"))
        await peer.quiet()


async def test_the_agents_own_handler_runs_before_the_work_is_cancelled() -> None:
    """C-238: what is to end is settled before, what comes meanwhile is not meant."""
    held = Held()
    seen: list[str] = []
    in_cancel = Gate()

    @held.agent.cancel
    async def _(notification: Any, ctx: v2.Context) -> None:
        seen.append(ctx.session.state)
        await in_cancel.wait()

    async with session_of(held.agent) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"))
        await peer.expect(*begins(1, "a"))
        await peer.cancel()
        await in_cancel.until_reached()
        await peer.expect(cancelled(2))
        await peer.quiet()
        # The work may end by itself in the meantime: it was cancelled all the same.
        held.gate("a").open()
        await peer.expect(chunk("a"), idle("cancelled"))
        in_cancel.open()
        await peer.quiet()
    assert seen == ["running"]


async def test_work_that_begins_while_the_cancellation_is_handled_ends_at_once() -> None:
    """C-238."""
    loading, in_cancel = Gate(), Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        await loading.wait()
        async with ctx.session.foreground():
            await Gate().wait()

    agent = agent_of(on_prompt)

    @agent.cancel
    async def _(notification: Any) -> None:
        await in_cancel.wait()

    async with session_of(agent) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"))
        await peer.cancel()
        await in_cancel.until_reached()
        loading.open()
        await peer.expect(RUNNING, idle("cancelled"))
        in_cancel.open()
        await peer.quiet()


async def test_a_block_of_work_is_used_once() -> None:
    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        work = ctx.foreground("m1")
        async with work:
            with pytest.raises(RuntimeError, match="once"):
                async with work:
                    pass

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING, idle("end_turn"))


async def test_a_failing_cancel_handler_does_not_keep_the_work() -> None:
    """C-238."""
    held = Held()

    @held.agent.cancel
    async def _(notification: Any) -> None:
        raise OSError

    async with session_of(held.agent) as peer:
        await peer.prompt(1, "a")
        await peer.expect(*begins(1, "a"))
        await peer.cancel()
        await peer.expect(idle("cancelled"))
