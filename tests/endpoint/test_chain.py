"""The handlers of an endpoint as one chain: their order, declining, altering, low-level ones."""

from __future__ import annotations

from typing import Any

import pytest

import acp
from acp import v1, v2
from tests.endpoint.ends import (
    Seen,
    agent_of,
    ask,
    declining,
    each_link,
    each_version,
    facing_agent,
    facing_client,
    is_served,
    text_of,
    wire_update,
    with_sessions,
)
from tests.sides import until

# Order.


@each_link
@each_version
async def test_handlers_are_asked_in_the_order_in_which_they_were_given(v: Any, link: str) -> None:
    """C-111"""
    seen: list[str] = []
    agent, other = v.Agent(), v.Agent()
    agent.on_request("_x/a")(declining(seen, "first"))
    agent.include(other)
    agent.on_request("_x/a")(declining(seen, "last"))
    # An included endpoint stands where it was included, with what it is given later, too.
    other.on_request("_x/a")(declining(seen, "included"))
    other.on_request("_x/b")(declining(seen, "never"))

    @agent.fallback_request
    async def fallback(params: Any, ctx: Any) -> Any:
        return {"seen": seen, "method": ctx.method}

    async with facing_agent(agent, v, link) as (connection, peer):
        with connection.handler(Added(seen, "added")):
            answer = await ask(peer, "_x/a")
    assert answer["result"] == {"seen": ["first", "included", "last", "added"], "method": "_x/a"}


@each_version
async def test_an_endpoint_that_is_included_in_front_stands_there_alone(v: Any) -> None:
    seen: list[str] = []
    agent, other = v.Agent(), v.Agent()
    other.on_request("_x/a")(declining(seen, "other"))
    agent.on_request("_x/a")(declining(seen, "own"))
    agent.include(other)
    agent.include(other, first=True)
    async with facing_agent(agent, v, "memory") as (_, peer):
        assert (await ask(peer, "_x/a"))["error"]["code"] == -32601
    assert seen == ["other", "own"]


class Added:
    """A low-level handler that notes that it was asked, and declines."""

    def __init__(self, seen: list[str], name: str) -> None:
        self.seen = seen
        self.name = name

    async def handle(self, message: acp.Message, ctx: Any) -> acp.Unhandled:
        self.seen.append(self.name)
        return acp.UNHANDLED


async def test_low_level_handlers_have_their_place_among_the_typed_ones() -> None:
    """C-111, C-117"""
    seen: list[str] = []
    client = v1.Client()
    client.session_update(declining(seen, "typed"))
    client.add_handler(Added(seen, "low"))
    client.session_update(declining(seen, "typed again"))
    client.fallback_notification(lambda _: seen.append("fallback"))
    async with facing_client(client, v1) as (_, peer):
        await peer.send(wire_update("x"))
        assert await is_served(peer)
    # The last one is about the request that asks whether it is served.
    assert seen == ["typed", "low", "typed again", "fallback", "low"]


async def test_added_handlers_are_asked_in_the_order_in_which_they_were_added() -> None:
    """C-111"""
    seen: list[str] = []
    async with facing_client(v2.Client(), v2) as (connection, peer):
        guards = [connection.handler(Added(seen, str(number))) for number in range(5)]
        guards[2].remove()
        assert await is_served(peer)
        for guard in guards:
            guard.remove()
        assert await is_served(peer)
    assert seen == ["0", "1", "3", "4"]


@each_version
async def test_the_endpoints_own_initialize_comes_behind_everything(v: Any) -> None:
    """C-111"""
    seen = Seen()
    agent = agent_of(v)
    agent.add_handler(seen)
    agent.initialize(declining([], "typed"))
    async with facing_agent(agent, v) as (connection, _):
        assert connection.peer_capabilities is not None
    assert seen.messages == [("request", "initialize")]


# Declining.


@each_version
async def test_what_a_handler_alters_is_what_the_next_ones_see(v: Any) -> None:
    """C-112"""
    agent = v.Agent()

    @agent.on_request("_x/add")
    async def first(params: Any) -> Any:
        return acp.unhandled({**params, "first": 1})

    class Second:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            if message.kind != "request" or not message.method.startswith("_x"):
                return acp.UNHANDLED
            assert message.raw_params is None
            return acp.unhandled(message.replace(params={**message.params, "second": 2}))

    agent.add_handler(Second())

    @agent.on_request("_x/add", params=dict)
    def last(params: dict[str, Any]) -> Any:
        return params

    async with facing_agent(agent, v) as (_, peer):
        answer = await ask(peer, "_x/add", {"zero": 0})
    assert answer["result"] == {"zero": 0, "first": 1, "second": 2}


