"""A program between a client and an agent, made of two endpoints: how it ends, what it passes on.

Owns two chains of the same form, `client - middle - middle - agent`, of which both ends are written
by hand. A middle asks each request again and forwards the answer.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v1, v2
from tests.endpoint.session_peers import each_version
from tests.raw_peer import BOUND, RawPeer, within
from tests.sides import until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

QUICK = acp.Limits(closing=0.1)


class Passing:
    """Passes on every message as it was received, whatever is in it."""

    def __init__(self, middle: Middle, side: str) -> None:
        self.middle = middle
        self.side = side

    async def handle(self, message: acp.Message, ctx: Any) -> Any:
        if self.middle.failing:
            raise ZeroDivisionError
        onward = getattr(self.middle, self.side)
        params = None if message.raw_params is None else json.loads(message.raw_params)
        if message.kind == "notification":
            await onward.notify(message.method, params, unchecked=True)
        else:
            asked = onward.request(message.method, params, unchecked=True)
            asked.forward_to(ctx.defer())


class Middle:
    """An agent to one side and a client to the other."""

    def __init__(self, module: Any) -> None:
        self.agent = module.Agent(limits=QUICK, version_guard=False)
        self.client = module.Client(limits=QUICK, version_guard=False)
        self.up: Any = None
        self.down: Any = None
        self.failing = False
        self.agent.add_handler(Passing(self, "up"))
        self.client.add_handler(Passing(self, "down"))

    async def run(self, down: acp.Transport, up: acp.Transport) -> None:
        """Until one of the sides ends, which ends the other."""
        async with (
            self.client.connect(up) as self.up,
            self.agent.connect(down) as self.down,
            anyio.create_task_group() as group,
        ):
            group.start_soon(self._end, self.up, group)
            group.start_soon(self._end, self.down, group)

    async def _end(self, connection: Any, group: Any) -> None:
        await connection.wait_closed()
        group.cancel_scope.cancel()


@asynccontextmanager
async def chain(
    module: Any, length: int = 2
) -> AsyncGenerator[tuple[RawPeer, RawPeer, list[Middle], Any], None]:
    """The hand of a client, the hand of an agent, and what is between; they have to end in time."""
    pairs = [acp.memory_pair() for _ in range(length + 1)]
    middles = [Middle(module) for _ in range(length)]
    await pairs[0][0].open()
    await pairs[-1][1].open()
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as group:
            for number, middle in enumerate(middles):
                group.start_soon(middle.run, pairs[number][1], pairs[number + 1][0])
            await until(lambda: all(each.down is not None for each in middles))
            client, agent = RawPeer(pairs[0][0], group), RawPeer(pairs[-1][1], group)
            yield client, agent, middles, group
            await client.transport.close()
            await agent.transport.close()


def prompt_of(version: int) -> dict[str, Any]:
    prompt = [{"type": "text", "text": "x"}]
    return {"sessionId": "s", "prompt": prompt}


def update(words: str) -> dict[str, Any]:
    content = {"type": "text", "text": words}
    told = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content}
    return {"method": "session/update", "params": {"sessionId": "s", "update": told}}


def words_of(message: Any) -> str:
    return message["params"]["update"]["content"]["text"]


@each_version
async def test_an_agent_that_leaves_in_the_middle_of_a_prompt_ends_the_whole_chain(
    version: int,
) -> None:
    """C41: its last messages arrive, the request is answered with an error, nothing goes on."""
    async with chain(v1 if version == 1 else v2) as (client, agent, _, _):
        await client.request(1, "session/prompt", prompt_of(version))
        await client.request(2, "_x/other", {"n": 1})
        for _ in range(2):
            assert (await agent.receive())["method"] in ("session/prompt", "_x/other")
        await agent.send(*(update(str(number)) for number in range(20)))
        await agent.transport.close()
        received = await client.receive_all()
    told = [words_of(each) for each in received if "method" in each]
    assert told == [str(number) for number in range(20)]
    answers = {each["id"]: each["error"]["code"] for each in received if "id" in each}
    assert answers == {1: -32603, 2: -32603}


@each_version
async def test_a_client_that_leaves_ends_the_whole_chain_and_what_it_sent_arrives(
    version: int,
) -> None:
    """C41: the agent reads it all, and then the end of its input."""
    async with chain(v1 if version == 1 else v2) as (client, agent, _, _):
        await client.request(1, "session/prompt", prompt_of(version))
        assert (await agent.receive())["method"] == "session/prompt"
        for number in range(20):
            await client.notify("_x/note", {"n": number})
        await client.transport.close()
        received = await agent.receive_all()
    notes = [each["params"]["n"] for each in received if each["method"] == "_x/note"]
    assert notes == list(range(20))


@each_version
async def test_a_middle_that_fails_answers_and_costs_nothing_else(version: int) -> None:
    """C41: the exception of one handler ends neither its connections nor the others'."""
    async with chain(v1 if version == 1 else v2) as (client, agent, middles, _):
        middles[0].failing = True
        await client.request(1, "session/prompt", prompt_of(version))
        answer = await client.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        middles[0].failing = False
        await client.request(2, "_x/other", {"n": 1})
        request = await agent.receive()
        await agent.answer(request["id"], {"n": 1})
        assert await client.receive() == {"jsonrpc": "2.0", "id": 2, "result": {"n": 1}}


