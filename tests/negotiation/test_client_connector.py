"""One client for agents of either protocol version."""

from __future__ import annotations

import json
import pickle
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v1, v2
from acp.negotiation import AgentRouter, ClientConnector
from tests.negotiation.served import Seen
from tests.raw_peer import BOUND, RawPeer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anyio.abc import TaskGroup


class Clients:
    """Factories of clients and transports that count, and the agent on the other end."""

    def __init__(self, group: TaskGroup, serve: Callable[[Any], Any]) -> None:
        self._group = group
        self._serve = serve
        self.opened = 0
        self.made = {1: 0, 2: 0}
        self.v1_options: dict[str, Any] = {}
        self.v2_options: dict[str, Any] = {}
        self.updates: list[Any] = []

    def open(self) -> acp.Transport:
        here, there = acp.memory_pair()
        self.opened += 1
        self._group.start_soon(self._serve, there)
        return here

    def v1(self) -> v1.Client:
        self.made[1] += 1
        client = v1.Client("both", "1", **self.v1_options)
        client.session_update(self.updates.append)
        return client

    def v2(self) -> v2.Client:
        self.made[2] += 1
        client = v2.Client("both", "1", **self.v2_options)
        client.session_update(self.updates.append)
        return client

    def connector(self) -> ClientConnector:
        return ClientConnector(self.v1, self.v2)


@asynccontextmanager
async def clients(serve: Callable[[Any], Any]) -> AsyncGenerator[Clients, None]:
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as group:
            yield Clients(group, serve)
            group.cancel_scope.cancel()


class Scripted:
    """An agent that answers each line with what a function makes of it."""

    def __init__(self, answer: Callable[[Any], list[dict[str, Any]]]) -> None:
        self._answer = answer
        self.received: list[Any] = []
        self.closed = 0

    async def __call__(self, transport: acp.Transport) -> None:
        await transport.open()
        peer = RawPeer(transport)
        while (message := await peer.receive()) is not None:
            self.received.append(message)
            answers = self._answer(message)
            if not answers:
                break
            await peer.send(*answers)
        self.closed += 1
        await transport.close()


def result(message: Any, **members: Any) -> dict[str, Any]:
    return {"id": message["id"], "result": members}


V1_UPDATE = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": "early"},
}


def chosen_version_1(message: Any) -> list[dict[str, Any]]:
    """An agent of version 1: it answers with that, and speaks it."""
    if message["method"] == "initialize":
        update = {"method": "session/update", "params": {"sessionId": "s", "update": V1_UPDATE}}
        return [result(message, protocolVersion=1, agentCapabilities={}), update]
    return [result(message, sessionId="s")]


async def test_with_an_agent_of_version_2_only_that_client_is_made() -> None:
    """C-201 and C-204."""
    seen = Seen()
    async with clients(AgentRouter(seen.v1, seen.v2).serve) as made:
        async with made.connector().connect(made.open) as connection:
            assert connection.protocol_version == 2
            assert isinstance(connection, v2.Connection)
            assert connection.peer_info.name == "two"
            echoed = await connection.request("_test/echo", {"a": 1})
            assert echoed == {"a": 1}
        assert (made.made, made.opened) == ({1: 0, 2: 1}, 1)
        assert [version for version, _ in seen.asked] == [2]


async def test_the_same_connection_goes_on_where_both_would_have_asked_the_same() -> None:
    """C-206, C-207 and C-208: one transport, one `initialize`; what follows it is kept."""
    agent = Scripted(chosen_version_1)
    async with clients(agent) as made:
        made.v1_options = {
            "capabilities": v1.schema.ClientCapabilities(session={"configOptions": {"boolean": {}}})
        }
        async with made.connector().connect(made.open) as connection:
            assert isinstance(connection, v1.Connection)
            answer = await connection.request(v1.schema.NewSessionRequest(cwd="/", mcp_servers=[]))
            assert answer.session_id == "s"
            assert [update.update.content.text for update in made.updates] == ["early"]
        assert (made.made[2], made.opened) == (1, 1)
        methods = [message["method"] for message in agent.received]
        assert methods == ["initialize", "session/new"]
        assert agent.received[0]["params"]["protocolVersion"] == 2


async def test_a_new_connection_is_made_where_the_clients_would_have_asked_otherwise() -> None:
    """C-209: both are dropped, the factories are called again, version 1 asks for itself."""
    agent = Scripted(chosen_version_1)
    async with clients(agent) as made:
        made.v1_options = {
            "capabilities": v1.schema.ClientCapabilities(
                fs={"readTextFile": True, "writeTextFile": False}
            )
        }
        async with made.connector().connect(made.open) as connection:
            assert isinstance(connection, v1.Connection)
        assert made.opened == 2
        assert made.made == {1: 2, 2: 1}
        asked = [message["params"]["protocolVersion"] for message in agent.received]
        assert asked == [2, 1]
        assert agent.received[1]["params"]["clientCapabilities"]["fs"]["readTextFile"] is True
        assert agent.closed >= 1


