"""Low-level handlers, and what a handler of an endpoint may do and cost."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v1, v2
from tests.endpoint.ends import (
    Seen,
    ask,
    declining,
    each_version,
    facing,
    facing_agent,
    facing_client,
    is_served,
    text_of,
    wire_update,
    with_sessions,
)
from tests.raw_peer import BOUND, within

# What a handler may take.


@each_version
async def test_a_handler_that_waits_holds_up_no_other_request(v: Any) -> None:
    """C-115"""
    agent = v.Agent()
    go = anyio.Event()

    @agent.on_request("_x/slow")
    async def slow(params: Any) -> Any:
        await go.wait()
        return {"slow": True}

    agent.on_request("_x/fast")(lambda _: {"fast": True})
    async with facing_agent(agent, v) as (_, peer):
        await peer.request(1, "_x/slow")
        assert (await ask(peer, "_x/fast", request_id=2))["result"] == {"fast": True}
        go.set()
        assert (await peer.receive())["result"] == {"slow": True}


def test_a_long_chain_needs_no_more_stack_than_a_short_one() -> None:
    """C-116"""
    seen: list[str] = []

    async def main() -> None:
        agent = v1.Agent()
        for number in range(300):
            agent.on_request("_x/long")(declining(seen, str(number)))
        agent.on_request("_x/long")(lambda _: {"asked": len(seen)})
        async with facing_agent(agent, v1) as (_, peer):
            seen.append(str((await ask(peer, "_x/long"))["result"]))

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=anyio.run, args=(main,))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join(BOUND)
    assert seen[-1] == "{'asked': 300}"


@each_version
async def test_a_low_level_handler_sees_requests_and_notifications_of_any_method(v: Any) -> None:
    """C-117"""
    agent = v.Agent()
    seen = Seen()
    sessions: list[Any] = []

    class Look(Seen):
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            sessions.append((message.session_id, message.request_id, ctx.session_id))
            return await super().handle(message, ctx)

    agent.add_handler(seen)
    agent.add_handler(Look())
    with_sessions(v, agent)
    async with facing_agent(agent, v) as (_, peer):
        await ask(peer, "session/prompt", {"sessionId": "s", "prompt": []}, request_id="p")
        await peer.notify("session/cancel", {"sessionId": "s"})
        await peer.notify("_x/note", {})
        await peer.notify("no/such")
        assert await is_served(peer)
    assert seen.messages == [
        ("request", "initialize"),
        ("request", "session/prompt"),
        ("notification", "session/cancel"),
        ("notification", "_x/note"),
        ("notification", "no/such"),
        ("request", "_nobody"),
    ]
    assert sessions[1:3] == [("s", "p", "s"), ("s", None, "s")]


async def test_a_low_level_handler_may_defer_its_answer() -> None:
    kept: list[acp.Responder] = []

    class Later:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            if message.method == "_x/later":
                kept.append(ctx.defer())
                return None
            return acp.UNHANDLED

    agent = v2.Agent()
    agent.add_handler(Later())
    async with facing_agent(agent, v2) as (_, peer):
        await peer.request(1, "_x/later")
        assert await is_served(peer)
        assert kept.pop().respond({"late": True})
        assert (await peer.receive())["result"] == {"late": True}


@each_version
async def test_errors_of_a_chain_are_those_of_its_handlers(v: Any) -> None:
    """C-040"""
    agent = v.Agent()

    @agent.on_request("_x/fail")
    async def declines(params: Any) -> Any:
        return acp.UNHANDLED

    @agent.on_request("_x/fail")
    async def fails(params: Any) -> Any:
        raise acp.RequestError(7, "own", {"a": 1})

    agent.on_request("_x/fail")(lambda _: {"never": 1})
    async with facing_agent(agent, v) as (_, peer):
        error = (await ask(peer, "_x/fail"))["error"]
    assert error == {"code": 7, "message": "own", "data": {"a": 1}}


async def test_a_handler_that_fails_a_notification_costs_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-040"""
    client = v1.Client()
    client.session_update(declining([], "declines"))

    @client.session_update
    async def fails(notification: Any) -> None:
        raise ValueError(text_of(notification))

    async with facing_client(client, v1) as (_, peer):
        await peer.send(wire_update("secret"))
        assert await is_served(peer)
    assert "'session/update' could not be handled: ValueError" in caplog.text
    assert "secret" not in caplog.text


# Objects that are no handlers.


def test_what_cannot_be_called_with_a_message_is_refused_when_it_is_given() -> None:
    agent = v1.Agent()
    for wrong in (None, 1, "prompt"):
        with pytest.raises(TypeError):
            agent.prompt(wrong)
        with pytest.raises(TypeError):
            agent.add_handler(wrong)
    with pytest.raises(TypeError):
        agent.prompt(lambda: None)


async def test_an_object_without_a_handler_cannot_be_added_to_a_connection() -> None:
    async with facing(v1.Client()) as (connection, _):
        with pytest.raises(TypeError, match="handle"):
            connection.handler(object())


async def test_a_single_handler_that_declines_leaves_the_message_to_nobody() -> None:
    agent = v2.Agent()
    agent.on_request("_x/one")(declining([], "one"))
    agent.on_notification("_x/one")(declining([], "one"))
    async with facing_agent(agent, v2) as (_, peer):
        await peer.notify("_x/one")
        answer = await ask(peer, "_x/one")
        assert answer["error"]["code"] == -32601
        assert answer["error"]["data"] == {"method": "_x/one"}


@each_version
async def test_a_single_typed_handler_is_reached_without_the_chain(v: Any) -> None:
    """The way of nearly all messages has no part in what others add."""
    client = v.Client()

    @client.session_update
    def update(notification: Any) -> None:
        seen.append(text_of(notification))

    seen: list[str] = []
    async with facing_client(client, v) as (connection, peer):
        await peer.send(wire_update("1"))
        assert await is_served(peer)
        direct = connection.router.direct
        assert direct["session/update"][1] is update
        with connection.handler(Seen()):
            assert "session/update" not in direct
            await peer.send(wire_update("2"))
            await within(until_seen(seen, 2))
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        await peer.send(wire_update("3"))
        await within(until_seen(seen, 3))
        assert direct["session/update"][1] is update


async def until_seen(seen: list[str], count: int) -> None:
    while len(seen) < count:
        await anyio.lowlevel.checkpoint()
