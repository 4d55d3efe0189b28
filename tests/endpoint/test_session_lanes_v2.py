"""What comes in to a client of version 2, and what cancelling means for it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp.v2 import schema
from tests.endpoint.session_peers import (
    CANCELLED,
    anext_of,
    answer_setup,
    answered,
    client_of,
    each_wire,
    new,
    noting,
    opened,
    permission,
    served,
    text,
)
from tests.raw_peer import within
from tests.sides import turns, until


async def test_updates_and_questions_are_two_lanes_of_the_connection() -> None:
    """C-224: neither belongs to a prompt or a handle."""
    client = client_of(2)
    seen: list[tuple[str, str | None]] = []

    @client.session_update
    def _(notification: Any, ctx: Any) -> None:
        seen.append(("update", ctx.session_id))

    @client.request_permission
    def _(request: Any, ctx: Any) -> Any:
        seen.append(("permission", ctx.session_id))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(option_id="yes"))

    async with opened(client) as (connection, peer):
        await new(connection, peer)
        await peer.send(text("a", "never opened"), permission(1, "s1"), text("b", "s1"))
        answer = await peer.receive()
        assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "yes"}}
        await served(peer)
        assert sorted(seen) == [("permission", "s1"), ("update", "never opened"), ("update", "s1")]


async def test_without_handlers_updates_are_ignored_and_questions_are_not_found() -> None:
    """C-225: a stream changes nothing about questions, and nothing waits for who comes later."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        updates = session.updates()
        for request_id in (1, 2):
            await peer.send(text("early"), permission(request_id))
            answer = await peer.receive()
            assert (answer["id"], answer["error"]["code"]) == (request_id, -32601)
        assert (await within(anext_of(updates))).content.text == "early"
        later = session.updates()
        await peer.send(text("now"))
        assert (await within(anext_of(later))).content.text == "now"


async def test_updates_come_at_any_time_and_belong_to_no_prompt() -> None:
    """C-226: before the session is known, between, and after idle."""
    client = client_of(2)
    seen: list[str] = []
    client.session_update(noting(seen))
    async with opened(client) as (connection, peer):
        waiting = peer.start(connection.new_session("/"))
        await answer_setup(peer, text("before"), behind=[text("behind")])
        session = (await within(waiting)).session
        await peer.send(text("between"))
        await answered(peer, session.send_prompt("x"), {"messageId": "m"})
        await peer.send(text("after"))
        await served(peer)
        assert seen == ["before", "behind", "between", "after"]


@each_wire
async def test_a_replay_is_handled_before_the_answer_of_the_resume(wire: str) -> None:
    """C-227: also by handlers that suspend."""
    client = client_of(2)
    seen: list[str] = []

    @client.session_update
    async def _(notification: Any) -> None:
        await turns(3)
        seen.append(notification.update.content.text)

    async with opened(client, wire=wire) as (connection, peer):
        start = schema.ReplayFromStart()
        builder = connection.resume_session("s1", "/", replay_from=start)
        updates = builder.updates()
        waiting = peer.start(builder)
        replay = [text(str(number)) for number in range(10)]
        await answer_setup(peer, *replay, behind=[text("live")])
        session = (await within(waiting)).session
        assert seen[:10] == [str(number) for number in range(10)]
        assert session.session_id == "s1"
        read = [(await within(anext_of(updates))).content.text for _ in range(11)]
        assert read == [*(str(number) for number in range(10)), "live"]


async def test_a_replay_can_be_read_while_the_answer_is_awaited() -> None:
    """C-227: whatever its length, when its reader keeps up."""
    async with opened(client_of(2, limits=acp.Limits(kept_messages=1))) as (connection, peer):
        builder = connection.resume_session("s1", "/")
        updates = builder.updates(buffer=2)
        waiting = peer.start(builder)
        request = await peer.receive()
        for number in range(10):
            await peer.send(text(str(number)))
            assert (await within(anext_of(updates))).content.text == str(number)
        await peer.answer(request["id"], {})
        await within(waiting)
        assert connection.stats().counters["unread"] == 0


# Cancelling.


class Asked:
    """Keeps what the agent asks for, for work of the application's own."""

    def __init__(self, client: Any, *, deferred: bool) -> None:
        self.responders: list[acp.Responder] = []
        self.open = 0
        self.click = anyio.Event()

        @client.request_permission
        async def _(request: Any, ctx: Any) -> Any:
            self.open += 1
            if deferred:
                self.responders.append(ctx.defer())
                return None
            try:
                await self.click.wait()
            except anyio.get_cancelled_exc_class():
                # It is too late for an answer of its own.
                return self.yes
            return self.yes

        @client.create_elicitation
        def _(request: Any, ctx: Any) -> None:
            self.responders.append(ctx.defer())
            self.open += 1

    yes = schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(option_id="yes"))


def elicitation(request_id: str, session: str = "s1") -> dict[str, Any]:
    form: dict[str, Any] = {"type": "object", "properties": {}}
    params = {"sessionId": session, "mode": "form", "message": "?", "requestedSchema": form}
    return {"id": request_id, "method": "elicitation/create", "params": params}


