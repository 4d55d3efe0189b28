"""The handle of a session of version 1, and the stream of what comes in it."""

from __future__ import annotations

from typing import Any

import pytest

import acp
from acp import v1
from acp.v1 import schema
from tests.endpoint.session_peers import (
    CANCELLED,
    END,
    client_of,
    each_wire,
    mode,
    new,
    open_session,
    opened,
    permission,
    read,
    shown,
    text,
)
from tests.raw_peer import within
from tests.sides import turns


@each_wire
async def test_messages_and_outcomes_are_one_stream_in_their_order(wire: str) -> None:
    """C-263: `send_prompt` returns at once."""
    async with opened(client_of(1), wire=wire) as (connection, peer):
        session = await new(connection, peer)
        for number in range(2):
            session.send_prompt(f"prompt {number}")
        requests = [await peer.receive() for _ in range(2)]
        assert [request["params"]["prompt"][0]["text"] for request in requests] == [
            "prompt 0",
            "prompt 1",
        ]
        await peer.send(
            text("a"),
            {"id": requests[0]["id"], "result": END},
            {"method": "_x/note", "params": {"sessionId": "s1", "n": 1}},
            permission(5),
            text("b"),
            {"id": requests[1]["id"], "result": {"stopReason": "refusal"}},
            text("c"),
        )
        items = [await within(session.read_update()) for _ in range(7)]
        assert [shown(item) for item in items] == [
            "a",
            "end_turn",
            "_x/note",
            "session/request_permission",
            "b",
            "refusal",
            "c",
        ]
        note, asked = items[2], items[3]
        assert isinstance(note, v1.SessionMessage)
        assert (note.params, note.responder) == ({"sessionId": "s1", "n": 1}, None)
        assert isinstance(asked, v1.SessionMessage)
        assert isinstance(asked.params, schema.RequestPermissionRequest)
        assert asked.responder is not None
        asked.responder.respond(CANCELLED)
        assert await peer.receive() == {"jsonrpc": "2.0", "id": 5, "result": CANCELLED}


async def test_a_slow_handler_does_not_change_the_order_of_the_stream() -> None:
    """C-263: the outcome of a prompt keeps its place."""
    client = client_of(1)

    @client.session_update
    async def _(notification: Any) -> Any:
        await turns(5)
        return acp.UNHANDLED

    async with opened(client) as (connection, peer):
        session = await new(connection, peer)
        session.send_prompt("hi")
        request = await peer.receive()
        end = {"id": request["id"], "result": END}
        await peer.send(text("a"), text("b"), end, text("c"))
        assert await read(session, 4) == ["a", "b", "end_turn", "c"]


async def test_the_stream_has_what_no_handler_wanted() -> None:
    """C-263: what a handler has taken is handled."""
    client = client_of(1)
    seen: list[str] = []

    @client.session_update
    def _(notification: Any) -> Any:
        words = notification.update.content.text
        seen.append(words)
        return acp.UNHANDLED if words.startswith("give") else None

    @client.request_permission
    async def _(request: Any) -> Any:
        if request.tool_call.title == "Run":
            return acp.UNHANDLED
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome())

    @client.read_text_file
    def _(request: Any) -> Any:
        return schema.ReadTextFileResponse(content="mine")

    async with opened(client) as (connection, peer):
        session = await new(connection, peer)
        other = permission(2)
        other["params"]["toolCall"]["title"] = "Look"
        file = {"sessionId": "s1", "path": "/a"}
        await peer.send(
            text("keep"),
            text("give 1"),
            permission(1),
            other,
            {"id": 3, "method": "fs/read_text_file", "params": file},
            text("give 2"),
            text("give elsewhere", "s2"),
            permission(4, "s2"),
        )
        answers = [await peer.receive() for _ in range(3)]
        assert {answer["id"]: answer.get("result") for answer in answers} == {
            2: CANCELLED,
            3: {"content": "mine"},
            4: None,
        }
        assert seen == ["keep", "give 1", "give 2", "give elsewhere"]
        assert sorted(await read(session, 3)) == ["give 1", "give 2", "session/request_permission"]


async def test_a_request_goes_to_one_of_several_handles_of_a_session() -> None:
    """C-263: to the newest; updates go to each."""
    async with opened(client_of(1)) as (connection, peer):
        first = await new(connection, peer)
        second = await open_session(connection.resume_session("s1", "/"), peer)
        await peer.send(text("a"), permission(1), text("b"))
        assert await read(first, 2) == ["a", "b"]
        assert await read(second, 3) == ["a", "session/request_permission", "b"]


