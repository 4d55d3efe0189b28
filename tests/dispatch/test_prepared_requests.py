"""Requests that are complete before they are sent."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

import acp
from acp import v1, v2
from tests.endpoint_peer import (
    agent,
    client,
    endpoint_under_test,
    prompt_request,
    says_nothing_more,
)
from tests.raw_peer import within
from tests.sides import until
from tests.story import Story, answer

if TYPE_CHECKING:
    from collections.abc import Callable

s = v1.schema


async def test_a_prepared_request_sends_and_registers_nothing_until_it_is_sent() -> None:
    """C-090: and dropped before that, nothing at all."""
    async with endpoint_under_test(client()) as (connection, peer):
        prepared = connection.prepare(s.ListSessionsRequest())
        assert prepared.method == "session/list"
        dropped = connection.prepare(prompt_request())
        assert connection.stats().calls == 0
        await says_nothing_more(connection, peer)
        del dropped
        gc.collect()
        await says_nothing_more(connection, peer)
        sent = prepared.send()
        assert connection.stats().calls == 1
        request = await peer.receive()
        assert (request["method"], request["id"]) == ("session/list", sent.id)
        await peer.send(answer(request, {"sessions": []}))
        assert (await within(sent)).sessions == []


@pytest.mark.parametrize("kind", ["object", "dict"])
async def test_a_prepared_request_is_what_it_was_when_it_was_prepared(kind: str) -> None:
    """C-090: whatever is done to its objects afterwards, also deep inside."""
    async with endpoint_under_test(client()) as (connection, peer):
        if kind == "object":
            block = s.TextContentBlock(text="before")
            params = s.PromptRequest(session_id="s", prompt=[block])
            prepared: acp.PreparedRequest[Any] = connection.prepare(params)
            block.text = "after"
            params.session_id = "other"
            params.prompt.append(block)
        else:
            deep: dict[str, Any] = {
                "sessionId": "s",
                "prompt": [{"type": "text", "text": "before"}],
            }
            prepared = connection.prepare("session/prompt", deep)
            deep["prompt"][0]["text"] = "after"
            deep["prompt"].append(5)
            del deep["sessionId"]
        prepared.detach()
        assert connection.in_turn("s")
        request = await peer.receive()
        assert request["params"] == {
            "sessionId": "s",
            "prompt": [{"type": "text", "text": "before"}],
        }


async def test_what_is_no_request_is_refused_when_it_is_prepared() -> None:
    """C-090: it is checked then, and not when it is sent."""
    async with endpoint_under_test(client()) as (connection, peer):
        with pytest.raises(acp.ValidationError):
            connection.prepare("_x", {"x": object()})
        other: Any = v2.schema.ListSessionsRequest()
        with pytest.raises(TypeError, match="protocol version 1"):
            connection.prepare(other)
        await says_nothing_more(connection, peer)


async def test_a_prepared_request_is_sent_once() -> None:
    async with endpoint_under_test(client()) as (connection, peer):
        for first in ("send", "map"):
            prepared = connection.prepare("_x", {})
            taken = prepared.send() if first == "send" else prepared.map(str)
            for again in (prepared.send, prepared.detach, lambda: prepared.map(str)):  # noqa: B023
                with pytest.raises(RuntimeError, match="already"):
                    again()
            assert taken.method == "_x"
            if isinstance(taken, acp.PreparedRequest):
                taken.detach()
            else:
                taken.detach()
        assert [(await peer.receive())["id"] for _ in range(2)] == [0, 1]


async def test_awaiting_publishes_at_the_call_and_not_when_it_is_first_waited_for() -> None:
    """C-091."""
    async with endpoint_under_test(client()) as (connection, peer):
        waiting = connection.prepare("_x", {}).__await__()
        request = await peer.receive()
        assert request["method"] == "_x"
        del waiting
        gc.collect()
        assert (await peer.receive())["method"] == "$/cancel_request"
        task = peer.start(connection.prepare("_x", {}))
        await peer.send(answer(await peer.receive(), {"x": 1}))
        assert await within(task) == {"x": 1}


async def test_detaching_raises_what_keeps_it_from_being_sent() -> None:
    """C-091."""
    async with endpoint_under_test(client()) as (connection, peer):
        prepared = connection.prepare("_x", {})
        await within(connection.close())
        with pytest.raises(acp.ConnectionClosed):
            prepared.detach()
        assert await peer.receive() is None


async def test_other_failures_to_send_are_the_outcome() -> None:
    async with endpoint_under_test(client()) as (connection, _):
        prepared = connection.prepare("_x", {})
        await within(connection.close())
        with pytest.raises(acp.ConnectionClosed):
            await within(prepared)


async def test_an_answer_that_comes_at_once_finds_the_callback_in_its_place() -> None:
    """C-092: the peer answers as soon as it can, and sends an update right behind."""
    story = Story()
    story.gate("callback")
    async with endpoint_under_test(story.client()) as (connection, peer):

        async def at_once() -> None:
            request = await peer.receive()
            params = {
                "sessionId": "s",
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": "behind"},
                },
            }
            await peer.send(answer(request), {"method": "session/update", "params": params})

        answering = peer.start(at_once())
        prepared = connection.prepare(prompt_request())
        prepared.on_result(story.callback("callback"))
        await story.is_still("callback begins")
        story.open("callback")
        await story.comes_to("callback begins", "callback ends", "behind")
        await within(answering)


def _on_result(prepared: Any, responder: Any, what: Any) -> Any:
    return prepared.on_result(what)


def _on_ok(prepared: Any, responder: Any, what: Any) -> Any:
    return prepared.on_ok(responder, what)


def _map(prepared: Any, responder: Any, what: Any) -> Any:
    return prepared.map(what).send()


TAKERS: list[Callable[[Any, Any, Any], Any]] = [_on_result, _on_ok, _map]


@pytest.mark.parametrize("take", TAKERS)
async def test_where_the_callback_cannot_be_called_nothing_is_published(
    take: Callable[[Any, Any, Any], Any],
) -> None:
    """C-092: and the request can still be sent."""
    async with endpoint_under_test(client()) as (connection, peer):
        prepared = connection.prepare("_x", {})
        with pytest.raises(TypeError):
            take(prepared, None, "no function")
        await says_nothing_more(connection, peer)
        sent = prepared.send()
        await peer.send(answer(await peer.receive(), {"x": 1}))
        assert await within(sent) == {"x": 1}


async def test_a_prepared_request_answers_another_one_when_it_is_sent() -> None:
    endpoint = agent()

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> None:
        responder = ctx.defer()
        prepared = ctx.connection.prepare("_down", message)
        if message["how"] == "forward":
            prepared.forward_to(responder)
        elif message["how"] == "map":
            prepared.map(lambda result: {"mapped": result}).forward_to(responder)
        else:
            prepared.on_ok(responder, lambda result: responder.respond({"ok": result}))

    async with endpoint_under_test(endpoint) as (connection, peer):
        expected: dict[str, Any] = {"forward": {}, "map": {"mapped": {}}, "ok": {"ok": {}}}
        for how, result in expected.items():
            await peer.request(how, "_up", {"how": how})
            await peer.send(answer(await peer.receive(), {}))
            assert (await peer.receive())["result"] == result
        assert connection.stats().deferred == 0


async def test_a_cancel_handle_that_is_used_before_sending_has_no_later_effect() -> None:
    """C-093: used afterwards it works, also for a request that is detached."""
    async with endpoint_under_test(client()) as (connection, peer):
        prepared = connection.prepare("_x", {})
        handle = prepared.cancel_handle()
        assert not handle.cancel()
        handle = prepared.map(str).cancel_handle()
        mapped = connection.prepare("_x", {})
        early = mapped.cancel_handle()
        assert not early.cancel()
        mapped.detach()
        request = await peer.receive()
        await says_nothing_more(connection, peer)
        assert early.cancel()
        assert not early.cancel()
        told = await peer.receive()
        assert (told["method"], told["params"]) == (
            "$/cancel_request",
            {"requestId": request["id"]},
        )
        await peer.send(answer(request, {}))
        await until(lambda: connection.stats().calls == 0)
        assert not handle.cancel()
        await says_nothing_more(connection, peer)
