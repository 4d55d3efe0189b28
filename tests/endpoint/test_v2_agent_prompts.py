"""Prompts of version 2: insertion and answer, what fails before it and what after it."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

import acp
from acp import v2
from tests.endpoint.v2_client import (
    RUNNING,
    Gate,
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
    update,
    user_message,
    withdrawal,
)

AUTH = {"code": -32000, "message": "Authentication required"}


async def test_an_accepted_prompt_is_inserted_and_answered_while_its_handler_goes_on() -> None:
    """C-237."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        await gate.wait()
        await ctx.session.update(said("later"))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1, "hello")
        await peer.expect(user_message("m1", "hello"), accepted(1, "m1"))
        await peer.quiet()
        gate.open()
        await peer.expect(chunk("later"))
        await peer.quiet()


async def test_what_the_handler_returns_after_insertion_counts_no_more() -> None:
    """C-237."""

    async def on_prompt(request: Any, ctx: v2.Context) -> schema.PromptResponse:
        ctx.accept("m1", content=[schema.TextContentBlock(text="as inserted")], field_meta={"a": 1})
        return schema.PromptResponse(message_id="other")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        content = [{"type": "text", "text": "as inserted"}]
        message = {"sessionUpdate": "user_message", "messageId": "m1", "content": content}
        await peer.expect(update({**message, "_meta": {"a": 1}}), accepted(1, "m1"))
        await peer.quiet()


async def test_the_answers_of_a_batch_still_leave_together() -> None:
    """C-237."""
    gates = {"1": Gate(), "2": Gate()}

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept(f"m{ctx.request_id}")
        await gates[str(ctx.request_id)].wait()

    async with session_of(agent_of(on_prompt)) as peer:
        both = [{"jsonrpc": "2.0", **prompt(each)} for each in (1, 2)]
        await peer.send_text(json.dumps(both) + "\n")
        await peer.expect(user_message("m1"), user_message("m2"))
        assert await peer.receive() == [accepted(1, "m1"), accepted(2, "m2")]
        await peer.quiet()
        for gate in gates.values():
            gate.open()


async def test_an_error_before_insertion_is_the_answer_and_inserts_nothing() -> None:
    """C-237."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        raise acp.RequestError(-32042, "told to reject", {"why": "test"})

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(failed(1, -32042, "told to reject", {"why": "test"}))
        await peer.quiet()


async def test_an_error_before_insertion_may_end_work_that_was_running_already() -> None:
    """C-237, C-240."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.session.foreground():
            raise acp.RequestError.auth_required()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(RUNNING, idle("error", error=AUTH), {"id": 1, "error": AUTH})
        await peer.quiet()


async def test_running_may_come_before_insertion() -> None:
    """C-237."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.session.foreground():
            ctx.accept("m1")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(RUNNING, user_message("m1"), accepted(1, "m1"), idle("end_turn"))
        await peer.quiet()


async def fails_in_a_block(ctx: v2.Context, exc: Exception) -> None:
    async with ctx.foreground("m1"):
        raise exc


async def fails_after_accepting(ctx: v2.Context, exc: Exception) -> None:
    ctx.accept("m1")
    await ctx.session.running()
    raise exc


async def reports_the_failure(ctx: v2.Context, exc: Exception) -> None:
    ctx.accept("m1")
    await ctx.session.running()
    await ctx.session.idle(error=exc)


HOWS = [fails_in_a_block, fails_after_accepting, reports_the_failure]
unwritable = acp.RequestError(-32042, "broken", {"what": object()})
no_code = acp.RequestError(1 << 40, "broken")
FAILURES: list[tuple[Exception, dict[str, Any]]] = [
    (acp.RequestError.auth_required(), AUTH),
    (
        acp.RequestError(-32042, "broken", {"why": "test"}),
        {"code": -32042, "message": "broken", "data": {"why": "test"}},
    ),
    (
        KeyError("secret"),
        {"code": -32603, "message": "Internal error", "data": {"type": "KeyError"}},
    ),
    (unwritable, {"code": -32042, "message": "broken"}),
    (no_code, {"code": -32603, "message": "Internal error"}),
]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("exc", "error"), FAILURES)
async def test_a_failure_after_insertion_is_an_idle_with_the_error(
    how: Any, exc: Exception, error: dict[str, Any]
) -> None:
    """C-240."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        await how(ctx, exc)

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        end = idle("error", error=error)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING, end)
        await peer.quiet()


async def test_a_failure_directly_behind_insertion_is_an_idle_as_well() -> None:
    """C-240."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        raise acp.RequestError.auth_required()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), idle("error", error=AUTH))
        await peer.quiet()


async def test_what_a_handler_raises_after_its_work_has_ended_ends_nothing_again() -> None:
    """C-232, C-240."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            pass
        raise acp.RequestError.auth_required()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING, idle("end_turn"))
        await peer.quiet()


async def test_the_text_of_an_exception_is_told_only_where_that_is_allowed() -> None:
    """C-240."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            raise OSError("no disk")

    async with session_of(agent_of(on_prompt, expose_internal_errors=True)) as peer:
        await peer.prompt(1)
        data = {"type": "OSError", "details": "no disk"}
        error = {"code": -32603, "message": "Internal error", "data": data}
        end = idle("error", error=error)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING, end)


async def test_a_request_that_is_cancelled_before_insertion_is_not_inserted() -> None:
    """C-105."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        await gate.wait()
        ctx.accept("m1")

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await gate.until_reached()
        await peer.send(withdrawal(1))
        await peer.expect(cancelled(1))
        gate.open()
        await peer.quiet()


