"""What connections write into the log at each level, with secrets in everything that can hold one.

Owns the traffic that is looked at: both sides, both directions, and every way in which a message
can fail. Which values are covered within a message is `test_redaction`'s.
"""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import schema
from tests.log_lines import TRACE, Lines
from tests.raw_peer import agent_under_test, chunk, client_under_test, prompt, within

ENV = [{"name": "secret-name", "value": "secret-env"}]
HEADERS = [{"name": "secret-name", "value": "secret-header"}]
LOCAL = {"name": "n", "command": "c", "args": ["secret-argument"], "env": ENV}
REMOTE = {"type": "http", "name": "n", "url": "secret-url", "headers": HEADERS}
NEW = {"cwd": "secret-cwd", "mcpServers": [LOCAL, REMOTE]}
ERROR = {
    "code": -31999,
    "message": "secret-message",
    "data": {"why": "secret-data", "env": {"secret-name": "secret-env"}, "headers": HEADERS},
}


at_every_level = pytest.mark.parametrize(
    "level", [logging.WARNING, logging.DEBUG, TRACE], ids=["warning", "debug", "trace"]
)


class Agent(acp.Agent):
    """Fails in every way, and asks its client for something first."""

    client: Any
    asked: acp.RequestError

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        return acp.NewSessionResponse(session_id="secret-session", field_meta=ERROR["data"])

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        text = acp.update_agent_message_text("secret-update")
        await self.client.session_update(session_id, text)
        env = [schema.EnvVariable(name="secret-name", value="secret-env")]
        try:
            await self.client.create_terminal("secret-command", session_id, env=env)
        except acp.RequestError as exc:
            self.asked = exc
            raise RuntimeError("secret-text") from exc

    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        if method == "raises":
            raise KeyError("secret-text")
        if method == "refuses":
            raise acp.RequestError(ERROR["code"], ERROR["message"], ERROR["data"])
        if method == "invalid":
            fault = {"loc": ("place",), "type": "rule", "message": "secret-text"}
            raise acp.ValidationError("Own", [fault])
        return {"secret-key": object()}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "suspends":
            await anyio.lowlevel.checkpoint()
        raise ValueError("secret-text")


async def talk_to_agent() -> dict[Any, Any]:
    """Has an agent see every kind of message. The answers by id, its own request included."""
    answers: dict[Any, Any] = {}
    agent = Agent()
    async with agent_under_test(agent) as (peer, connection):

        async def ask(request_id: Any, method: str, params: Any) -> None:
            await peer.request(request_id, method, params)
            answer = await peer.receive()
            answers[answer.get("id")] = answer

        await ask(1, "session/new", NEW)
        await ask(2, "session/new", {**NEW, "cwd": {"secret-key": "secret-params"}})
        await ask(3, "no/such", {"env": ENV, "other": "secret-params"})
        for number, method in enumerate(("_raises", "_refuses", "_invalid", "_unwritable"), 4):
            await ask(number, method, {"headers": {"secret-name": "secret-header"}})
        await peer.notify("_fails", {"secret-key": "secret-params"})
        await peer.notify("_suspends", {"secret-key": "secret-params"})
        await peer.notify("session/cancel", {"sessionId": ["secret-params"]})
        await peer.send_text('{"secret-key": \n["secret-entry"]\n')
        answers["rejected"] = [await peer.receive() for _ in range(2)]
        await peer.request(8, "session/prompt", prompt("secret-prompt", "secret-session"))
        assert (await peer.receive())["method"] == "session/update"
        answers["terminal"] = await peer.receive()
        await peer.send({"id": answers["terminal"]["id"], "error": ERROR})
        answers[8] = await peer.receive()
        answers["asked"] = agent.asked
        await peer.request(9, "session/prompt", prompt("secret-prompt", "secret-session"))
        await peer.receive()
        await peer.receive()
        # The end: what the agent waits for does not come, and its output goes nowhere.
        await peer.transport.close()
        await within(connection._connection._closed.wait())
    return answers


