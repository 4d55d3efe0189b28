"""A notification that does not fit, among others that do, on an endpoint."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import pytest

import acp
from acp import v1, v2
from reliability.opened import opened
from tests.raw_peer import chunk, within
from tests.sides import until

pytestmark = pytest.mark.usefixtures("link")
each_version = pytest.mark.parametrize("version", [v1, v2], ids=["v1", "v2"])

UPDATE = "session/update"
TEXT = {"type": "text", "text": "secret"}
BAD: dict[str, Any] = {
    "nothing": None,
    "an array": [1],
    "no update": {"sessionId": "s"},
    "an update that is none": {"sessionId": "s", "update": "secret"},
    "a session that is none": {
        "sessionId": {"secret": 1},
        "update": {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": TEXT},
    },
    "no kind": {"sessionId": "s", "update": {"messageId": "m", "content": TEXT}},
    "a known kind without its content": {
        "sessionId": "s",
        "update": {"sessionUpdate": "agent_message_chunk", "messageId": "m"},
    },
    "a known kind with content of a known type that is none": {
        "sessionId": "s",
        "update": {
            "sessionUpdate": "agent_message_chunk",
            "messageId": "m",
            "content": {"type": "text", "text": 5},
        },
    },
    "a known kind with content that is malformed": {
        "sessionId": "s",
        "update": {
            "sessionUpdate": "agent_message_chunk",
            "messageId": "m",
            "content": {"type": "image", "data": "secret"},
        },
    },
}
each_bad = pytest.mark.parametrize("bad", list(BAD))


def good(text: str, session: str = "s") -> dict[str, Any]:
    """An update that either version reads."""
    message = chunk(text, session)
    message["params"]["update"]["messageId"] = "m"
    return message


class Updates:
    """A client that notes the texts of its updates."""

    def __init__(self, version: Any, **options: Any) -> None:
        self.told: list[acp.Malformed] = []
        self.texts: list[str] = []
        self.go: anyio.Event | None = None
        self.client = version.Client(on_malformed=self.told.append, **options)
        self.client.session_update(self.note)

    async def note(self, params: Any) -> None:
        if self.go is not None:
            await self.go.wait()
        self.texts.append(params.update.content.text)


@each_version
@each_bad
@pytest.mark.parametrize("among", ["one by one", "in one chunk", "behind a handler that runs"])
async def test_it_costs_only_itself_and_the_hook_is_told(
    version: Any, bad: str, among: str, caplog: pytest.LogCaptureFixture
) -> None:
    updates = Updates(version)
    messages: list[Any] = []
    for number in range(3):
        messages += [good(str(number)), {"method": UPDATE, "params": BAD[bad]}]
    messages.append(good("last"))
    async with opened(updates.client) as (connection, peer):
        if among == "behind a handler that runs":
            updates.go = anyio.Event()
        if among == "one by one":
            for message in messages:
                await peer.send(message)
        else:
            await peer.send(*messages)
        await peer.request("mark", "nobody", {})
        assert (await peer.receive())["id"] == "mark"
        if updates.go is not None:
            updates.go.set()
        await until(lambda: updates.texts[-1:] == ["last"])
        assert connection.stats().counters["malformed_params"] == 3
        assert connection.stats().lanes == 0
    assert updates.texts == ["0", "1", "2", "last"]
    assert [(each.kind, each.method, each.answered) for each in updates.told] == (
        [("params", UPDATE, False)] * 3
    )
    params = b"" if BAD[bad] is None else json.dumps(BAD[bad]).encode()
    assert all(each.errors and each.data == params for each in updates.told)
    assert "secret" not in caplog.text
    warned = [r for r in caplog.records if r.levelno >= logging.WARNING]
    # The first and the second; then more and more seldom.
    assert len(warned) == 2


@each_version
@each_bad
async def test_in_an_array_it_costs_neither_the_others_nor_the_replies(
    version: Any, bad: str
) -> None:
    updates = Updates(version)
    array = [
        good("before"),
        {"method": UPDATE, "params": BAD[bad]},
        {"id": 1, "method": "nobody"},
        good("behind"),
    ]
    entries = [{"jsonrpc": "2.0", **entry} for entry in array]
    async with opened(updates.client) as (_, peer):
        await peer.send_text(json.dumps(entries) + "\n")
        (reply,) = await peer.receive()
        assert (reply["id"], reply["error"]["code"]) == (1, -32601)
        assert updates.texts == ["before", "behind"]
    assert [each.kind for each in updates.told] == ["params"]


@each_bad
async def test_an_answer_behind_it_keeps_its_place(bad: str) -> None:
    """What `resume` replays is handled when its answer is handed over, whatever is among it."""
    updates = Updates(v2)
    asked = v2.schema.ResumeSessionRequest(session_id="s", cwd="/")
    async with opened(updates.client) as (connection, peer):
        seen: list[list[str]] = []
        updates.go = anyio.Event()

        def resumed(outcome: Any) -> None:
            seen.append([*updates.texts, str(outcome.error())])

        connection.request(asked, unchecked=True).on_result(resumed)
        request = await peer.receive()
        await peer.send(
            good("one"),
            {"method": UPDATE, "params": BAD[bad]},
            good("two"),
            {"id": request["id"], "result": {}},
            good("live"),
        )
        await peer.request("mark", "nobody", {})
        await peer.receive()
        assert (updates.texts, seen) == ([], [])
        updates.go.set()
        await until(lambda: len(updates.texts) == 3)
    assert seen == [["one", "two", "None"]]
    assert updates.texts == ["one", "two", "live"]
    assert len(updates.told) == 1


@each_version
async def test_what_the_hook_raises_costs_no_message(version: Any) -> None:
    updates = Updates(version)

    def fail(malformed: acp.Malformed) -> None:
        updates.told.append(malformed)
        raise RuntimeError

    updates.client = version.Client(on_malformed=fail)
    updates.client.session_update(updates.note)
    async with opened(updates.client) as (_, peer):
        bad = {"method": UPDATE, "params": BAD["no kind"]}
        await peer.send(bad, good("one"), bad, good("two"))
        await until(lambda: updates.texts == ["one", "two"])
    assert len(updates.told) == 2


@each_version
async def test_a_cancellation_that_does_not_fit_cancels_nothing(version: Any) -> None:
    """An agent's turn goes on, until one comes that does fit."""
    told: list[acp.Malformed] = []
    agent = version.Agent(on_malformed=told.append)
    ended: list[str] = []
    cancels: list[Any] = []
    hold = anyio.Event()

    @agent.prompt
    async def turn(request: Any) -> Any:
        await hold.wait()
        ended.append("by itself")
        ending = {"stop_reason": "end_turn"} if version is v1 else {"message_id": "m"}
        return version.schema.PromptResponse(**ending)

    @agent.cancel
    def cancel(params: Any) -> None:
        cancels.append(params.session_id)

    async with opened(agent) as (_, peer):
        prompt = {"sessionId": "s", "prompt": [TEXT]}
        await peer.send(
            {"id": 1, "method": "session/prompt", "params": prompt},
            {"method": "session/cancel", "params": {"sessionId": 5}},
            {"method": "session/cancel"},
            {"id": 2, "method": "nobody"},
        )
        assert (await peer.receive())["id"] == 2
        assert (cancels, ended) == ([], [])
        await peer.notify("session/cancel", {"sessionId": "s"})
        await until(lambda: cancels == ["s"])
        hold.set()
        answer = await within(peer.receive())
    assert answer["id"] == 1
    assert (cancels, len(told)) == (["s"], 2)
    if version is v1:
        assert answer["result"]["stopReason"] == "cancelled"
