"""What runs in order, what runs beside it, and who may wait for whom."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, schema
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.field.wires import WIRES, each_cut, each_wire, wired
from tests.raw_peer import beside, chunk, prompt, serving, within

YES = schema.PermissionOption(option_id="y", name="Yes", kind="allow_once")
TOOL = schema.ToolCallUpdate(tool_call_id="t")
ASKED = [acp.text_block("x")]


@asynccontextmanager
async def both(agent: Any, client: Any, wire: str) -> AsyncGenerator[tuple[Any, Any, Any], None]:
    """Two connections of this library: what the client calls, what the agent calls, a group."""
    ours, theirs = WIRES[wire]()
    async with (
        anyio.create_task_group() as tasks,
        serving(AgentSideConnection, agent, theirs) as (to_client, _),
        serving(ClientSideConnection, client, ours) as (to_agent, group),
    ):
        yield to_agent, to_client, group or tasks


class Asking(acp.Agent):
    """Asks its client during everything that it is asked."""

    client: Any

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def ask(self, session: str) -> None:
        await self.client.request_permission(session, TOOL, [YES])
        await self.client.read_text_file(session, "/f")
        await self.client.session_update(session, acp.update_agent_message_text("asked"))
        await self.client.ext_method("deeper", {"session": session})

    async def initialize(self, protocol_version: int, **kwargs: Any) -> Any:
        await self.client.ext_method("deeper", {})
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        await self.ask("s")
        return acp.NewSessionResponse(session_id="s")

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> Any:
        await self.ask(session_id)

    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> Any:
        await self.ask(session_id)

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        await self.ask(session_id)
        return acp.PromptResponse(stop_reason="end_turn")

    async def ext_method(self, method: str, params: Any) -> Any:
        await self.ask("s")
        return {}


class Answering(acp.Client):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def request_permission(self, session_id: str, **kwargs: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return {"outcome": {"outcome": "selected", "optionId": "y"}}

    async def read_text_file(self, session_id: str, path: str, **kwargs: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return acp.ReadTextFileResponse(content=path)

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.seen.append(session_id)

    async def ext_method(self, method: str, params: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return params


CALLS: dict[str, Any] = {
    "initialize": lambda agent: agent.initialize(1),
    "session/new": lambda agent: agent.new_session("/"),
    "session/load": lambda agent: agent.load_session("/", "s"),
    "session/set_mode": lambda agent: agent.set_session_mode("s", "m"),
    "session/prompt": lambda agent: agent.prompt("s", ASKED),
    "an extension": lambda agent: agent.ext_method("x", {}),
}


@each_wire
@pytest.mark.parametrize("call", list(CALLS))
async def test_a_handler_may_ask_the_peer_whatever_it_was_asked_itself(
    wire: str, call: str
) -> None:
    """C07."""
    async with both(Asking(), Answering(), wire) as (agent, _, _group):
        await within(CALLS[call](agent))


@each_wire
async def test_all_of_these_calls_may_run_at_once(wire: str) -> None:
    """C07."""
    async with both(Asking(), Answering(), wire) as (agent, _, group):
        calls = [beside(group, CALLS[call](agent)) for call in [*CALLS] * 5 if call[0] != "i"]
        for call in calls:
            await within(call)


@each_wire
@pytest.mark.parametrize("session", ["s", "another"])
async def test_an_update_handler_may_prompt_and_get_the_answer(wire: str, session: str) -> None:
    """C07: once, from inside the updates of the first turn."""

    class Nesting(Answering):
        agent: Any

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            self.seen.append(session_id)
            if len(self.seen) == 1:
                turn = await self.agent.prompt(session, ASKED)
                self.seen.append(turn.stop_reason)

    client = Nesting()
    async with both(Asking(), client, wire) as (agent, _, _group):
        client.agent = agent
        await within(agent.prompt("s", ASKED))
        with anyio.fail_after(5):
            while "end_turn" not in client.seen:
                await anyio.lowlevel.checkpoint()


@each_wire
async def test_calls_may_nest_from_side_to_side(wire: str) -> None:
    """C07: each handler asks the other side, twenty deep."""

    class Deeper(acp.Agent, acp.Client):
        peer: Any

        async def ext_method(self, method: str, params: Any) -> Any:
            if params["depth"] == 0:
                return {"depth": 0}
            answer = await self.peer.ext_method(method, {"depth": params["depth"] - 1})
            return {"depth": answer["depth"] + 1}

    one, other = Deeper(), Deeper()
    async with both(one, other, wire) as (to_agent, to_client, _):
        one.peer, other.peer = to_client, to_agent
        assert await within(to_agent.ext_method("x", {"depth": 20})) == {"depth": 20}


class Folding(acp.Client):
    """Takes longer for some updates than for others."""

    def __init__(self, delays: list[int]) -> None:
        self.delays = itertools.cycle(delays)
        self.texts: dict[str, list[str]] = {}

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        for _ in range(next(self.delays)):
            await anyio.lowlevel.checkpoint()
        self.texts.setdefault(session_id, []).append(update.content.text)


@each_wire
@each_cut
@pytest.mark.parametrize("delays", [[0], [9, 0], [0, 0, 0, 30], [3, 2, 1, 0, 0]])
async def test_a_prompt_returns_with_all_its_updates_in_order(
    wire: str, cut: int | None, delays: list[int]
) -> None:
    """C08: eight pieces and the answer in one write."""
    client = Folding(delays)
    async with wired("client", client, wire=wire, cut=cut) as (agent, peer):
        turn = peer.start(agent.prompt("s", ASKED))
        request = await peer.receive()
        answer = {"id": request["id"], "result": {"stopReason": "end_turn"}}
        await peer.send(*(chunk(str(number)) for number in range(8)), answer)
        await within(turn)
        assert client.texts["s"] == list("01234567")


@each_cut
async def test_sessions_keep_their_own_order_and_do_not_hold_up_each_other(
    cut: int | None,
) -> None:
    """C08: the answer of a quick session comes while another one still folds."""
    go = anyio.Event()

    class Held(Folding):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            if session_id == "slow":
                await go.wait()
            await super().session_update(session_id, update, **kwargs)

    client = Held([2, 0])
    async with wired("client", client, cut=cut) as (agent, peer):
        turns = {}
        for session in ("slow", "quick"):
            turns[session] = peer.start(agent.prompt(session, ASKED))
            await peer.receive()
        mixed = [chunk(str(n), s) for n in range(8) for s in ("slow", "quick")]
        answers = [{"id": n, "result": {"stopReason": "end_turn"}} for n in range(2)]
        await peer.send(*mixed, *answers)
        await within(turns["quick"])
        assert client.texts == {"quick": list("01234567")}
        assert not turns["slow"].done()
        go.set()
        await within(turns["slow"])
        assert client.texts["slow"] == list("01234567")


class Waiting(acp.Agent):
    """Session `a` waits for a person; everything else is served."""

    client: Any

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        return acp.NewSessionResponse(session_id="n")

    async def list_sessions(self, **kwargs: Any) -> Any:
        return schema.ListSessionsResponse(sessions=[])

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self.cancelled.append(session_id)

    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> None:
        return

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        if session_id == "a":
            await self.client.request_permission("a", TOOL, [YES])
        return acp.PromptResponse(stop_reason="end_turn")


@each_wire
async def test_a_session_that_waits_for_a_person_holds_up_nothing_else(wire: str) -> None:
    """C23."""
    asked, allowed = anyio.Event(), anyio.Event()

    class Person(acp.Client):
        async def request_permission(self, session_id: str, **kwargs: Any) -> Any:
            asked.set()
            await allowed.wait()
            return {"outcome": {"outcome": "selected", "optionId": "y"}}

    agent = Waiting()
    async with both(agent, Person(), wire) as (connection, _, group):
        waiting = beside(group, connection.prompt("a", ASKED))
        await within(asked.wait())
        assert (await within(connection.new_session("/"))).session_id == "n"
        assert (await within(connection.list_sessions())).sessions == []
        assert (await within(connection.prompt("b", ASKED))).stop_reason == "end_turn"
        await within(connection.set_session_mode("a", "m"))
        assert not waiting.done()
        await within(connection.cancel("a"))
        assert (await within(waiting)).stop_reason == "cancelled"
        assert agent.cancelled == ["a"]
        allowed.set()


async def test_many_waiting_sessions_hold_up_nothing_else() -> None:
    """C23: as many as handlers may run, less those that are needed here."""
    limits = Limits(running_handlers=50)
    async with wired("agent", Waiting(), limits=limits) as (_, peer):
        for number in range(45):
            await peer.request(number, "session/prompt", prompt(session="a"))
            assert (await peer.receive())["method"] == "session/request_permission"
        answer = await peer.exchange("new", "session/new", {"cwd": "/", "mcpServers": []})
        assert (answer["id"], answer["result"]["sessionId"]) == ("new", "n")
        answer = await peer.exchange("other", "session/prompt", prompt(session="b"))
        assert answer["result"]["stopReason"] == "end_turn"
