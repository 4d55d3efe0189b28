"""Objects of the other protocol version, and values that are acted on, never get through."""

from __future__ import annotations

import json
from typing import Any

import pytest

import acp
from acp import v1, v2
from tests.endpoint.ends import (
    agent_of,
    ask,
    each_version,
    facing,
    facing_agent,
    facing_client,
    is_served,
    joined,
    prompted,
    update,
    with_sessions,
)
from tests.raw_peer import within


def other_of(v: Any) -> Any:
    return v2 if v is v1 else v1


def request_of(v: Any) -> Any:
    return v.schema.PromptRequest(session_id="s", prompt=[])


@each_version
async def test_objects_of_the_other_version_are_refused_before_anything_is_sent(v: Any) -> None:
    """C-172"""
    other = other_of(v)
    block = other.schema.TextContentBlock(text="x")
    async with facing_client(v.Client(), v, capabilities={"session": {}}) as (connection, peer):
        for give in (
            lambda: connection.request(request_of(other)),
            lambda: connection.prepare(request_of(other)),
            # By the name of a method, too, be it one of the user's.
            lambda: connection.request("session/prompt", request_of(other)),
            lambda: connection.request("_x/any", block),
            lambda: connection.notify_nowait("_x/any", block),
            lambda: connection.notify_nowait(update(other, "x")),
            # Of its own version, and of another method or direction.
            lambda: connection.request("session/list", request_of(v)),
            lambda: connection.request(prompted(v)),
            lambda: connection.notify_nowait(update(v, "x")),
            lambda: connection.request({"sessionId": "s"}),
        ):
            with pytest.raises(TypeError, match=f"in protocol version {v.Client.facts.version}"):
                give()
        with pytest.raises(TypeError):
            await connection.notify(update(other, "x"))
        with pytest.raises(TypeError):
            await connection.initialize(request_of(other))
        # Nothing of that has been sent.
        assert await is_served(peer)
    async with facing_agent(agent_of(v), v) as (connection, peer):
        with pytest.raises(TypeError):
            await connection.notify(update(other, "x"))
        # An agent does not initialize.
        initialize = v.Client.facts.opening(v.Client())
        with pytest.raises(TypeError, match="no request to the client"):
            connection.request(initialize)
        assert await is_served(peer)


@each_version
async def test_classes_derived_from_those_of_the_version_are_of_that_version(v: Any) -> None:
    class Mine(v.schema.PromptRequest):
        __slots__ = ()

    async with joined(agent_of(v), v.Client()) as (_, connection):
        result = await within(connection.request(Mine(session_id="s", prompt=[])))
        assert result == prompted(v)


@each_version
async def test_handlers_for_types_of_the_other_version_are_refused_when_they_are_given(
    v: Any,
) -> None:
    """C-172"""
    other = other_of(v)
    agent = v.Agent()
    for wrong in (other.schema.PromptRequest, other.schema.TextContentBlock, int, v.Agent):
        with pytest.raises(TypeError, match="no request that the agent handles"):
            agent.on_request(wrong)
    agent.on_request(v.schema.PromptRequest)(lambda _: prompted(v))
    assert agent.serves("session/prompt")
    # A union of the schema stands for the method that it is the params of.
    agent.on_request(v.schema.SetSessionConfigOptionRequest)(lambda _: None)
    assert agent.serves("session/set_config_option")


