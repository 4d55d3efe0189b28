"""Values that are nearly right: null for an empty object, numbers in other forms, one bad item."""

from __future__ import annotations

import json
import logging
import warnings
from typing import Any

import pytest

import acp
from acp import schema
from tests.field.wires import wired
from tests.raw_peer import chunk, prompt, within
from tests.sides import Silent

# C24: empty results.

CLIENT_CALLS: dict[str, Any] = {
    "session/load": lambda agent: agent.load_session("/", "s"),
    "session/resume": lambda agent: agent.resume_session("s", "/"),
    "session/set_mode": lambda agent: agent.set_session_mode("s", "m"),
    "session/close": lambda agent: agent.close_session("s"),
    "session/delete": lambda agent: agent.delete_session("s"),
    "authenticate": lambda agent: agent.authenticate("m"),
    "logout": lambda agent: agent.logout(),
}
AGENT_CALLS: dict[str, Any] = {
    "fs/write_text_file": lambda client: client.write_text_file("s", "/f", ""),
    "terminal/release": lambda client: client.release_terminal("s", "t"),
    "terminal/kill": lambda client: client.kill_terminal("s", "t"),
}
EMPTY_CALLS = [("client", name) for name in CLIENT_CALLS] + [("agent", n) for n in AGENT_CALLS]


@pytest.mark.parametrize(("side", "method"), EMPTY_CALLS)
@pytest.mark.parametrize("result", [None, {}, {"_meta": None}, {"future": 1}])
async def test_null_is_taken_for_the_empty_answer(side: str, method: str, result: Any) -> None:
    """C24."""
    calls = CLIENT_CALLS if side == "client" else AGENT_CALLS
    async with wired(side, Silent()) as (connection, peer):
        calling = peer.start(calls[method](connection))
        request = await peer.receive()
        assert request["method"] == method
        await peer.answer(request["id"], result)
        answer = await within(calling)
        assert answer is None or answer.field_meta is None


class Saying(acp.Agent, acp.Client):
    """Answers everything with `value`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    async def answer(self, **kwargs: Any) -> Any:
        return self.value

    load_session = set_session_mode = authenticate = write_text_file = answer  # type: ignore[assignment]
    release_terminal = kill_terminal = resume_session = close_session = answer  # type: ignore[assignment]


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "session/load": ("agent", {"sessionId": "s", "cwd": "/", "mcpServers": []}),
    "session/resume": ("agent", {"sessionId": "s", "cwd": "/"}),
    "session/close": ("agent", {"sessionId": "s"}),
    "session/set_mode": ("agent", {"sessionId": "s", "modeId": "m"}),
    "authenticate": ("agent", {"methodId": "m"}),
    "fs/write_text_file": ("client", {"sessionId": "s", "path": "/f", "content": ""}),
    "terminal/release": ("client", {"sessionId": "s", "terminalId": "t"}),
    "terminal/kill": ("client", {"sessionId": "s", "terminalId": "t"}),
}


EMPTY: dict[str, Any] = {
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/close": schema.CloseSessionResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "authenticate": schema.AuthenticateResponse,
    "fs/write_text_file": schema.WriteTextFileResponse,
    "terminal/release": schema.ReleaseTerminalResponse,
    "terminal/kill": schema.KillTerminalResponse,
}


@pytest.mark.parametrize("method", list(REQUESTS))
@pytest.mark.parametrize("kind", ["plain", "typed"])
async def test_an_empty_answer_is_written_as_an_object(method: str, kind: str) -> None:
    """C24: the safe one of the two."""
    side, params = REQUESTS[method]
    value = {} if kind == "plain" else EMPTY[method]()
    async with wired(side, Saying(value), use_unstable_protocol=True) as (_, peer):
        assert (await peer.exchange(1, method, params))["result"] == {}


# C25: numbers and optional members of other forms.


class Telling(acp.Client):
    def __init__(self) -> None:
        self.updates: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)


def telling(update: str) -> bytes:
    head = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    return f"{head}{update}}}}}\n".encode()


async def updates_of(*updates: str, caplog: pytest.LogCaptureFixture) -> list[Any]:
    """What the handler of a client gets of these updates in one turn, which ends as it should."""
    client = Telling()
    async with wired("client", client) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await peer.send_bytes(*(telling(update) for update in updates))
        await peer.send(chunk("after"))
        await peer.answer(request["id"], {"stopReason": "end_turn"})
        assert (await within(turn)).stop_reason == "end_turn"
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []
    assert client.updates[-1].content.text == "after"
    return client.updates[:-1]


@pytest.mark.parametrize(
    "members",
    [
        '"used":null,"size":200000',
        '"size":200000',
        '"used":"many","size":200000',
        '"used":-1,"size":200000',
        '"used":1.5,"size":200000',
        '"used":1,"size":{}',
        '"used":true,"size":1',
    ],
)
async def test_an_update_with_a_bad_number_is_left_out_and_the_turn_goes_on(
    members: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C25."""
    update = f'{{"sessionUpdate":"usage_update",{members}}}'
    assert await updates_of(update, caplog=caplog) == []
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "session/update" in warned[0]


