"""Metadata with the names of parameters, for every handler and every call of the drop-in names."""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import Any

import pytest

import acp
from acp import interfaces, v1, v2
from tests.endpoint.session_peers import client_of, each_version, opened
from tests.field.wires import wired
from tests.raw_peer import within
from tests.sides import Silent

S = {"sessionId": "mine"}
T = {"sessionId": "mine", "terminalId": "t"}
ELICITATION = {
    **S,
    "mode": "form",
    "message": "m",
    "requestedSchema": {"type": "object", "properties": {}},
}
REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "new_session": ("agent", "session/new", {"cwd": "/w", "mcpServers": []}),
    "load_session": ("agent", "session/load", {**S, "cwd": "/w", "mcpServers": []}),
    "list_sessions": ("agent", "session/list", {"cwd": "/w", "cursor": "c"}),
    "set_session_mode": ("agent", "session/set_mode", {**S, "modeId": "m"}),
    "set_config_option": (
        "agent",
        "session/set_config_option",
        {**S, "configId": "o", "value": "v"},
    ),
    "authenticate": ("agent", "authenticate", {"methodId": "m"}),
    "prompt": ("agent", "session/prompt", {**S, "prompt": [{"type": "text", "text": "x"}]}),
    "fork_session": ("agent", "session/fork", {**S, "cwd": "/w"}),
    "resume_session": ("agent", "session/resume", {**S, "cwd": "/w"}),
    "close_session": ("agent", "session/close", S),
    "initialize": ("agent", "initialize", {"protocolVersion": 1}),
    "request_permission": (
        "client",
        "session/request_permission",
        {**S, "toolCall": {"toolCallId": "t"}, "options": []},
    ),
    "write_text_file": ("client", "fs/write_text_file", {**S, "path": "/f", "content": "c"}),
    "read_text_file": ("client", "fs/read_text_file", {**S, "path": "/f", "line": 1}),
    "create_terminal": ("client", "terminal/create", {**S, "command": "sh"}),
    "terminal_output": ("client", "terminal/output", T),
    "release_terminal": ("client", "terminal/release", T),
    "wait_for_terminal_exit": ("client", "terminal/wait_for_exit", T),
    "kill_terminal": ("client", "terminal/kill", T),
    "create_elicitation": ("client", "elicitation/create", ELICITATION),
}
NOTIFICATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cancel": ("agent", "session/cancel", S),
    "session_update": (
        "client",
        "session/update",
        {**S, "update": {"sessionUpdate": "current_mode_update", "currentModeId": "m"}},
    ),
    "complete_elicitation": ("client", "elicitation/complete", {"elicitationId": "e"}),
}
METHODS = {**REQUESTS, **NOTIFICATIONS}
TRACE = {"traceparent": "00-a-b-01", "acme.dev/tenant": {"session_id": ["x"]}}


def handler_names(name: str) -> list[str]:
    """The parameters of the official SDK's handler."""
    side = interfaces.Agent if METHODS[name][0] == "agent" else interfaces.Client
    parameters = inspect.signature(getattr(side, name)).parameters.values()
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]


def handlers(name: str, seen: list[dict[str, Any]], *, spread: bool) -> Any:
    """An agent or client whose handler declares exactly those, with `**kwargs` or without."""
    names = handler_names(name)
    signature = ", ".join(["self", *(f"{each}=None" for each in names), *["**kwargs"] * spread])
    noted = ", ".join([*(f"{each}={each}" for each in names), *["**kwargs"] * spread])
    made: dict[str, Any] = {"seen": seen}
    exec(f"async def handler({signature}):\n    seen.append(dict({noted}))", made)
    base: type[Any] = acp.Agent if METHODS[name][0] == "agent" else acp.Client
    return type("Handlers", (base,), {name: made["handler"]})()


async def received(name: str, meta: Any, *, spread: bool) -> dict[str, Any]:
    """The keywords that the handler is called with."""
    seen: list[dict[str, Any]] = []
    side, method, params = METHODS[name]
    params = params if meta is None else {**params, "_meta": meta}
    user = handlers(name, seen, spread=spread)
    async with wired(side, user, use_unstable_protocol=True) as (_, peer):
        if name in REQUESTS:
            await peer.exchange(1, method, params)
        else:
            await peer.notify(method, params)
            await peer.exchange(1, "_nobody")
    (keywords,) = seen
    if "mode" in keywords:
        # It is made of the whole params, of which the metadata is a part.
        keywords["mode"] = keywords["mode"].model_copy(update={"field_meta": None})
    return keywords


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("name", list(METHODS))
async def test_no_parameter_of_any_handler_can_be_set_by_metadata(name: str, spread: bool) -> None:
    """C09: neither by its name here nor by that on the wire; the other keys are there."""
    plain = await received(name, None, spread=spread)
    names = handler_names(name)
    assert set(plain) == set(names)
    on_the_wire = [key for key in METHODS[name][2] if key not in names]
    forged = dict.fromkeys([*names, "self"], "other-tenant")
    extra = {**dict.fromkeys(on_the_wire, "other-tenant"), **TRACE} if spread else {}
    found = await received(name, {**forged, **extra, **TRACE}, spread=spread)
    assert found == {**plain, **extra}


