"""Waiting until a session of version 2 has nothing more to do."""

from __future__ import annotations

import gc
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import acp
from acp.v2 import schema
from tests.endpoint.session_peers import (
    answer_setup,
    client_of,
    open_session,
    opened,
    served,
    state,
    text,
    user,
)
from tests.raw_peer import within
from tests.sides import turns

if TYPE_CHECKING:
    from acp.v2 import IdleWait

IDLE = state("idle", stopReason="end_turn")
RUNNING = state("running")


async def is_waiting(wait: IdleWait, peer: Any) -> bool:
    """Whether all that was sent has not ended the wait."""
    await served(peer)
    return not wait.has_ended


async def session_of(connection: Any, peer: Any) -> Any:
    return (await open_session(connection.new_session("/"), peer)).session


ACTIVE = {
    "running": RUNNING,
    "requires action": state("requires_action"),
}
NOT_ACTIVE = {
    "idle": IDLE,
    "unknown": state("unknown"),
    "one that is not known": state("dreaming", depth=3),
    "another session's": state("running", "s2"),
    "text": text("x"),
    "a subagent's": {
        "method": "session/update",
        "params": {
            "sessionId": "s1",
            "update": {
                "sessionUpdate": "subagent_update",
                "sessionId": "s2",
                "state": {"state": "running"},
            },
        },
    },
}


@pytest.mark.parametrize("active", list(ACTIVE))
async def test_the_first_idle_behind_an_active_state_ends_it(active: str) -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        wait = session.wait_idle()
        await peer.send(IDLE, ACTIVE[active], text("x"), state("idle", stopReason="refusal"), IDLE)
        assert (await within(wait)).stop_reason == "refusal"
        assert (await within(wait)).stop_reason == "refusal"


@pytest.mark.parametrize("other", list(NOT_ACTIVE))
async def test_an_idle_behind_nothing_that_is_active_does_not_end_it(other: str) -> None:
    """A state that is not known is neither."""
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        wait = session.wait_idle()
        await peer.send(NOT_ACTIVE[other], IDLE)
        assert await is_waiting(wait, peer)
        await peer.send(RUNNING, state("unknown"), state("dreaming"))
        assert await is_waiting(wait, peer)
        await peer.send(IDLE)
        assert isinstance(await within(wait), schema.IdleStateUpdate)


async def test_only_what_comes_after_the_call_counts() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        await peer.send(RUNNING)
        await served(peer)
        wait = session.wait_idle()
        await peer.send(IDLE)
        assert await is_waiting(wait, peer)


async def test_it_begins_with_the_call_and_not_when_it_is_awaited() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        wait = session.wait_idle()
        await peer.send(RUNNING, IDLE)
        await served(peer)
        assert (await within(wait)).stop_reason == "end_turn"


@pytest.mark.parametrize("method", ["new", "resume"])
async def test_it_can_begin_with_the_setup(method: str) -> None:
    """What comes before, with and right behind the answer counts."""
    async with opened(client_of(2)) as (connection, peer):
        for before in range(3):
            name = f"s{before}"
            builder = (
                connection.new_session("/")
                if method == "new"
                else connection.resume_session(name, "/")
            )
            wait = builder.wait_idle()
            waiting = peer.start(builder)
            messages = [state("running", name), state("idle", name, stopReason="end_turn")]
            behind = messages[before:]
            await answer_setup(peer, *messages[:before], behind=behind, session=name)
            await within(waiting)
            assert (await within(wait)).stop_reason == "end_turn"


ORDERS: dict[str, list[Any]] = {
    "message, answer": [user("m1"), "answer", RUNNING, "idle"],
    "answer, message": ["answer", user("m1"), RUNNING, "idle"],
    "work of before ends first": [RUNNING, IDLE, "answer", user("m1"), "idle"],
    "work of before goes on": [RUNNING, "answer", IDLE, user("m1"), RUNNING, "idle"],
    "another message before": [user("m0"), RUNNING, IDLE, user("m1"), "answer", "idle"],
    "another message behind": [user("m1"), user("m2"), "answer", "idle"],
    "the answer comes last": [user("m0"), IDLE, user("m1"), "idle", IDLE, "answer"],
    "no work at all": ["answer", user("m1"), "idle"],
    "a message that is not told": ["answer", RUNNING, "idle"],
    "states that are not known": ["answer", state("dreaming"), IDLE, user("m1"), "idle"],
}


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize("one_chunk", [True, False])
async def test_the_idle_behind_the_message_of_a_prompt_ends_it(order: str, one_chunk: bool) -> None:
    """C-218: in whatever order the agent tells of it."""
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        sent = session.send_prompt("hi")
        wait = session.wait_idle(sent)
        answering = peer.start(sent)
        request = await peer.receive()
        messages = [
            {"id": request["id"], "result": {"messageId": "m1"}}
            if each == "answer"
            else state("idle", stopReason="cancelled")
            if each == "idle"
            else each
            for each in ORDERS[order]
        ]
        if one_chunk:
            await peer.send(*messages)
        else:
            for message in messages:
                assert await is_waiting(wait, peer)
                await peer.send(message)
        assert (await within(wait)).stop_reason == "cancelled"
        assert (await within(answering)).message_id == "m1"


