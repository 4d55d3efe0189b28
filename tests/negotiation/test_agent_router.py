"""One endpoint for both protocol versions, seen from the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

import acp
from acp import v1, v2
from acp.negotiation import AgentRouter, unsupported_protocol_version
from tests.negotiation.served import Seen, ask, initialize, routed
from tests.sides import turns


def both(seen: Seen, **options: Any) -> AgentRouter:
    return AgentRouter(seen.v1, seen.v2, **options)


class Given(acp.Transport):
    """Some chunks, then the end; what is sent is kept."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = list(chunks)
        self.sent: list[bytes] = []

    async def receive(self) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""

    async def send(self, data: bytes | memoryview) -> None:
        self.sent.append(bytes(data))

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("asked", "served"), [(0, 1), (1, 1), (2, 2), (3, 2), (65535, 2)], ids=str)
async def test_the_highest_version_that_is_not_above_the_one_asked_for_serves(
    asked: int, served: int
) -> None:
    """C-191 and C-192: only the agent of that version is started, and answers."""
    seen = Seen()
    async with routed(both(seen)) as client:
        await client.put(initialize(asked))
        answer = await client.receive()
        assert answer["result"]["protocolVersion"] == served
        assert [version for version, _ in seen.asked] == [served]
        await client.put(ask(1, "_test/echo", {"a": 1}))
        assert (await client.receive())["result"] == {"a": 1}


async def test_an_agent_of_version_1_alone_serves_all_as_it_always_did() -> None:
    """C-194."""
    seen = Seen()
    async with routed(AgentRouter(v1=seen.v1)) as client:
        await client.put(initialize(2, capabilities={"auth": {"terminal": {}}}))
        assert (await client.receive())["result"]["protocolVersion"] == 1
        ((version, request),) = seen.asked
        assert (version, request.protocol_version) == (1, 1)
        assert request.client_info.name == "test"
        assert request.client_capabilities.auth.terminal is True


async def test_what_version_2_alone_does_not_serve_is_told_with_what_it_does() -> None:
    """C-192, C-175 and C-197: the rejection is sent, and the connection closed."""
    seen = Seen()
    async with routed(AgentRouter(v2=seen.v2)) as client:
        await client.put(ask("x", "initialize", {"protocolVersion": 1}), "{oops")
        answer = await client.receive()
        assert answer["id"] == "x"
        assert answer["error"]["code"] == -32022
        assert answer["error"]["data"] == {"requested": 1, "supported": [2]}
        assert await client.receive() is None
    assert seen.asked == []


async def test_a_rejected_client_may_try_again_where_that_was_asked_for() -> None:
    """C-197."""
    seen = Seen()
    async with routed(AgentRouter(v2=seen.v2, close_on_rejection=False)) as client:
        await client.put(initialize(1))
        assert (await client.receive())["error"]["code"] == -32022
        await client.put(initialize(2))
        assert (await client.receive())["result"]["protocolVersion"] == 2


async def test_unknown_members_of_an_exact_version_reach_the_agent() -> None:
    """C-193 and C-165: the frame is handed on as it was received."""
    agent = v2.Agent()
    raw: list[bytes] = []

    @agent.initialize
    def _(request: Any, ctx: v2.Context) -> Any:
        raw.append(ctx.raw_params())
        return agent.facts.initialize(agent, request)

    async with routed(AgentRouter(v2=agent)) as client:
        await client.put(initialize(2, future={"deep": [1]}))
        await client.receive()
    assert b'"future": {"deep": [1]}' in raw[0]


async def test_a_later_version_is_read_as_the_one_that_was_chosen() -> None:
    """C-193 and C-159."""
    seen = Seen()
    async with routed(both(seen)) as client:
        await client.put(ask(0, "initialize", {"protocolVersion": 9, "info": {"name": 7}}))
        assert (await client.receive())["result"]["protocolVersion"] == 2
    ((_, request),) = seen.asked
    assert (request.protocol_version, request.info.name) == (2, "unknown")


