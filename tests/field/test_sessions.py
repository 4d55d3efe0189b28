"""Updates before a session is known and after its turn, and session ids that come back."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits
from tests.field.wires import each_cut, each_wire, wired
from tests.raw_peer import chunk, prompt, within
from tests.sides import turns

ASKED = [acp.text_block("x")]
NEW = {"cwd": "/", "mcpServers": []}


class Seen(acp.Client):
    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.texts.append((session_id, update.content.text))


OPENINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "session/new": (lambda agent: agent.new_session("/"), {"sessionId": "s1"}),
    "session/load": (lambda agent: agent.load_session("/", "s1"), {}),
    "session/resume": (lambda agent: agent.resume_session("s1", "/"), {}),
    "session/fork": (lambda agent: agent.fork_session("s0", "/"), {"sessionId": "s1"}),
}


@each_wire
@each_cut
@pytest.mark.parametrize("method", list(OPENINGS))
async def test_updates_before_the_answer_that_opens_a_session_are_seen_before_it(
    wire: str, cut: int | None, method: str
) -> None:
    """C37: the client has them when the call returns."""
    client = Seen()
    call, result = OPENINGS[method]
    async with wired("client", client, wire=wire, cut=cut) as (agent, peer):
        opening = peer.start(call(agent))
        request = await peer.receive()
        assert request["method"] == method
        updates = [chunk(text, "s1") for text in ("commands", "mode", "hello")]
        await peer.send(*updates, {"id": request["id"], "result": result}, chunk("later", "s1"))
        await within(opening)
        assert client.texts[:3] == [("s1", "commands"), ("s1", "mode"), ("s1", "hello")]
        assert (await peer.exchange(9, "nobody"))["id"] == 9
        await turns()
        assert client.texts[3:] == [("s1", "later")]


async def test_updates_of_a_session_whose_opening_fails_are_seen_all_the_same() -> None:
    """C37."""
    client = Seen()
    async with wired("client", client) as (agent, peer):
        opening = peer.start(agent.new_session("/"))
        request = await peer.receive()
        error = {"code": -32000, "message": "Log in"}
        await peer.send(chunk("early", "s1"), {"id": request["id"], "error": error})
        with pytest.raises(acp.RequestError):
            await within(opening)
        await turns()
    assert client.texts == [("s1", "early")]


class Early(acp.Agent):
    """Tells of its session before the client has it."""

    client: Any

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        await self.client.session_update("s1", acp.update_agent_message_text("commands"))
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        for number in range(3):
            text = acp.update_agent_message_text(str(number))
            asyncio.ensure_future(self.client.session_update(session_id, text))  # noqa: RUF006
        await asyncio.sleep(0)
        return acp.PromptResponse(stop_reason="end_turn")


async def test_what_an_agent_sends_goes_out_in_the_order_in_which_it_sends() -> None:
    """C37: the update that it sends within `new_session` before the answer."""
    async with wired("agent", Early()) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert (await peer.receive())["method"] == "session/update"
        assert (await peer.receive())["result"]["sessionId"] == "s1"


@pytest.mark.asyncio_only
async def test_updates_that_a_turn_has_queued_go_out_before_its_answer() -> None:
    """C38: also those of tasks that it does not await, once they have taken their step."""
    async with wired("agent", Early()) as (_, peer):
        await peer.request(1, "session/prompt", prompt())
        messages = [await peer.receive() for _ in range(4)]
        assert [message.get("id") for message in messages] == [None, None, None, 1]


@each_wire
@each_cut
async def test_updates_behind_the_end_of_a_turn_are_delivered(wire: str, cut: int | None) -> None:
    """C38: in their order, and before those of the next turn."""
    client = Seen()
    async with wired("client", client, wire=wire, cut=cut) as (agent, peer):
        for number in range(2):
            turn = peer.start(agent.prompt("s", ASKED))
            request = await peer.receive()
            await peer.send(
                chunk(f"in {number}"),
                {"id": request["id"], "result": {"stopReason": "end_turn"}},
                chunk(f"EM {number}"),
                chunk(f"late {number}"),
            )
            await within(turn)
            assert ("s", f"in {number}") in client.texts
        assert (await peer.exchange(9, "nobody"))["id"] == 9
        await turns()
    wanted = [f"{word} {number}" for number in range(2) for word in ("in", "EM", "late")]
    assert [text for _, text in client.texts] == wanted


async def test_updates_of_a_session_that_nobody_opened_are_delivered() -> None:
    """C38, C46: the library does not judge them."""
    client = Seen()
    async with wired("client", client) as (_, peer):
        await peer.send(chunk("x", "never opened"), chunk("y", ""), chunk("z", "é\n\u2028"))
        assert (await peer.exchange(9, "nobody"))["id"] == 9
        await turns()
    assert sorted(client.texts) == [("", "y"), ("never opened", "x"), ("é\n\u2028", "z")]


class Reusing(acp.Agent):
    """Gives every session the same id."""

    def __init__(self) -> None:
        self.prompts = 0
        self.ended: list[str] = []

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        return acp.NewSessionResponse(session_id="s1")

    async def close_session(self, session_id: str, **kwargs: Any) -> None:
        return

    async def delete_session(self, session_id: str, **kwargs: Any) -> None:
        return

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        self.prompts += 1
        try:
            if prompt[0].text == "wait":
                await anyio.Event().wait()
        except anyio.get_cancelled_exc_class():
            self.ended.append("cancelled")
            raise
        return acp.PromptResponse(stop_reason="end_turn")


async def test_a_session_id_that_comes_back_has_nothing_of_the_session_before() -> None:
    """C46: agent side, over new, prompt, cancel, close and delete."""
    agent = Reusing()
    limits = Limits(closing=0.05)
    async with wired("agent", agent, use_unstable_protocol=True, limits=limits) as (_, peer):
        for round_ in range(3):
            answer = await peer.exchange(round_ * 10, "session/new", NEW)
            assert answer["result"]["sessionId"] == "s1"
            await peer.request(round_ * 10 + 1, "session/prompt", prompt("wait", "s1"))
            await peer.notify("session/cancel", {"sessionId": "s1"})
            assert (await peer.receive())["result"] == {"stopReason": "cancelled"}
            for number, method in ((2, "session/close"), (3, "session/delete")):
                answer = await peer.exchange(round_ * 10 + number, method, {"sessionId": "s1"})
                assert "error" not in answer
            answer = await peer.exchange(round_ * 10 + 4, "session/new", NEW)
            assert "error" not in answer
            # A cancel that comes late must not hit the next session of that name.
            await peer.notify("session/cancel", {"sessionId": "s1"})
            answer = await peer.exchange(round_ * 10 + 5, "session/prompt", prompt("", "s1"))
            assert answer["result"] == {"stopReason": "end_turn"}
    assert agent.ended == ["cancelled"] * 3


async def test_a_late_update_of_a_closed_session_holds_up_nothing_of_the_next() -> None:
    """C46: client side; the handlers of the first are done when the second opens."""
    client = Seen()
    async with wired("client", client) as (agent, peer):
        for number in range(3):
            opening = peer.start(agent.new_session("/"))
            request = await peer.receive()
            await peer.send(chunk(f"late {number}", "s1"))
            await peer.answer(request["id"], {"sessionId": "s1"})
            assert (await within(opening)).session_id == "s1"
            assert len(client.texts) == number + 1
            closing = peer.start(agent.close_session("s1"))
            await peer.answer((await peer.receive())["id"], {})
            await within(closing)


@pytest.mark.parametrize("unknown", ["gone", "", "s1 ", "S1"])
async def test_a_session_that_the_agent_does_not_know_is_an_error_of_that_call(
    unknown: str,
) -> None:
    """C46: the caller gets code and data as the agent gave them."""
    async with wired("client", Seen()) as (agent, peer):
        turn = peer.start(agent.prompt(unknown, ASKED))
        request = await peer.receive()
        assert request["params"]["sessionId"] == unknown
        error = {"code": -32002, "message": "Resource not found", "data": {"uri": unknown}}
        await peer.send({"id": request["id"], "error": error})
        with pytest.raises(acp.RequestError) as caught:
            await within(turn)
        assert caught.value.to_error_obj() == error
