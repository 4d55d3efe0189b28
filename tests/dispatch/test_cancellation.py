"""Cancelled requests and turns, from either side."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import schema
from tests.raw_peer import agent_under_test, chunk, client_under_test, prompt, within
from tests.sides import Prompted, Silent

NEW = {"cwd": "/", "mcpServers": []}


async def test_a_cancelled_call_tells_the_peer_once_and_swallows_the_late_answer() -> None:
    """C-094, C-095, C-096."""
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.new_session("/"))
        request = await peer.receive()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert await peer.receive() == {
            "jsonrpc": "2.0",
            "method": "$/cancel_request",
            "params": {"requestId": request["id"]},
        }
        await peer.answer(request["id"], {"sessionId": "late"})
        calling = peer.start(agent.new_session("/"))
        request = await peer.receive()
        assert request["method"] == "session/new"
        await peer.answer(request["id"], {"sessionId": "s"})
        assert (await within(calling)).session_id == "s"


async def test_a_cancelled_call_says_nothing_when_told_to() -> None:
    async with client_under_test(Silent(), send_cancel_request=False) as (agent, peer):
        calling = peer.start(agent.new_session("/"))
        await peer.receive()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        listing = peer.start(agent.list_sessions())
        request = await peer.receive()
        assert request["method"] == "session/list"
        await peer.answer(request["id"], {"sessions": []})
        await within(listing)


async def test_a_call_whose_answer_waits_for_handlers_is_not_cancelled_at_the_peer() -> None:
    """C-097, and a timeout around a prompt whose answer is held (I11)."""
    go = anyio.Event()

    class Client(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            await go.wait()

    async with client_under_test(Client()) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.send(chunk("x"), {"id": request["id"], "result": {"stopReason": "end_turn"}})
        await peer.request(1, "x")
        assert (await peer.receive())["id"] == 1
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        go.set()
        await peer.request(2, "x")
        assert (await peer.receive())["id"] == 2


@pytest.mark.parametrize("request_id", [7, "seven"])
async def test_a_cancelled_request_has_its_handler_cancelled_and_one_answer(
    request_id: int | str,
) -> None:
    """C-103, C-110."""
    agent = Prompted()
    async with agent_under_test(agent) as (peer, _):
        await peer.request(request_id, "session/prompt", prompt())
        await within(agent.started.wait())
        await peer.notify("$/cancel_request", {"requestId": request_id})
        await peer.notify("$/cancel_request", {"requestId": request_id})
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (request_id, -32800)
        await peer.request("next", "x")
        assert (await peer.receive())["id"] == "next"
    assert agent.ended == ["cancelled", "ended"]


async def test_a_call_that_the_end_of_the_connection_fails_is_not_cancelled_at_the_peer() -> None:
    """C-097."""
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.new_session("/"))
        assert (await peer.receive())["method"] == "session/new"
        closing = peer.start(agent.close())
        with pytest.raises(acp.ConnectionClosed):
            await within(calling)
        await within(closing)
        assert await peer.receive_all() == []


async def test_a_cancelled_permission_request_is_answered_with_its_own_outcome() -> None:
    """C-105."""

    class Client(acp.Client):
        async def request_permission(
            self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
        ) -> Any:
            await anyio.Event().wait()

    async with client_under_test(Client()) as (_, peer):
        params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
        await peer.request(1, "session/request_permission", params)
        await peer.notify("$/cancel_request", {"requestId": 1})
        answer = await peer.receive()
        assert answer["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_a_cancelled_elicitation_is_answered_as_cancelled() -> None:
    """C-105."""

    class Client(acp.Client):
        async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> Any:
            await anyio.Event().wait()

    async with client_under_test(Client(), use_unstable_protocol=True) as (_, peer):
        mode = {"mode": "url", "elicitationId": "e", "url": "https://example.org/"}
        params = {"sessionId": "s", "message": "Who?", **mode}
        await peer.request(1, "elicitation/create", params)
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["result"] == {"action": "cancel"}


async def test_a_value_that_a_cancelled_handler_returns_is_the_answer() -> None:
    """C-105."""

    class Agent(Prompted):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            try:
                await anyio.Event().wait()
            except anyio.get_cancelled_exc_class():
                return acp.PromptResponse(stop_reason="max_tokens")

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["result"] == {"stopReason": "max_tokens"}


async def test_handlers_are_left_alone_when_told_to() -> None:
    """C-110."""
    go = anyio.Event()

    class Agent(Prompted):
        async def turn(self) -> None:
            await go.wait()

    agent = Agent()
    async with agent_under_test(agent, cancel_handlers=False) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        await peer.notify("$/cancel_request", {"requestId": 1})
        await peer.request(2, "x")
        assert (await peer.receive())["id"] == 2
        go.set()
        assert (await peer.receive())["result"] == {"stopReason": "end_turn"}


async def test_cancelling_what_is_unknown_or_done_does_nothing() -> None:
    """C-106, C-107."""
    agent = Prompted()
    async with agent_under_test(agent) as (peer, _):
        await peer.request(1, "x")
        await peer.receive()
        await peer.notify("$/cancel_request", {"requestId": 1})
        await peer.notify("$/cancel_request", {"requestId": 99})
        await peer.notify("$/cancel_request", {"wrong": True})
        await peer.request(1, "y")
        assert (await peer.receive())["error"]["data"] == {"method": "y"}


MALFORMED: list[Any] = [None, {}, [1], {"id": 1}, {"requestId": ["secret"]}, {"requestId": 1.5}]


@pytest.mark.parametrize("params", MALFORMED)
async def test_a_malformed_cancellation_is_ignored_and_logged_without_its_values(
    params: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """C-106."""
    told: list[acp.Malformed] = []
    agent = Prompted()
    async with agent_under_test(agent, on_malformed=told.append) as (peer, connection):
        await peer.request(1, "session/prompt", prompt())
        await agent.started.wait()
        for _ in range(3):
            await peer.notify("$/cancel_request", params)
        await peer.request(2, "y")
        assert (await peer.receive())["id"] == 2
        counters = connection.stats().counters
        assert (counters["rejected_cancel"], counters["idle_cancellations"]) == (3, 0)
        assert (counters["cancelled"], agent.ended) == (0, [])
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["id"] == 1
    assert [(each.kind, each.reason, each.answered) for each in told] == [
        ("frame", "cancel", False)
    ] * 3
    (warning,) = (r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING)
    assert "cancellation" in warning
    assert "secret" not in caplog.text


async def test_initialize_can_be_cancelled_itself() -> None:
    """C-108."""

    class Agent(acp.Agent):
        async def initialize(self, protocol_version: int, **kwargs: Any) -> Any:
            await anyio.Event().wait()

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(0, "initialize", {"protocolVersion": 1})
        await peer.notify("$/cancel_request", {"requestId": 0})
        assert (await peer.receive())["error"]["code"] == -32800
        await peer.request(1, "x")
        assert (await peer.receive())["id"] == 1


async def test_a_request_that_waits_is_answered_when_cancelled_and_never_starts() -> None:
    class Agent(Prompted):
        def __init__(self) -> None:
            super().__init__()
            self.go = anyio.Event()

        async def cancel(self, session_id: str, **kwargs: Any) -> None:
            await self.go.wait()

    agent = Agent()
    async with agent_under_test(agent) as (peer, _):
        await peer.notify("session/cancel", {"sessionId": "s"})
        await peer.request(1, "session/prompt", prompt())
        await peer.notify("$/cancel_request", {"requestId": 1})
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32800)
        agent.go.set()
        await peer.request(2, "x")
        assert (await peer.receive())["id"] == 2
    assert agent.ended == []


async def test_session_cancel_ends_the_turn_before_it_and_never_the_one_behind() -> None:
    """Both orders, each in one chunk (I8)."""
    cancel = {"method": "session/cancel", "params": {"sessionId": "s"}}
    turn = {"method": "session/prompt", "params": prompt()}
    agent = Prompted()
    async with agent_under_test(agent) as (peer, _):
        await peer.send({"id": 1, **turn}, cancel)
        assert await peer.receive() == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"stopReason": "cancelled"},
        }
        agent.started = anyio.Event()
        await peer.send(cancel, {"id": 2, **turn}, {"id": 3, "method": "x"})
        assert (await peer.receive())["id"] == 3
        await within(agent.started.wait())
        await peer.send(cancel)
        assert (await peer.receive())["id"] == 2


async def test_session_cancel_runs_the_agents_own_handler_first() -> None:
    class Agent(Prompted):
        def __init__(self) -> None:
            super().__init__()
            self.told = anyio.Event()

        async def turn(self) -> None:
            await self.told.wait()

        async def cancel(self, session_id: str, **kwargs: Any) -> None:
            self.told.set()
            while not self.ended:
                await anyio.lowlevel.checkpoint()

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        await peer.notify("session/cancel", {"sessionId": "s"})
        assert (await peer.receive())["result"] == {"stopReason": "end_turn"}


async def test_a_cancel_handler_may_wait_for_a_turn_that_waits_for_the_client() -> None:
    """The permission answer arrives behind the cancel (I1)."""

    class Agent(Prompted):
        client: Any

        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def turn(self) -> None:
            await self.client.request_permission("s", schema.ToolCallUpdate(tool_call_id="t"), [])

        async def cancel(self, session_id: str, **kwargs: Any) -> None:
            while not self.ended:
                await anyio.lowlevel.checkpoint()

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        asked = await peer.receive()
        assert asked["method"] == "session/request_permission"
        await peer.notify("session/cancel", {"sessionId": "s"})
        await peer.answer(asked["id"], {"outcome": {"outcome": "cancelled"}})
        assert (await peer.receive())["result"] == {"stopReason": "end_turn"}


async def test_a_cancel_in_the_turn_in_which_the_handler_returns_makes_one_answer() -> None:
    """I12."""
    go = anyio.Event()

    class Agent(Prompted):
        async def turn(self) -> None:
            await go.wait()

    agent = Agent()
    async with agent_under_test(agent) as (peer, _):
        for number in range(20):
            agent.started = anyio.Event()
            await peer.request(number, "session/prompt", prompt())
            await within(agent.started.wait())
            if number % 2:
                go.set()
                await peer.notify("$/cancel_request", {"requestId": number})
            else:
                await peer.notify("$/cancel_request", {"requestId": number})
                go.set()
            assert (await peer.receive())["id"] == number
            go = anyio.Event()
        await peer.request("last", "x")
        assert (await peer.receive())["id"] == "last"
