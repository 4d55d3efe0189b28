"""Lists with one bad item, and values that this release does not know."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import acp
from acp import schema
from tests.field.wires import each_cut, wired
from tests.raw_peer import chunk, within
from tests.sides import Silent

GOOD = {"name": "ok", "command": "/bin/x", "args": [], "env": []}
BAD: dict[str, Any] = {
    "without a command": {"name": "broken"},
    "a string": "/bin/x",
    "null": None,
    "a list": [],
    "with a bad variable": {**GOOD, "env": [{"name": "A"}]},
    "of another type": {**GOOD, "args": "x"},
    "with half an address": {"type": "http", "name": "h"},
}


class Opening(acp.Agent):
    def __init__(self) -> None:
        self.servers: list[Any] = []

    async def new_session(self, cwd: str, mcp_servers: Any = None, **kwargs: Any) -> Any:
        self.servers.append(mcp_servers)
        return acp.NewSessionResponse(session_id="s")


@pytest.mark.parametrize("bad", list(BAD))
@pytest.mark.parametrize("place", [0, 1, 3])
async def test_a_bad_server_refuses_the_session_and_names_its_place_and_not_its_value(
    bad: str, place: int
) -> None:
    """C36: what the agent would act on is not left out without a word."""
    agent = Opening()
    async with wired("agent", agent) as (_, peer):
        servers: list[Any] = [GOOD] * 3
        servers.insert(place, BAD[bad])
        answer = await peer.exchange(1, "session/new", {"cwd": "/w", "mcpServers": servers})
        assert answer["error"]["code"] == -32602
        places = [fault["loc"] for fault in answer["error"]["data"]["errors"]]
        assert places
        assert all(loc[:2] == ["mcpServers", place] for loc in places)
        assert "/bin/x" not in str(answer)
        answer = await peer.exchange(2, "session/new", {"cwd": "/w", "mcpServers": [GOOD] * 3})
        assert answer["result"] == {"sessionId": "s"}
    assert [[server.name for server in servers] for servers in agent.servers] == [["ok"] * 3]


async def test_servers_that_are_not_told_refuse_the_session() -> None:
    """C36: the schema of version 1 requires them."""
    async with wired("agent", Opening()) as (_, peer):
        answer = await peer.exchange(1, "session/new", {"cwd": "/w"})
        assert (answer["error"]["code"], answer["error"]["data"]["errors"][0]["loc"]) == (
            -32602,
            ["mcpServers"],
        )


async def test_what_refuses_a_session_is_offered_to_the_hook_as_answered() -> None:
    """C36."""
    told: list[acp.Malformed] = []
    async with wired("agent", Opening(), on_malformed=told.append) as (connection, peer):
        params = {"cwd": "/w", "mcpServers": [GOOD, {"name": "broken"}]}
        await peer.exchange(1, "session/new", params)
        counters = connection.stats().counters
    (each,) = told
    assert (each.kind, each.reason, each.answered) == ("params", "missing", True)
    assert each.method == "session/new"
    assert each.errors[0]["loc"] == ("mcpServers", 1, "command")
    assert json.loads(each.data) == params
    assert (counters["malformed_params"], counters["skipped_items"]) == (1, 0)


BAD_METHODS: list[Any] = [{"foo": 1}, 5, None, "x", [], {"id": "a"}]


@each_cut
@pytest.mark.parametrize("bad", BAD_METHODS)
async def test_a_bad_item_of_what_is_only_shown_costs_itself(cut: int | None, bad: Any) -> None:
    """C36."""
    async with wired("client", Silent(), cut=cut) as (agent, peer):
        greeting = peer.start(agent.initialize(1))
        await peer.receive()
        methods = [bad, {"id": "a", "name": "A"}, bad, {"id": "b", "name": "B"}, bad]
        await peer.answer(0, {"protocolVersion": 1, "authMethods": methods})
        assert [method.id for method in (await within(greeting)).auth_methods] == ["a", "b"]
        listing = peer.start(agent.list_sessions())
        await peer.receive()
        await peer.answer(1, {"sessions": [{"sessionId": "a", "cwd": "/"}, bad]})
        sessions = (await within(listing)).sessions
        assert [session.session_id for session in sessions] == ["a"]


async def test_what_is_left_out_of_a_list_is_told_with_its_place_and_rule_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C36: to the hook; the log has one line without any value."""
    told: list[acp.Malformed] = []
    counted: list[tuple[str, int]] = []
    options: dict[str, Any] = {
        "on_malformed": told.append,
        "on_count": lambda name, grown: counted.append((name, grown)),
    }
    async with wired("client", Silent(), **options) as (agent, peer):
        for number in range(2):
            greeting = peer.start(agent.initialize(1))
            await peer.receive()
            methods = [{"foo": "secret-1"}, {"id": "a", "name": "A"}, "secret-2", {"id": "b"}]
            result = {"protocolVersion": 1, "authMethods": methods}
            await peer.answer(number, result)
            assert [method.id for method in (await within(greeting)).auth_methods] == ["a"]
        assert agent.stats().counters["skipped_items"] == 6
    for each in told:
        assert (each.kind, each.method, each.answered) == ("skipped", "initialize", False)
        assert [(error["loc"], error["type"]) for error in each.errors] == [
            (("authMethods", 0, "id"), "missing"),
            (("authMethods", 2), "object_type"),
            (("authMethods", 3, "name"), "missing"),
        ]
        assert (each.reason, each.size) == ("missing", len(each.data))
        assert json.loads(each.data) == result
        assert "secret" not in repr(each)
    assert len(told) == 2
    assert [grown for name, grown in counted if name == "skipped_items"] == [3, 3]
    (warning,) = (r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING)
    assert "'initialize'" in warning
    assert "secret" not in caplog.text


