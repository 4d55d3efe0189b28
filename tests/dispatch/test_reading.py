"""When reading pauses, and when it goes on though handlers are behind."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits
from tests.raw_peer import agent_under_test, chunk, client_under_test, prompt, within
from tests.sides import Nothing, turns, until

# A turn of the loop reads this much at most.
LONGEST = 200


class Slow(acp.Client):
    """Takes a few turns of the loop for each update."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.texts.append(update.content.text)


class Gated(acp.Client):
    """Keeps the updates of one session waiting until it is let go."""

    def __init__(self) -> None:
        self.go = anyio.Event()
        self.seen: list[tuple[str, str]] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        if session_id == "stuck":
            await self.go.wait()
        self.seen.append((session_id, update.content.text))


async def test_handlers_that_are_slow_hold_back_the_peer_and_lose_nothing() -> None:
    """Also while a turn of ours is unanswered: as long as they move, reading only pauses."""
    client = Slow()
    limits = Limits(waiting_messages=20, waiting_messages_hard=1000)
    async with client_under_test(client, limits=limits) as (agent, peer):
        turn = peer.start(agent.prompt(session_id="s", prompt=[acp.text_block("go")]))
        request = await peer.receive()
        sending = peer.start(
            peer.send(
                *(chunk(f"{number:04}" + "x" * 500) for number in range(5000)),
                {"id": request["id"], "result": {"stopReason": "end_turn"}},
            )
        )
        assert (await within(turn)).stop_reason == "end_turn"
        await within(sending)
        assert [text[:4] for text in client.texts] == [f"{number:04}" for number in range(5000)]


async def test_reading_goes_on_when_nothing_moves_while_a_request_is_unanswered() -> None:
    """I5."""

    class Client(acp.Client):
        listed = anyio.Event()
        count = 0

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            await self.listed.wait()
            self.count += 1

    client = Client()
    client.listed = anyio.Event()
    limits = Limits(waiting_messages=10, reading_patience=0.02)
    async with client_under_test(client, limits=limits) as (agent, peer):

        async def list_then_set() -> None:
            await agent.list_sessions()
            client.listed.set()

        listing = peer.start(list_then_set())
        request = await peer.receive()
        flood = [chunk("x" * 1000) for _ in range(1000)]
        await peer.send(*flood, {"id": request["id"], "result": {"sessions": []}})
        await within(listing)
        await until(lambda: client.count >= 1000)


async def test_other_sessions_are_served_until_the_mark_and_wait_for_it_then() -> None:
    """I7."""
    client = Gated()
    limits = Limits(waiting_messages=50, reading_patience=0.01)
    async with client_under_test(client, limits=limits) as (_, peer):
        await peer.send(*(chunk(str(number), "stuck") for number in range(40)))
        await peer.send(chunk("one", "other"))
        await turns()
        assert client.seen == [("other", "one")]
        filler = [chunk("x" * 2000, "stuck") for _ in range(400)]
        sending = peer.start(peer.send(*filler, chunk("two", "other")))
        await turns(LONGEST)
        # No request of ours is unanswered: nothing that could come would help.
        assert client.seen == [("other", "one")]
        assert not sending.done()
        client.go.set()
        await within(sending)
        await until(lambda: len(client.seen) >= 442)
        assert ("other", "two") in client.seen


async def test_patience_ends_and_later_updates_go_past_a_handler_that_does_not_end() -> None:
    class Client(Gated):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            if update.content.text.startswith("wait"):
                await self.go.wait()
            self.seen.append((session_id, update.content.text))

    client = Client()
    async with client_under_test(client, limits=Limits(lane_patience=0.02)) as (_, peer):
        # Two that do not end: patience is for each.
        await peer.send(*(chunk(text) for text in ("wait 1", "a", "b", "wait 2", "c")))
        await until(lambda: len(client.seen) >= 3)
        await peer.send(chunk("d"))
        await until(lambda: len(client.seen) >= 4)
        assert [text for _, text in client.seen] == ["a", "b", "c", "d"]
        client.go.set()
        await until(lambda: len(client.seen) >= 6)
        assert sorted(text for _, text in client.seen[4:]) == ["wait 1", "wait 2"]
        await peer.send(chunk("e"))
        await until(lambda: len(client.seen) >= 7)


async def test_a_peer_that_takes_no_answers_ends_its_connection_before_memory_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits = Limits(unsent_bytes_hard=200_000)
    async with agent_under_test(Nothing(), limits=limits) as (peer, connection):
        sending = peer.start(
            peer.send(
                *(
                    {"id": number, "method": "session/prompt", "params": prompt()}
                    for number in range(20_000)
                )
            )
        )
        await until(lambda: connection._connection.is_closing)
        assert connection.stats().unsent_bytes < 2_000_000
        sending.cancel()
    assert "OverflowError" in caplog.text


async def test_one_answer_may_be_longer_than_the_hard_mark() -> None:
    class Reading(acp.Agent):
        async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            return {"text": "x" * 1_000_000}

    limits = Limits(unsent_bytes_hard=200_000)
    async with agent_under_test(Reading(), limits=limits) as (peer, _):
        await peer.request(1, "_long")
        await turns(LONGEST)
        assert len((await peer.receive())["result"]["text"]) == 1_000_000
        await peer.request(2, "_long")
        assert len((await peer.receive())["result"]["text"]) == 1_000_000