async def talk_to_client() -> dict[str, Any]:
    """Has a client send and see every kind of message. What its calls ended with."""
    outcomes: dict[str, Any] = {}

    class Client(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            raise ValueError("secret-text")

    async with client_under_test(Client()) as (agent, peer):

        async def call(name: str, *answer: dict[str, Any]) -> None:
            local = schema.McpServerStdio(**{k: v for k, v in LOCAL.items() if k != "env"}, env=ENV)
            remote = schema.HttpMcpServer(name="n", url="u", headers=HEADERS)
            calling = peer.start(agent.new_session("secret-cwd", mcp_servers=[local, remote]))
            request_id = (await peer.receive())["id"]
            for message in answer:
                await peer.send({"id": request_id, **message})
            if not answer:
                await peer.transport.close()
            try:
                outcomes[name] = await within(calling)
            except Exception as exc:  # noqa: BLE001 - looked at by the test
                outcomes[name] = exc

        await call("result", {"result": {"sessionId": "secret-session", "_meta": {"env": ENV}}})
        await call("error", {"error": ERROR})
        await call("unfit", {"result": {"sessionId": ["secret-result"]}})
        await call("malformed", {"result": {}, "error": "secret-message"})
        unfit = {"sessionId": "secret-session", "configOptions": [{"name": "secret-option"}]}
        await call("partly", {"result": unfit})
        await peer.send(chunk("secret-update"), {"id": None, "error": ERROR})
        await peer.notify("$/cancel_request", {"requestId": ["secret-id"]})
        await peer.request("i", "x")
        await peer.receive()
        await peer.send_text('{"secret-key": "secret-frame"\n')
        await call("closed")
    return outcomes


@at_every_level
async def test_the_log_of_an_agent_shows_what_its_level_may_show(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """C-146, C-147, C-148."""
    caplog.set_level(level)
    await talk_to_agent()
    lines = Lines(caplog)
    lines.check()
    warned = lines.at(logging.WARNING)
    assert "'session/new' was refused (-32602)" in warned
    assert "'_raises' failed with KeyError (-32603)" in warned
    assert "'_suspends' could not be handled: ValueError" in warned
    told = lines.at(logging.DEBUG, logging.DEBUG)
    traced = lines.at(TRACE, TRACE)
    if level == logging.WARNING:
        assert told == traced == ""
        return
    for line in (
        "Received request 'session/new', id 1",
        "Received request 'no/such', id 3",
        "Sending error -32601 for id 3",
        "Sending error -31999 for id 5",
        "Sending result for id 1",
        "Received notification '_fails'",
        "Received what is no message (parse), 15 bytes",
        "Sending notification 'session/update'",
        "Sending request 'terminal/create', id 0",
        "Received error -31999 for 'terminal/create', id 0",
        "cwd: string_type",
        "place: rule",
    ):
        assert line in told
    # Where a failure was raised, and what was behind it.
    assert "in ext_method\nKeyError" in told
    assert "in outcome\nRequestError" in told
    if level == TRACE:
        for value in ("cwd", "params", "prompt", "update", "message", "data", "text", "name"):
            assert f"secret-{value}" in traced
        assert '{"name": "secret-name", "value": "[REDACTED]"}' in traced
        assert 'Sending {"jsonrpc":"2.0","id":0,"method":"terminal/create","params":{' in traced


@at_every_level
async def test_the_log_of_a_client_shows_what_its_level_may_show(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """C-146, C-147, C-148."""
    caplog.set_level(level)
    outcomes = await talk_to_client()
    assert [type(outcome).__name__ for outcome in outcomes.values()] == [
        "NewSessionResponse",
        "RequestError",
        "ValidationError",
        "RemoteProtocolError",
        "NewSessionResponse",
        "ConnectionClosed",
    ]
    lines = Lines(caplog)
    lines.check()
    warned = lines.at(logging.WARNING)
    assert "no message (parse)" in warned
    assert "Parts of the result of 'session/new' do not fit" in warned
    assert "The peer reports error -31999 of no request of ours" in warned
    assert "names no request (cancel)" in warned
    told = lines.at(logging.DEBUG, logging.DEBUG)
    traced = lines.at(TRACE, TRACE)
    if level == logging.WARNING:
        assert told == traced == ""
        return
    for line in (
        "Sending request 'session/new', id 0",
        "Received result for 'session/new', id 0",
        "Received error -31999 for 'session/new', id 1",
        "Received malformed answer to 'session/new', id 3",
        "Left out of 'session/new':\n  configOptions.0: tag_missing",
        "Received error -31999 for no request",
        "Received notification 'session/update'",
        "Received request 'x', id 'i'",
        "Sending error -32601 for id 'i'",
    ):
        assert line in told
    if level == TRACE:
        for value in ("cwd", "argument", "session", "message", "data", "update", "result"):
            assert f"secret-{value}" in traced
        assert '"env":[{"name":"secret-name","value":"[REDACTED]"}]' in traced
        assert '"data":{"why":"secret-data","env":{"secret-name":"[REDACTED]"}' in traced


@at_every_level
async def test_answers_and_raised_errors_keep_what_the_log_covers(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """C-149."""
    caplog.set_level(level)
    answers = await talk_to_agent()
    assert answers[1]["result"]["_meta"] == ERROR["data"]
    assert answers[5]["error"] == ERROR
    assert answers["terminal"]["params"]["env"] == ENV
    assert answers["asked"].to_error_obj() == ERROR
    outcomes = await talk_to_client()
    assert outcomes["error"].to_error_obj() == ERROR
    assert outcomes["result"].field_meta == {"env": ENV}


async def test_the_text_of_a_failure_is_shown_at_trace_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-147."""
    caplog.set_level(TRACE)
    await talk_to_agent()
    failures = [r for r in caplog.records if r.exc_info is not None]
    assert failures
    assert {record.levelno for record in failures} == {TRACE}
    assert "KeyError: 'secret-text'" in Lines(caplog).at(TRACE, TRACE)
