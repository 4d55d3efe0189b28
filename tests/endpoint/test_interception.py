"""Answers to requests of this side, as handlers see them before who waits for them."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from tests.endpoint.ends import (
    agent_of,
    each_link,
    each_version,
    facing_client,
    is_served,
    joined,
    wire_update,
)
from tests.raw_peer import within
from tests.sides import turns, until


class See:
    """Sees answers, and does with each what it is told."""

    def __init__(self, end: Any) -> None:
        self.end = end
        self.seen: list[str] = []

    async def handle_response(self, response: acp.Response) -> Any:
        self.seen.append(response.method)
        result = self.end(response)
        return await result if hasattr(result, "__await__") else result


def let_pass(response: acp.Response) -> Any:
    return acp.UNHANDLED


async def outcome_of(connection: Any, peer: Any, answer: dict[str, Any], params: Any = None) -> Any:
    """The result, or the error, of a request that the peer answers."""
    outcomes: list[Any] = []

    async def call() -> None:
        try:
            outcomes.append(await connection.request("_x/any", params or {}))
        except Exception as exc:  # noqa: BLE001 - it is what is looked at
            outcomes.append(exc)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        request = await peer.receive()
        await peer.send({"id": request["id"], **answer})
        await until(lambda: bool(outcomes))
    return outcomes[0]


@each_link
@each_version
async def test_handlers_see_every_answer_in_their_order_and_let_it_pass(v: Any, link: str) -> None:
    """C-118"""
    client = v.Client()
    order: list[str] = []
    for name in ("first", "second"):
        client.add_handler(See(lambda _, name=name: order.append(name) or acp.UNHANDLED))
    added = See(lambda _: order.append("added") or acp.UNHANDLED)
    async with joined(agent_of(v), client, link) as (_, connection):
        assert order == ["first", "second"]
        with connection.handler(added):
            block = v.schema.TextContentBlock(text="x")
            request = v.schema.PromptRequest(session_id="s", prompt=[block])
            assert type(await within(connection.request(request))) is v.schema.PromptResponse
    assert order[2:] == ["first", "second", "added"]
    assert added.seen == ["session/prompt"]


@each_version
async def test_a_handler_may_give_who_waits_another_answer(v: Any) -> None:
    """C-118"""
    ends: dict[str, Any] = {
        "as it is": lambda response: response.route(),
        "another": lambda response: response.route({"other": response.result()["a"]}),
        "an error": lambda response: response.fail(acp.RequestError(7, "no")),
        "altered": lambda response: acp.unhandled(response.replace({"altered": True})),
    }
    found: dict[str, Any] = {}
    for name, end in ends.items():
        client = v.Client()
        client.add_handler(See(lambda r, end=end: end(r) if r.method == "_x/any" else let_pass(r)))
        behind = See(let_pass)
        client.add_handler(behind)
        async with facing_client(client, v) as (connection, peer):
            found[name] = await outcome_of(connection, peer, {"result": {"a": 1}})
            # What was altered is what the handlers behind see.
            assert ("_x/any" in behind.seen) is (name == "altered")
    error = found.pop("an error")
    assert isinstance(error, acp.RequestError)
    assert error.code == 7
    assert found == {"as it is": {"a": 1}, "another": {"other": 1}, "altered": {"altered": True}}


@each_version
async def test_a_handler_sees_errors_and_may_make_results_of_them(v: Any) -> None:
    """C-118"""
    client = v.Client()
    errors: list[Any] = []

    def repair(response: acp.Response) -> Any:
        error = response.error()
        if error is None:
            return acp.UNHANDLED
        errors.append(error)
        return response.route({"repaired": True})

    client.add_handler(See(repair))
    async with facing_client(client, v) as (connection, peer):
        answer = {"error": {"code": 3, "message": "broken"}}
        assert await outcome_of(connection, peer, answer) == {"repaired": True}
    assert [error.code for error in errors] == [3]


@each_version
async def test_what_a_handler_of_answers_raises_is_what_who_waits_gets(v: Any) -> None:
    """C-040"""
    client = v.Client()

    def fail(response: acp.Response) -> Any:
        if response.method == "_x/any":
            raise acp.RequestError(9, "own", {"a": 1})
        return acp.UNHANDLED

    client.add_handler(See(fail))
    async with facing_client(client, v) as (connection, peer):
        error = await outcome_of(connection, peer, {"result": {}})
        assert isinstance(error, acp.RequestError)
        assert (error.code, error.message, error.data) == (9, "own", {"a": 1})
        assert await is_served(peer)


@each_version
async def test_an_answer_that_is_kept_is_given_later_and_its_request_is_not_cancelled(
    v: Any,
) -> None:
    """C-118, C-097"""
    client = v.Client()
    kept: list[acp.Response] = []

    def keep(response: acp.Response) -> Any:
        if response.method != "_x/any":
            return acp.UNHANDLED
        kept.append(response)
        return None

    client.add_handler(See(keep))
    async with facing_client(client, v) as (connection, peer):
        sent = connection.request("_x/any", {})
        request = await peer.receive()
        await peer.answer(request["id"], {"a": 1})
        await until(lambda: bool(kept))
        # Nothing else waits for it, and nothing tells the peer of a cancellation.
        assert await is_served(peer)
        assert not sent.cancel()
        assert not kept[0].is_routed
        assert kept[0].route()
        assert not kept[0].route({"again": 1})
        assert await within(sent) == {"a": 1}
        dropped = connection.request("_x/any", {})
        request = await peer.receive()
        await peer.answer(request["id"], {"a": 2})
        await until(lambda: len(kept) == 2)
        del dropped
        gc.collect()
        assert await is_served(peer)


@each_version
async def test_an_answer_that_is_kept_and_lost_fails_its_request(v: Any) -> None:
    """C-087"""
    client = v.Client()
    client.add_handler(See(lambda r: None if r.method == "_x/any" else acp.UNHANDLED))
    async with facing_client(client, v) as (connection, peer):
        error = await outcome_of(connection, peer, {"result": {}})
        assert isinstance(error, acp.RequestError)
        assert error.code == -32603
        assert error.data == "response to `_x/any` never received"
        assert await is_served(peer)


@each_version
async def test_an_answer_that_is_lost_behind_a_callback_ends_the_connection(v: Any) -> None:
    """C-087"""
    client = v.Client()
    client.add_handler(See(lambda r: None if r.method == "_x/any" else acp.UNHANDLED))
    called: list[Any] = []
    with pytest.raises(acp.ConnectionClosed) as caught:
        async with facing_client(client, v) as (connection, peer):
            connection.request("_x/any", {}).on_result(called.append)
            request = await peer.receive()
            await peer.answer(request["id"], {})
            termination = await within(connection.wait_closed())
            assert termination.kind == "handler_error"
    assert isinstance(caught.value.__cause__, acp.RequestError)
    assert caught.value.__cause__.code == -32603
    assert called == []


@each_version
async def test_a_callback_keeps_its_place_behind_what_sees_its_answer(v: Any) -> None:
    """C-079"""
    client = v.Client()
    order: list[str] = []
    go = anyio.Event()

    async def slow(response: acp.Response) -> Any:
        if response.method == "session/prompt":
            order.append("seen")
            await go.wait()
        return acp.UNHANDLED

    client.add_handler(See(slow))
    client.session_update(lambda _: order.append("update"))
    async with facing_client(client, v, capabilities={"session": {}}) as (connection, peer):
        request = v.schema.PromptRequest(session_id="s", prompt=[])
        connection.request(request).on_result(lambda _: order.append("callback"))
        sent = await peer.receive()
        result = {"stopReason": "end_turn", "messageId": "m"}
        await peer.send({"id": sent["id"], "result": result}, wire_update("behind"))
        await turns()
        assert order == ["seen"]
        go.set()
        await until(lambda: len(order) == 3)
    assert order == ["seen", "callback", "update"]


@each_version
async def test_a_callback_whose_answer_is_given_later_runs_then(v: Any) -> None:
    """C-080"""
    client = v.Client()
    kept: list[acp.Response] = []

    def keep(response: acp.Response) -> Any:
        if response.method != "_x/any":
            return acp.UNHANDLED
        kept.append(response)
        return None

    client.add_handler(See(keep))
    results: list[Any] = []
    async with facing_client(client, v) as (connection, peer):
        connection.request("_x/any", {}).on_result(lambda o: results.append(o.result()))
        request = await peer.receive()
        await peer.answer(request["id"], {"a": 1})
        # Nothing behind it waits for it.
        assert await is_served(peer)
        assert results == []
        kept.pop().route({"late": 1})
        await until(lambda: bool(results))
    assert results == [{"late": 1}]


@each_version
async def test_a_handler_that_is_added_sees_answers_to_what_was_asked_before(v: Any) -> None:
    """C-118"""
    see = See(lambda response: response.route({"seen": True}))
    async with facing_client(v.Client(), v) as (connection, peer):
        sent = connection.request("_x/any", {})
        request = await peer.receive()
        with connection.handler(see):
            await peer.answer(request["id"], {})
            assert await within(sent) == {"seen": True}
        assert await outcome_of(connection, peer, {"result": {"a": 1}}) == {"a": 1}
    assert see.seen == ["_x/any"]


@each_version
async def test_the_end_of_the_connection_is_no_answer_to_be_seen(v: Any) -> None:
    client = v.Client()
    see = See(let_pass)
    client.add_handler(see)
    outcomes: list[Any] = []
    async with facing_client(client, v) as (connection, peer):
        connection.request("_x/any", {}).on_result(lambda o: outcomes.append(o.error()))
        sent = connection.request("_x/any", {})
        await peer.receive()
        await peer.transport.close()
        with pytest.raises(acp.ConnectionClosed):
            await within(sent)
        await until(lambda: bool(outcomes))
    assert isinstance(outcomes[0], acp.ConnectionClosed)
    assert see.seen == ["initialize"]