async def test_it_can_be_given_a_prompt_that_nobody_else_awaits() -> None:
    """It is not dropped then, but is when nobody waits any more."""
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        waiting = peer.start(session.wait_idle(session.send_prompt("hi")))
        request = await peer.receive()
        gc.collect()
        await served(peer)
        answer = {"id": request["id"], "result": {"messageId": "m1"}}
        await peer.send(answer, user("m1"), RUNNING, IDLE)
        assert (await within(waiting)).stop_reason == "end_turn"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            session.wait_idle(session.send_prompt("hi"))
            gc.collect()
            request = await peer.receive()
            assert (await peer.receive())["params"] == {"requestId": request["id"]}


async def test_it_can_be_given_a_prompt_that_was_awaited() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        sent = session.send_prompt("hi")
        answering = peer.start(sent)
        await peer.answer((await peer.receive())["id"], {"messageId": "m1"})
        response = await within(answering)
        for prompt in (sent, response, response.message_id):
            for first in (user("m1"), RUNNING):
                wait = session.wait_idle(prompt)
                await peer.send(user("m2"), IDLE)
                assert await is_waiting(wait, peer)
                await peer.send(first, IDLE)
                assert (await within(wait)).stop_reason == "end_turn"


async def test_a_prompt_without_an_id_ends_with_the_work_behind_its_answer() -> None:
    """A bare acknowledgement names no message."""
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        waiting = peer.start(session.wait_idle(session.send_prompt("hi")))
        request = await peer.receive()
        await peer.send({"id": request["id"], "result": {}}, user("m1"), RUNNING, IDLE)
        assert (await within(waiting)).stop_reason == "end_turn"


async def test_what_a_prompt_ends_with_ends_the_wait_for_it() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        sent = session.send_prompt("hi")
        waits = [session.wait_idle(sent) for _ in range(2)]
        other = session.wait_idle()
        request = await peer.receive()
        error = {"code": -32000, "message": "Log in"}
        await peer.send({"id": request["id"], "error": error})
        for wait in (*waits, sent):
            with pytest.raises(acp.RequestError, match="Log in"):
                await within(wait)
        assert await is_waiting(other, peer)


async def test_a_prompt_that_is_given_up_ends_the_wait_for_it() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        sent = session.send_prompt("hi")
        wait = session.wait_idle(sent)
        answering = peer.start(sent)
        await peer.receive()
        await turns()
        answering.cancel()
        with pytest.raises(acp.RequestError) as caught:
            await within(wait)
        assert caught.value.code == -32800


async def test_a_detached_prompt_is_waited_for_all_the_same() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        sent = session.send_prompt("hi")
        waiting = peer.start(session.wait_idle(sent))
        request = await peer.receive()
        sent.detach()
        answer = {"id": request["id"], "result": {"messageId": "m1"}}
        await peer.send(answer, user("m1"), IDLE)
        assert (await within(waiting)).stop_reason == "end_turn"


async def test_the_end_of_session_and_connection_end_it() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        wait = session.wait_idle()
        closing = peer.start(session.close())
        request = await peer.receive()
        await peer.send(RUNNING, {"id": request["id"], "result": {}})
        await within(closing)
        with pytest.raises(acp.SessionClosed):
            await within(wait)
        session = await session_of(connection, peer)
        wait = session.wait_idle(session.send_prompt("hi"))
        await peer.transport.close()
        with pytest.raises(acp.ConnectionClosed):
            await within(wait)


async def test_a_close_that_cancels_the_work_ends_it_with_that() -> None:
    """The last idle comes before the answer."""
    async with opened(client_of(2)) as (connection, peer):
        session = await session_of(connection, peer)
        wait = session.wait_idle()
        closing = peer.start(session.close())
        request = await peer.receive()
        idle = state("idle", stopReason="cancelled")
        await peer.send(RUNNING, idle, {"id": request["id"], "result": {}})
        await within(closing)
        assert (await within(wait)).stop_reason == "cancelled"


async def test_a_wait_that_nobody_holds_costs_nothing() -> None:
    client = client_of(2)

    @client.session_update
    def handler(notification: Any) -> None:
        pass

    async with opened(client) as (connection, peer):
        session = await session_of(connection, peer)
        session.wait_idle()
        wait = session.wait_idle()
        await peer.send(RUNNING, IDLE)
        await within(wait)
        await peer.send(text("a"), text("b"))
        await served(peer)
        assert connection.router.direct["session/update"][1] is handler
