"""Messages that nobody wanted, and that wait for handlers which are added later."""

from __future__ import annotations

import gc
import json
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, v1, v2
from tests.endpoint.ends import (
    Seen,
    Take,
    ask,
    each_link,
    each_version,
    facing_agent,
    facing_client,
    is_served,
    send_updates,
    wire_update,
)
from tests.raw_peer import within
from tests.sides import turns, until


class Answer:
    """Takes requests and answers them as it is told."""

    def __init__(self, end: Any = None) -> None:
        self.end = end
        self.ids: list[Any] = []

    async def handle(self, message: acp.Message, ctx: Any) -> Any:
        if message.kind != "request":
            return acp.UNHANDLED
        self.ids.append(ctx.request_id)
        return await self.end(ctx) if self.end else {"id": ctx.request_id}


def waiting_agent(*, limits: Limits | None = None) -> Any:
    """An agent of version 1 on which the requests `_x/wait` wait for who wants them."""
    agent = v1.Agent(**({} if limits is None else {"limits": limits}))
    agent.on_request("_x/wait")(lambda _: acp.unhandled(retry=True))
    agent.on_notification("_x/note")(lambda _: acp.unhandled(retry=True))
    return agent


# Messages that wait.


@each_link
async def test_what_waits_is_offered_first_and_oldest_first(link: str) -> None:
    """C-120"""
    async with facing_client(v1.Client(), v1, link) as (connection, peer):
        await send_updates(peer, "1", "2", "3")
        taken = Take("s")
        taken.go = anyio.Event()
        with connection.handler(taken):
            # What comes while it is offered what waits has its turn behind that.
            await peer.send(wire_update("4"), wire_update("5"))
            await turns()
            assert taken.texts == []
            taken.go.set()
            await until(lambda: len(taken.texts) == 5)
        assert connection.stats().counters["parked"] == 0
    assert taken.texts == ["1", "2", "3", "4", "5"]


async def test_what_a_handler_does_not_take_goes_on_waiting_in_its_order() -> None:
    """C-120"""
    async with facing_client(v1.Client(), v1) as (connection, peer):
        for text in ("1", "2", "3"):
            await send_updates(peer, f"a{text}", session="a")
            await send_updates(peer, f"b{text}", session="b")
        first, second = Take("a"), Take("b")
        with connection.handler(first), connection.handler(second):
            await until(lambda: len(second.texts) == 3)
        assert connection.stats().counters["parked"] == 0
    assert first.texts == ["a1", "a2", "a3"]
    assert second.texts == ["b1", "b2", "b3"]


async def test_an_error_of_an_added_handler_answers_the_message_that_waited() -> None:
    """C-120"""

    async def fail(ctx: Any) -> Any:
        raise acp.RequestError(9, "no", {"request": ctx.request_id})

    async with facing_agent(waiting_agent(), v1) as (connection, peer):
        await peer.request("a", "_x/wait")
        await peer.request("b", "_x/wait")
        assert await is_served(peer)
        with connection.handler(Answer(fail)):
            for name in ("a", "b"):
                answer = await peer.receive()
                assert answer["id"] == name
                assert answer["error"] == {"code": 9, "message": "no", "data": {"request": name}}


async def test_a_request_that_waited_is_answered_as_its_handler_ends() -> None:
    """C-120"""
    kept: list[acp.Responder] = []

    async def defer(ctx: Any) -> Any:
        kept.append(ctx.defer())

    async def unwritable(ctx: Any) -> Any:
        return {"a": object()}

    for end, expected in ((None, {"id": 1}), (defer, {"late": 1}), (unwritable, None)):
        async with facing_agent(waiting_agent(), v1) as (connection, peer):
            await peer.request(1, "_x/wait")
            assert await is_served(peer)
            with connection.handler(Answer(end)):
                if end is defer:
                    await until(lambda: bool(kept))
                    gc.collect()
                    assert kept.pop().respond({"late": 1})
                answer = await peer.receive()
                assert answer.get("result") == expected
                assert answer.get("error", {}).get("code") == (None if expected else -32603)
            assert connection.stats().unanswered == 0