@pytest.mark.parametrize("meta", [None, {}, 5, "text", [{"session_id": "other"}], True])
@pytest.mark.parametrize("spread", [True, False])
async def test_metadata_that_is_no_object_or_empty_costs_nothing(meta: Any, spread: bool) -> None:
    """C09."""
    for name in ("prompt", "new_session", "session_update", "request_permission"):
        side, method, params = METHODS[name]
        assert await received(name, meta, spread=spread) == await received(
            name, None, spread=spread
        )
        assert (side, method, params) == METHODS[name]


async def test_a_handler_of_its_own_kind_gets_the_whole_of_the_metadata() -> None:
    """C09: also the keys that collide, as `field_meta` of who declares it."""
    seen: list[Any] = []

    class Reading(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, field_meta: Any = None) -> Any:  # type: ignore[override]
            seen.append((session_id, field_meta))
            return acp.PromptResponse(stop_reason="end_turn")

    meta = {"session_id": "other-tenant", "field_meta": 1, **TRACE}
    async with wired("agent", Reading()) as (_, peer):
        await peer.exchange(1, "session/prompt", {**METHODS["prompt"][2], "_meta": meta})
    assert seen == [("mine", meta)]


@pytest.mark.parametrize("module", [v1, v2])
async def test_endpoints_hand_over_the_whole_of_the_metadata_and_spread_nothing(
    module: Any,
) -> None:
    """C09."""
    seen: list[Any] = []
    agent = module.Agent("a", "1")

    @agent.list_sessions
    async def list_sessions(request: Any) -> Any:
        seen.append((request.cwd, request.field_meta))
        return module.schema.ListSessionsResponse(sessions=[])

    meta = {"cwd": "/other", "session_id": "other", **TRACE}
    here, there = acp.memory_pair()
    client = module.Client("c", "1")
    async with agent.connect(there), client.connect(here) as connection:
        await within(connection.initialize())
        request = module.schema.ListSessionsRequest(cwd="/w", field_meta=meta)
        await within(connection.request(request, unchecked=True))
    assert seen == [("/w", meta)]


CALLS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "prompt": ("client", ("mine", [])),
    "new_session": ("client", ("/w",)),
    "load_session": ("client", ("/w", "mine")),
    "cancel": ("client", ("mine",)),
    "read_text_file": ("agent", ("mine", "/f")),
    "session_update": (
        "agent",
        ("mine", acp.helpers.update_current_mode("m")),
    ),
}


@pytest.mark.parametrize("name", list(CALLS))
async def test_further_keywords_of_a_call_are_its_metadata_and_no_params(name: str) -> None:
    """C09, C27: names of members on the wire, too; what was given is sent as it is."""
    side, arguments = CALLS[name]
    meta = {**TRACE, "sessionId": "other-tenant", "future": None, "nested": {"a": [1, None]}}
    async with wired(side, Silent()) as (connection, peer):
        call = getattr(connection, name)
        calling = peer.start(call(*arguments))
        plain = await peer.receive()
        marked = peer.start(call(*arguments, **meta))
        sent = await peer.receive()
        for message in (plain, sent):
            if "id" in message:
                await peer.send({"id": message["id"], "error": {"code": -1, "message": "no"}})
        with suppress(acp.RequestError):
            await within(calling)
        with suppress(acp.RequestError):
            await within(marked)
    assert sent["params"] == {**plain["params"], "_meta": meta}


@each_version
async def test_metadata_of_an_answer_is_on_the_handle(version: int) -> None:
    """C09, C27."""
    meta = {"session_id": "other", "sessionId": "other", **TRACE}
    async with opened(client_of(version)) as (connection, peer):
        starting = peer.start(connection.new_session("/w"))
        request = await peer.receive()
        await peer.answer(request["id"], {"sessionId": "mine", "_meta": meta})
        got = await within(starting)
        session = got if version == 1 else got.session
        assert session.session_id == "mine"
        assert got.response.field_meta == meta