@each_wire
@pytest.mark.parametrize("deferred", [True, False])
@pytest.mark.parametrize("cancel_handlers", [True, False])
async def test_cancelling_answers_the_permissions_of_that_session_once(
    deferred: bool, cancel_handlers: bool, wire: str
) -> None:
    """C-228, C-230: no other session's, no elicitation; a later answer goes nowhere."""
    client = client_of(2, cancel_handlers=cancel_handlers)
    asked = Asked(client, deferred=deferred)
    async with opened(client, wire=wire) as (connection, peer):
        session = await new(connection, peer)
        await peer.send(permission(1), permission(2), permission(3, "s2"), elicitation("e"))
        await until(lambda: asked.open == 4)
        await within(session.cancel_active_work())
        messages = [await peer.receive() for _ in range(3)]
        assert {m["id"]: m["result"] for m in messages if "id" in m} == {1: CANCELLED, 2: CANCELLED}
        assert [(m["method"], m["params"]) for m in messages if "method" in m] == [
            ("session/cancel", {"sessionId": "s1"})
        ]
        await served(peer)
        asked.click.set()
        if deferred:
            late = [responder.respond(asked.yes) for responder in asked.responders[:3]]
            assert late == [False, False, True]
        answer = await peer.receive()
        assert answer == {
            "jsonrpc": "2.0",
            "id": 3,
            "result": {"outcome": {"outcome": "selected", "optionId": "yes"}},
        }
        await served(peer)
        await within(session.cancel_active_work())
        assert (await peer.receive())["method"] == "session/cancel"
        await served(peer)


async def test_cancelling_answers_permissions_whose_handler_has_not_started() -> None:
    """C-228: they wait behind an update."""
    client = client_of(2)
    asked = Asked(client, deferred=True)
    go = anyio.Event()

    @client.session_update
    async def _(notification: Any) -> None:
        await go.wait()

    async with opened(client) as (connection, peer):
        session = await new(connection, peer)
        await peer.send(text("slow"), permission(1), permission("other", "s2"))
        await until(lambda: asked.open == 1)
        await within(session.cancel_active_work())
        messages = [await peer.receive() for _ in range(2)]
        assert {m["id"]: m["result"] for m in messages if "id" in m} == {1: CANCELLED}
        go.set()
        await served(peer)
        assert asked.open == 1


async def test_cancelling_answers_permissions_for_which_there_was_no_room() -> None:
    """C-228: too many requests run already."""
    client = client_of(2, limits=acp.Limits(running_handlers=1, closing=0.05))
    asked = Asked(client, deferred=True)
    async with opened(client) as (connection, peer):
        session = await new(connection, peer)
        await peer.send(elicitation("e"), permission(1), permission("other", "s2"))
        await until(lambda: connection.stats().waiting_messages == 2)
        await within(session.cancel_active_work())
        messages = [await peer.receive() for _ in range(2)]
        assert {m["id"]: m["result"] for m in messages if "id" in m} == {1: CANCELLED}
        asked.responders[0].error(acp.RequestError.request_cancelled())
        assert (await peer.receive())["id"] == "e"
        await until(lambda: asked.open == 2)
        assert asked.responders[1].session_id == "s2"


async def test_a_notification_of_the_users_own_cancels_as_the_handle_does() -> None:
    """C-228: however it is written."""
    client = client_of(2)
    asked = Asked(client, deferred=True)
    async with opened(client) as (connection, peer):
        await new(connection, peer)
        message = schema.CancelSessionNotification(session_id="s1")
        for number, cancel in enumerate(
            [
                lambda: connection.notify(message),
                lambda: connection.notify("session/cancel", {"sessionId": "s1"}),
            ]
        ):
            await peer.send(permission(number))
            await until(lambda number=number: asked.open == number + 1)
            await within(cancel())
            messages = [await peer.receive() for _ in range(2)]
            assert {m["id"]: m["result"] for m in messages if "id" in m} == {number: CANCELLED}
        await peer.send(permission(9))
        await until(lambda: asked.open == 3)
        connection.notify_nowait(message)
        messages = [await peer.receive() for _ in range(2)]
        assert {m["id"]: m["result"] for m in messages if "id" in m} == {9: CANCELLED}


async def test_a_permission_is_answered_by_work_of_the_application() -> None:
    """C-230: its handler has ended, and nothing waits for the user."""
    client = client_of(2)
    asked = Asked(client, deferred=True)
    async with opened(client) as (connection, peer):
        session = await new(connection, peer)
        updates = session.updates()
        await peer.send(permission(1), text("on"))
        assert (await within(anext_of(updates))).content.text == "on"
        assert connection.stats().deferred == 1
        connection.spawn(answer_later(asked))
        assert (await peer.receive())["id"] == 1


async def answer_later(asked: Asked) -> None:
    await anyio.lowlevel.checkpoint()
    asked.responders[0].respond(asked.yes)