async def test_a_request_whose_handler_waits_holds_up_nothing_that_is_offered() -> None:
    """C-120"""
    go = anyio.Event()

    class Slow:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            if message.method == "_x/note":
                go.set()
                return None
            await go.wait()
            return {"id": ctx.request_id}

    async with facing_agent(waiting_agent(), v1) as (connection, peer):
        await peer.request("a", "_x/wait")
        await peer.notify("_x/note")
        assert await is_served(peer)
        with connection.handler(Slow()):
            assert (await peer.receive())["result"] == {"id": "a"}


async def test_a_handler_that_declines_late_leaves_the_request_to_those_behind_it() -> None:
    """C-120"""
    go = anyio.Event()

    async def late(ctx: Any) -> Any:
        await go.wait()
        return acp.UNHANDLED

    async with facing_agent(waiting_agent(), v1) as (connection, peer):
        await peer.request("a", "_x/wait")
        assert await is_served(peer)
        behind = Answer()
        with connection.handler(Answer(late)), connection.handler(behind):
            await turns()
            assert behind.ids == []
            go.set()
            assert (await peer.receive())["result"] == {"id": "a"}


async def test_a_handler_that_was_removed_meanwhile_is_not_asked_about_what_waits() -> None:
    """C-119"""
    go = anyio.Event()

    async def late(ctx: Any) -> Any:
        await go.wait()
        return acp.UNHANDLED

    async with facing_agent(waiting_agent(), v1) as (connection, peer):
        await peer.request("a", "_x/wait")
        assert await is_served(peer)
        behind = Answer()
        with connection.handler(Answer(late)):
            guard = connection.handler(behind)
            await turns()
            guard.deactivate()
            go.set()
            await turns()
            assert behind.ids == []
            assert connection.stats().counters["parked"] == 1