async def test_the_error_of_a_prompt_comes_on_the_stream_and_ends_nothing() -> None:
    """C-264."""
    async with opened(client_of(1)) as (connection, peer):
        session, other = await new(connection, peer), await new(connection, peer, "s2")
        session.send_prompt("hi")
        request = await peer.receive()
        error = {"code": -32603, "message": "Full"}
        await peer.send({"id": request["id"], "error": error}, text("on"), text("too", "s2"))
        outcome = await within(session.read_update())
        assert isinstance(outcome, v1.PromptOutcome)
        with pytest.raises(acp.RequestError, match="Full"):
            outcome.result()
        assert await read(session, 1) == ["on"]
        assert await read(other, 1) == ["too"]
        session.send_prompt("again")
        await peer.answer((await peer.receive())["id"], END)
        assert await read(session, 1) == ["end_turn"]


async def test_a_prompt_that_cannot_be_answered_any_more_ends_for_who_reads() -> None:
    """C-264: with the end of the connection."""
    async with opened(client_of(1)) as (connection, peer):
        session = await new(connection, peer)
        session.send_prompt("hi")
        await peer.receive()
        await peer.send(text("last"))
        await peer.transport.close()
        assert await read(session, 1) == ["last"]
        with pytest.raises(acp.ConnectionClosed):
            await within(session.read_to_string())
        with pytest.raises(acp.ConnectionClosed):
            await within(session.prompt("hi"))
        session.send_prompt("hi")
        with pytest.raises(acp.ConnectionClosed):
            await within(session.read_to_string())


async def test_reading_to_a_string_joins_what_the_agent_says_until_the_turn_ends() -> None:
    """C-265: it answers requests as not served, and passes over everything else."""
    async with opened(client_of(1)) as (connection, peer):
        session = await new(connection, peer)
        image = text("")
        image["params"]["update"]["content"] = {
            "type": "image",
            "data": "AA==",
            "mimeType": "image/png",
        }
        thought = text("hm")
        thought["params"]["update"]["sessionUpdate"] = "agent_thought_chunk"
        for number in range(2):
            session.send_prompt("hi")
            request = await peer.receive()
            await peer.send(
                text(f"one {number}, "),
                thought,
                mode("ask"),
                permission(7),
                image,
                {"method": "_x/note", "params": {"sessionId": "s1"}},
                text("two"),
                {"id": request["id"], "result": END},
            )
            assert await within(session.read_to_string()) == f"one {number}, two"
            answer = await peer.receive()
            assert (answer["id"], answer["error"]["code"]) == (7, -32601)


async def test_reading_to_a_string_raises_what_the_prompt_ended_with() -> None:
    """C-265."""
    async with opened(client_of(1)) as (connection, peer):
        session = await new(connection, peer)
        session.send_prompt("hi")
        request = await peer.receive()
        error = {"code": -32000, "message": "Log in"}
        await peer.send(text("some"), {"id": request["id"], "error": error})
        with pytest.raises(acp.RequestError, match="Log in"):
            await within(session.read_to_string())
        reading = peer.start(session.read_to_string())
        await turns()
        async with session:
            pass
        with pytest.raises(acp.SessionClosed):
            await within(reading)


async def test_a_prompt_that_is_awaited_has_its_answer_and_not_the_stream() -> None:
    """C-263: its updates have been handled by then."""
    client = client_of(1)
    seen: list[str] = []

    @client.session_update
    async def _(notification: Any) -> None:
        await turns(3)
        seen.append(notification.update.content.text)

    async with opened(client) as (connection, peer):
        session = await new(connection, peer)
        block = schema.TextContentBlock(text="hi")
        for prompt in ("hi", block, [block, block]):
            turn = peer.start(session.prompt(prompt, field_meta={"k": 1}))
            request = await peer.receive()
            said = {"type": "text", "text": "hi"}
            assert request["params"] == {
                "sessionId": "s1",
                "prompt": [said, said] if isinstance(prompt, list) else [said],
                "_meta": {"k": 1},
            }
            await peer.send(text("a"), {"id": request["id"], "result": END})
            assert (await within(turn)).stop_reason == "end_turn"
            assert seen == ["a"]
            seen.clear()
        reading = peer.start(session.read_update())
        await turns()
        assert not reading.done()
        reading.cancel()
