"""Answering one request with the outcome of another."""

from __future__ import annotations

import json
from typing import Any

import pytest

import acp
from acp import v1
from tests.endpoint_peer import agent, endpoint_under_test
from tests.raw_peer import within
from tests.sides import until
from tests.story import answer

ERROR = {"code": -5, "message": "No", "data": {"deep": [1, {"a": None}]}}


def forwarding(how: str, received: list[Any] | None = None) -> v1.Agent:
    """An agent that asks `_down` for each `_up`."""
    endpoint = agent()

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> None:
        responder = ctx.defer()
        sent = ctx.connection.request("_down", message)

        def ok(result: Any) -> None:
            assert received is not None
            received.append(result)
            responder.respond({"ok": True})

        if how == "forward_to":
            sent.forward_to(responder)
        elif how == "map":
            sent.map(lambda result: {"mapped": result}).forward_to(responder)
        elif how == "bad map":
            sent.map(lambda result: object()).forward_to(responder)
        else:
            sent.on_ok(responder, ok)

    return endpoint


async def test_a_result_is_forwarded_as_it_was_received() -> None:
    """C-084: digits, order and escapes included."""
    result = r'{"b":1.50,"a":12345678901234567890123,"c":"\u00e9\ud800","a":[1e2]}'
    async with endpoint_under_test(forwarding("forward_to")) as (_, peer):
        await peer.request("up", "_up", {"x": 1})
        down = await peer.receive()
        assert down["params"] == {"x": 1}
        await peer.send_text(f'{{"jsonrpc":"2.0","id":{down["id"]},"result":{result}}}\n')
        text = (await within(peer.transport.receive())).decode()
        assert text == f'{{"jsonrpc":"2.0","id":"up","result":{result}}}\n'


@pytest.mark.parametrize("how", ["forward_to", "map", "on_ok"])
@pytest.mark.parametrize(
    "error",
    [
        ERROR,
        {"code": -5, "message": "No"},
        {"code": -5, "message": "No", "data": None},
        {"code": 2147483647, "message": "", "data": 12345678901234567890123},
    ],
)
async def test_an_error_is_forwarded_unchanged(how: str, error: dict[str, Any]) -> None:
    """C-083, C-084, C-085: that there is no data and that it is null stay two things."""
    received: list[Any] = []
    async with endpoint_under_test(forwarding(how, received)) as (_, peer):
        await peer.request("up", "_up", {})
        down = await peer.receive()
        await peer.send({"id": down["id"], "error": error})
        reply = await peer.receive()
        assert reply == {"jsonrpc": "2.0", "id": "up", "error": error}
        assert received == []


async def test_a_callback_for_success_gets_the_result_and_answers_by_itself() -> None:
    """C-083."""
    received: list[Any] = []
    async with endpoint_under_test(forwarding("on_ok", received)) as (_, peer):
        await peer.request("up", "_up", {})
        await peer.send(answer(await peer.receive(), {"x": 1}))
        assert (await peer.receive())["result"] == {"ok": True}
        assert received == [{"x": 1}]


async def test_a_result_is_forwarded_as_what_was_made_of_it() -> None:
    """C-085."""
    async with endpoint_under_test(forwarding("map")) as (_, peer):
        await peer.request("up", "_up", {})
        await peer.send(answer(await peer.receive(), {"x": 1}))
        assert (await peer.receive())["result"] == {"mapped": {"x": 1}}


@pytest.mark.parametrize("how", ["forward_to", "map", "on_ok"])
async def test_what_has_no_answer_is_answered_as_an_internal_error(how: str) -> None:
    """C-084: a malformed answer, and one that does not fit."""
    async with endpoint_under_test(forwarding(how, [])) as (_, peer):
        await peer.request("up", "_up", {})
        await peer.send({"id": (await peer.receive())["id"]})
        error = (await peer.receive())["error"]
        assert (error["code"], error["data"]) == (-32603, {"type": "RemoteProtocolError"})


