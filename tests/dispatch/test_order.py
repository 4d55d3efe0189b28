"""The order in which handlers run and answers arrive."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, schema
from tests.raw_peer import agent_under_test, chunk, client_under_test, prompt, within
from tests.sides import Recorder, turns


async def test_updates_of_a_session_run_one_after_another_in_order() -> None:
    client = Recorder()
    async with client_under_test(client) as (_, peer):
        await peer.send(*(chunk(str(number)) for number in range(10)))
        await turns()
        assert client.started == ["0"]
        client.go.set()
        await peer.request(1, "session/unknown", {"sessionId": "s"})
        assert (await peer.receive())["error"]["code"] == -32601
        await turns()
        assert client.texts == [str(number) for number in range(10)]


async def test_sessions_do_not_wait_for_each_other() -> None:
    client = Recorder()
    async with client_under_test(client) as (_, peer):
        await peer.send(chunk("a", "one"), chunk("b", "one"), chunk("c", "two"), chunk("d", "two"))
        await turns()
        assert client.started == ["a", "c"]
        client.go.set()


async def test_the_answer_of_a_prompt_comes_after_the_updates_before_it() -> None:
    client = Recorder()
    async with client_under_test(client) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.send(
            chunk("1"), chunk("2"), {"id": request["id"], "result": {"stopReason": "end_turn"}}
        )
        await turns()
        assert not turn.done()
        client.go.set()
        assert (await within(turn)).stop_reason == "end_turn"
        assert client.texts == ["1", "2"]


async def test_the_answer_of_a_new_session_comes_after_updates_of_the_session_that_it_names() -> (
    None
):
    client = Recorder()
    async with client_under_test(client) as (agent, peer):
        opening = peer.start(agent.new_session("/"))
        request = await peer.receive()
        await peer.send(chunk("1", "new"), {"id": request["id"], "result": {"sessionId": "new"}})
        await turns()
        assert not opening.done()
        client.go.set()
        assert (await within(opening)).session_id == "new"
        assert client.texts == ["1"]


async def test_other_answers_arrive_at_once() -> None:
    client = Recorder()
    async with client_under_test(client) as (agent, peer):
        listing = peer.start(agent.list_sessions())
        request = await peer.receive()
        await peer.send(chunk("1"), {"id": request["id"], "result": {"sessions": []}})
        assert (await within(listing)).sessions == []
        assert client.texts == []
        client.go.set()


async def test_a_handler_that_awaits_the_peer_holds_no_answer_of_its_session() -> None:
    """An update handler asks the agent while the turn's answer waits behind it (I3)."""

    class Client(acp.Client):
        agent: Any

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            await self.agent.set_session_mode(session_id, "mode")

    client = Client()
    async with client_under_test(client) as (agent, peer):
        client.agent = agent
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.send(chunk("1"), {"id": request["id"], "result": {"stopReason": "end_turn"}})
        assert (await peer.receive())["method"] == "session/set_mode"
        assert (await within(turn)).stop_reason == "end_turn"


async def test_a_handler_may_prompt_its_own_session_and_gets_the_answer() -> None:
    class Client(acp.Client):
        agent: Any
        reasons: list[str]

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            if update.content.text == "again":
                turn = await self.agent.prompt(session_id, [acp.text_block("again")])
                self.reasons.append(turn.stop_reason)

    client = Client()
    client.reasons = []
    async with client_under_test(client) as (agent, peer):
        client.agent = agent
        await peer.send(chunk("again"))
        request = await peer.receive()
        await peer.send(chunk("more"), {"id": request["id"], "result": {"stopReason": "end_turn"}})
        await peer.request(9, "x", None)
        await peer.receive()
        await turns()
        assert client.reasons == ["end_turn"]