async def test_a_handler_that_is_not_cancelled_cannot_insert_what_was_cancelled() -> None:
    """C-105."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        await gate.wait()
        ctx.accept("m1")

    async with session_of(agent_of(on_prompt, cancel_handlers=False)) as peer:
        await peer.prompt(1)
        await gate.until_reached()
        await peer.send(withdrawal(1))
        await peer.quiet()
        gate.open()
        await peer.expect(cancelled(1))
        await peer.quiet()


async def test_a_request_that_is_cancelled_after_insertion_keeps_its_success_and_its_work() -> None:
    """C-105, C-237."""
    gate = Gate()

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            await gate.wait()
            assert not ctx.cancellation.is_cancelled
            await ctx.session.update(said("on"))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING)
        await peer.send(withdrawal(1))
        await peer.quiet()
        gate.open()
        await peer.expect(chunk("on"), idle("end_turn"))
        await peer.quiet()


async def test_a_prompt_is_inserted_once() -> None:
    """C-237."""
    errors: list[str] = []

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        ctx.accept("m1")
        try:
            ctx.accept("m2")
        except RuntimeError as exc:
            errors.append(str(exc))
        try:
            async with ctx.foreground("m3"):
                errors.append("begun")
        except RuntimeError as exc:
            errors.append(str(exc))

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"))
        await peer.quiet()
    assert errors == ["This prompt is answered already"] * 2


async def test_only_prompts_are_inserted() -> None:
    agent = agent_of()

    @agent.on_request("_test/other")
    async def _(params: Any, ctx: v2.Context) -> Any:
        ctx.accept("m1")

    @agent.on_notification("_test/note")
    async def _(params: Any, ctx: v2.Context) -> None:
        with pytest.raises(RuntimeError, match="notification"):
            ctx.accept("m1")

    async with session_of(agent) as peer:
        await peer.notify("_test/note", {"sessionId": "s1"})
        await peer.request(1, "_test/other", {"sessionId": "s1"})
        await peer.expect(failed(1, -32603, "Internal error", {"type": "RuntimeError"}))
        await peer.quiet()


async def test_a_prompt_that_is_left_to_a_responder_is_inserted_later() -> None:
    """C-237."""
    kept: list[Any] = []

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        kept.append((ctx, ctx.defer()))

    agent = agent_of(on_prompt)

    @agent.on_notification("_test/insert")
    async def _(params: Any) -> None:
        ctx, _responder = kept[-1]
        ctx.accept("m1")
        assert ctx.connection.stats().deferred == 0

    async with session_of(agent) as peer:
        await peer.prompt(1)
        await peer.quiet()
        await peer.notify("_test/insert", {})
        await peer.expect(user_message("m1"), accepted(1, "m1"))
        await peer.quiet()
    kept.clear()


async def test_the_message_id_is_made_where_none_is_given() -> None:
    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground():
            pass

    async with session_of(agent_of(on_prompt)) as peer:
        ids: set[str] = set()
        for request_id in (1, 2):
            await peer.prompt(request_id)
            message, answer, _, _ = [await peer.receive() for _ in range(4)]
            assert message["params"]["update"]["messageId"] == answer["result"]["messageId"]
            ids.add(answer["result"]["messageId"])
        assert len(ids) == 2


# By hand: an agent that does not have its sessions kept.


async def test_an_agent_may_insert_prompts_without_having_sessions_kept() -> None:
    """C-237, C-240."""
    agent = agent_of(keep=False)

    @agent.prompt
    async def _(request: schema.PromptRequest, ctx: v2.Context) -> None:
        with pytest.raises(acp.RequestError) as caught:
            ctx.session  # noqa: B018 - it raises
        assert caught.value.code == -32002
        v2.check_prompt(request, ctx.connection.own_capabilities)
        ctx.accept("m1")
        assert ctx.session is ctx.connection.agent_sessions.get("s1")
        raise acp.RequestError.auth_required()

    async with session_of(agent) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), idle("error", error=AUTH))
        params: dict[str, Any] = {"sessionId": "s2", "prompt": []}
        await peer.request(2, "session/prompt", params)
        assert (await peer.receive())["error"]["code"] == -32602
        await peer.quiet()


async def test_an_agent_may_answer_prompts_without_any_of_this() -> None:
    async def on_prompt(request: Any, ctx: v2.Context) -> schema.PromptResponse:
        return schema.PromptResponse(message_id="m1")

    async with session_of(agent_of(on_prompt, keep=False)) as peer:
        await peer.prompt(1, session="any")
        await peer.expect(accepted(1, "m1"))
        await peer.quiet()


async def test_a_client_has_no_sessions_of_an_agent() -> None:
    here, there = acp.memory_pair()
    client = v2.Client("c")
    async with anyio.create_task_group() as group:
        group.start_soon(agent_of().serve, here)
        async with client.connect(there) as connection:
            with pytest.raises(RuntimeError, match="agent"):
                _ = connection.agent_sessions
