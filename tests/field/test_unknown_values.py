"""Values that this release does not know, on a connection that is told to keep them."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import acp
from acp import schema
from tests.field.wires import each_cut, wired
from tests.raw_peer import chunk, prompt, within
from tests.sides import Silent

OPTION = {"optionId": "a", "name": "A", "kind": "allow_once"}


class Seeing(acp.Client):
    """Notes what it is given, and takes the last option."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

    async def request_permission(  # type: ignore[override]
        self, options: Any, session_id: str, tool_call: Any, **kwargs: Any
    ) -> Any:
        self.asked.append((options, tool_call))
        outcome = {"outcome": "selected", "optionId": options[-1].option_id}
        return {"outcome": outcome}


def keeping(told: list[acp.Malformed] | None = None, **options: Any) -> dict[str, Any]:
    hook = None if told is None else told.append
    return {"unknown_values": "keep", "on_malformed": hook, **options}


@each_cut
@pytest.mark.parametrize("kind", ["deny", "", "allow_Once", "_acme/ask_later"])
async def test_an_option_of_a_kind_not_known_here_can_be_chosen(cut: int | None, kind: str) -> None:
    """C10."""
    told: list[acp.Malformed] = []
    client = Seeing()
    async with wired("client", client, **keeping(told, cut=cut)) as (_, peer):
        options = [OPTION, {"optionId": "d", "name": "D", "kind": kind}]
        call = {"toolCallId": "t", "kind": "dream", "status": "paused"}
        params = {"sessionId": "s", "toolCall": call, "options": options}
        answer = await peer.exchange(5, "session/request_permission", params)
        assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "d"}}
    ((options, tool_call),) = client.asked
    assert [option.kind for option in options] == ["allow_once", kind]
    assert isinstance(options[1], schema.PermissionOption)
    assert (tool_call.kind, tool_call.status) == ("dream", "paused")
    assert told == []


@each_cut
@pytest.mark.parametrize("reason", ["budget_exceeded", "", "_acme/x", "END_TURN"])
async def test_a_stop_reason_not_known_here_ends_the_turn_as_any_other(
    cut: int | None, reason: str
) -> None:
    """C10."""
    async with wired("client", Silent(), **keeping(cut=cut)) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.answer(request["id"], {"stopReason": reason})
        response = await within(turn)
    assert isinstance(response, schema.PromptResponse)
    assert response.stop_reason == reason
    assert response.model_dump(exclude_none=True, by_alias=True) == {"stopReason": reason}


VARIANTS: list[dict[str, Any]] = [
    {"sessionUpdate": "_acme_widget", "x": 1},
    {"sessionUpdate": "future_thing"},
    {"y": [None, {"sessionUpdate": "plan"}], "sessionUpdate": "future_thing", "_meta": 5},
]


@each_cut
@pytest.mark.parametrize("update", VARIANTS)
async def test_an_update_of_a_kind_not_known_here_reaches_its_handler_as_it_was_sent(
    cut: int | None, update: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """C10."""
    told: list[acp.Malformed] = []
    client = Seeing()
    async with wired("client", client, **keeping(told, cut=cut)) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        params = {"sessionId": "s", "update": update}
        bad = {"method": "session/update", "params": params}
        await peer.send(bad, chunk("between"), bad)
        await peer.answer(request["id"], {"stopReason": "end_turn"})
        assert (await within(turn)).stop_reason == "end_turn"
    first, between, last = client.updates
    assert first == last == update
    assert between.content.text == "between"
    assert told == []
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


VIDEO = {"type": "video", "uri": "u", "more": {"n": 1.5}}
PLACES: dict[str, tuple[dict[str, Any], Any]] = {
    "chunk": ({"sessionUpdate": "agent_message_chunk", "content": VIDEO}, lambda u: u.content),
    "content of a tool call": (
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "x",
            "content": [{"type": "content", "content": VIDEO}],
        },
        lambda u: u.content[0].content,
    ),
    "part of a tool call": (
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [VIDEO]},
        lambda u: u.content[0],
    ),
    "option of a session": (
        {"sessionUpdate": "config_option_update", "configOptions": [{**VIDEO, "id": "o"}]},
        lambda u: {key: value for key, value in u.config_options[0].items() if key != "id"},
    ),
}


