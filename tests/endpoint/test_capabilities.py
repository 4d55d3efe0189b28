"""What an endpoint says that it can do, what it lets be sent, and methods that have to be on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import acp
from acp import v1, v2
from tests.endpoint.ends import (
    ask,
    each_version,
    facing,
    facing_agent,
    facing_client,
    wire_initialize,
    with_sessions,
)

FREE: dict[Any, set[str]] = {
    v1: {
        *("authenticate", "initialize", "session/new", "session/prompt", "session/cancel"),
        *("session/set_mode", "session/set_config_option", "session/update"),
        *("session/request_permission", "auth/status_update"),
    },
    v2: {
        *("auth/login", "auth/logout", "initialize", "tool_call/cancel", "terminal/cancel"),
        *("session/update", "session/request_permission", "auth/status_update"),
    },
}
"""Methods that need no capability, by version."""

NEEDED: dict[Any, dict[str, str]] = {
    v1: {
        "session/load": "load_session",
        "session/list": "session_capabilities.list",
        "session/delete": "session_capabilities.delete",
        "session/fork": "session_capabilities.fork",
        "session/archive": "session_capabilities.archive",
        "session/unarchive": "session_capabilities.archive",
        "session/status": "session_capabilities.status",
        "session/options": "session_capabilities.options",
        "session/set_title": "session_capabilities.title",
        "session/resume": "session_capabilities.resume",
        "session/close": "session_capabilities.close",
        "logout": "auth.logout",
        "auth/status": "auth.status",
        "providers/list": "providers",
        "providers/set": "providers",
        "providers/disable": "providers",
        "fs/read_text_file": "fs.read_text_file",
        "fs/write_text_file": "fs.write_text_file",
        "terminal/create": "terminal",
        "terminal/output": "terminal",
        "terminal/release": "terminal",
        "terminal/wait_for_exit": "terminal",
        "terminal/kill": "terminal",
        "elicitation/create": "elicitation",
        "elicitation/complete": "elicitation",
    },
    v2: {
        **dict.fromkeys(
            ("session/new", "session/list", "session/resume", "session/close"), "session"
        ),
        **dict.fromkeys(("session/prompt", "session/cancel"), "session"),
        "session/set_config_option": "session",
        "session/delete": "session.delete",
        "session/fork": "session.fork",
        "session/archive": "session.archive",
        "session/unarchive": "session.archive",
        "session/status": "session.status",
        "session/options": "session.options",
        "session/set_title": "session.title",
        "auth/status": "auth.status",
        "providers/list": "providers",
        "providers/set": "providers",
        "providers/disable": "providers",
        "elicitation/create": "elicitation",
        "elicitation/complete": "elicitation",
    },
}
"""The capability that each other method needs."""

SIDES = pytest.mark.parametrize("side", ["agent", "client"])
FLAGS = ("load_session", "read_text_file", "write_text_file", "terminal")


def methods(v: Any, side: str) -> list[Any]:
    """The methods that a side handles; what MCP servers say is not looked at here."""
    found = v.Agent.facts.methods.values()
    return [each for each in found if each.side == side and each.wire != "mcp/message"]


def camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(each.capitalize() for each in tail)


def told(path: str) -> dict[str, Any]:
    """Capabilities on the wire that have a path and nothing else."""
    *groups, last = path.split(".")
    found: dict[str, Any] = {camel(last): True if last in FLAGS else {}}
    for group in reversed(groups):
        found = {camel(group): found}
    return found


def facing_a(side: str, v: Any, endpoint: Any, capabilities: dict[str, Any]) -> Any:
    """A connection of an endpoint whose peer is an agent, or a client, with capabilities."""
    if side == "agent":
        return facing_client(endpoint, v, capabilities=capabilities)
    return greeted(endpoint, v, capabilities)


@asynccontextmanager
async def greeted(agent: Any, v: Any, capabilities: dict[str, Any]) -> AsyncGenerator[Any, None]:
    """An agent whose client has capabilities."""
    name = "clientCapabilities" if v is v1 else "capabilities"
    async with facing(agent) as (connection, peer):
        answer = await ask(peer, "initialize", {**wire_initialize(v), name: capabilities})
        assert "result" in answer
        yield connection, peer


@each_version
@SIDES
async def test_what_the_peer_does_not_offer_is_not_sent_unless_unchecked(v: Any, side: str) -> None:
    """Each method of both versions against each capability."""
    other = v.Client if side == "agent" else v.Agent
    paths = {NEEDED[v][each.wire] for each in methods(v, side) if each.wire in NEEDED[v]}
    assert {each.wire for each in methods(v, side)} <= FREE[v] | NEEDED[v].keys()
    for path in ("", *sorted(paths)):
        async with facing_a(side, v, other(features={"all"}), told(path) if path else {}) as (
            connection,
            peer,
        ):
            for method in methods(v, side):
                needed = NEEDED[v].get(method.wire)
                allowed = needed is None or f"{path}.".startswith(f"{needed}.")
                assert connection.peer_supports(method.name) is allowed, (path, method)
                assert connection.peer_supports(method.wire) is allowed
                if method.wire == "initialize":
                    continue
                if not allowed:
                    with pytest.raises(acp.UnsupportedByPeer) as caught:
                        await send(connection, method, {})
                    assert caught.value.method == method.wire
                    assert caught.value.capability == needed
                await send(connection, method, {}, unchecked=not allowed)
                assert (await peer.receive())["method"] == method.wire
            assert not path or connection.peer_supports(path)
            assert not connection.peer_supports("no.such.thing")


async def send(connection: Any, method: Any, params: Any, **options: Any) -> None:
    if method.kind == "request":
        connection.request(method.wire, params, **options).detach()
    else:
        await connection.notify(method.wire, params, **options)


@each_version
@SIDES
async def test_unstable_methods_have_to_be_switched_on_to_be_sent(v: Any, side: str) -> None:
    """C-287"""
    other = v.Client if side == "agent" else v.Agent
    for method in methods(v, side):
        if method.stable:
            continue
        path = NEEDED[v].get(method.wire, "")
        async with facing_a(side, v, other(), told(path) if path else {}) as (connection, peer):
            with pytest.raises(RuntimeError, match=f"^{method.wire} is not stable") as caught:
                await send(connection, method, {})
            feature = str(caught.value).split("'")[1]
        async with facing_a(side, v, other(features={feature}), told(path) if path else {}) as (
            connection,
            peer,
        ):
            await send(connection, method, {})
            assert (await peer.receive())["method"] == method.wire


@each_version
@SIDES
async def test_unstable_methods_have_to_be_switched_on_to_be_served(v: Any, side: str) -> None:
    """C-287"""
    kind = v.Agent if side == "agent" else v.Client
    unstable = [each for each in methods(v, side) if not each.stable and each.kind == "request"]
    for feature in ((), ("all",)):
        called: list[str] = []
        endpoint = kind(features=feature)
        for method in unstable:
            endpoint.on_request(method.wire)(noting(called, method.wire))
        if side == "agent":
            with_sessions(v, endpoint)
        opened = facing_agent if side == "agent" else facing_client
        async with opened(endpoint, v) as (_, peer):
            for method in unstable:
                code = (await ask(peer, method.wire, PARAMS))["error"]["code"]
                assert code == (9 if feature else -32601), method
        assert called == ([each.wire for each in unstable] if feature else [])


def noting(called: list[str], name: str) -> Any:
    """A handler that notes that it was called, and answers with an error."""

    def handler(params: Any) -> Any:
        called.append(name)
        raise acp.RequestError(9, "called")

    return handler


PARAMS = {
    "sessionId": "s",
    "cwd": "/",
    "mcpServers": [],
    "title": "t",
    "providerId": "p",
    "apiType": "openai",
    "baseUrl": "u",
}
"""Params that fit each unstable request."""


# What handlers stand for.


@each_version
@SIDES
async def test_handlers_stand_for_the_capabilities_that_they_belong_to(v: Any, side: str) -> None:
    sent_only = {"session/set_config_option", "elicitation/complete"}
    for path in sorted({p for w, p in NEEDED[v].items() if w not in sent_only} - {"session"}):
        wires = [w for w, p in NEEDED[v].items() if p == path and w not in sent_only]
        if {each.wire for each in methods(v, side)}.isdisjoint(wires):
            continue
        endpoint = (v.Agent if side == "agent" else v.Client)(features={"all"})
        if side == "agent" and (v is v2 or "session" not in path):
            with_sessions(v, endpoint)
        for wire in wires:
            if not endpoint.serves(wire):
                endpoint.on_request(wire)(lambda _: None)
        found = await capabilities_of(endpoint, v)
        for step in path.split("."):
            assert camel(step) in found, (path, found)
            found = found[camel(step)]
        assert found in ({}, True)


async def capabilities_of(endpoint: Any, v: Any) -> Any:
    """What an endpoint tells the peer."""
    async with facing(endpoint) as (connection, peer):
        if endpoint.side == "agent":
            answer = await ask(peer, "initialize", wire_initialize(v))
            return answer["result"].get("agentCapabilities" if v is v1 else "capabilities")
        connection.request(endpoint.facts.opening(endpoint)).detach()
        params = (await peer.receive())["params"]
        return params.get("clientCapabilities" if v is v1 else "capabilities")


async def test_a_capability_takes_all_its_handlers(caplog: pytest.LogCaptureFixture) -> None:
    client = v1.Client()
    client.create_terminal(lambda _: None)
    client.terminal_output(lambda _: None)
    assert not (await capabilities_of(client, v1)).get("terminal")
    assert "the capability terminal is not told" in caplog.text
    assert "terminal/kill" in caplog.text
    for method in (client.release_terminal, client.wait_for_terminal_exit, client.kill_terminal):
        method(lambda _: None)
    assert (await capabilities_of(client, v1))["terminal"] is True


@each_version
async def test_capabilities_that_are_given_are_told_as_they_are(v: Any) -> None:
    given = v.schema.AgentCapabilities(auth={"logout": {}} if v is v1 else {})
    agent = v.Agent(capabilities=given)
    agent.list_sessions(lambda _: None)
    found = await capabilities_of(agent, v)
    assert "auth" in found
    assert not found.get("session")
    assert not found.get("sessionCapabilities")


@each_version
async def test_methods_of_an_object_are_handlers_by_their_names(v: Any) -> None:
    class Sessions:
        async def new_session(self, request: Any, ctx: Any) -> Any:
            return v.schema.NewSessionResponse(session_id=f"of {request.cwd}")

        def list_sessions(self, request: Any) -> Any:
            return v.schema.ListSessionsResponse(sessions=[])

        def no_method(self) -> None:
            raise AssertionError

    agent = with_sessions(v, v.Agent().handle_with(Sessions()))
    async with facing_agent(agent, v) as (_, peer):
        answer = await ask(peer, "session/new", {"cwd": "/x", "mcpServers": []})
        assert answer["result"]["sessionId"] == "of /x"