@pytest.mark.parametrize("used", ["53000", "53000.0", "5.3e4", '"53000"', "530000e-1"])
async def test_a_number_in_another_form_is_read(
    used: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C25."""
    update = f'{{"sessionUpdate":"usage_update","used":{used},"size":200000}}'
    (found,) = await updates_of(update, caplog=caplog)
    assert (found.used, found.size) == (53000, 200000)
    assert type(found.used) is int


@pytest.mark.parametrize(
    "usage",
    ['{"inputTokens":"many"}', "[]", '"much"', "7", "null", "{}", '{"inputTokens":null}', "true"],
)
async def test_a_bad_usage_does_not_cost_the_end_of_the_turn(usage: str) -> None:
    """C25: usage is then as if it were not told."""
    async with wired("client", Silent()) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        result = f'{{"stopReason":"end_turn","usage":{usage}}}'
        line = f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{result}}}\n'
        await peer.send_bytes(line.encode())
        answer = await within(turn)
        assert (answer.stop_reason, answer.usage) == ("end_turn", None)


# C26: versions and capabilities.


async def greeting_of(result: str) -> Any:
    """What `initialize` returns for this result, or the error that it raises."""
    async with wired("client", Silent()) as (agent, peer):
        greeting = peer.start(agent.initialize(1))
        await peer.receive()
        await peer.send_bytes(f'{{"jsonrpc":"2.0","id":0,"result":{result}}}\n'.encode())
        try:
            return await within(greeting)
        except acp.ValidationError as exc:
            return exc


@pytest.mark.parametrize("version", [1, 2, 65535])
async def test_the_version_that_the_agent_chose_can_be_seen(version: int) -> None:
    """C26: also one that we did not ask for."""
    assert (await greeting_of(f'{{"protocolVersion":{version}}}')).protocol_version == version


@pytest.mark.parametrize("version", ['"x"', "null", "1.5", "-1", "[1]", "{}", "65536", '""'])
async def test_what_is_no_version_is_an_error_that_names_the_member(version: str) -> None:
    """C26."""
    error = await greeting_of(f'{{"protocolVersion":{version}}}')
    assert isinstance(error, acp.ValidationError)
    assert "protocolVersion" in str(error)
    assert version == "{}" or version not in str(error)


@pytest.mark.parametrize("written", ["null", "{}", '{"loadSession":null}'])
async def test_capabilities_that_are_null_are_none(written: str) -> None:
    """C26."""
    greeting = await greeting_of(f'{{"protocolVersion":1,"agentCapabilities":{written}}}')
    capabilities = greeting.agent_capabilities
    assert capabilities is None or not capabilities.load_session


@pytest.mark.parametrize("version", ['"2024-11-05"', '"2025-06-18"'])
async def test_a_date_as_the_version_is_answered_with_ours_and_a_warning(version: str) -> None:
    """C26: another protocol's clients greet like this."""

    class Greeting(acp.Agent):
        async def initialize(self, protocol_version: int, **kwargs: Any) -> Any:
            return acp.InitializeResponse(protocol_version=protocol_version)

    async with wired("agent", Greeting()) as (_, peer):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            line = f'{{"id":0,"method":"initialize","params":{{"protocolVersion":{version}}}}}\n'
            await peer.send_bytes(line.encode())
            assert (await peer.receive())["result"]["protocolVersion"] == 1
    assert len(found) == 1


# C45: what an update refers to.


async def test_an_update_keeps_all_its_content_whatever_it_refers_to(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C45: an unknown terminal is the client's to show."""
    content = [
        {"type": "terminal", "terminalId": "gone"},
        {"type": "content", "content": {"type": "text", "text": "done"}},
        {"type": "diff", "path": "/no/such/file", "oldText": None, "newText": ""},
    ]
    update = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "never started",
        "status": "completed",
        "content": content,
        "locations": [{"path": "/no/such", "line": 0}],
    }
    (found,) = await updates_of(json.dumps(update), caplog=caplog)
    assert (found.tool_call_id, found.status) == ("never started", "completed")
    assert [part.type for part in found.content] == ["terminal", "content", "diff"]
    assert found.content[0].terminal_id == "gone"
    assert found.content[1].content.text == "done"


async def test_the_agent_may_send_what_refers_to_nothing() -> None:
    """C45: nothing is looked up on the way out, either."""
    async with wired("agent", Silent()) as (connection, peer):
        update = schema.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id="t",
            content=[acp.tool_terminal_ref("gone"), acp.tool_content(acp.text_block("done"))],
        )
        await connection.session_update("unknown", update)
        sent = (await peer.receive())["params"]["update"]["content"]
        assert [part["type"] for part in sent] == ["terminal", "content"]


# C09: metadata.


@pytest.mark.parametrize(
    "meta",
    [
        {"session_id": "other"},
        {"prompt": "other", "self": 1, "extra": {"session_id": "other"}},
        {"traceparent": "00-a-b-01"},
        {"": 1, "not a name": 2, "class": 3, "é": 4},
        {},
    ],
)
@pytest.mark.parametrize("spread", [True, False])
async def test_metadata_never_takes_the_place_of_a_parameter(
    meta: dict[str, Any], spread: bool
) -> None:
    """C09: with and without `**kwargs`."""
    seen: list[Any] = []

    class Spread(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            seen.append((session_id, prompt[0].text, kwargs))
            return acp.PromptResponse(stop_reason="end_turn")

    class Declared(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any) -> Any:  # type: ignore[override]
            seen.append((session_id, prompt[0].text, {}))
            return acp.PromptResponse(stop_reason="end_turn")

    async with wired("agent", Spread() if spread else Declared()) as (_, peer):
        params = {**prompt("mine", "mine"), "_meta": meta}
        answer = await peer.exchange(1, "session/prompt", params)
        assert answer["result"] == {"stopReason": "end_turn"}
    (found,) = seen
    assert found[:2] == ("mine", "mine")
    declared = {"session_id", "prompt", "self"}
    assert not spread or declared.isdisjoint(found[2])
    expected = {k: v for k, v in meta.items() if k not in declared}
    if spread:
        assert {k: v for k, v in found[2].items() if k in meta} == expected
