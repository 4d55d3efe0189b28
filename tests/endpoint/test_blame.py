"""Whose fault it is that something does not fit: the peer's params, or what a handler makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import acp
from acp import v1, v2
from tests.endpoint.ends import ask, each_version, facing_agent, with_sessions
from tests.field.wires import wired
from tests.raw_peer import within

OWN_FAULT = {"code": -32603, "message": "Internal error", "data": {"type": "ValidationError"}}


@dataclass
class Taken:
    number: int


def make_wrong(v: Any) -> None:
    v.schema.TextContentBlock(text=5)


def validate_wrong(v: Any) -> None:
    v.schema.TextContentBlock.model_validate({"type": "text"})


def read_wrong(v: Any) -> None:
    v.schema.NewSessionRequest.model_validate_json("{}")


def raise_it(v: Any) -> None:
    raise acp.ValidationError("mine", [{"loc": ("a",), "type": "missing", "message": "x"}])


FAULTS = [make_wrong, validate_wrong, read_wrong, raise_it]


def failing(v: Any, fail: Any) -> Any:
    """An agent with a handler of each kind that fails so."""
    agent = v.Agent()

    @agent.list_sessions
    def sync(request: Any) -> Any:
        fail(v)

    @agent.on_request("_x/suspends")
    async def suspends(params: Any, ctx: Any) -> Any:
        await ctx.connection.notify("_x/seen", {})
        fail(v)

    @agent.on_request("_x/typed", params=Taken)
    def typed(params: Taken) -> Any:
        fail(v)

    @agent.on_request("_x/deferred")
    def deferred(params: Any, ctx: Any) -> None:
        responder = ctx.defer()
        try:
            fail(v)
        except acp.ValidationError as exc:
            responder.error(exc)

    class Low:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            if message.method != "_x/low":
                return acp.UNHANDLED
            return fail(v)

    agent.add_handler(Low())
    agent.fallback_request(lambda params: fail(v))
    return with_sessions(v, agent, leave_out=("list_sessions",))


REQUESTS = {
    "session/list": {},
    "_x/typed": {"number": 1},
    "_x/deferred": {},
    "_x/low": {},
    "_x/nobody": {},
}


@each_version
@pytest.mark.parametrize("fail", FAULTS)
async def test_what_a_handler_makes_wrong_is_its_own_fault(v: Any, fail: Any) -> None:
    async with facing_agent(failing(v, fail), v) as (connection, peer):
        for method, params in REQUESTS.items():
            assert (await ask(peer, method, params))["error"] == OWN_FAULT, method
        await peer.request(2, "_x/suspends", {})
        assert (await peer.receive())["method"] == "_x/seen"
        assert (await peer.receive())["error"] == OWN_FAULT
        assert connection.stats().counters["malformed_params"] == 0


@each_version
async def test_params_that_do_not_fit_are_the_peers_fault_whoever_reads_them(v: Any) -> None:
    agent = failing(v, lambda _: None)

    class Reading:
        async def handle(self, message: acp.Message, ctx: Any) -> Any:
            if message.method == "session/resume":
                message.params  # noqa: B018 - reading is the point
            return acp.UNHANDLED

    agent.add_handler(Reading())
    async with facing_agent(agent, v) as (_, peer):
        for method, params, place in [
            ("session/new", {"cwd": 5, "mcpServers": []}, ["cwd"]),
            ("session/resume", {"sessionId": 5, "cwd": "/"}, ["sessionId"]),
            ("_x/typed", {"number": "x"}, ["number"]),
        ]:
            answer = await ask(peer, method, params)
            assert answer["error"]["code"] == -32602, method
            assert [fault["loc"] for fault in answer["error"]["data"]] == [place]


@each_version
async def test_an_answer_that_does_not_fit_is_not_the_fault_of_who_asked_first(v: Any) -> None:
    agent = with_sessions(v, v.Agent())

    @agent.on_request("_x/asks")
    async def asks(params: Any, ctx: Any) -> Any:
        await ctx.connection.request("_x/back", {}, result=Taken)

    @agent.on_request("_x/forwards")
    def forwards(params: Any, ctx: Any) -> None:
        ctx.connection.request("_x/back", {}, result=Taken).forward_to(ctx.defer())

    async with facing_agent(agent, v) as (_, peer):
        for method in ("_x/asks", "_x/forwards"):
            await peer.request(1, method, {})
            request = await within(peer.receive())
            await peer.answer(request["id"], {"number": "x"})
            assert (await peer.receive())["error"] == OWN_FAULT


@pytest.mark.parametrize("module", [v1, v2])
async def test_drop_in_connections_answer_as_the_official_sdk_does(module: Any) -> None:
    class Failing(acp.Agent):
        async def list_sessions(self, **kwargs: Any) -> Any:
            make_wrong(module)

    async with wired("agent", Failing()) as (_, peer):
        answer = await peer.exchange(1, "session/list", {})
    assert answer["error"]["code"] == -32602
