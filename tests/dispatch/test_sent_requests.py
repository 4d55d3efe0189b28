"""Requests as handles: what is sent when, who gets the outcome, and how often it is taken."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v1
from tests.endpoint_peer import agent, client, endpoint_under_test, prompt_request
from tests.raw_peer import chunk, within
from tests.sides import turns, until
from tests.story import END, Story, answer

if TYPE_CHECKING:
    from collections.abc import Callable

s = v1.schema
ERROR = {"code": -5, "message": "No", "data": {"deep": [1, {"a": None}]}}
LISTED: dict[str, Any] = {"sessions": []}
OPENED = {"sessionId": "n"}


def error(request: dict[str, Any], error: dict[str, Any] = ERROR) -> dict[str, Any]:
    return {"id": request["id"], "error": error}


# Sending.


async def test_a_request_is_pending_at_once_and_sent_without_being_awaited() -> None:
    """C-076."""
    async with endpoint_under_test(client()) as (connection, peer):
        sent = connection.request(s.ListSessionsRequest())
        assert connection.stats().calls == 1
        request = await peer.receive()
        assert (request["method"], request["id"]) == ("session/list", sent.id)
        await peer.send(answer(request, LISTED))
        assert (await within(sent)).sessions == []
        assert connection.stats().calls == 0


@pytest.mark.parametrize(
    ("params", "failure"),
    [
        ({"x": object()}, acp.ValidationError),
        ({"x": float("nan")}, acp.ValidationError),
        (5, acp.LocalProtocolError),
        ("text", acp.LocalProtocolError),
    ],
)
async def test_what_cannot_be_written_is_the_outcome_and_costs_nothing_else(
    params: Any, failure: type[Exception]
) -> None:
    """C-076: sending does not raise it."""
    async with endpoint_under_test(client()) as (connection, peer):
        sent = connection.request("_x", params)
        assert (sent.id, sent.method) == (None, "_x")
        assert not sent.cancel()
        with pytest.raises(failure):
            await within(sent)
        outcomes: list[Exception | None] = []
        connection.request("_x", params).on_result(lambda ended: outcomes.append(ended.error()))
        await until(lambda: len(outcomes) == 1)
        assert isinstance(outcomes[0], failure)
        with pytest.raises(failure):
            connection.request("_x", params).detach()
        later = connection.request("_x", {})
        await peer.send(answer(await peer.receive(), {"y": 1}))
        assert await within(later) == {"y": 1}


async def test_after_the_end_of_the_connection_a_request_fails_by_its_handle() -> None:
    """C-076."""
    async with endpoint_under_test(client()) as (connection, peer):
        await within(connection.close())
        sent = connection.request(prompt_request())
        with pytest.raises(acp.ConnectionClosed):
            await within(sent)
        with pytest.raises(acp.ConnectionClosed):
            connection.request(prompt_request()).detach()
        with pytest.raises(acp.ConnectionClosed):
            connection.request(prompt_request()).on_result(print)
        assert await peer.receive() is None


async def test_other_threads_are_refused_before_anything_is_sent() -> None:
    async with endpoint_under_test(client()) as (connection, peer):

        def refused() -> None:
            with pytest.raises(RuntimeError, match="from_thread"):
                connection.request(prompt_request())

        await anyio.to_thread.run_sync(refused)
        sent = connection.request(s.ListSessionsRequest())
        request = await peer.receive()
        assert request["method"] == "session/list"
        for use in (sent.cancel, sent.cancel_handle().cancel):
            with pytest.raises(RuntimeError, match="from_thread"):
                await anyio.to_thread.run_sync(use)
        await peer.send(answer(request, LISTED))
        await within(sent)


async def test_a_handle_knows_its_id_and_method() -> None:
    """C-089: the id is the one on the wire."""
    async with endpoint_under_test(client()) as (connection, peer):
        handles = [connection.request("_x", {"n": number}) for number in range(3)]
        requests = [await peer.receive() for _ in handles]
        assert [each.id for each in handles] == [each["id"] for each in requests] == [0, 1, 2]
        assert {each.method for each in handles} == {"_x"}
        for handle, request in zip(handles, requests, strict=True):
            await peer.send(answer(request, request["params"]))
            assert await within(handle) == request["params"]


# Taking the outcome.


def ignore(value: object) -> None:
    """What takes an outcome or a result, and does nothing."""


CONSUMED: dict[str, Callable[[Any, Any], Any]] = {
    "on_result": lambda sent, responder: sent.on_result(ignore),
    "on_ok": lambda sent, responder: sent.on_ok(responder, ignore),
    "forward_to": lambda sent, responder: sent.forward_to(responder),
    "detach": lambda sent, responder: sent.detach(),
    "map": lambda sent, responder: sent.map(ignore).detach(),
}


@pytest.mark.parametrize("first", CONSUMED)
async def test_a_handle_is_consumed_once(first: str) -> None:
    """C-077: whatever comes second is refused, and the first has its effect."""
    endpoint = agent()
    refused: list[str] = []

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> None:
        responder = ctx.defer()
        sent = ctx.connection.request("_down", {})
        CONSUMED[first](sent, responder)
        for second, consume in CONSUMED.items():
            with pytest.raises(RuntimeError, match="awaited"):
                consume(sent, responder)
            refused.append(second)
        with pytest.raises(RuntimeError, match="awaited"):
            await sent
        responder.respond({})

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request("up", "_up", {})
        down = await peer.receive()
        assert (await peer.receive())["id"] == "up"
        await peer.send(answer(down))
        await until(lambda: connection.stats().calls == 0)
        assert refused == list(CONSUMED)


async def test_awaiting_twice_is_refused_and_the_first_gets_the_answer() -> None:
    """C-077."""
    async with endpoint_under_test(client()) as (connection, peer):
        sent = connection.request("_x", {})
        first = peer.start(sent)
        request = await peer.receive()
        await turns()
        with pytest.raises(RuntimeError, match="awaited"):
            await sent
        await peer.send(answer(request, {"x": 1}))
        assert await within(first) == {"x": 1}


async def test_who_awaits_holds_up_neither_messages_nor_the_end_of_input() -> None:
    """C-078."""
    story = Story()
    async with endpoint_under_test(story.client()) as (connection, peer):
        sent = connection.request(s.ListSessionsRequest())
        request = await peer.receive()
        await peer.send(answer(request, LISTED), chunk("1"))
        await peer.transport.close()
        await within(connection.wait_closed())
        assert story.seen == ["1"]
        assert (await within(sent)).sessions == []


async def test_a_handler_may_await_its_own_request() -> None:
    """C-078: of a notification as of a request, in its own session."""
    endpoint = client()
    seen: list[str] = []

    @endpoint.session_update
    async def _(message: Any, ctx: v1.Context) -> None:
        ended = await ctx.connection.request(prompt_request())
        seen.append(ended.stop_reason)

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.send(chunk("1"))
        request = await peer.receive()
        await peer.send(chunk("2"), answer(request))
        await peer.send(answer(await peer.receive()))
        await until(lambda: seen == ["end_turn", "end_turn"])
        assert connection.stats().calls == 0


async def test_a_detached_request_is_not_cancelled_and_its_answer_is_taken_quietly() -> None:
    """C-086, C-098: a handle kept elsewhere still cancels it; dropping that does nothing."""
    async with endpoint_under_test(client()) as (connection, peer):
        connection.request(prompt_request("a")).detach()
        handle = connection.request(prompt_request("b")).detach()
        first, second = [await peer.receive() for _ in range(2)]
        assert connection.in_turn("a")
        assert connection.in_turn("b")
        await peer.send(answer(first))
        await until(lambda: not connection.in_turn("a"))
        assert handle.cancel()
        assert not handle.cancel()
        told = await peer.receive()
        assert told["params"] == {"requestId": second["id"]}
        del handle
        await peer.send(answer(second))
        await until(lambda: connection.stats().calls == 0)


@pytest.mark.parametrize("ending", ["result", "error", "malformed", "unfitting", "closed"])
async def test_every_request_has_exactly_one_outcome(ending: str) -> None:
    """C-087: whatever the peer does; no answer is lost on the way to who waits."""
    async with endpoint_under_test(client()) as (connection, peer):
        outcomes: list[acp.Outcome[Any]] = []
        new = s.NewSessionRequest(cwd="/", mcp_servers=[])
        connection.request(new).on_result(outcomes.append)
        waiting = peer.start(connection.request(new))
        requests = [await peer.receive() for _ in range(2)]
        for request in requests:
            if ending == "result":
                await peer.send(answer(request, OPENED), answer(request, OPENED))
            elif ending == "error":
                await peer.send(error(request), error(request))
            elif ending == "malformed":
                await peer.send({"id": request["id"]}, {"id": request["id"]})
            elif ending == "unfitting":
                await peer.send(answer(request, {"sessionId": 5}), answer(request, OPENED))
        if ending == "closed":
            await peer.transport.close()
        expected: dict[str, type[Exception]] = {
            "error": acp.RequestError,
            "malformed": acp.RemoteProtocolError,
            "unfitting": acp.ValidationError,
            "closed": acp.ConnectionClosed,
        }
        await until(lambda: bool(outcomes))
        if ending == "result":
            assert (await within(waiting)).session_id == outcomes[0].result().session_id == "n"
        else:
            with pytest.raises(expected[ending]):
                await within(waiting)
            assert isinstance(outcomes[0].error(), expected[ending])
            with pytest.raises(expected[ending]):
                outcomes[0].result()
        await turns()
        assert len(outcomes) == 1


# Converting it.


async def test_a_map_converts_a_success_once_and_its_failure_is_the_outcome() -> None:
    """C-085."""
    calls: list[Any] = []

    def convert(result: Any) -> str:
        calls.append(result)
        if result["x"] == "fails":
            raise KeyError
        return result["x"].upper()

    async with endpoint_under_test(client()) as (connection, peer):
        outcomes: list[acp.Outcome[Any]] = []
        waiting = peer.start(connection.request("_x", {}).map(convert).map(len))
        connection.request("_x", {}).map(convert).on_result(outcomes.append)
        failing = peer.start(connection.request("_x", {}).map(convert))
        requests = [await peer.receive() for _ in range(3)]
        for request, text in zip(requests, ["abc", "def", "fails"], strict=True):
            await peer.send(answer(request, {"x": text}))
        assert await within(waiting) == 3
        await until(lambda: len(outcomes) == 1)
        assert [outcomes[0].result(), outcomes[0].result()] == ["DEF", "DEF"]
        assert outcomes[0].error() is None
        with pytest.raises(KeyError):
            await within(failing)
        assert sorted(each["x"] for each in calls) == ["abc", "def", "fails"]


async def test_errors_pass_a_map_by() -> None:
    """C-085."""
    calls: list[Any] = []
    async with endpoint_under_test(client()) as (connection, peer):
        waiting = peer.start(connection.request("_x", {}).map(calls.append))
        await peer.send(error(await peer.receive()))
        with pytest.raises(acp.RequestError) as caught:
            await within(waiting)
        assert caught.value.to_error_obj() == ERROR
        assert calls == []


@pytest.mark.parametrize("consume", ["on_result", "map"])
async def test_what_cannot_be_called_is_refused_and_the_handle_is_as_before(consume: str) -> None:
    async with endpoint_under_test(client()) as (connection, peer):
        sent: Any = connection.request("_x", {})
        with pytest.raises(TypeError):
            getattr(sent, consume)("no function")
        await peer.send(answer(await peer.receive(), {"x": 1}))
        assert await within(sent) == {"x": 1}


@pytest.mark.asyncio_only
async def test_a_handle_is_what_asyncio_takes_for_an_awaitable() -> None:
    async with endpoint_under_test(client()) as (connection, peer):
        several = asyncio.gather(*(connection.request("_x", {}) for _ in range(3)))
        requests = [await peer.receive() for _ in range(3)]
        for request in reversed(requests):
            await peer.send(answer(request, {"id": request["id"]}))
        assert await within(several) == [{"id": request["id"]} for request in requests]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(connection.request(prompt_request()), 0.01)
        assert (await peer.receive())["method"] == "session/prompt"
        assert (await peer.receive())["method"] == "$/cancel_request"


async def test_the_answer_of_a_given_up_request_is_swallowed_whatever_it_is() -> None:
    async with endpoint_under_test(client()) as (connection, peer):
        for reply in ({"result": END}, {"error": ERROR}, {}):
            with anyio.move_on_after(0.01):
                await connection.request(prompt_request())
            request = await peer.receive()
            assert (await peer.receive())["method"] == "$/cancel_request"
            await peer.send({"id": request["id"], **reply})
        sent = connection.request("_x", {})
        await peer.send(answer(await peer.receive(), {"x": 1}))
        assert await within(sent) == {"x": 1}
