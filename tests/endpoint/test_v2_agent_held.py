"""Prompts of version 2 that are held until it is their turn."""

from __future__ import annotations

from typing import Any

import acp
from acp import v2
from tests.endpoint.v2_client import (
    RUNNING,
    Gate,
    Held,
    accepted,
    agent_of,
    begins,
    cancelled,
    chunk,
    idle,
    prompt,
    session_of,
    state,
    user_message,
    withdrawal,
)


async def test_held_prompts_are_inserted_and_answered_one_after_the_other() -> None:
    """C-237."""
    held = Held()
    async with session_of(held.agent) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"), prompt(3, "c"))
        await peer.expect(*begins(1, "a"))
        await peer.quiet()
        for at, (name, following) in enumerate([("a", "b"), ("b", "c")], 2):
            held.gate(name).open()
            await peer.expect(chunk(name), idle("end_turn"), *begins(at, following))
            await peer.quiet()
        held.gate("c").open()
        await peer.expect(chunk("c"), idle("end_turn"))
        await peer.quiet()


async def test_prompts_of_other_sessions_are_not_held() -> None:
    """C-237."""
    held = Held()
    async with session_of(held.agent) as peer:
        await peer.open("s2")
        await peer.prompt(1, "a")
        await peer.expect(*begins(1, "a"))
        await peer.prompt(2, "b", session="s2")
        await peer.expect(
            user_message("m-b", "b", "s2"), accepted(2, "m-b"), state("running", "s2")
        )


async def test_a_prompt_that_does_not_wait_is_inserted_into_the_work_that_goes_on() -> None:
    """C-237."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        name = request.prompt[0].text
        async with ctx.foreground(f"m-{name}", hold=name != "steer"):
            if name != "steer":
                await gate.wait()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"), prompt(3, "steer"))
        steered = user_message("m-steer", "steer"), accepted(3, "m-steer")
        await peer.expect(*begins(1, "a"), *steered)
        await peer.quiet()
        gate.open()
        await peer.expect(idle("end_turn"), *begins(2, "b"), idle("end_turn"))


async def test_a_held_prompt_is_withdrawn_alone() -> None:
    """C-105, C-237."""
    held = Held()
    async with session_of(held.agent) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"), prompt(3, "c"))
        await peer.expect(*begins(1, "a"))
        await peer.send(withdrawal(2))
        await peer.expect(cancelled(2))
        await peer.quiet()
        held.gate("a").open()
        await peer.expect(chunk("a"), idle("end_turn"), *begins(3, "c"))


async def test_a_held_prompt_is_withdrawn_also_where_handlers_are_not_cancelled() -> None:
    """C-105, C-237."""
    held = Held(cancel_handlers=False)
    async with session_of(held.agent) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"), prompt(3, "c"))
        await peer.expect(*begins(1, "a"))
        await peer.send(withdrawal(2))
        await peer.expect(cancelled(2))
        held.gate("a").open()
        await peer.expect(chunk("a"), idle("end_turn"), *begins(3, "c"))


async def test_by_hand_turns_and_cancelling_are_there_for_any_handler() -> None:
    """C-237, C-238."""
    gates = [Gate(), Gate()]
    agent = agent_of(keep=False)

    @agent.prompt
    async def _(request: Any, ctx: v2.Context) -> None:
        session = ctx.connection.agent_sessions.open("s1")
        async with session.turn():
            ctx.accept(f"m{ctx.request_id}")
            async with session.foreground():
                await gates.pop(0).wait()

    @agent.on_notification("_test/stop")
    async def _(params: Any, ctx: v2.Context) -> None:
        ctx.connection.agent_sessions.get("s1").cancel()

    async with session_of(agent) as peer:
        await peer.send(prompt(1), prompt(2))
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING)
        await peer.quiet()
        await peer.notify("_test/stop", {})
        await peer.expect_mixed([cancelled(2)], [idle("cancelled")])
        await peer.prompt(3)
        await peer.expect(user_message("m3"), accepted(3, "m3"), RUNNING)
        await peer.quiet()


async def test_the_turn_goes_on_to_the_next_when_inserting_fails() -> None:
    """C-237."""
    held = Held()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        name = request.prompt[0].text
        async with ctx.session.turn():
            await held.gate(name).wait()
            if name == "a":
                raise acp.RequestError(-32042, "no")
            ctx.accept(f"m-{name}")

    agent = agent_of(on_prompt)
    async with session_of(agent) as peer:
        await peer.send(prompt(1, "a"), prompt(2, "b"))
        held.gate("a").open()
        held.gate("b").open()
        await peer.expect({"id": 1, "error": {"code": -32042, "message": "no"}})
        await peer.expect(user_message("m-b", "b"), accepted(2, "m-b"))