@each_version
async def test_a_message_may_become_one_of_another_method(v: Any) -> None:
    """C-112"""
    agent = v.Agent()
    seen: list[Any] = []

    class Rename:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            if message.method != "_x/start":
                return acp.UNHANDLED
            return acp.unhandled(message.replace(method="session/new"))

    agent.on_request("_x/start")(declining(seen, "before"))
    # In front of what renames: not asked again.
    agent.new_session(declining(seen, "missed"))
    agent.add_handler(Rename())
    with_sessions(v, agent, leave_out=("new_session",))

    @agent.new_session
    async def new_session(request: Any) -> Any:
        seen.append((type(request), request.cwd))
        return v.schema.NewSessionResponse(session_id="renamed")

    async with facing_agent(agent, v) as (_, peer):
        answer = await ask(peer, "_x/start", {"cwd": "/", "mcpServers": []})
        assert answer["result"]["sessionId"] == "renamed"
        # Params that do not fit the method that it has become are refused as those of any other.
        broken = await ask(peer, "_x/start", {"cwd": 1, "mcpServers": []})
    assert broken["error"]["code"] == -32602
    assert seen == ["before", (v.schema.NewSessionRequest, "/"), "before"]


async def test_params_of_the_protocol_can_be_given_as_json_and_as_objects() -> None:
    """C-112"""
    seen: list[Any] = []

    class Alter:
        def __init__(self, params: Any) -> None:
            self.params = params

        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            return acp.unhandled(message.replace(params=self.params))

    other = wire_update("altered")["params"]
    for params in (other, v1.schema.SessionNotification.model_validate(other)):
        client = v1.Client()
        client.add_handler(Alter(params))
        client.session_update(lambda notification: seen.append(text_of(notification)))
        async with facing_client(client, v1) as (_, peer):
            await peer.send(wire_update("sent"))
            await until(lambda: bool(seen))
        assert seen.pop() == "altered"


async def test_that_a_message_is_to_wait_counts_whichever_handler_said_so() -> None:
    """C-112"""
    agent = v1.Agent()
    taken: list[Any] = []

    @agent.on_request("_x/wait")
    async def asks(params: Any) -> Any:
        return acp.unhandled({"altered": True}, retry=True)

    agent.on_request("_x/wait")(declining([], "says nothing of it"))

    class Take:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            taken.append(message.params)
            return {"taken": ctx.request_id}

    async with facing_agent(agent, v1) as (connection, peer):
        await peer.request(7, "_x/wait", {})
        assert await is_served(peer)
        with connection.handler(Take()):
            answer = await peer.receive()
    assert answer["id"] == 7
    assert answer["result"] == {"taken": 7}
    assert taken == [{"altered": True}]


@each_version
async def test_what_returns_nothing_has_handled_the_message(v: Any) -> None:
    """C-113"""
    seen: list[str] = []
    agent = v.Agent()
    for name in ("one", "two"):
        agent.on_request("_x/request")(lambda _, name=name: seen.append(name))
        agent.on_notification("_x/note")(lambda _, name=name: seen.append(name))
    async with facing_agent(agent, v) as (_, peer):
        assert (await ask(peer, "_x/request"))["result"] is None
        await peer.notify("_x/note")
        assert await is_served(peer)
    assert seen == ["one", "one"]


@each_version
async def test_returning_nothing_where_the_result_has_members_is_a_fault_of_the_handler(
    v: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agent = v.Agent()
    agent.list_sessions(lambda _: None)
    agent.close_session(lambda _: None)
    with_sessions(v, agent, leave_out=("list_sessions", "close_session"))
    async with facing_agent(agent, v) as (_, peer):
        answer = await ask(peer, "session/list")
        assert answer["error"] == {
            "code": -32603,
            "message": "Internal error",
            "data": {"type": "TypeError"},
        }
        # One without required members is an empty one.
        assert (await ask(peer, "session/close", {"sessionId": "s"}))["result"] == {}
    assert "'session/list' failed with TypeError" in caplog.text


@each_version
async def test_params_that_do_not_fit_a_handler_end_the_chain(v: Any) -> None:
    """C-114"""
    seen: list[str] = []
    agent = v.Agent()
    agent.new_session(declining(seen, "typed"))
    agent.new_session(declining(seen, "typed again"))
    agent.fallback_request(declining(seen, "fallback"))
    with_sessions(v, agent, leave_out=("new_session",))
    async with facing_agent(agent, v) as (_, peer):
        answer = await ask(peer, "session/new", {"mcpServers": []})
        missing = {"loc": ["cwd"], "type": "missing", "message": "a required member is missing"}
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"] == [missing]
        assert seen == []
        assert (await ask(peer, "session/new", {"cwd": "/", "mcpServers": []}))["error"]
    assert seen == ["typed", "typed again", "fallback"]


async def test_a_low_level_handler_sees_what_does_not_fit_before_that_ends_the_chain() -> None:
    """C-114"""
    agent = v1.Agent()
    seen: list[Any] = []

    class Raw:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            if message.method != "session/new":
                return acp.UNHANDLED
            seen.append(message.raw_params)
            if message.raw_params == b'{"take": 1}':
                return {"sessionId": "raw"}
            return acp.UNHANDLED

    agent.add_handler(Raw())
    agent.new_session(declining([], "typed"))
    async with facing_agent(agent, v1) as (_, peer):
        answer = await ask(peer, "session/new", {"take": 1})
        assert answer["result"] == {"sessionId": "raw"}
        assert (await ask(peer, "session/new", {"take": 2}))["error"]["code"] == -32602
    assert seen == [b'{"take": 1}', b'{"take": 2}']