@pytest.mark.parametrize(
    "first",
    [ask(0, "session/new", {"cwd": "/", "mcpServers": []}), initialize("2"), initialize(-1)],
    ids=["another method", "no number", "no version"],
)
async def test_what_selects_nothing_goes_to_version_1_unchanged_and_stays_there(
    first: dict[str, Any],
) -> None:
    """C-195."""
    seen = Seen()
    async with routed(both(seen)) as client:
        await client.put(first)
        assert (await client.receive())["error"]["code"] in (-32600, -32602)
        await client.put(initialize(2))
        assert (await client.receive())["result"]["protocolVersion"] == 1


async def test_a_notification_before_anything_else_selects_version_1() -> None:
    """C-195."""
    seen = Seen()
    async with routed(both(seen)) as client:
        await client.put({"jsonrpc": "2.0", "method": "_test/note"}, initialize(2))
        assert (await client.receive())["result"]["protocolVersion"] == 1


async def test_what_is_no_message_has_its_own_error_and_selects_nothing() -> None:
    """C-195 and C-069: malformed frames are answered, responses ignored."""
    seen = Seen()
    response = {"jsonrpc": "2.0", "id": 7, "result": {}}
    async with routed(both(seen)) as client:
        await client.put("{oops", "17", "", response, [response], "[]")
        codes = [(await client.receive())["error"]["code"] for _ in range(3)]
        assert codes == [-32700, -32600, -32600]
        await client.put(initialize(2))
        assert (await client.receive())["result"]["protocolVersion"] == 2


async def test_version_2_alone_wants_initialize_first() -> None:
    """C-187, C-188 and C-196: notifications are ignored, requests refused."""
    seen = Seen()
    async with routed(AgentRouter(v2=seen.v2, close_on_rejection=False)) as client:
        await client.put({"jsonrpc": "2.0", "method": "_test/note"}, ask(1, "session/new"))
        error = (await client.receive())["error"]
        assert (error["code"], error["data"]) == (
            -32600,
            "first ACP request must be `initialize`",
        )
        await client.put([{"jsonrpc": "2.0", "method": "_test/note"}, initialize(2, 2)])
        ((answer),) = await client.receive()
        assert (answer["id"], answer["error"]["code"]) == (2, -32600)
        assert answer["error"]["data"] == "first ACP message must be a `initialize` request"
        await client.put(initialize("no version", 3))
        assert (await client.receive())["error"]["code"] == -32602


async def test_a_batch_that_begins_with_initialize_is_handed_on_whole() -> None:
    """C-068: responses before it do not count, and the replies leave together."""
    seen = Seen()
    response = {"jsonrpc": "2.0", "id": 7, "result": {}}
    new = ask(2, "session/new", {"cwd": "/", "mcpServers": []})
    async with routed(both(seen)) as client:
        await client.put([response, initialize(2, 1), 17, new])
        answers = await client.receive()
    assert [answer["id"] for answer in answers] == [1, None, 2]
    assert answers[0]["result"]["protocolVersion"] == 2
    assert answers[1]["error"]["code"] == -32600
    assert answers[2]["result"]["sessionId"] == "s"


async def test_a_rejected_batch_answers_each_request_under_its_id_in_order() -> None:
    """C-070."""
    seen = Seen()
    note = {"jsonrpc": "2.0", "method": "_test/note"}
    async with routed(AgentRouter(v2=seen.v2)) as client:
        await client.put([initialize(1, "a"), 17, note, ask("b", "session/new")])
        answers = await client.receive()
        assert [answer["id"] for answer in answers] == ["a", None, "b"]
        assert [answer["error"]["code"] for answer in answers] == [-32022, -32600, -32022]
        assert await client.receive() is None
    assert seen.asked == []


@pytest.mark.parametrize("version", [1, 2])
async def test_what_refuses_arrays_may_be_initialized_behind_a_refused_one(version: int) -> None:
    """C-073 and C-074: also before initialization, by the agent that it selects."""
    seen = Seen(batches="reject")
    async with routed(both(seen)) as client:
        for _ in range(2):
            await client.put([initialize(version, "a")])
            answer = await client.receive()
            assert answer["id"] is None
            assert answer["error"]["code"] == -32600
        assert seen.asked == []
        await client.put(initialize(version, "b"))
        assert (await client.receive())["result"]["protocolVersion"] == version
        await client.put([ask("c", "session/new")])
        assert (await client.receive())["error"]["code"] == -32600
        await client.put(ask("d", "_test/echo", {"x": 1}))
        assert (await client.receive())["result"] == {"x": 1}


