"""What an endpoint does not serve: sessions by halves, refusals of their own, the guard."""

from __future__ import annotations

from typing import Any

import pytest

import acp
from acp import v1, v2
from tests.endpoint.ends import (
    BASELINE,
    agent_of,
    ask,
    each_version,
    facing,
    facing_agent,
    facing_client,
    is_served,
    wire_initialize,
    wire_initialized,
    with_sessions,
)
from tests.sides import until

# Agents that say that they have sessions.


async def test_an_agent_of_version_2_serves_all_that_belongs_to_sessions_or_does_not_start() -> (
    None
):
    given = v2.schema.AgentCapabilities(session={})
    known = v2.Agent.facts.methods.values()
    for left_out in BASELINE:
        wire = next(m.wire for m in known if m.name == left_out and m.side == "agent")
        agent = with_sessions(v2, v2.Agent(capabilities=given), leave_out=(left_out,))
        with pytest.raises(ValueError, match=f"needs handlers for {wire}$"):
            async with facing(agent):
                raise AssertionError
        with pytest.raises(ValueError, match=wire):
            await agent.serve(acp.memory_pair()[0])
        # Where it was not told to say so, it does not.
        partial = with_sessions(v2, v2.Agent(), leave_out=(left_out,))
        async with facing(partial) as (_, peer):
            answer = await ask(peer, "initialize", wire_initialize(v2))
            assert "session" not in answer["result"]["capabilities"]
    with pytest.raises(ValueError, match="session/new, session/list"):
        async with facing(v2.Agent(capabilities=given)):
            raise AssertionError
    # A client serves none of that.
    session = v2.schema.ClientCapabilities(session={})
    async with facing(v2.Client(capabilities=session)) as (connection, _):
        assert connection.protocol_version == 2
    # One without sessions, and those that nothing is known of, may start.
    no_sessions = v2.schema.AgentCapabilities()
    for agent in (v2.Agent(), v2.Agent(capabilities=no_sessions)):
        async with facing_agent(agent, v2) as (_, peer):
            assert await is_served(peer)
    anything = v2.Agent(capabilities=given)
    anything.fallback_request(lambda _: acp.UNHANDLED)
    async with facing_agent(anything, v2) as (_, peer):
        assert await is_served(peer)


async def test_an_agent_whose_own_answer_tells_of_sessions_has_to_serve_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = wire_initialized(v2, {"session": {}})
    for result in (told, v2.schema.InitializeResponse.model_validate(told)):
        agent = v2.Agent()
        agent.initialize(lambda _, result=result: result)
        with_sessions(v2, agent, leave_out=("cancel",))
        async with facing(agent) as (connection, peer):
            error = (await ask(peer, "initialize", wire_initialize(v2)))["error"]
            assert error["code"] == -32603
            assert "needs handlers for session/cancel" in caplog.text
            assert connection.peer_capabilities is None
            caplog.clear()
        complete = v2.Agent()
        complete.initialize(lambda _, result=result: result)
        async with facing(with_sessions(v2, complete)) as (connection, peer):
            assert "result" in await ask(peer, "initialize", wire_initialize(v2))
            assert connection.peer_capabilities is not None
    broken = v2.Agent()
    broken.initialize(lambda _: {"protocolVersion": 2})
    async with facing(broken) as (_, peer):
        error = (await ask(peer, "initialize", wire_initialize(v2)))["error"]
        assert error["code"] == -32603


# Requests with a refusal of their own.


async def test_entities_that_nobody_can_cancel_are_refused_as_such_by_agents_of_version_2() -> None:
    """C-032"""
    cases = {
        "tool_call/cancel": ("the tool call is unknown or not cancellable", "toolCallId"),
        "terminal/cancel": ("the terminal is unknown or not cancellable", "terminalId"),
    }
    async with facing(agent_of(v2)) as (_, peer):
        assert (await ask(peer, "tool_call/cancel", {}))["error"]["code"] == -32600
    async with facing_agent(agent_of(v2), v2) as (_, peer):
        for method, (message, member) in cases.items():
            answer = await ask(peer, method, {"sessionId": "s", member: "x"})
            assert answer["error"] == {"code": -32602, "message": message, "data": {member: "x"}}
            for params in ({member: 1}, {}, []):
                answer = await ask(peer, method, params)
                assert answer["error"] == {"code": -32602, "message": message}
    served = agent_of(v2)
    served.cancel_tool_call(lambda _: v2.schema.CancelToolCallResponse())
    served.cancel_terminal(lambda _: acp.UNHANDLED)
    async with facing_agent(served, v2) as (_, peer):
        params = {"sessionId": "s", "toolCallId": "x"}
        assert (await ask(peer, "tool_call/cancel", params))["result"] == {}
        params = {"sessionId": "s", "terminalId": "x"}
        assert (await ask(peer, "terminal/cancel", params))["error"]["code"] == -32602
    for method, (_, member) in cases.items():
        async with facing_agent(agent_of(v1), v1) as (_, peer):
            answer = await ask(peer, method, {"sessionId": "s", member: "x"})
            assert answer["error"]["code"] == -32601
        async with facing_client(v2.Client(), v2) as (_, peer):
            answer = await ask(peer, method, {"sessionId": "s", member: "x"})
            assert answer["error"]["code"] == -32601


def test_methods_that_are_gone_from_the_protocol_do_not_exist() -> None:
    """C-286"""
    for v in (v1, v2):
        names = {each.wire for each in v.Agent.facts.methods.values()}
        assert not [name for name in names if name.startswith(("nes/", "document/"))]
        for name in ("nes", "position_encodings", "position_encoding"):
            for capabilities in (v.schema.AgentCapabilities(), v.schema.ClientCapabilities()):
                assert not hasattr(capabilities, name)


# The guard.


@each_version
async def test_without_the_guard_requests_are_served_before_initialize(v: Any) -> None:
    agent = agent_of(v, version_guard=False)
    async with facing(agent) as (_, peer):
        answer = await ask(peer, "session/prompt", {"sessionId": "s", "prompt": []})
        assert "result" in answer
    async with facing(agent_of(v)) as (_, peer):
        answer = await ask(peer, "session/prompt", {"sessionId": "s", "prompt": []})
        assert answer["error"]["code"] == -32600


@each_version
async def test_what_the_peer_tells_is_seen_also_where_the_answer_is_deferred(v: Any) -> None:
    agent = v.Agent()
    kept: list[acp.Responder] = []
    agent.initialize(lambda _, ctx: kept.append(ctx.defer()))
    async with facing(agent) as (connection, peer):
        await peer.request(1, "initialize", wire_initialize(v))
        await until(lambda: bool(kept))
        kept.pop().respond(wire_initialized(v))
        assert (await peer.receive())["result"]["protocolVersion"] == connection.protocol_version
        assert connection.peer_capabilities is not None
