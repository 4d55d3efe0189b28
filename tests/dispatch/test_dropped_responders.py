"""Responders that nobody has any more: their requests are answered once (I15)."""

from __future__ import annotations

import gc
import json
from typing import Any

import anyio
import pytest

import acp
from tests.deferring import ASKING, Dialogs, collected_elsewhere, drop, each_layer, in_a_cycle, late
from tests.raw_peer import agent_under_test, client_under_test, prompt, within
from tests.sides import turns, until

DROPPED = {
    "code": -32603,
    "message": "Internal error",
    "data": "request handler dropped its responder for `_late` without responding",
}

# One that is dropped.


@each_layer
async def test_a_responder_that_is_dropped_is_answered_once(
    layer: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C-109: the data names the method."""
    async with late(layer, drop) as (peer, connection, _):
        await peer.request(1, "_late", {})
        assert await peer.receive() == {"jsonrpc": "2.0", "id": 1, "error": DROPPED}
        await peer.request(2, "unknown")
        assert (await peer.receive())["id"] == 2
        assert connection.stats().deferred == 0
    assert [each.getMessage() for each in caplog.records if "dropped" in each.getMessage()] == [
        "The responder of '_late' was dropped without an answer"
    ]


@each_layer
async def test_a_responder_that_is_dropped_later_is_answered_then(layer: str) -> None:
    """C-109."""
    async with late(layer) as (peer, connection, kept):
        await peer.request(1, "_late", {})
        await until(lambda: connection.stats().deferred == 1)
        kept.clear()
        assert (await peer.receive())["error"] == DROPPED
        await until(lambda: connection.stats().deferred == 0)


@each_layer
async def test_a_responder_that_is_dropped_after_the_peer_has_cancelled_is_answered_so(
    layer: str,
) -> None:
    """C-109."""
    async with late(layer) as (peer, connection, kept):
        await peer.request(1, "_late", {})
        await until(lambda: connection.stats().deferred == 1)
        await peer.notify("$/cancel_request", {"requestId": 1})
        await within(kept[0].cancellation.wait())
        assert not kept[0].is_answered
        kept.clear()
        error = (await peer.receive())["error"]
        assert error == {"code": -32800, "message": "Request cancelled"}


async def test_a_dialog_that_is_dropped_after_the_peer_has_cancelled_has_its_own_outcome() -> None:
    """C-109, C-105."""
    client = Dialogs()
    kept = client.kept
    async with client_under_test(client, use_unstable_protocol=True) as (client.agent, peer):
        await peer.request(1, "session/request_permission", ASKING)
        form = {"mode": "form", "message": "m", "sessionId": "s"}
        form["requestedSchema"] = {"type": "object", "properties": {}}  # pyright: ignore[reportArgumentType]
        await peer.request(2, "elicitation/create", form)
        await until(lambda: len(kept) == 2)
        for number in (1, 2):
            await peer.notify("$/cancel_request", {"requestId": number})
        await within(kept[0].cancellation.wait())
        await within(kept[1].cancellation.wait())
        kept.clear()
        answers = [await peer.receive() for _ in range(2)]
        assert {each["id"]: each["result"] for each in answers} == {
            1: {"outcome": {"outcome": "cancelled"}},
            2: {"action": "cancel"},
        }


@each_layer
async def test_the_handlers_own_error_wins_over_the_dropped_responder(layer: str) -> None:
    """C-109: it is held back while the handler runs."""

    async def fail(deferring: Any, kept: list[acp.Responder]) -> None:
        deferring.defer()
        await turns()
        raise acp.RequestError(-5, "Own")

    async with late(layer, fail) as (peer, _, _):
        await peer.request(1, "_late", {})
        assert (await peer.receive())["error"] == {"code": -5, "message": "Own"}
        await peer.request(2, "unknown")
        assert (await peer.receive())["id"] == 2


@each_layer
async def test_the_handlers_own_result_wins_over_the_dropped_responder(layer: str) -> None:
    """C-109."""

    async def answer(deferring: Any, kept: list[acp.Responder]) -> Any:
        deferring.defer()
        await turns()
        return {"own": True}

    async with late(layer, answer) as (peer, _, _):
        await peer.request(1, "_late", {})
        assert (await peer.receive())["result"] == {"own": True}


@each_layer
async def test_a_responder_that_is_dropped_while_the_handler_runs_is_answered_at_its_end(
    layer: str,
) -> None:
    """C-109."""
    go = anyio.Event()

    async def wait(deferring: Any, kept: list[acp.Responder]) -> None:
        deferring.defer()
        await go.wait()

    async with late(layer, wait) as (peer, connection, _):
        await peer.request(1, "_late", {})
        await until(lambda: connection.stats().handlers == 1)
        await turns()
        await peer.request(2, "unknown")
        assert (await peer.receive())["id"] == 2
        go.set()
        assert (await peer.receive())["error"] == DROPPED


@each_layer
async def test_a_handler_that_is_cancelled_takes_its_responder_with_it(layer: str) -> None:
    async def wait(deferring: Any, kept: list[acp.Responder]) -> None:
        kept.append(deferring.defer())
        await anyio.Event().wait()

    async with late(layer, wait) as (peer, connection, kept):
        await peer.request(1, "_late", {})
        await until(lambda: connection.stats().handlers == 1)
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["error"]["code"] == -32800
        assert kept[0].is_answered
        assert not kept[0].respond({})
        kept.clear()
        await peer.request(2, "unknown")
        assert (await peer.receive())["id"] == 2


async def test_a_responder_of_a_cancelled_turn_answers_as_such_a_turn() -> None:
    """A deferred prompt of version 1, and `session/cancel`."""
    kept: list[acp.Responder] = []

    class Agent(acp.Agent):
        def on_connect(self, conn: Any) -> None:
            self.conn = conn

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            kept.append(self.conn.defer())

    async with agent_under_test(Agent()) as (peer, connection):
        await peer.request(1, "session/prompt", prompt())
        await until(lambda: connection.stats().deferred == 1)
        await peer.notify("session/cancel", {"sessionId": "s"})
        await within(kept[0].cancellation.wait())
        kept.clear()
        assert (await peer.receive())["result"] == {"stopReason": "cancelled"}


# Where the collector finds it.


async def test_another_thread_may_drop_it() -> None:
    """C-109: the answer is written in the loop."""
    async with late("endpoint") as (peer, connection, kept):
        for number in range(20):
            await peer.request(number, "_late", {})
        await until(lambda: connection.stats().deferred == 20)
        thread = collected_elsewhere(kept)
        answers = [await peer.receive() for _ in range(20)]
        thread.join()
        assert sorted(each["id"] for each in answers) == list(range(20))
        assert [each["error"] for each in answers] == [DROPPED] * 20


async def test_the_collector_may_find_it_inside_the_core() -> None:
    """C-109: it runs wherever objects are made, so also while messages are read and written."""
    async with late("endpoint") as (peer, connection, kept):
        thresholds = gc.get_threshold()
        for number in range(20):
            await peer.request(number, "_late", {})
            await until(lambda: len(kept) == 1)
            in_a_cycle(kept.pop())
            gc.set_threshold(1, 1, 1)
            try:
                for _ in range(5):
                    await connection.notify("_x", {"a": [{"b": 1}, {"c": [2, 3]}]})
                await peer.request(f"other {number}", "unknown", {"a": [{"b": [{}]}]})
                messages = [await peer.receive() for _ in range(7)]
            finally:
                gc.set_threshold(*thresholds)
            answers = {each["id"]: each for each in messages if "id" in each}
            assert answers.keys() == {number, f"other {number}"}
            assert answers[number]["error"] == DROPPED


# In batches.


@each_layer
async def test_a_batch_waits_for_its_deferred_entries_and_keeps_their_places(layer: str) -> None:
    """C-060: one that is dropped is answered, so that the array is complete."""
    async with late(layer) as (peer, connection, kept):
        entry = {"jsonrpc": "2.0", "method": "_late", "params": dict[str, Any]()}
        batch = [{**entry, "id": number} for number in range(3)]
        await peer.send_text(json.dumps(batch) + "\n")
        await until(lambda: connection.stats().deferred == 3)
        kept[2].respond({"n": 2})
        await peer.request(9, "unknown")
        assert (await peer.receive())["id"] == 9
        kept[0].respond({"n": 0})
        kept.clear()
        replies = await peer.receive()
        assert [each["id"] for each in replies] == [0, 1, 2]
        assert [each.get("result") for each in replies] == [{"n": 0}, None, {"n": 2}]
        assert replies[1]["error"] == DROPPED


@each_layer
async def test_in_a_batch_the_handlers_own_error_wins_over_the_dropped_responder(
    layer: str,
) -> None:
    """C-061."""

    async def fail(deferring: Any, kept: list[acp.Responder]) -> None:
        deferring.defer()
        await turns()
        raise acp.RequestError(-5, "Own")

    async with late(layer, fail) as (peer, _, _):
        await peer.send_text('[{"jsonrpc":"2.0","id":1,"method":"_late","params":{}}]\n')
        error = {"code": -5, "message": "Own"}
        assert await peer.receive() == [{"jsonrpc": "2.0", "id": 1, "error": error}]