async def test_what_the_objects_of_version_2_do_not_keep_prevents_reuse_and_nothing_else() -> None:
    """C-207: the request itself is fine."""
    agent = Scripted(chosen_version_1)
    async with clients(agent) as made:
        made.v1_options = {
            "capabilities": v1.schema.ClientCapabilities(
                session={"configOptions": {"boolean": {}}}, auth={"terminal": True}
            )
        }
        made.v2_options = {
            "capabilities": v2.schema.ClientCapabilities.model_validate(
                {"auth": {"terminal": {"_meta": {"x": 1}}}}
            )
        }
        async with made.connector().connect(made.open) as connection:
            assert isinstance(connection, v1.Connection)
        assert made.opened == 2


async def test_a_refused_initialize_is_the_callers_error_and_no_other_is_tried() -> None:
    """C-205."""

    def refuse(message: Any) -> list[dict[str, Any]]:
        return [{"id": message["id"], "error": {"code": -32000, "message": "Log in first"}}]

    agent = Scripted(refuse)
    async with clients(agent) as made:
        with pytest.raises(acp.RequestError) as caught:
            async with made.connector().connect(made.open):
                pass
        assert caught.value.code == -32000
        assert (made.made, made.opened) == ({1: 0, 2: 1}, 1)


async def test_an_agent_that_leaves_before_it_answers_is_told_as_such() -> None:
    """C-203."""
    agent = Scripted(lambda message: [])
    async with clients(agent) as made:
        with pytest.raises(acp.ConnectionClosed):
            async with made.connector().connect(made.open):
                pass
        assert made.opened == 1


@pytest.mark.parametrize("selected", [1, 7])
async def test_a_version_without_a_client_is_a_mismatch_that_lists_what_there_is(
    selected: int,
) -> None:
    """C-210, C-168 and C-169: the connection is closed."""
    answer: dict[str, Any] = {
        "protocolVersion": selected,
        "agentInfo": {"name": "canary", "version": "9"},
        "_meta": {"deep": [{"canary": 1.50}]},
    }
    agent = Scripted(lambda message: [result(message, **answer)])
    async with clients(agent) as made:
        with pytest.raises(acp.VersionMismatch) as caught:
            async with ClientConnector(v2=made.v2).connect(made.open):
                pass
        assert (caught.value.code, caught.value.selected) == (-32600, selected)
        assert caught.value.supported == (selected,)
        assert str(selected) in str(caught.value)
        # Nothing of the answer is lost, and its text shows none of it.
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert error.response["protocolVersion"] == selected
            assert error.response["agentInfo"] == {"name": "canary", "version": "9"}
            assert error.response["_meta"] == {"deep": [{"canary": 1.50}]}
            assert "canary" not in str(error) + repr(error)
        while not agent.closed:
            await anyio.sleep(0.001)


async def test_an_agent_that_serves_later_versions_only_says_which() -> None:
    """C-175 and C-211: a client of version 1 alone learns what the agent speaks."""
    seen = Seen()
    async with clients(AgentRouter(v2=seen.v2).serve) as made:
        with pytest.raises(acp.VersionMismatch) as caught:
            async with ClientConnector(v1=made.v1).connect(made.open):
                pass
        assert (caught.value.code, caught.value.supported) == (-32022, (2,))
        assert caught.value.response is None
        assert made.opened == 1


async def test_with_version_1_alone_it_is_asked_for_at_once() -> None:
    """C-211."""
    seen = Seen()
    async with clients(AgentRouter(seen.v1, seen.v2).serve) as made:
        async with ClientConnector(v1=made.v1).connect(made.open) as connection:
            assert isinstance(connection, v1.Connection)
        assert (made.made, made.opened) == ({1: 1, 2: 0}, 1)


async def test_an_answer_inside_an_array_ends_the_attempt() -> None:
    """C-071."""

    async def serve(transport: acp.Transport) -> None:
        await transport.open()
        message = await RawPeer(transport).receive()
        info = {"name": "a", "version": "1"}
        answer = result(message, protocolVersion=2, info=info)
        await transport.send(json.dumps([{"jsonrpc": "2.0", **answer}]).encode() + b"\n")
        await transport.receive()
        await transport.close()

    async with clients(serve) as made:
        with pytest.raises(acp.ConnectionClosed) as caught:
            async with made.connector().connect(made.open):
                pass
        assert "separate messages" in str(caught.value.__cause__)


def test_a_connector_needs_a_client() -> None:
    """C-190."""
    with pytest.raises(ValueError, match="no configured ACP protocol implementations"):
        ClientConnector().connect(lambda: acp.memory_pair()[0])


async def test_leaving_the_block_closes_and_keeps_its_exception() -> None:
    seen = Seen()
    async with clients(AgentRouter(seen.v1, seen.v2).serve) as made:
        with pytest.raises(KeyError):
            async with made.connector().connect(made.open) as connection:
                raise KeyError
        with pytest.raises(acp.ConnectionClosed):
            await connection.request("_test/echo", {})
