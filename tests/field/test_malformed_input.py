"""What a peer sends that is no message or does not fit: who is told of it, and how often."""

from __future__ import annotations

import gc
import json
import logging
import weakref
from typing import Any

import pytest

import acp
from acp import _malformed_input
from acp.schema import PromptRequest
from tests.field.wires import Echo, answer_of, each_cut, each_side, wired
from tests.raw_peer import chunk, prompt, within
from tests.sides import Recorder, Silent, turns


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


ANSWERS: dict[str, tuple[bytes, str]] = {
    "a text as the error": (b'{"jsonrpc":"2.0","id":0,"error":"boom"}', "envelope"),
    "a text as the code": (b'{"id":0,"error":{"code":"x","message":"m"}}', "envelope"),
    "both": (b'{"id":0,"result":1,"error":{"code":1,"message":"m"}}', "envelope"),
    "neither": (b'{"jsonrpc":"2.0","id":0}', "envelope"),
    "one twice": (b'{"id":0,"result":1,"result":1}', "duplicate"),
    "of another version": (b'{"jsonrpc":"1.0","id":0,"result":1}', "envelope"),
    "no number": (b'{"jsonrpc":"2.0","id":0,"result":{"n":NaN}}', "parse"),
    "no text": (b'{"jsonrpc":"2.0","id":0,"result":"\xff"}', "utf8"),
    "too deep": (b'{"id":0,"result":' + b"[" * 1100 + b"]" * 1100 + b"}", "depth"),
}


