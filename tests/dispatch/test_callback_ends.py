"""Callbacks at the end of a connection, late ones, their context, and what their failure means."""

from __future__ import annotations

import contextvars
import json
import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, v1
from tests.endpoint_peer import agent, client, endpoint_under_test, prompt_request
from tests.raw_peer import BOUND, chunk, within
from tests.sides import until
from tests.story import Story, answer

s = v1.schema


# At the end, and where there is no place.


async def test_callbacks_that_no_answer_can_come_for_are_called_once_with_what_tells_so() -> None:
    """C-080: in no order."""
    story = Story()
    story.gate("1")
    failures: list[Exception | None] = []
    async with endpoint_under_test(story.client()) as (connection, peer):
        for _ in range(3):
            connection.request(prompt_request()).on_result(
                lambda ended: failures.append(ended.error())
            )
            await peer.receive()
        await peer.send(chunk("1"))
        await story.comes_to("1 begins")
        await peer.transport.close()
        await until(lambda: len(failures) == 3)
        story.open("1")
        await within(connection.wait_closed())
    assert {type(failure) for failure in failures} == {acp.ConnectionClosed}


async def test_a_callback_whose_answer_is_here_gets_it_though_the_input_ends() -> None:
    """C-079, C-133: it begins in its place, before the connection has ended."""
    story = Story()
    story.gate("1", "callback")
    async with endpoint_under_test(story.client()) as (connection, peer):
        reasons: list[str] = []

        async def called(ended: acp.Outcome[Any]) -> None:
            reasons.append(ended.result().stop_reason)
            await story.tell("callback")

        connection.request(prompt_request()).on_result(called)
        request = await peer.receive()
        await peer.send(chunk("1"), answer(request), chunk("2"))
        await peer.transport.close()
        await story.is_still("1 begins")
        story.open("1")
        await story.is_still("1 begins", "1 ends", "callback begins")
        story.open("callback")
        await within(connection.wait_closed())
        assert story.seen == ["1 begins", "1 ends", "callback begins", "callback ends", "2"]
        assert reasons == ["end_turn"]


async def test_a_callback_behind_a_handler_that_does_not_end_gets_its_answer_when_time_is_up() -> (
    None
):
    story = Story()
    story.gate("1")
    results: list[Any] = []
    endpoint = story.client(limits=Limits(closing=0.05))
    async with endpoint_under_test(endpoint) as (connection, peer):
        connection.request(prompt_request()).on_result(lambda ended: results.append(ended.result()))
        request = await peer.receive()
        await peer.send(chunk("1"), answer(request))
        await until(lambda: connection.stats().waiting_messages == 1)
        await within(connection.close())
    assert [each.stop_reason for each in results] == ["end_turn"]


async def test_a_callback_that_never_ends_does_not_keep_the_connection_from_closing() -> None:
    story = Story()
    story.gate("callback")
    endpoint = story.client(limits=Limits(closing=0.05))
    async with endpoint_under_test(endpoint) as (connection, peer):
        connection.request(prompt_request()).on_result(story.callback("callback"))
        await peer.receive()
        await peer.transport.close()
        await story.comes_to("callback begins")
        await within(connection.close())
    assert story.seen == ["callback begins"]


async def test_a_callback_that_is_given_while_the_answer_waits_in_its_lane_keeps_the_place() -> (
    None
):
    """C-080: the answer is here, but has not been handed over."""
    story = Story()
    story.gate("1", "callback")
    async with endpoint_under_test(story.client()) as (connection, peer):
        sent = connection.request(prompt_request())
        request = await peer.receive()
        await peer.send(chunk("1"), answer(request), chunk("2"))
        await until(lambda: connection.stats().waiting_messages == 2)
        sent.on_result(story.callback("callback"))
        story.open("1")
        await story.is_still("1 begins", "1 ends", "callback begins")
        story.open("callback")
        await story.comes_to("1 begins", "1 ends", "callback begins", "callback ends", "2")


async def test_a_callback_that_comes_after_the_answer_is_called_and_holds_nothing() -> None:
    """C-080."""
    story = Story()
    story.gate("callback")
    results: list[Any] = []

    async def called(ended: acp.Outcome[Any]) -> None:
        results.append(ended.result())
        await story.tell("callback")

    async with endpoint_under_test(story.client()) as (connection, peer):
        sent = connection.request(prompt_request())
        request = await peer.receive()
        await peer.send(answer(request), chunk("1"))
        await story.comes_to("1")
        sent.on_result(called)
        await story.comes_to("1", "callback begins")
        await peer.send(chunk("2"))
        await story.comes_to("1", "callback begins", "2")
        story.open("callback")
        await story.comes_to("1", "callback begins", "2", "callback ends")
    assert [each.stop_reason for each in results] == ["end_turn"]