async def test_a_conversion_that_cannot_be_written_is_an_internal_error_of_that_request() -> None:
    async with endpoint_under_test(forwarding("bad map")) as (connection, peer):
        await peer.request("up", "_up", {})
        await peer.send(answer(await peer.receive(), {}))
        assert (await peer.receive())["error"]["code"] == -32603
        assert not connection.raw.is_closing


@pytest.mark.parametrize("how", ["map", "on_ok"])
async def test_a_result_that_does_not_fit_is_no_fault_of_the_params_that_were_received(
    how: str,
) -> None:
    endpoint = agent()

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> None:
        responder = ctx.defer()
        reading = v1.schema.ReadTextFileRequest(session_id="s", path="/f")
        sent = ctx.connection.request(reading)
        if how == "map":
            sent.map(lambda result: result.content).forward_to(responder)
        else:
            sent.on_ok(responder, lambda result: responder.respond({}))

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request("up", "_up", {})
        await peer.send(answer(await peer.receive(), {"content": 5}))
        error = (await peer.receive())["error"]
        assert (error["code"], error["data"]) == (-32603, {"type": "ValidationError"})
        assert connection.stats().deferred == 0


async def test_cancelling_the_request_that_is_answered_cancels_the_one_that_is_forwarded() -> None:
    """C-084: and its answer is still what is passed on."""
    async with endpoint_under_test(forwarding("forward_to")) as (connection, peer):
        await peer.request("up", "_up", {})
        down = await peer.receive()
        await until(lambda: connection.stats().deferred == 1)
        await peer.notify("$/cancel_request", {"requestId": "up"})
        told = await peer.receive()
        assert (told["method"], told["params"]) == ("$/cancel_request", {"requestId": down["id"]})
        await peer.send(answer(down, {"partial": True}))
        assert (await peer.receive())["result"] == {"partial": True}


async def test_forwarding_between_connections_survives_the_end_of_the_one_that_asks() -> None:
    """C-084: the request upstream is answered with an error."""
    upstream = agent()
    downstream = v1.Client()
    async with endpoint_under_test(downstream) as (down, down_peer):

        @upstream.on_request("_up")
        async def _(message: Any, ctx: v1.Context) -> None:
            down.request("_down", {}).forward_to(ctx.defer())

        async with endpoint_under_test(upstream) as (up, up_peer):
            await up_peer.request(1, "_up", {})
            await down_peer.receive()
            await down_peer.transport.close()
            error = (await up_peer.receive())["error"]
            assert (error["code"], error["data"]) == (-32603, {"type": "ConnectionClosed"})
            # And when the request cannot even be sent.
            await up_peer.request(2, "_up", {})
            reply = await up_peer.receive()
            assert reply["id"] == 2
            assert reply["error"]["data"] == {"type": "ConnectionClosed"}
            assert up.stats().deferred == 0


async def test_forwarding_inside_a_batch_fills_the_place_of_the_request() -> None:
    async with endpoint_under_test(forwarding("forward_to")) as (_, peer):
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": "_up", "params": {"n": number}}
            for number in range(3)
        ]
        await peer.send_text(json.dumps(batch) + "\n")
        downs = [await peer.receive() for _ in batch]
        for down in reversed(downs):
            await peer.send(answer(down, down["params"]))
        replies = await peer.receive()
        assert [each["result"] for each in replies] == [{"n": 0}, {"n": 1}, {"n": 2}]


async def test_a_responder_refuses_to_forward_what_is_no_answer() -> None:
    endpoint = agent()
    refused: list[bool] = []

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> None:
        responder = ctx.defer()
        refused.append(responder.forward(acp.ConnectionClosed()))
        refused.append(responder.forward({"result": 1}))
        responder.respond({})

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request("up", "_up", {})
        assert (await peer.receive())["result"] == {}
        assert refused == [False, False]
        assert connection.stats().unanswered == 0
