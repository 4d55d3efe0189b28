"""Values that this release does not know on endpoints: kept on version 2, refused on version 1."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

import acp
from acp._core import encode
from tests.endpoint.session_peers import client_of, each_version, opened, text
from tests.raw_peer import chunk, within
from tests.sides import until

VIDEO = {"type": "video", "uri": "u", "more": [{"n": 1.5}, None]}
BASE = {"sessionUpdate": "agent_message_chunk", "messageId": "m"}
UPDATES: dict[str, dict[str, Any]] = {
    "update that was agreed on": {"sessionUpdate": "_acme_widget", "x": 1, "y": [None]},
    "update of a later release": {"sessionUpdate": "future_thing", "state": "idle"},
    "content": {**BASE, "content": VIDEO},
    "content that was agreed on": {**BASE, "content": {**VIDEO, "type": "_acme/v"}},
    "state": {"sessionUpdate": "state_update", "state": "dreaming", "until": 5},
    "stop reason": {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "budget_exceeded",
    },
    "kind of a tool": {"sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": "dream"},
    "status of a tool": {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "paused",
    },
    "content of a tool": {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "content": [VIDEO],
    },
}


@pytest.mark.parametrize("name", list(UPDATES))
async def test_an_update_with_an_unknown_value_is_handled_with_all_of_it(name: str) -> None:
    """C10: none is lost, and what can be read of it is."""
    seen: list[Any] = []
    told: list[acp.Malformed] = []
    client = client_of(2, on_malformed=told.append)

    @client.session_update
    def note(notification: Any) -> None:
        seen.append(notification)

    update = UPDATES[name]
    async with opened(client) as (_, peer):
        params = {"sessionId": "s1", "update": update}
        await peer.send({"method": "session/update", "params": params}, text("after"))
        await until(lambda: len(seen) == 2)
    assert json.loads(encode(seen[0])) == params
    assert seen[1].update.content.text == "after"
    assert told == []


SUBJECT = {"type": "tool_call", "toolCall": {"toolCallId": "t"}}
QUESTIONS: dict[str, dict[str, Any]] = {
    "kind of an option": {
        "subject": SUBJECT,
        "options": [{"optionId": "d", "name": "D", "kind": "deny"}],
    },
    "kind of an option that was agreed on": {
        "subject": SUBJECT,
        "options": [{"optionId": "d", "name": "D", "kind": "_acme/later"}],
    },
    "subject": {
        "subject": {"type": "payment", "amount": [1, None]},
        "options": [{"optionId": "d", "name": "D", "kind": "allow_once"}],
    },
}


@pytest.mark.parametrize("name", list(QUESTIONS))
async def test_a_permission_with_an_unknown_value_can_be_decided(name: str) -> None:
    """C10."""
    asked: list[Any] = []
    client = client_of(2)

    @client.request_permission
    def decide(request: Any) -> Any:
        asked.append(request)
        return {"outcome": {"outcome": "selected", "optionId": request.options[0].option_id}}

    params = {"sessionId": "s1", "title": "t", **QUESTIONS[name]}
    async with opened(client) as (_, peer):
        await peer.request(5, "session/request_permission", params)
        answer = await peer.receive()
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "d"}}
    assert json.loads(encode(asked[0])) == params


V1_UPDATES: list[dict[str, Any]] = [
    {"sessionUpdate": "_acme_widget", "x": 1},
    {"sessionUpdate": "future_thing"},
    {"sessionUpdate": "agent_message_chunk", "content": VIDEO},
]


@pytest.mark.parametrize("update", V1_UPDATES)
async def test_version_1_loses_no_unknown_update_without_a_trace(update: dict[str, Any]) -> None:
    """C10: the hook and the counters have it, and the turn goes on."""
    told: list[acp.Malformed] = []
    seen: list[Any] = []
    client = client_of(1, on_malformed=told.append)

    @client.session_update
    def note(notification: Any) -> None:
        seen.append(notification)

    async with opened(client) as (connection, peer):
        turn = peer.start(connection.request("session/prompt", {"sessionId": "s1", "prompt": []}))
        request = await peer.receive()
        bad = {"method": "session/update", "params": {"sessionId": "s1", "update": update}}
        await peer.send(bad, chunk("after", "s1"), bad)
        await peer.answer(request["id"], {"stopReason": "end_turn"})
        await within(turn)
        assert connection.stats().counters["malformed_params"] == 2
    assert [each.update.content.text for each in seen] == ["after"]
    assert [(each.kind, each.method) for each in told] == [("params", "session/update")] * 2
    assert update["sessionUpdate"].encode() in told[0].data


async def test_version_1_refuses_a_permission_with_an_unknown_kind_and_goes_on() -> None:
    """C10: as 0.12.1 does; the option `unknown_values` keeps it."""
    client = client_of(1)
    asked: list[Any] = []

    @client.request_permission
    def decide(request: Any) -> Any:
        asked.append(request)
        return {"outcome": {"outcome": "selected", "optionId": "a"}}

    params = {"sessionId": "s1", "toolCall": {"toolCallId": "t"}}
    async with opened(client) as (_, peer):
        for number, kind in enumerate(["deny", "allow_once"]):
            options = [{"optionId": "a", "name": "A", "kind": kind}]
            await peer.request(number, "session/request_permission", {**params, "options": options})
            answer = await peer.receive()
            assert answer["id"] == number
            assert answer.get("error", {}).get("code") == (-32602 if number == 0 else None)
    assert len(asked) == 1


MALFORMED: list[dict[str, Any]] = [
    {"sessionUpdate": "agent_message_chunk", "messageId": "m"},
    {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text"}},
    {"sessionUpdate": 5},
    {},
]


@each_version
@pytest.mark.parametrize("update", MALFORMED)
async def test_a_known_variant_that_is_malformed_is_never_an_unknown_one(
    version: int, update: dict[str, Any]
) -> None:
    """C10: a malformed known variant is still an error."""
    told: list[acp.Malformed] = []
    seen: list[Any] = []
    client = client_of(version, on_malformed=told.append)

    @client.session_update
    def note(notification: Any) -> None:
        seen.append(notification)

    async with opened(client) as (_, peer):
        bad = {"method": "session/update", "params": {"sessionId": "s1", "update": update}}
        await peer.send(bad, text("after"))
        await until(lambda: len(seen) == 1)
        with anyio.fail_after(1):
            await until(lambda: len(told) == 1)
    assert seen[0].update.content.text == "after"