@each_version
async def test_a_result_that_is_none_of_the_method_is_a_fault_of_the_handler(
    v: Any, caplog: pytest.LogCaptureFixture
) -> None:
    other = other_of(v)
    wrong = [
        prompted(other),
        other.schema.TextContentBlock(text="secret"),
        v.schema.NewSessionResponse(session_id="secret"),
    ]
    agent = v.Agent()
    agent.prompt(lambda request: wrong[int(request.session_id)])
    agent.on_request("_x/any")(lambda _: other.schema.TextContentBlock(text="secret"))
    with_sessions(v, agent, leave_out=("prompt",))
    async with facing_agent(agent, v) as (_, peer):
        for number in range(len(wrong)):
            params = {"sessionId": str(number), "prompt": []}
            error = (await ask(peer, "session/prompt", params))["error"]
            assert (error["code"], error["data"]) == (-32603, {"type": "TypeError"})
        assert (await ask(peer, "_x/any"))["error"]["code"] == -32603
        assert await is_served(peer)
    assert caplog.text.count("'session/prompt' failed with TypeError (-32603)") == len(wrong)
    assert "secret" not in caplog.text


@each_version
async def test_results_may_be_plain_data(v: Any) -> None:
    agent = v.Agent()
    plain = json.loads(prompted(v).model_dump_json(by_alias=True, exclude_none=True))
    agent.prompt(lambda _: plain)
    with_sessions(v, agent, leave_out=("prompt",))
    async with joined(agent, v.Client()) as (_, connection):
        assert await within(connection.request(request_of(v))) == prompted(v)


# What is acted on is read strictly, what is shown is not.


@each_version
@pytest.mark.parametrize(
    "bad",
    [
        {"mcpServers": [{"name": "n", "command": 1, "args": [], "env": []}]},
        {"mcpServers": [{"name": "n", "command": "c", "args": [1], "env": []}]},
        {"mcpServers": [{"name": "n", "command": "c", "args": [], "env": [{"name": "n"}]}]},
        {"mcpServers": ["x"]},
        {"mcpServers": {}},
        {"additionalDirectories": [1]},
    ],
    ids=json.dumps,
)
async def test_one_bad_item_of_what_is_acted_on_refuses_the_request(v: Any, bad: Any) -> None:
    """C-284"""
    called: list[Any] = []
    agent = v.Agent()

    @agent.new_session
    async def new_session(request: Any) -> Any:
        called.append(request)
        return v.schema.NewSessionResponse(session_id="s")

    with_sessions(v, agent, leave_out=("new_session",))
    if v is v2:
        bad = json.loads(json.dumps(bad).replace('{"name": "n", "command"', NAMED))
    async with facing_agent(agent, v) as (_, peer):
        params = {"cwd": "/", "mcpServers": [], **bad}
        error = (await ask(peer, "session/new", params))["error"]
        assert error["code"] == -32602
        assert error["data"][0]["loc"][0] == next(iter(bad))
        assert called == []
        # A bad part of what is only shown costs nothing but itself.
        answer = await ask(peer, "session/new", {"cwd": "/", "mcpServers": [], "_meta": 5})
        assert "result" in answer
    assert len(called) == 1
    assert called[0].field_meta is None


NAMED = '{"type": "stdio", "name": "n", "command"'


@each_version
async def test_a_malformed_variant_that_is_known_is_no_unknown_one(v: Any) -> None:
    """C-285"""
    called: list[Any] = []
    agent = v.Agent()

    @agent.prompt
    async def prompt(request: Any) -> Any:
        called.append(request)
        return prompted(v)

    with_sessions(v, agent, leave_out=("prompt",))
    async with facing_agent(agent, v) as (_, peer):
        for block in ({"type": "text"}, {"type": "text", "text": 1}, {"type": "image"}):
            params = {"sessionId": "s", "prompt": [block]}
            assert (await ask(peer, "session/prompt", params))["error"]["code"] == -32602
        unknown = {"sessionId": "s", "prompt": [{"type": "_new", "text": 1}]}
        answer = await ask(peer, "session/prompt", unknown)
        # Version 2 has a place for variants of later releases, version 1 has none.
        assert ("result" in answer) is (v is v2)
    assert len(called) == (v is v2)


async def test_objects_of_the_official_names_are_those_of_version_1() -> None:
    async with facing(v1.Client()) as (connection, peer):
        connection.request(acp.InitializeRequest(protocol_version=1)).detach()
        assert (await peer.receive())["method"] == "initialize"