async def test_too_many_messages_that_wait_push_the_oldest_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-121"""
    async with facing_agent(waiting_agent(limits=Limits(parked_messages=3)), v1) as (
        connection,
        peer,
    ):
        await peer.request("a", "_x/wait")
        await peer.notify("_x/note", {"number": 1})
        await peer.notify("_x/note", {"number": 2})
        assert await is_served(peer)
        await peer.notify("_x/note", {"number": 3})
        refused = await peer.receive()
        assert refused["id"] == "a"
        assert refused["error"]["code"] == -32601
        assert refused["error"]["data"] == {"method": "_x/wait"}
        await peer.notify("_x/note", {"number": 4})
        assert await is_served(peer)
        assert "the oldest is dropped, '_x/note'" in caplog.text
        assert connection.stats().counters["expelled"] == 2
        seen: list[Any] = []

        class Note:
            async def handle(self, message: acp.Message, ctx: Any) -> Any:
                seen.append(message.params)

        with connection.handler(Note()):
            await until(lambda: len(seen) == 3)
    assert [each["number"] for each in seen] == [2, 3, 4]


async def test_what_waits_is_bounded_by_size_too() -> None:
    """C-121"""
    limits = Limits(parked_bytes=2_000)
    async with facing_client(v1.Client(limits=limits), v1) as (connection, peer):
        await send_updates(peer, *("x" * 500 for _ in range(10)))
        assert 1 <= connection.stats().counters["parked"] <= 3
        await send_updates(peer, "x" * 5_000)
        assert connection.stats().counters["parked"] == 0


@each_version
async def test_a_client_of_version_1_keeps_notifications_of_sessions_and_no_other_side_does(
    v: Any,
) -> None:
    """C-122"""
    taken = Take()
    async with facing_client(v.Client(), v) as (connection, peer):
        await send_updates(peer, "1")
        await peer.notify("_x/note", {})
        with connection.handler(taken):
            await turns()
    assert taken.texts == (["1"] if v is v1 else [])
    seen = Seen(None)
    async with facing_agent(v.Agent(), v) as (connection, peer):
        await peer.notify("session/cancel", {"sessionId": "s"})
        await peer.notify("_x/note", {"sessionId": "s"})
        assert await is_served(peer)
        with connection.handler(seen):
            await turns()
    assert seen.messages == []


async def test_a_declined_update_of_a_session_waits_like_one_that_nobody_serves() -> None:
    """C-122"""
    client = v1.Client()

    @client.session_update
    async def declines(notification: Any) -> Any:
        return acp.UNHANDLED

    taken = Take()
    async with facing_client(client, v1) as (connection, peer):
        await send_updates(peer, "1")
        with connection.handler(taken):
            await until(lambda: taken.texts == ["1"])


async def test_version_2_keeps_nothing_though_a_handler_asks_for_it() -> None:
    """C-122"""
    agent = v2.Agent()
    agent.on_request("_x/wait")(lambda _: acp.unhandled(retry=True))
    async with facing_agent(agent, v2) as (connection, peer):
        assert (await ask(peer, "_x/wait"))["error"]["code"] == -32601
        assert "parked" not in connection.stats().counters


PERMISSION = {
    "sessionId": "s",
    "toolCall": {"toolCallId": "t"},
    "options": [{"optionId": "o", "name": "n", "kind": "allow_once"}],
}


async def test_a_request_of_a_session_waits_only_while_a_handler_is_about_to_take_over() -> None:
    """C-122"""
    async with facing_client(v1.Client(), v1) as (connection, peer):
        refused = await ask(peer, "session/request_permission", PERMISSION, request_id="now")
        assert refused["error"]["code"] == -32601
        # Another handler takes over.
        guard = connection.handler(Take("other"))
        guard.deactivate()
        await peer.request("waits", "session/request_permission", PERMISSION)
        assert await is_served(peer)
        guard.remove()
        outcome = {"outcome": {"outcome": "cancelled"}}

        async def answer(ctx: Any) -> Any:
            return outcome

        with connection.handler(Answer(answer)):
            taken = await peer.receive()
            assert (taken["id"], taken["result"]) == ("waits", outcome)
            await turns()
        # None does.
        await turns()
        guard = connection.handler(Take("other"))
        guard.deactivate()
        await peer.request("in vain", "session/request_permission", PERMISSION)
        assert await is_served(peer)
        guard.remove()
        refused = await peer.receive()
        assert (refused["id"], refused["error"]["code"]) == ("in vain", -32601)


# Their cancellation, batches, and the end.


async def test_a_request_that_waits_can_be_cancelled() -> None:
    async with facing_agent(waiting_agent(), v1) as (connection, peer):
        await peer.request("a", "_x/wait")
        assert await is_served(peer)
        await peer.notify("$/cancel_request", {"requestId": "a"})
        assert (await peer.receive())["error"]["code"] == -32800
        assert connection.stats().counters["parked"] == 0


async def test_the_handler_of_a_request_that_waited_is_cancelled_with_it() -> None:
    ended: list[str] = []

    async def forever(ctx: Any) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(ctx.request_id)

    async with facing_agent(waiting_agent(), v1) as (connection, peer):
        await peer.request("a", "_x/wait")
        assert await is_served(peer)
        with connection.handler(Answer(forever)):
            await turns()
            await peer.notify("$/cancel_request", {"requestId": "a"})
            assert (await peer.receive())["error"]["code"] == -32800
    assert ended == ["a"]


async def test_a_batch_waits_for_its_request_that_waits() -> None:
    """C-061"""
    entries = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}
        for number, method in ((1, "_x/wait"), (2, "_nobody"))
    ]

    async def fail(ctx: Any) -> Any:
        raise acp.RequestError(9, "own")

    async with facing_agent(waiting_agent(), v1) as (connection, peer):
        await peer.send_text(json.dumps(entries) + "\n")
        assert await is_served(peer)
        with connection.handler(Answer(fail)):
            replies = await peer.receive()
    assert [reply["error"]["code"] for reply in replies] == [9, -32601]


async def test_nothing_waits_for_handlers_any_more_when_the_connection_ends() -> None:
    agent = waiting_agent(limits=Limits(closing=None))
    go = anyio.Event()

    @agent.on_request("_x/late")
    async def late(params: Any) -> Any:
        await go.wait()
        return acp.unhandled(retry=True)

    async with facing_agent(agent, v1) as (connection, peer):
        await peer.request("a", "_x/late")
        assert await is_served(peer)
        async with anyio.create_task_group() as group:
            group.start_soon(connection.close)
            await turns()
            seen = Seen()
            connection.handler(seen).detach()
            go.set()
        assert (await peer.receive())["error"]["code"] == -32601
        assert seen.messages == [("request", "_x/late")]


@each_link
async def test_requests_that_wait_do_not_hold_up_the_end_of_the_connection(link: str) -> None:
    limits = Limits(closing=None)
    async with facing_agent(waiting_agent(limits=limits), v1, link) as (connection, peer):
        await peer.request("a", "_x/wait")
        assert await is_served(peer)
        await within(connection.close())
        assert (await peer.receive())["error"]["code"] == -32601
        assert await peer.receive() is None