async def test_a_null_id_is_answered_by_version_1_and_refused_by_version_2() -> None:
    """C-023 and C-022."""
    for version, code in ((1, None), (2, -32600)):
        seen = Seen()
        async with routed(both(seen)) as client:
            await client.put(initialize(version, None))
            answer = await client.receive()
            assert answer["id"] is None
            assert answer.get("error", {}).get("code") == code
            assert len(seen.asked) == (code is None)


async def test_a_repeated_initialize_is_the_chosen_agents_to_judge() -> None:
    """C-198, C-155 and C-164."""
    for version, again in ((1, 1), (2, 2)):
        seen = Seen()
        async with routed(both(seen)) as client:
            await client.put(initialize(version))
            await client.receive()
            await client.put(initialize(version, 1))
            assert (await client.receive())["result"]["protocolVersion"] == again
    async with routed(both(Seen())) as client:
        await client.put(initialize(2))
        await client.receive()
        await client.put(initialize(1, 1))
        assert (await client.receive())["error"]["code"] == -32022


async def test_agents_are_added_one_by_one_and_only_where_they_fit() -> None:
    """C-200 and C-139."""
    seen = Seen()
    router = AgentRouter(v1=seen.v1)
    assert router.versions == [1]
    router.add(seen.v2)
    assert router.versions == [1, 2]
    with pytest.raises(ValueError, match="one for each"):
        router.add(v1.Agent())
    with pytest.raises(ValueError, match="agents"):
        AgentRouter(v1.Client())  # pyright: ignore[reportArgumentType]
    async with routed(router) as client:
        await client.put(initialize(2))
        assert (await client.receive())["result"]["protocolVersion"] == 2


async def test_a_router_without_agents_refuses_everything() -> None:
    """C-189."""
    async with routed(AgentRouter()) as client:
        await client.put(initialize(2))
        answer = await client.receive()
        assert answer["error"]["code"] == -32022
        assert answer["error"]["data"] == {"requested": 2, "supported": []}


async def test_input_that_ends_before_anything_was_chosen_ends_cleanly() -> None:
    async with routed(both(Seen())) as client:
        await client.send_text('{"jsonrpc":"2.0","id":1')


SHORT = acp.Limits(max_message_bytes=1000)


async def test_a_first_line_over_the_limit_costs_itself_and_no_other() -> None:
    """C-005: a request gets its error under its own id, and nothing is chosen by it."""
    async with routed(both(Seen(), limits=SHORT)) as client:
        for _ in range(50):
            await client.send_text("x" * 1000)
        await client.put("", ask(7, "_test/echo", {"text": "x" * 1000}), initialize(2))
        assert [(await client.receive())["error"]["code"] for _ in range(2)] == [-32600, -32600]
        assert (await client.receive())["result"]["protocolVersion"] == 2


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["newline", "carriage return"])
async def test_a_first_line_of_exactly_the_limit_is_read(ending: str) -> None:
    """C-005."""
    line = json.dumps(initialize(2, title=""))
    line = line.replace('"title": ""', f'"title": "{"x" * (1000 - len(line))}"')
    assert len(line) == 1000
    async with routed(both(Seen(), limits=SHORT)) as client:
        # In two chunks, so that the limit lies between what was read and its end.
        await client.send_text(line + ending[:-1])
        await turns()
        await client.send_text(ending[-1])
        assert (await client.receive())["result"]["protocolVersion"] == 2


async def test_a_first_line_over_the_limit_that_ends_with_the_input_is_answered() -> None:
    """C-002 and C-005."""
    end = Given(b"x" * 900, b"x" * 900)
    await both(Seen(), limits=SHORT).serve(end)
    (answer,) = end.sent
    assert json.loads(answer)["error"]["code"] == -32600


def test_endpoints_of_ones_own_can_raise_the_same_error() -> None:
    """C-175."""
    error = unsupported_protocol_version(1, [2, 3])
    assert (error.code, error.data) == (-32022, {"requested": 1, "supported": [2, 3]})