@each_version
async def test_a_middle_that_is_cancelled_ends_both_of_its_neighbours(version: int) -> None:
    """C41: as when the program in the middle is stopped."""
    async with chain(v1 if version == 1 else v2) as (client, agent, middles, group):
        await client.request(1, "session/prompt", prompt_of(version))
        await agent.receive()
        group.start_soon(middles[0].up.close)
        received = await client.receive_all()
        assert [(each["id"], each["error"]["code"]) for each in received] == [(1, -32603)]
        rest = await agent.receive_all()
        assert {each.get("method") for each in rest} <= {"$/cancel_request"}


EXTRA = {"_meta": {"k": 1, "sessionId": "other"}, "future": {"a": [True, None, "é"]}}
THROUGH: dict[int, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    1: [
        (
            "session/new",
            {"cwd": "/w", "mcpServers": []},
            {
                "sessionId": "s",
                "configOptions": [
                    {"id": "o", "name": "O", "type": "boolean", "currentValue": True, "later": 1}
                ],
                "modes": {
                    "currentModeId": "a",
                    "availableModes": [{"id": "a", "name": "A", "later": {"b": []}}],
                },
            },
        ),
        (
            "initialize",
            {"protocolVersion": 1, "clientCapabilities": {"hologram": {"deep": [1]}}},
            {"protocolVersion": 1, "agentCapabilities": {"hologram": {"deep": [1]}}},
        ),
        ("session/prompt", {"sessionId": "s", "prompt": []}, {"stopReason": "end_turn"}),
        ("_x/any", {"a": [1.5, 10**30]}, {"b": [1e300, None]}),
    ],
    2: [
        (
            "initialize",
            {
                "protocolVersion": 2,
                "info": {"name": "c", "version": "1", "later": 1},
                "capabilities": {"hologram": {"deep": [1]}, "session": {"later": {}}},
            },
            {
                "protocolVersion": 2,
                "info": {"name": "a", "version": "1"},
                "capabilities": {"hologram": {"deep": [1]}, "session": {"later": {}}},
            },
        ),
        ("session/new", {"cwd": "/w"}, {"sessionId": "s"}),
        ("session/prompt", {"sessionId": "s", "prompt": []}, {"messageId": "m"}),
        ("_x/any", {"a": [1.5, 10**30]}, {"b": [1e300, None]}),
    ],
}
CASES = [(version, *case) for version, cases in THROUGH.items() for case in cases]


@pytest.mark.parametrize(("version", "method", "params", "result"), CASES)
async def test_a_middle_that_passes_on_what_it_received_loses_nothing_of_it(
    version: int, method: str, params: dict[str, Any], result: dict[str, Any]
) -> None:
    """C27: members that this release does not know, deep inside, too."""
    params, result = {**params, **EXTRA}, {**result, **EXTRA}
    async with chain(v1 if version == 1 else v2) as (client, agent, _, _):
        await client.request(1, method, params)
        request = await agent.receive()
        assert request["method"] == method
        assert json.dumps(request["params"], sort_keys=True) == json.dumps(params, sort_keys=True)
        await agent.answer(request["id"], result)
        answer = await within(client.receive())
        assert json.dumps(answer["result"], sort_keys=True) == json.dumps(result, sort_keys=True)


@each_version
async def test_an_error_goes_through_with_all_of_its_data(version: int) -> None:
    """C27."""
    error = {"code": -32042, "message": "no", "data": {"why": [1, {"é": None}]}}
    async with chain(v1 if version == 1 else v2) as (client, agent, _, _):
        await client.request("a", "session/prompt", prompt_of(version))
        request = await agent.receive()
        await agent.send({"id": request["id"], "error": error})
        assert await client.receive() == {"jsonrpc": "2.0", "id": "a", "error": error}