def test_what_a_user_reads_is_read_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    """C36: objects of one's own are no input of a peer."""
    caplog.set_level(0)
    found = schema.InitializeResponse.model_validate(
        {"protocolVersion": 1, "authMethods": [5, {"id": "a", "name": "A"}]}
    )
    assert found.auth_methods is not None
    assert len(found.auth_methods) == 1
    assert caplog.records == []


class Updated(acp.Client):
    def __init__(self) -> None:
        self.updates: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)


LISTS: dict[str, tuple[dict[str, Any], Any]] = {
    "commands": (
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "a", "description": "d"}, {"x": 1}],
        },
        lambda update: [command.name for command in update.available_commands] == ["a"],
    ),
    "entries": (
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "b", "priority": "urgent", "status": "pending"},
                {"content": "a", "priority": "high", "status": "pending"},
            ],
        },
        lambda update: [entry.content for entry in update.entries] == ["a"],
    ),
    "content": (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "content": [
                {"type": "future"},
                {"type": "content", "content": {"type": "text", "text": "done"}},
            ],
        },
        lambda update: [part.content.text for part in update.content] == ["done"],
    ),
    "locations": (
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "x",
            "locations": [{"path": "/a"}, {"line": 1}, {"path": 5}],
        },
        lambda update: [location.path for location in update.locations] == ["/a"],
    ),
    "status": (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "status": "paused",
            "title": "kept",
        },
        lambda update: (update.status, update.title) == (None, "kept"),
    ),
}


@pytest.mark.parametrize("kind", list(LISTS))
async def test_a_bad_part_of_an_update_costs_itself_and_not_the_rest(kind: str) -> None:
    """C36, C45."""
    client = Updated()
    told: list[acp.Malformed] = []
    update, holds = LISTS[kind]
    async with wired("client", client, on_malformed=told.append) as (_, peer):
        params = {"sessionId": "s", "update": update}
        await peer.send({"method": "session/update", "params": params}, chunk("after"))
        assert (await peer.exchange(1, "nobody"))["id"] == 1
    assert [(each.kind, each.method) for each in told] == [("skipped", "session/update")]
    assert {each["loc"][0] for each in told[0].errors} == {"update"}
    assert holds(client.updates[0])
    assert client.updates[1].content.text == "after"


UNKNOWN: list[dict[str, Any]] = [
    {"sessionUpdate": "_acme_widget", "x": 1},
    {"sessionUpdate": "future_thing"},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "video", "uri": "u"}},
    {"sessionUpdate": 5},
    {},
]


@pytest.mark.parametrize("unknown", UNKNOWN)
async def test_an_update_of_a_kind_not_known_here_costs_itself_and_is_told(
    unknown: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """C10: the turn goes on."""
    client = Updated()
    told: list[acp.Malformed] = []
    async with wired("client", client, on_malformed=told.append) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        params = {"sessionId": "s", "update": unknown}
        await peer.send(
            {"method": "session/update", "params": params},
            chunk("after"),
            {"id": request["id"], "result": {"stopReason": "end_turn"}},
        )
        assert (await within(turn)).stop_reason == "end_turn"
    assert [update.content.text for update in client.updates] == ["after"]
    assert [(each.kind, each.method) for each in told] == [("params", "session/update")]
    assert json.loads(told[0].data) == params
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) == 1


async def test_an_option_of_a_kind_not_known_here_is_an_answer_and_not_silence() -> None:
    """C10: the agent learns which."""
    option = {"optionId": "d", "name": "D", "kind": "deny"}
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [option]}
    async with wired("client", Saying()) as (_, peer):
        answer = await peer.exchange(5, "session/request_permission", params)
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"]["errors"][0]["loc"] == ["options", 0, "kind"]


class Saying(acp.Client):
    async def request_permission(self, **kwargs: Any) -> Any:  # type: ignore[override]
        return {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize("reason", ["budget_exceeded", "", 5, None])
async def test_a_stop_reason_not_known_here_is_an_error_and_the_session_goes_on(
    reason: Any,
) -> None:
    """C10: the default keeps the official exception."""
    async with wired("client", Silent()) as (agent, peer):
        for told, wanted in ((reason, None), ("end_turn", "end_turn")):
            turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
            request = await peer.receive()
            await peer.answer(request["id"], {"stopReason": told})
            if wanted is None:
                with pytest.raises(ValueError, match="stopReason"):
                    await within(turn)
            else:
                assert (await within(turn)).stop_reason == wanted