async def test_patience_ends_and_the_answer_goes_past_a_handler_that_does_not_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The consumer of a full queue is the task that awaits the turn (I2)."""
    client = Recorder()
    async with client_under_test(client, limits=Limits(lane_patience=0.05)) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.send(
            chunk("secret"), {"id": request["id"], "result": {"stopReason": "end_turn"}}
        )
        assert (await within(turn)).stop_reason == "end_turn"
        assert client.texts == []
        client.go.set()
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "session/update" in warned[0].getMessage()
    assert "secret" not in warned[0].getMessage()


async def test_a_permission_request_starts_after_the_update_it_is_about() -> None:
    """I9."""

    class Client(Recorder):
        async def request_permission(
            self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
        ) -> Any:
            assert self.texts == ["about"]
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome())

    client = Client()
    async with client_under_test(client) as (_, peer):
        params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
        await peer.send(
            chunk("about"),
            {"id": 1, "method": "session/request_permission", "params": params},
            {"id": 2, "method": "unknown"},
        )
        assert (await peer.receive())["id"] == 2
        client.go.set()
        assert await peer.receive() == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"outcome": {"outcome": "cancelled"}},
        }


async def test_requests_run_at_the_same_time_and_start_in_order() -> None:
    class Agent(acp.Agent):
        def __init__(self) -> None:
            self.started: list[str] = []
            self.go = anyio.Event()

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
            self.started.append(prompt[0].text)
            await self.go.wait()
            return acp.PromptResponse(stop_reason="end_turn")

    agent = Agent()
    async with agent_under_test(agent) as (peer, _):
        names = [str(number) for number in range(100)]
        await peer.send(
            *(
                {"id": number, "method": "session/prompt", "params": prompt(name)}
                for number, name in enumerate(names)
            )
        )
        await peer.request("last", "unknown")
        assert (await peer.receive())["id"] == "last"
        assert agent.started == names
        agent.go.set()
        answered = [(await peer.receive())["id"] for _ in names]
        assert sorted(answered) == list(range(100))


async def test_three_thousand_handlers_that_suspend_are_all_handled_in_order() -> None:
    """Also under an eager task factory (I14)."""

    class Client(acp.Client):
        texts: list[str]

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            await anyio.lowlevel.checkpoint()
            self.texts.append(update.content.text)

    client = Client()
    client.texts = []
    names = [str(number) for number in range(3000)]
    async with client_under_test(client) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.send(*(chunk(name) for name in names))
        await peer.answer(request["id"], {"stopReason": "end_turn"})
        await within(turn)
    assert client.texts == names


async def test_three_thousand_sessions_that_suspend_are_all_handled() -> None:
    class Client(acp.Client):
        sessions: list[str]

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            self.sessions.append(session_id)
            await anyio.lowlevel.checkpoint()

    client = Client()
    client.sessions = []
    names = [str(number) for number in range(3000)]
    async with client_under_test(client) as (_, peer):
        await peer.send(*(chunk("x", name) for name in names))
        await peer.request(1, "unknown")
        await peer.receive()
    assert client.sessions == names


async def test_nothing_is_handled_before_initialize_is_answered() -> None:
    class Agent(acp.Agent):
        def __init__(self) -> None:
            self.go = anyio.Event()
            self.seen: list[str] = []

        async def initialize(self, protocol_version: int, **kwargs: Any) -> Any:
            self.seen.append("initialize")
            await self.go.wait()
            self.seen.append("initialized")
            return acp.InitializeResponse(protocol_version=1)

        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            self.seen.append("new")
            return acp.NewSessionResponse(session_id="s")

        async def cancel(self, session_id: str, **kwargs: Any) -> None:
            self.seen.append("cancel")

    agent = Agent()
    async with agent_under_test(agent) as (peer, _):
        await peer.send(
            {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}},
            {"id": 1, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}},
            {"method": "session/cancel", "params": {"sessionId": "s"}},
        )
        await turns()
        assert agent.seen == ["initialize"]
        agent.go.set()
        assert [(await peer.receive())["id"] for _ in range(2)] == [0, 1]
        await turns()
        assert agent.seen == ["initialize", "initialized", "new", "cancel"]


async def test_a_handler_runs_in_one_task_and_in_a_context_of_its_own() -> None:
    variable = contextvars.ContextVar("variable", default="outside")

    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            seen = variable.get()
            variable.set(cwd)
            before = anyio.get_current_task()
            await anyio.lowlevel.checkpoint()
            with anyio.fail_after(5):
                await anyio.lowlevel.checkpoint()
            assert anyio.get_current_task() == before
            assert variable.get() == cwd
            return acp.NewSessionResponse(session_id=seen)

    async with agent_under_test(Agent()) as (peer, _):
        for number in range(3):
            params = {"cwd": f"/{number}", "mcpServers": []}
            await peer.request(number, "session/new", params)
            assert (await peer.receive())["result"]["sessionId"] == "outside"
    assert variable.get() == "outside"


@pytest.mark.asyncio_only
async def test_a_timeout_of_asyncio_inside_a_handler_ends_only_what_it_is_around() -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            before = asyncio.current_task()
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 0.01)
            except asyncio.TimeoutError:
                assert asyncio.current_task() is before
                return acp.NewSessionResponse(session_id="timed out")
            raise AssertionError

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/new", {"cwd": "/", "mcpServers": []})
        assert (await peer.receive())["result"]["sessionId"] == "timed out"


async def test_a_timeout_inside_a_handler_ends_only_what_it_is_around() -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            try:
                with anyio.fail_after(0.01):
                    await anyio.Event().wait()
            except TimeoutError:
                return acp.NewSessionResponse(session_id="timed out")
            raise AssertionError

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/new", {"cwd": "/", "mcpServers": []})
        assert (await peer.receive())["result"]["sessionId"] == "timed out"
