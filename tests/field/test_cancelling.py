"""Turns and requests that are cancelled, from either side."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits
from tests.field.wires import Echo, answer_of, each_cut, each_side, each_wire, wired
from tests.raw_peer import chunk, prompt, within

SHORT = Limits(closing=0.05)
CANCEL: dict[str, Any] = {"method": "session/cancel", "params": {"sessionId": "s"}}


def cancel(session: str = "s") -> dict[str, Any]:
    return {"method": "session/cancel", "params": {"sessionId": session}}


class Working(acp.Agent):
    """Works on a prompt until it is cancelled, or `done` is set, in the way that `tool` says."""

    client: Any

    def __init__(self, tool: str = "waits") -> None:
        self.tool = tool
        self.started: list[str] = []
        self.done: dict[str, anyio.Event] = {}

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> Any:
        await self.client.session_update(session_id, acp.update_agent_message_text("history"))

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        self.started.append(session_id)
        done = self.done.setdefault(session_id, anyio.Event())
        await self.client.session_update(session_id, acp.update_agent_message_text("begun"))
        if self.tool == "asks":
            await self.client.read_text_file(session_id, "/f")
        elif self.tool == "groups":
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
        elif self.tool == "cleans up":
            try:
                await done.wait()
            finally:
                with anyio.CancelScope(shield=True):
                    text = acp.update_agent_message_text("cleaned")
                    await self.client.session_update(session_id, text)
        elif self.tool == "fails when cancelled":
            try:
                await done.wait()
            except anyio.get_cancelled_exc_class():
                raise ValueError from None
        else:
            await done.wait()
        return acp.PromptResponse(stop_reason="end_turn")


@each_wire
@each_cut
@pytest.mark.parametrize("tool", ["waits", "asks", "groups", "cleans up"])
async def test_a_cancelled_turn_ends_with_its_stop_reason_behind_its_updates(
    wire: str, cut: int | None, tool: str
) -> None:
    """C19: and the next prompt of the session works."""
    agent = Working(tool)
    async with wired("agent", agent, wire=wire, cut=cut) as (_, peer):
        for number in range(2):
            await peer.request(number, "session/prompt", prompt())
            assert (await peer.receive())["method"] == "session/update"
            if tool == "asks":
                assert (await peer.receive())["method"] == "fs/read_text_file"
            await peer.send(CANCEL)
            seen: list[Any] = []
            while not seen or seen[-1].get("id") != number or "method" in seen[-1]:
                seen.append(await peer.receive())
            assert seen[-1]["result"] == {"stopReason": "cancelled"}
            methods = [message.get("method") for message in seen[:-1]]
            assert methods == {
                "asks": ["$/cancel_request"],
                "cleans up": ["session/update"],
            }.get(tool, [])
        agent.tool = "waits"
        agent.done["s"] = anyio.Event()
        agent.done["s"].set()
        await peer.request(9, "session/prompt", prompt())
        await peer.receive()
        assert (await peer.receive())["result"]["stopReason"] == "end_turn"


async def test_what_a_tool_raises_because_of_the_cancel_is_no_success() -> None:
    """C19: a handler that fails is answered once, whatever it is answered with."""
    async with wired("agent", Working("fails when cancelled")) as (_, peer):
        await peer.request(1, "session/prompt", prompt())
        await peer.receive()
        await peer.send(CANCEL)
        assert (await peer.receive())["id"] == 1
        assert (await peer.exchange(2, "nobody"))["id"] == 2


async def test_a_turn_that_catches_its_cancellation_gives_its_own_answer() -> None:
    """C19."""

    class Catching(Working):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            self.started.append(session_id)
            try:
                await anyio.Event().wait()
            except anyio.get_cancelled_exc_class():
                return acp.PromptResponse(stop_reason="max_tokens")

    async with wired("agent", Catching()) as (_, peer):
        await peer.request(1, "session/prompt", prompt())
        await peer.send(CANCEL)
        assert (await peer.receive())["result"]["stopReason"] == "max_tokens"


@each_side
@each_cut
async def test_a_cancelled_request_is_answered_once_and_unknown_ones_are_ignored_quietly(
    side: str, cut: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """C20."""

    class Slow(Echo):
        async def ext_method(self, method: str, params: Any) -> Any:
            if method == "x/slow":
                await anyio.Event().wait()
            return params

    caplog.set_level(logging.INFO)
    async with wired(side, Slow(), cut=cut) as (_, peer):
        await peer.request(4, "_x/slow", {})
        for unknown in (99, "4", 4, 4, "x", -1, None):
            await peer.notify("$/cancel_request", {"requestId": unknown})
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (4, -32800)
        assert (await peer.exchange(5))["id"] == 5
        await peer.notify("$/cancel_request", {"requestId": 4})
        await peer.notify("$/cancel_request", {"requestId": 5})
        assert (await peer.exchange(6))["id"] == 6
    assert [record.getMessage() for record in caplog.records] == []


@each_side
@pytest.mark.parametrize(
    "params", ["null", "{}", "[]", '{"requestId":{}}', '{"requestId":1.5}', "7"]
)
async def test_a_cancel_that_names_nothing_costs_nothing(side: str, params: str) -> None:
    """C20."""
    async with wired(side, Echo()) as (_, peer):
        line = f'{{"jsonrpc":"2.0","method":"$/cancel_request","params":{params}}}\n'
        await peer.send_bytes(line.encode())
        messages = [await peer.exchange(5)]
        # The serving side may tell that params are no params; it never answers a notification.
        while messages[-1].get("id") != 5:
            assert messages[-1]["id"] is None
            messages.append(await peer.receive())
        assert messages[-1]["result"] == {}


async def test_a_request_that_is_cancelled_in_its_queue_is_never_run() -> None:
    """C20."""
    agent = Working()
    async with wired("agent", agent, limits=Limits(running_handlers=1, closing=0.05)) as (_, peer):
        requests = [
            {"id": number, "method": "session/prompt", "params": prompt(session=f"s{number}")}
            for number in range(4)
        ]
        cancels = [
            {"method": "$/cancel_request", "params": {"requestId": number}} for number in (1, 3)
        ]
        await peer.send(*requests, *cancels)
        answers = [await peer.receive() for _ in range(3)]
        refused = [message for message in answers if "error" in message]
        assert sorted((m["id"], m["error"]["code"]) for m in refused) == [(1, -32800), (3, -32800)]
        await within(_eventually(lambda: agent.started == ["s0"]))
        agent.done["s0"].set()
        await within(_eventually(lambda: agent.started == ["s0", "s2"]))


async def _eventually(holds: Any) -> None:
    while not holds():
        await anyio.lowlevel.checkpoint()


@each_side
@each_wire
async def test_each_cancelled_call_of_ours_is_told_with_its_own_id(side: str, wire: str) -> None:
    """C20: in whatever order; those that go on are answered."""
    async with wired(side, Echo(), wire=wire) as (connection, peer):
        calls: dict[int, Any] = {}
        for _ in range(6):
            call = peer.start(answer_of(connection))
            calls[(await peer.receive())["id"]] = call
        for number in (4, 1, 2):
            calls[number].cancel()
            told = await peer.receive()
            assert told["method"] == "$/cancel_request"
            assert told["params"] == {"requestId": number}
            assert "id" not in told
            with pytest.raises(asyncio.CancelledError):
                await calls[number]
        for number in range(6):
            await peer.answer(number, {"n": number})
        for number in (0, 3, 5):
            assert await within(calls[number]) == {"n": number}
        assert (await peer.exchange(9))["id"] == 9


async def test_a_cancel_hits_its_own_session_and_wedges_none() -> None:
    """C21: two sessions prompt; one is cancelled, and prompts again."""
    agent = Working()
    async with wired("agent", agent) as (_, peer):
        for number, session in enumerate("ab"):
            await peer.request(number, "session/prompt", prompt(session=session))
            await peer.receive()
        await peer.send(cancel("a"), cancel("a"), cancel("idle"), cancel("a"))
        answer = await peer.receive()
        assert (answer["id"], answer["result"]["stopReason"]) == (0, "cancelled")
        agent.done["a"] = anyio.Event()
        await peer.request(2, "session/prompt", prompt(session="a"))
        assert (await peer.receive())["params"]["sessionId"] == "a"
        for session, number in (("b", 1), ("a", 2)):
            agent.done[session].set()
            answer = await peer.receive()
            assert (answer["id"], answer["result"]["stopReason"]) == (number, "end_turn")


async def test_a_session_that_is_loaded_during_its_turn_can_still_be_cancelled() -> None:
    """C21."""
    async with wired("agent", Working()) as (_, peer):
        await peer.request(0, "session/prompt", prompt())
        await peer.receive()
        await peer.request(1, "session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []})
        assert [(await peer.receive()).get("id") for _ in range(2)] == [None, 1]
        await peer.send(CANCEL)
        answer = await peer.receive()
        assert (answer["id"], answer["result"]["stopReason"]) == (0, "cancelled")


@pytest.mark.parametrize("count", [1, 3, 20])
async def test_a_cancel_ends_every_turn_of_its_session_that_has_started(count: int) -> None:
    """C21."""
    async with wired("agent", Working(), limits=SHORT) as (_, peer):
        for number in range(count):
            await peer.request(number, "session/prompt", prompt())
            await peer.receive()
        await peer.request("other", "session/prompt", prompt(session="other"))
        await peer.receive()
        await peer.send(CANCEL)
        answers = [await peer.receive() for _ in range(count)]
        assert {answer["result"]["stopReason"] for answer in answers} == {"cancelled"}
        assert {answer["id"] for answer in answers} == set(range(count))


async def test_cancels_and_prompts_in_one_write_each_end_what_came_before() -> None:
    """C21: a burst of impatient clicks."""
    async with wired("agent", Working()) as (_, peer):
        burst: list[Any] = []
        for number in range(10):
            burst += [{"id": number, "method": "session/prompt", "params": prompt()}, CANCEL]
        await peer.send(*burst)
        answers: dict[int, str] = {}
        while len(answers) < 10:
            message = await peer.receive()
            if "id" in message:
                answers[message["id"]] = message["result"]["stopReason"]
        assert answers == dict.fromkeys(range(10), "cancelled")


async def test_a_client_that_cancels_still_gets_the_updates_that_follow() -> None:
    """C19: what a turn says on its way out is not lost."""
    texts: list[str] = []

    class Reading(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            texts.append(update.content.text)

    async with wired("client", Reading()) as (agent, peer):
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await within(agent.cancel("s"))
        assert (await peer.receive())["method"] == "session/cancel"
        answer = {"id": request["id"], "result": {"stopReason": "cancelled"}}
        await peer.send(chunk("on"), chunk("its way out"), answer)
        assert (await within(turn)).stop_reason == "cancelled"
    assert texts == ["on", "its way out"]