@each_side
@each_cut
@pytest.mark.parametrize("answer", list(ANSWERS))
async def test_a_malformed_answer_is_offered_to_the_hook_once_beside_its_callers_error(
    side: str, cut: int | None, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C05."""
    told: list[acp.Malformed] = []
    line, reason = ANSWERS[answer]
    async with wired(side, Echo(), cut=cut, on_malformed=told.append) as (connection, peer):
        calls: list[Any] = []
        for _ in range(2):
            calls.append(peer.start(answer_of(connection)))
            await peer.receive()
        await peer.send_bytes(line, b"\n", b'{"jsonrpc":"2.0","id":1,"result":"B"}\n')
        with pytest.raises(acp.RemoteProtocolError, match="malformed"):
            await within(calls[0])
        assert await within(calls[1]) == "B"
        counters = connection.stats().counters
    (each,) = told
    assert (each.kind, each.reason, each.method) == ("response", reason, "_x/answer")
    assert (each.data, each.size, each.answered) == (line, len(line), False)
    assert counters["malformed_responses"] == 1
    assert warnings_in(caplog) == []


@each_side
async def test_a_malformed_answer_that_nobody_waits_for_any_more_is_told_all_the_same(
    side: str,
) -> None:
    """C05."""
    told: list[acp.Malformed] = []
    async with wired(side, Echo(), on_malformed=told.append) as (connection, peer):
        calling = peer.start(answer_of(connection))
        await peer.receive()
        calling.cancel()
        await turns()
        await peer.receive()
        await peer.send_bytes(b'{"jsonrpc":"2.0","id":0,"error":"boom"}\n')
        assert (await peer.exchange(6))["id"] == 6
        counters = connection.stats().counters
    assert [(each.kind, each.reason) for each in told] == [("frame", "envelope")]
    assert counters["swallowed_responses"] == 1


@each_side
@pytest.mark.parametrize("in_array", [False, True])
async def test_an_error_that_names_no_request_is_logged_and_offered_to_the_hook(
    side: str, in_array: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """C05: nothing is sent back, and no call of ours ends by it."""
    told: list[acp.Malformed] = []
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"secret"}}'
    async with wired(side, Echo(), on_malformed=told.append) as (connection, peer):
        calling = peer.start(answer_of(connection))
        await peer.receive()
        await peer.send_bytes(b"[" + error + b"]\n" if in_array else error + b"\n")
        await peer.answer(0, {"ok": True})
        assert await within(calling) == {"ok": True}
        assert (await peer.exchange(6))["id"] == 6
        assert connection.stats().counters["rejected_error"] == 1
    (each,) = told
    assert (each.kind, each.reason, each.code, each.data) == ("error", "error", -32700, error)
    (warning,) = warnings_in(caplog)
    assert "-32700" in warning
    assert "secret" not in caplog.text


BAD_UPDATES: list[Any] = [
    {"sessionId": "s"},
    {"sessionId": 5, "update": {"sessionUpdate": "plan", "entries": []}},
    {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk"}},
    {"sessionId": "s", "update": {"sessionUpdate": "future"}},
    [1],
    None,
]


@pytest.mark.parametrize("params", BAD_UPDATES)
@pytest.mark.parametrize("behind", ["nothing", "another", "a handler that runs", "an array"])
async def test_a_notification_that_does_not_fit_is_offered_to_the_hook_once(
    params: Any, behind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C01, C18: whatever way it takes to its handler, which is not called."""
    told: list[acp.Malformed] = []
    client = Recorder()
    async with wired("client", client, on_malformed=told.append) as (connection, peer):
        bad = {"method": "session/update", "params": params}
        if behind == "an array":
            await peer.send_text(json.dumps([bad, {"id": 1, "method": "nobody"}]) + "\n")
            assert (await peer.receive())[0]["id"] == 1
        else:
            if behind != "nothing":
                await peer.send(chunk("first", "other" if behind == "another" else "s"))
            await peer.send(bad)
            assert (await peer.exchange(1, "nobody"))["id"] == 1
        client.go.set()
        await within(connection.close())
        counters = connection.stats().counters
    (each,) = told
    assert (each.kind, each.method, each.answered) == ("params", "session/update", False)
    assert each.errors
    assert each.reason == each.errors[0]["type"]
    assert all("input" not in error for error in each.errors)
    raw = b"" if params is None else json.dumps(params).encode()
    assert (each.data, each.size) == (raw, len(raw))
    assert counters["malformed_params"] == 1
    assert len(client.started) == (behind in {"another", "a handler that runs"})
    (warning,) = warnings_in(caplog)
    assert "ValidationError" in warning


async def test_a_fault_of_a_handlers_own_is_no_fault_of_its_message() -> None:
    """C32: also when it is an object that does not fit."""
    told: list[acp.Malformed] = []

    class Faulty(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            return PromptRequest.model_validate({"wrong": True})

        async def cancel(self, session_id: str, **kwargs: Any) -> None:
            PromptRequest.model_validate({"wrong": True})

    async with wired("agent", Faulty(), on_malformed=told.append) as (connection, peer):
        for number in range(2):
            assert "error" in await peer.exchange(number, "session/prompt", prompt())
            await peer.notify("session/cancel", {"sessionId": "s"})
        assert (await peer.exchange(9))["id"] == 9
        assert connection.stats().counters["malformed_params"] == 0
    assert told == []


@pytest.mark.parametrize("result", [{"stopReason": "future"}, {}, None, 5, [1]])
async def test_a_result_that_does_not_fit_is_offered_to_the_hook_beside_its_callers_error(
    result: Any,
) -> None:
    """C10."""
    told: list[acp.Malformed] = []
    async with wired("client", Silent(), on_malformed=told.append) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        await peer.receive()
        await peer.answer(0, result)
        with pytest.raises(acp.ValidationError):
            await within(turn)
        assert agent.stats().counters["malformed_results"] == 1
    (each,) = told
    assert (each.kind, each.method, each.answered) == ("result", "session/prompt", False)
    assert each.data == json.dumps(result).encode()


async def test_what_a_hook_is_given_of_a_message_has_a_bound() -> None:
    told: list[acp.Malformed] = []
    async with wired("client", Recorder(), on_malformed=told.append) as (agent, peer):
        await peer.send_bytes(b"x" * 10_000, b"\n", b'["', b"y" * 10_000, b'"]\n')
        await peer.notify("session/update", {"sessionId": "z" * 10_000})
        greeting = peer.start(agent.initialize(1))
        await peer.receive()
        await peer.answer(0, {"protocolVersion": 1, "authMethods": ["a" * 10_000]})
        await within(greeting)
    assert [each.kind for each in told] == ["frame", "frame", "params", "skipped"]
    assert {len(each.data) for each in told} == {4096}
    assert all(each.size >= 10_000 for each in told)


@each_side
async def test_a_hook_that_fails_costs_no_message_and_is_told_once(
    side: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(malformed: acp.Malformed) -> None:
        raise ZeroDivisionError(malformed.data)

    async with wired(side, Echo(), on_malformed=fail) as (_, peer):
        for number in range(3):
            await peer.send_bytes(b"secret\n")
            if side == "agent":
                assert (await peer.receive())["id"] is None
            assert (await peer.exchange(number))["id"] == number
    assert [line for line in warnings_in(caplog) if "hook" in line] == [
        "The hook for malformed input failed: ZeroDivisionError"
    ]
    assert "secret" not in caplog.text


async def test_a_burst_is_one_warning_and_the_next_one_tells_how_much_there_was(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C01."""
    now = 1000.0
    monkeypatch.setattr(_malformed_input, "monotonic", lambda: now)
    async with wired("client", Echo()) as (_, peer):
        for number, seconds in enumerate((0.0, 59.0, 2.0)):
            now += seconds
            await peer.send_bytes(b"noise\n" * 50, b"17\n" * 50)
            assert (await peer.exchange(number))["id"] == number
    first, second = warnings_in(caplog)
    assert "(parse)" in first
    assert "199" in second


@each_side
async def test_a_flood_of_noise_is_told_line_by_line_and_kept_by_nobody(side: str) -> None:
    """C01, C13: there is one warning, and everything is counted."""
    count = 0

    def note(malformed: acp.Malformed) -> None:
        nonlocal count
        count += len(malformed.data)

    async with wired(side, Echo(), on_malformed=note) as (connection, peer):
        for number in range(20):
            await peer.send_bytes(b"0123456789\n" * 1000)
            if side == "agent":
                for _ in range(1000):
                    await peer.receive()
            assert (await peer.exchange(number))["id"] == number
        stats = connection.stats()
    assert count == 20 * 1000 * 10
    assert stats.counters["rejected_parse"] == 20_000
    assert (stats.waiting_messages, stats.waiting_bytes) == (0, 0)


async def test_a_connection_whose_hook_knows_it_is_given_back() -> None:
    async def talk() -> weakref.ref[Any]:
        known: list[Any] = []

        def hook(malformed: acp.Malformed) -> None:
            known.append(malformed)

        async with wired("client", Silent(), on_malformed=hook) as (agent, peer):
            known.append(agent)
            greeting = peer.start(agent.initialize(1))
            await peer.receive()
            await peer.send_bytes(b"noise\n")
            await peer.answer(0, {"protocolVersion": 1, "authMethods": [5]})
            await within(greeting)
            # Nothing is received behind it: its event is the last one of the connection.
            await peer.send(chunk("last"))
            await turns()
            assert len(known) == 3
        return weakref.ref(agent._connection._malformed)

    gone = await talk()
    await turns()
    gc.collect()
    assert gone() is None