async def test_a_callback_gets_a_timeout_when_the_answer_takes_too_long() -> None:
    outcomes: list[Exception | None] = []
    async with endpoint_under_test(client()) as (connection, peer):
        slow = connection.request(prompt_request(), timeout=0.02)
        slow.on_result(lambda ended: outcomes.append(ended.error()))
        request = await peer.receive()
        told = await peer.receive()
        assert (told["method"], told["params"]) == (
            "$/cancel_request",
            {"requestId": request["id"]},
        )
        await until(lambda: len(outcomes) == 1)
        assert isinstance(outcomes[0], acp.RequestTimeout)
        await peer.send(answer(request))
        quick = connection.request(prompt_request(), timeout=BOUND)
        quick.on_result(lambda ended: outcomes.append(ended.error()))
        await peer.send(answer(await peer.receive()))
        await until(lambda: len(outcomes) == 2)
        assert outcomes[1] is None


# What they run in, and what their failure means.


async def test_a_callback_runs_in_a_copy_of_the_context_that_it_was_given_in() -> None:
    variable = contextvars.ContextVar("variable", default="outside")
    seen: list[str] = []

    async def called(ended: acp.Outcome[Any]) -> None:
        seen.append(variable.get())
        variable.set("changed")
        await anyio.lowlevel.checkpoint()
        seen.append(variable.get())

    async with endpoint_under_test(client()) as (connection, peer):
        variable.set("given")
        connection.request(prompt_request()).on_result(called)
        variable.set("later")
        await peer.send(answer(await peer.receive()))
        await until(lambda: len(seen) == 2)
        assert seen == ["given", "changed"]
        assert variable.get() == "later"


async def test_a_callback_that_runs_is_seen_from_outside() -> None:
    story = Story()
    story.gate("callback")
    async with endpoint_under_test(story.client()) as (connection, peer):
        connection.request(prompt_request()).on_result(story.callback("callback"))
        await peer.send(answer(await peer.receive()))
        await story.comes_to("callback begins")
        assert [each.method for each in connection.handlers()] == ["session/prompt"]
        assert (connection.stats().lanes, connection.stats().handlers) == (1, 1)
        story.open("callback")
        await until(lambda: connection.stats().lanes == 0)
        assert connection.handlers() == []


class Broken(Exception):
    """What a callback fails with."""


@pytest.mark.parametrize("suspends", [False, True])
@pytest.mark.parametrize("late", [False, True])
async def test_a_callback_that_fails_ends_the_connection_and_is_the_cause_that_others_get(
    suspends: bool, late: bool
) -> None:
    """C-082."""

    async def fails(ended: acp.Outcome[Any]) -> None:
        if suspends:
            await anyio.lowlevel.checkpoint()
        raise Broken

    async with endpoint_under_test(client(), fails=True) as (connection, peer):
        sent = connection.request(prompt_request())
        other = peer.start(connection.request(s.ListSessionsRequest()))
        request = await peer.receive()
        await peer.receive()
        if not late:
            sent.on_result(fails)
        await peer.send(answer(request))
        if late:
            await until(lambda: not connection.in_turn("s"))
            sent.on_result(fails)
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(other)
        assert isinstance(caught.value.__cause__, Broken)
        await within(connection.wait_closed())
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(connection.request(s.ListSessionsRequest()))
        assert isinstance(caught.value.__cause__, Broken)


async def test_serving_ends_with_the_cause_when_a_callback_fails() -> None:
    """C-082: the error of the callback is whole, with its own code and data."""
    endpoint = agent()

    @endpoint.prompt
    async def _(request: Any, ctx: v1.Context) -> Any:
        asked = ctx.connection.request("_x", {})
        asked.on_result(lambda ended: ended.result())
        await anyio.Event().wait()

    ours, theirs = acp.memory_pair()
    await theirs.open()
    async with anyio.create_task_group() as group:
        failures: list[BaseException] = []

        async def serve() -> None:
            try:
                await endpoint.serve(ours)
            except acp.ConnectionClosed as exc:
                failures.append(exc)

        group.start_soon(serve)
        call = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt"}
        params: dict[str, Any] = {"sessionId": "s", "prompt": []}
        await theirs.send(json.dumps({**call, "params": params}).encode() + b"\n")
        asked = json.loads(await within(theirs.receive()))
        error = {"code": -5, "message": "No", "data": {"a": 1}}
        reply = {"jsonrpc": "2.0", "id": asked["id"], "error": error}
        await theirs.send(json.dumps(reply).encode() + b"\n")
        await until(lambda: bool(failures))
        cause = failures[0].__cause__
        assert isinstance(cause, acp.RequestError)
        assert cause.to_error_obj() == error
        await theirs.close()


async def test_callbacks_that_pass_on_that_the_connection_has_ended_are_no_news(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with endpoint_under_test(client()) as (connection, peer):
        for _ in range(3):
            connection.request(prompt_request()).on_result(lambda ended: ended.result())
            await peer.receive()
        await peer.transport.close()
        await within(connection.wait_closed())
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
