"""Responders: answers that are given after the handler has ended (I15)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import Limits, schema
from tests.deferring import ASKING, Dialogs, each_layer, late
from tests.raw_peer import agent_under_test, client_under_test, within
from tests.sides import Silent, turns, until

# One that is kept.


@each_layer
async def test_a_request_waits_for_its_responder_and_is_answered_once(layer: str) -> None:
    async with late(layer) as (peer, connection, kept):
        await peer.request("a", "_late", {})
        await until(lambda: connection.stats().deferred == 1)
        assert (connection.stats().unanswered, connection.handlers()) == (1, [])
        (responder,) = kept
        assert (responder.method, responder.request_id, responder.session_id) == (
            "_late",
            "a",
            None,
        )
        await peer.request(2, "unknown")
        assert (await peer.receive())["id"] == 2
        assert not responder.is_answered
        assert responder.respond({"x": 1})
        assert await peer.receive() == {"jsonrpc": "2.0", "id": "a", "result": {"x": 1}}
        assert responder.is_answered
        assert not responder.respond({})
        assert not responder.error(ValueError())
        assert not responder.cancelled()
        kept.clear()
        del responder
        await peer.request(3, "unknown")
        assert (await peer.receive())["id"] == 3
        assert connection.stats().deferred == 0


@each_layer
async def test_a_responder_that_is_kept_for_ever_does_not_keep_the_connection_from_closing(
    layer: str,
) -> None:
    """And nothing is written for it afterwards, whatever becomes of it."""
    async with late(layer, limits=Limits(closing=0.05)) as (peer, connection, kept):
        for number in range(3):
            await peer.request(number, "_late", {})
        await until(lambda: connection.stats().deferred == 3)
        await within(connection.close())
        assert connection.stats().deferred == 0
        assert not kept[0].respond({})
        kept.clear()
        await turns()
        assert await peer.receive() is None


@each_layer
async def test_a_responder_may_answer_while_the_connection_winds_down(layer: str) -> None:
    async with late(layer, limits=Limits(closing=None)) as (peer, connection, kept):
        await peer.request(1, "_late", {})
        await until(lambda: connection.stats().deferred == 1)
        peer.start(connection.close())
        await turns()
        assert kept[0].respond({})
        assert (await peer.receive())["id"] == 1
        assert await peer.receive() is None


async def test_a_request_that_is_deferred_counts_among_those_that_run() -> None:
    async with late("endpoint", limits=Limits(running_handlers=1)) as (peer, connection, kept):
        await peer.request(1, "_late", {})
        await peer.request(2, "_late", {})
        await until(lambda: connection.stats().waiting_messages == 1)
        assert len(kept) == 1
        kept[0].respond({})
        assert (await peer.receive())["id"] == 1
        await until(lambda: len(kept) == 2)
        kept[1].respond({})
        assert (await peer.receive())["id"] == 2


async def test_a_responder_answers_with_errors_as_a_handler_would() -> None:
    async with late("drop-in") as (peer, _, kept):
        for number in range(3):
            await peer.request(number, "_late", {})
        await until(lambda: len(kept) == 3)
        assert kept[0].error(acp.RequestError(-5, "No", {"a": 1}))
        assert (await peer.receive())["error"] == {"code": -5, "message": "No", "data": {"a": 1}}
        assert kept[1].error(KeyError("secret"))
        # As drop-in connections show it, unless that is turned off.
        error = {"code": -32603, "message": "Internal error", "data": {"details": "'secret'"}}
        assert (await peer.receive())["error"] == error
        assert kept[2].cancelled()
        assert (await peer.receive())["error"] == {"code": -32800, "message": "Request cancelled"}


async def test_a_result_that_cannot_be_written_is_refused_and_leaves_the_request_open() -> None:
    async with late("endpoint") as (peer, _, kept):
        await peer.request(1, "_late", {})
        await until(lambda: len(kept) == 1)
        with pytest.raises(RuntimeError, match="cannot be written"):
            kept[0].respond({"x": object()})
        assert kept[0].respond({"x": 1})
        assert (await peer.receive())["result"] == {"x": 1}


# Who may have one.


@each_layer
async def test_a_request_has_one_responder(layer: str) -> None:
    refused: list[str] = []

    async def twice(deferring: Any, kept: list[acp.Responder]) -> None:
        kept.append(deferring.defer())
        with pytest.raises(RuntimeError, match="responder already") as caught:
            deferring.defer()
        refused.append(str(caught.value))
        kept[-1].respond({})
        with pytest.raises(RuntimeError, match="answered already"):
            deferring.defer()

    async with late(layer, twice) as (peer, _, _):
        await peer.request(1, "_late", {})
        assert (await peer.receive())["result"] == {}
        await until(lambda: len(refused) == 1)


async def test_only_the_code_of_a_request_handler_of_the_connection_has_one() -> None:
    refused: list[str] = []

    class Agent(acp.Agent):
        def on_connect(self, conn: Any) -> None:
            self.conn = conn

        async def ext_notification(self, method: str, params: Any) -> None:
            with pytest.raises(RuntimeError, match="no handler of a request") as caught:
                self.conn.defer()
            refused.append(str(caught.value))

        async def ext_method(self, method: str, params: Any) -> Any:
            with pytest.raises(RuntimeError, match="no handler of a request"):
                other.defer()
            return {}

    async with (
        agent_under_test(Agent()) as (peer, connection),
        client_under_test(Silent()) as (other, _),
    ):
        with pytest.raises(RuntimeError, match="no handler of a request"):
            connection.defer()
        await peer.notify("_x", {})
        await until(lambda: len(refused) == 1)
        await peer.request(1, "_x", {})
        assert (await peer.receive())["result"] == {}


async def test_a_responder_is_used_in_the_thread_of_the_loop() -> None:
    """Elsewhere it is refused; `from_thread` brings the answer into the loop."""
    async with late("drop-in") as (peer, connection, kept):
        await peer.request(1, "_late", {})
        await until(lambda: len(kept) == 1)
        (responder,) = kept

        def refused() -> None:
            with pytest.raises(RuntimeError, match="from_thread"):
                responder.respond({})

        await anyio.to_thread.run_sync(refused)
        assert not responder.is_answered

        async def answer() -> bool:
            return responder.respond({"from": "thread"})

        assert await anyio.to_thread.run_sync(connection.from_thread, answer)
        assert (await peer.receive())["result"] == {"from": "thread"}


async def test_a_permission_that_a_person_decides_later_is_cancelled_with_the_turn() -> None:
    """C22: a click after the client has cancelled sends nothing."""
    client = Dialogs()
    kept = client.kept
    async with client_under_test(client) as (agent, peer):
        client.agent = agent
        turn = peer.start(agent.prompt("s", [acp.text_block("go")]))
        asked = await peer.receive()
        for number in (5, 6):
            await peer.request(number, "session/request_permission", ASKING)
        await until(lambda: len(kept) == 2)
        allowed = schema.AllowedOutcome(option_id="a")
        kept[0].respond(schema.RequestPermissionResponse(outcome=allowed))
        outcome = {"outcome": "selected", "optionId": "a"}
        assert (await peer.receive())["result"] == {"outcome": outcome}
        await within(agent.cancel("s"))
        messages = [await peer.receive() for _ in range(2)]
        (answer,) = [each for each in messages if "id" in each]
        assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
        assert not kept[1].respond(schema.RequestPermissionResponse(outcome=allowed))
        await peer.answer(asked["id"], {"stopReason": "cancelled"})
        assert (await within(turn)).stop_reason == "cancelled"
