"""The handle of a session of version 2."""

from __future__ import annotations

import copy
import gc
import warnings
from typing import Any

import pytest

import acp
from acp import v2
from acp.v2 import schema
from tests.endpoint.session_peers import (
    anext_of,
    answered,
    client_of,
    new,
    noting,
    opened,
    served,
    text,
    user,
)
from tests.raw_peer import within


async def test_a_handle_is_its_id_and_its_connection() -> None:
    """C-217: copies are the same, and dropping all of them does nothing."""
    client = client_of(2)
    seen: list[str] = []
    client.session_update(noting(seen))
    async with opened(client) as (connection, peer):
        session = await new(connection, peer)
        for each in (session, copy.copy(session), copy.deepcopy(session)):
            assert (each.session_id, each.connection) == ("s1", connection)
        shared = [copy.copy(session) for _ in range(3)]
        _, request = await answered(peer, shared[1].send_prompt("x"), {"messageId": "m"})
        assert request["params"]["sessionId"] == "s1"
        assert {type(getattr(session, name)) for name in session.__slots__} == {
            v2.Connection,
            type(session._opening),
        }
        del session, shared, each
        gc.collect()
        await peer.send(text("still"))
        await served(peer)
        assert seen == ["still"]


async def test_what_happens_in_a_session_is_not_kept_by_its_handle() -> None:
    """C-217, C-225: who begins to read later sees what comes later."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        await peer.send(text("before"))
        await served(peer)
        updates = session.updates()
        await peer.send(text("after"))
        assert (await within(anext_of(updates))).content.text == "after"
        assert connection.stats().counters["unread"] == 0


async def test_a_prompt_is_answered_when_the_agent_has_taken_it() -> None:
    """C-218: with the id of the message, under which the updates are."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        updates = session.updates()
        response, _ = await answered(peer, session.send_prompt("hi"), {"messageId": "m7"})
        assert response.message_id == "m7"
        await peer.send(user("m7"))
        assert (await within(anext_of(updates))).message_id == "m7"


async def test_a_refused_prompt_ends_neither_session_nor_updates() -> None:
    """C-219."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        updates = session.updates()
        waiting = peer.start(session.send_prompt("hi"))
        error = {"code": -32603, "message": "Full"}
        await peer.send({"id": (await peer.receive())["id"], "error": error}, text("on"))
        with pytest.raises(acp.RequestError, match="Full"):
            await within(waiting)
        assert (await within(anext_of(updates))).content.text == "on"
        response, _ = await answered(peer, session.send_prompt("hi"), {"messageId": "m"})
        assert response.message_id == "m"


async def test_prompts_of_two_copies_are_independent() -> None:
    """C-220."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        sent = [session.send_prompt("a"), copy.copy(session).send_prompt("b")]
        waiting = [peer.start(each) for each in sent]
        first, second = [await peer.receive() for _ in sent]
        await peer.answer(second["id"], {"messageId": "m2"})
        assert (await within(waiting[1])).message_id == "m2"
        assert not waiting[0].done()
        await peer.send({"id": first["id"], "error": {"code": -32800, "message": "No"}})
        with pytest.raises(acp.RequestError, match="No"):
            await within(waiting[0])


async def test_a_prompt_that_nobody_consumes_is_cancelled() -> None:
    """C-221: dropped it is warned about; detached it is not cancelled."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        session.send_prompt("kept").detach()
        assert (await peer.receive())["method"] == "session/prompt"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            session.send_prompt("dropped")
            gc.collect()
            request = await peer.receive()
            cancelled = await peer.receive()
        assert cancelled["method"] == "$/cancel_request"
        assert cancelled["params"] == {"requestId": request["id"]}
        await served(peer)


@pytest.mark.parametrize(
    "error",
    [None, {"code": -32002, "message": "Resource not found"}, {"code": -32603, "message": "No"}],
)
async def test_closing_a_session_that_is_gone_is_closing_it(error: dict[str, Any] | None) -> None:
    """C-222."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        closing = peer.start(session.close())
        request = await peer.receive()
        assert (request["method"], request["params"]) == ("session/close", {"sessionId": "s1"})
        if error is None:
            await peer.answer(request["id"], {"_meta": {"k": 1}})
            assert (await within(closing)).field_meta == {"k": 1}
        else:
            await peer.send({"id": request["id"], "error": error})
            if error["code"] == -32002:
                assert await within(closing) == schema.CloseSessionResponse()
            else:
                with pytest.raises(acp.RequestError, match="No"):
                    await within(closing)
        assert session.is_closed is (error is None or error["code"] == -32002)


async def test_what_a_prompt_looks_like_on_the_wire() -> None:
    """C-223."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        block = schema.TextContentBlock(text="hi", field_meta={"k": 1})
        said = {"type": "text", "text": "hi", "_meta": {"k": 1}}
        for prompt, blocks in [
            ("hi", [{"type": "text", "text": "hi"}]),
            (block, [said]),
            ([block, block], [said, said]),
            ([], []),
        ]:
            _, request = await answered(peer, session.send_prompt(prompt), {"messageId": "m"})
            assert request == {
                "jsonrpc": "2.0",
                "id": request["id"],
                "method": "session/prompt",
                "params": {"sessionId": "s1", "prompt": blocks},
            }
        sent = session.send_prompt("hi", idempotency_key="once", field_meta={"a": 1})
        _, request = await answered(peer, sent, {"messageId": "m"})
        assert request["params"]["idempotencyKey"] == "once"
        assert request["params"]["_meta"] == {"a": 1}


async def test_setting_an_option_returns_all_options() -> None:
    """C-217: they are not kept."""
    async with opened(client_of(2)) as (connection, peer):
        session = await new(connection, peer)
        options = [{"type": "boolean", "configId": "fast", "name": "Fast", "currentValue": True}]
        result = {"configOptions": options, "_meta": {"k": 1}}
        for value, kind in ((True, "boolean"), ("deep", "id")):
            got, request = await answered(peer, session.set_config_option("fast", value), result)
            assert request["method"] == "session/set_config_option"
            assert request["params"] == {
                "sessionId": "s1",
                "configId": "fast",
                "type": kind,
                "value": value,
            }
            assert [option.current_value for option in got.config_options] == [True]
            assert got.field_meta == {"k": 1}