@pytest.mark.parametrize("place", list(PLACES))
async def test_an_object_of_a_kind_not_known_here_is_kept_where_it_stands(place: str) -> None:
    """C10: what is around it is read as ever."""
    told: list[acp.Malformed] = []
    client = Seeing()
    update, find = PLACES[place]
    async with wired("client", client, **keeping(told)) as (_, peer):
        params = {"sessionId": "s", "update": update}
        await peer.send({"method": "session/update", "params": params})
        assert (await peer.exchange(1, "nobody"))["id"] == 1
    (seen,) = client.updates
    assert find(seen) == VIDEO
    assert seen.session_update == update["sessionUpdate"]
    # It can be written, shown and compared like the rest.
    assert json.loads(seen.model_dump_json(by_alias=True, exclude_none=True)) == update
    assert seen == seen.model_copy(deep=True)
    assert told == []


async def test_an_agent_gets_content_that_it_does_not_know_and_answers_the_turn() -> None:
    """C10: the other way."""
    prompts: list[Any] = []

    class Reading(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            prompts.append(prompt)
            return acp.PromptResponse(stop_reason="end_turn")

    async with wired("agent", Reading(), **keeping()) as (_, peer):
        params = {"sessionId": "s", "prompt": [VIDEO, *prompt("x")["prompt"]]}
        answer = await peer.exchange(1, "session/prompt", params)
        assert answer["result"] == {"stopReason": "end_turn"}
    ((video, text),) = prompts
    assert (video, text.text) == (VIDEO, "x")


async def test_an_outcome_of_a_permission_not_known_here_is_never_one_that_is() -> None:
    """C10: it is a dict, so that nothing takes it for a choice."""

    class Asking(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            answer = await self.client.request_permission(
                session_id="s",
                tool_call=schema.ToolCallUpdate(tool_call_id="t"),
                options=[schema.PermissionOption.model_validate(OPTION)],
            )
            outcomes.append(answer.outcome)
            return acp.PromptResponse(stop_reason="end_turn")

        def on_connect(self, conn: Any) -> None:
            self.client = conn

    outcomes: list[Any] = []
    async with wired("agent", Asking(), **keeping()) as (_, peer):
        await peer.request(1, "session/prompt", prompt())
        request = await peer.receive()
        await peer.answer(request["id"], {"outcome": {"outcome": "deferred", "until": 5}})
        assert (await peer.receive())["id"] == 1
    assert outcomes == [{"outcome": "deferred", "until": 5}]


MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"sessionUpdate": "agent_message_chunk"}, "missing"),
    ({"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}}, "missing"),
    ({"sessionUpdate": "agent_message_chunk", "content": {"type": 5}}, "tag_missing"),
    ({"sessionUpdate": "agent_message_chunk", "content": VIDEO["uri"]}, "object_type"),
    ({"sessionUpdate": 5}, "tag_missing"),
    ({}, "tag_missing"),
]


@pytest.mark.parametrize(("update", "reason"), MALFORMED)
async def test_a_known_kind_that_is_malformed_does_not_fit_all_the_same(
    update: dict[str, Any], reason: str
) -> None:
    """C10."""
    told: list[acp.Malformed] = []
    client = Seeing()
    async with wired("client", client, **keeping(told)) as (_, peer):
        params = {"sessionId": "s", "update": update}
        await peer.send({"method": "session/update", "params": params}, chunk("after"))
        assert (await peer.exchange(1, "nobody"))["id"] == 1
    assert [update.content.text for update in client.updates] == ["after"]
    assert [(each.kind, each.reason) for each in told] == [("params", reason)]


@pytest.mark.parametrize("reason", [5, None, True, ["end_turn"]])
async def test_a_value_of_another_type_does_not_fit_all_the_same(reason: Any) -> None:
    """C10."""
    async with wired("client", Seeing(), **keeping()) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.answer(request["id"], {"stopReason": reason})
        with pytest.raises(acp.ValidationError, match="stopReason"):
            await within(turn)
        options = [{"optionId": "d", "name": "D", "kind": reason}]
        params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
        answer = await peer.exchange(5, "session/request_permission", params)
        assert answer["error"]["code"] == -32602


async def test_a_server_of_a_kind_not_known_here_refuses_the_session_all_the_same() -> None:
    """C10, C36: what is told from others by having no kind takes unknown ones, and has to fit."""

    class Opening(acp.Agent):
        async def new_session(self, cwd: str, mcp_servers: Any = None, **kwargs: Any) -> Any:
            return acp.NewSessionResponse(session_id="s")

    async with wired("agent", Opening(), **keeping()) as (_, peer):
        params = {"cwd": "/w", "mcpServers": [{"type": "pigeon", "name": "p"}]}
        answer = await peer.exchange(1, "session/new", params)
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["errors"][0]["loc"] == ["mcpServers", 0, "command"]


@pytest.mark.asyncio_only
async def test_an_option_with_another_value_makes_no_connection() -> None:
    with pytest.raises(ValueError, match="unknown_values"):
        async with wired("client", Silent(), unknown_values="maybe"):
            pass
