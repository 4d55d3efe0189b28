"""What an agent of version 2 asks the user, and when it takes the question back."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import v2
from tests.endpoint.v2_client import (
    CANCELLED,
    CLOSE,
    CLOSED,
    OPTIONS,
    REQUIRES_ACTION,
    RUNNING,
    YES,
    Gate,
    accepted,
    agent_of,
    cancel,
    chunk,
    failed,
    idle,
    permission,
    said,
    schema,
    session_of,
    user_message,
    withdrawal,
)

FORM = schema.CreateFormSessionElicitationRequest(
    session_id="s1",
    message="Who?",
    requested_schema=schema.ElicitationSchema(type="object", properties={}),
)
OFFERS: dict[str, Any] = {"elicitation": {"form": {}}}
BEGUN = (user_message("m1"), accepted(1, "m1"), RUNNING)


def outcome_of(answer: schema.RequestPermissionResponse) -> str:
    return getattr(answer.outcome, "option_id", answer.outcome.outcome)


async def asks(request: Any, ctx: v2.Context) -> None:
    """Asks for a permission in the foreground and says how that ended."""
    async with ctx.foreground("m1") as work:
        async with work.blocked():
            answer = await ctx.session.request_permission("May I?", OPTIONS)
        await ctx.session.update(said(outcome_of(answer)))


async def test_an_answered_question_lets_the_work_go_on() -> None:
    """C-235."""
    async with session_of(agent_of(asks)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, REQUIRES_ACTION, permission(0))
        await peer.answer(0, YES)
        await peer.expect(RUNNING, chunk("yes"), idle("end_turn"))
        await peer.quiet()


@pytest.mark.parametrize("options", [{}, {"send_cancel_request": False}])
async def test_cancelling_the_session_withdraws_the_permission(options: dict[str, Any]) -> None:
    """C-229."""
    async with session_of(agent_of(asks, **options)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, REQUIRES_ACTION, permission(0))
        await peer.cancel()
        await peer.expect(withdrawal(0), idle("cancelled"))
        await peer.answer(0, CANCELLED)
        await peer.quiet()


REFUSED = {"error": {"code": -32800, "message": "Request cancelled"}}


@pytest.mark.parametrize("late", [{"result": YES}, {"result": CANCELLED}, REFUSED])
async def test_an_answer_that_crosses_with_the_withdrawal_does_nothing(late: Any) -> None:
    """C-229."""
    async with session_of(agent_of(asks)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, REQUIRES_ACTION, permission(0))
        await peer.cancel()
        await peer.expect(withdrawal(0))
        await peer.send({"id": 0, **late})
        await peer.expect(idle("cancelled"))
        await peer.quiet()


@pytest.mark.parametrize("late", [{"result": YES}, {"result": CANCELLED}, REFUSED])
async def test_an_answer_in_the_same_chunk_leaves_nothing_to_withdraw(late: Any) -> None:
    """C-229."""
    async with session_of(agent_of(asks)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, REQUIRES_ACTION, permission(0))
        await peer.send(cancel(), {"id": 0, **late})
        await peer.expect(idle("cancelled"))
        await peer.quiet()


async def test_an_answer_before_the_cancellation_decides_nothing_any_more() -> None:
    """C-229."""
    asked: list[str] = []
    go = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            with anyio.CancelScope(shield=True):
                answer = await ctx.session.request_permission("May I?", OPTIONS)
                asked.append(outcome_of(answer))
                await go.wait()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, permission(0))
        # The answer is read first; who waits for it has no step before the cancellation.
        await peer.send({"id": 0, "result": YES}, cancel())
        await go.until_reached()
        go.open()
        await peer.expect(idle("cancelled"))
        await peer.quiet()
    assert asked == ["cancelled"]


async def test_a_question_that_nobody_answers_holds_up_no_end() -> None:
    """C-229, C-239."""
    seen: list[str] = []

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            with anyio.CancelScope(shield=True):
                answer = await ctx.session.request_permission("May I?", OPTIONS)
                seen.append(outcome_of(answer))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, permission(0))
        await peer.send(CLOSE)
        await peer.expect(withdrawal(0), idle("cancelled"), CLOSED)
        await peer.quiet()
    assert seen == ["cancelled"]


async def test_permissions_of_other_sessions_and_of_the_background_stay() -> None:
    """C-229, C-238."""
    agent = agent_of()

    @agent.on_request("_test/ask")
    async def _(params: Any, ctx: v2.Context) -> Any:
        session = ctx.connection.agent_sessions.get(params["in"])
        answer = await session.request_permission(
            "May I?", OPTIONS, background=params.get("background", False)
        )
        return {"outcome": outcome_of(answer)}

    async with session_of(agent) as peer:
        await peer.open("s2")
        await peer.request(1, "_test/ask", {"in": "s1"})
        await peer.request(2, "_test/ask", {"in": "s1", "background": True})
        await peer.request(3, "_test/ask", {"in": "s2"})
        await peer.expect(permission(0), permission(1), permission(2, "s2"))
        await peer.cancel()
        await peer.expect(withdrawal(0), {"id": 1, "result": {"outcome": "cancelled"}})
        await peer.quiet()
        await peer.answer(2, YES)
        await peer.expect({"id": 3, "result": {"outcome": "yes"}})
        await peer.send(CLOSE)
        await peer.expect(withdrawal(1))
        await peer.expect_mixed([{"id": 2, "result": {"outcome": "cancelled"}}], [CLOSED])
        await peer.quiet()


async def test_an_elicitation_is_withdrawn_by_closing_alone() -> None:
    """C-229."""
    agent = agent_of()

    @agent.on_request("_test/elicit")
    async def _(params: Any, ctx: v2.Context) -> Any:
        answer = await ctx.connection.agent_sessions.get("s1").elicit(FORM)
        return {"action": answer.action}

    async with session_of(agent, capabilities=OFFERS) as peer:
        await peer.request(1, "_test/elicit", {})
        asked = await peer.receive()
        assert (asked["id"], asked["method"]) == (0, "elicitation/create")
        await peer.cancel()
        await peer.quiet()
        await peer.send(CLOSE)
        await peer.expect(withdrawal(0))
        await peer.expect_mixed([{"id": 1, "result": {"action": "cancel"}}], [CLOSED])
        await peer.quiet()


async def test_an_elicitation_of_cancelled_work_is_withdrawn_with_it() -> None:
    """C-229."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            await ctx.session.elicit(FORM)

    async with session_of(agent_of(on_prompt), capabilities=OFFERS) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN)
        assert (await peer.receive())["method"] == "elicitation/create"
        await peer.cancel()
        await peer.expect_mixed([withdrawal(0)], [idle("cancelled")])
        await peer.quiet()


async def test_an_error_of_the_client_is_the_outcome_of_a_question() -> None:
    """C-240."""
    async with session_of(agent_of(asks)) as peer:
        await peer.prompt(1)
        await peer.expect(*BEGUN, REQUIRES_ACTION, permission(0))
        await peer.send({"id": 0, "error": {"code": -32601, "message": "Method not found"}})
        error = {"code": -32601, "message": "Method not found"}
        await peer.expect(RUNNING, idle("error", error=error))
        await peer.quiet()


async def test_what_the_client_has_not_offered_is_not_asked() -> None:
    """C-240."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        with pytest.raises(acp.exceptions.UnsupportedByPeer):
            await ctx.session.elicit(FORM)
        raise acp.RequestError(-32042, "no")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(failed(1, -32042, "no"))
        await peer.quiet()
