"""Streams of a session whose reader is slow: either version."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import Limits, v1
from tests.endpoint.session_peers import (
    answer_setup,
    client_of,
    counting,
    each_version,
    each_wire,
    open_session,
    opened,
    permission,
    served,
    text,
    words_of,
)
from tests.raw_peer import BOUND, within
from tests.sides import turns, until

QUICK = Limits(lane_patience=0.05, closing=0.05)


class Stream:
    """The texts of a session, whichever version it is of."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    async def read(self) -> Any:
        item = await within(self.reader.__anext__())
        if isinstance(item, v1.SessionMessage):
            assert item.update is not None
            item = item.update
        return words_of(item)

    async def rest(self) -> list[str]:
        """What is there until the end, which an exception may be."""
        texts: list[str] = []
        try:
            while True:
                texts.append(await self.read())
        except StopAsyncIteration:
            return texts
        except acp.StreamOverflow:
            return [*texts, "overflow"]


async def start(version: int, connection: Any, peer: Any, **bounds: Any) -> tuple[Any, Stream]:
    if version == 1:
        session = await open_session(connection.new_session("/", **bounds), peer)
        return session, Stream(session)
    session = (await open_session(connection.new_session("/"), peer)).session
    return session, Stream(session.updates(**bounds))


def numbered(count: int, first: int = 0, session: str = "s1") -> list[dict[str, Any]]:
    return [text(str(number), session) for number in range(first, first + count)]


@each_version
async def test_a_reader_that_is_too_slow_is_told_and_nobody_else_is_affected(version: int) -> None:
    """It reads what is there, and then that something is missing."""
    told: list[str] = []
    client = client_of(version, on_count=counting(told))
    async with opened(client) as (connection, peer):
        session, stream = await start(version, connection, peer, buffer=3)
        other = await open_session(connection.new_session("/"), peer, session="s2")
        reader = Stream(other if version == 1 else other.session.updates())
        await peer.send(*numbered(5), *numbered(2, session="s2"))
        await served(peer)
        assert await stream.rest() == ["0", "1", "2", "overflow"]
        with pytest.raises(acp.StreamOverflow):
            await stream.read()
        assert [await reader.read() for _ in range(2)] == ["0", "1"]
        assert stream.reader.dropped == 1
        assert connection.stats().counters["unread"] == 1
        assert "unread" in told
        assert not session.is_closed


@each_version
async def test_a_reader_can_have_the_session_wait_for_it(version: int) -> None:
    """Nothing is lost, in order; the answer of a prompt waits as well."""
    async with opened(client_of(version)) as (connection, peer):
        session, stream = await start(version, connection, peer, buffer=2, when_full="wait")
        prompt = session.prompt if version == 1 else session.send_prompt
        turn = peer.start(prompt("hi"))
        request = await peer.receive()
        result = {"stopReason": "end_turn"} if version == 1 else {"messageId": "m"}
        await peer.send(*numbered(8), {"id": request["id"], "result": result}, *numbered(2, 8))
        await served(peer)
        assert not turn.done()
        assert connection.stats().waiting_messages > 0
        assert [await stream.read() for _ in range(8)] == [str(number) for number in range(8)]
        await within(turn)
        assert [await stream.read() for _ in range(2)] == ["8", "9"]
        await until(lambda: connection.stats().handlers == 0)
        assert connection.stats().counters["unread"] == 0


@each_version
async def test_others_are_served_while_a_session_waits_for_its_reader(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        _, stream = await start(version, connection, peer, buffer=1, when_full="wait")
        other = await open_session(connection.new_session("/"), peer, session="s2")
        reader = Stream(other if version == 1 else other.session.updates())
        await peer.send(*numbered(5), *numbered(3, session="s2"))
        assert [await reader.read() for _ in range(3)] == ["0", "1", "2"]
        assert [await stream.read() for _ in range(5)] == ["0", "1", "2", "3", "4"]


@each_version
async def test_what_goes_past_a_waiting_session_keeps_its_order_on_the_stream(
    version: int,
) -> None:
    """Patience with the reader is lost for what is no update."""
    async with opened(client_of(version, limits=QUICK)) as (connection, peer):
        _, stream = await start(version, connection, peer, buffer=1, when_full="wait")
        await peer.send(*numbered(4))
        await until(lambda: connection.stats().counters["overtaken"] >= 1)
        await peer.send(*numbered(2, 4))
        await served(peer)
        assert [await stream.read() for _ in range(6)] == ["0", "1", "2", "3", "4", "5"]


@each_version
async def test_what_would_fit_does_not_pass_what_waits_for_room(version: int) -> None:
    limits = Limits(waiting_bytes=4096, lane_patience=0.05, closing=0.05)
    async with opened(client_of(version, limits=limits)) as (connection, peer):
        _, stream = await start(version, connection, peer, when_full="wait")
        await peer.send(text("a" * 2500), text("b" * 2500), text("c"))
        await until(lambda: connection.stats().counters["overtaken"] >= 1)
        await served(peer)
        assert [(await stream.read())[0] for _ in range(3)] == ["a", "b", "c"]


@each_version
async def test_the_oldest_can_be_dropped_and_are_counted(version: int) -> None:
    told: list[str] = []
    client = client_of(version, on_count=counting(told))
    async with opened(client) as (connection, peer):
        session, stream = await start(version, connection, peer, buffer=3, when_full="drop_oldest")
        await peer.send(*numbered(10))
        await served(peer)
        assert [await stream.read() for _ in range(3)] == ["7", "8", "9"]
        assert stream.reader.dropped == 7
        assert connection.stats().counters["unread"] == 7
        assert told.count("unread") == 7
        await peer.send(text("more"))
        assert await stream.read() == "more"
        assert not session.is_closed


@each_version
async def test_a_stream_is_bounded_in_bytes_as_well(version: int) -> None:
    """One message has room whatever its size."""
    limits = Limits(waiting_bytes=4096, closing=0.05)
    async with opened(client_of(version, limits=limits)) as (connection, peer):
        _, stream = await start(version, connection, peer)
        await peer.send(text("x" * 5000))
        assert await stream.read() == "x" * 5000
        await peer.send(*(text(str(number) + "y" * 1500) for number in range(4)))
        await served(peer)
        texts = await stream.rest()
        assert [words[0] for words in texts] == ["0", "1", "o"]


@each_version
@pytest.mark.parametrize("bounds", [{"buffer": 0}, {"when_full": "never"}])
async def test_bounds_that_are_none_are_refused(version: int, bounds: dict[str, Any]) -> None:
    async with opened(client_of(version)) as (connection, peer):
        with pytest.raises(ValueError, match="buffer of at least 1"):
            if version == 1:
                connection.new_session("/", **bounds)
            else:
                connection.new_session("/").updates(**bounds)
        await served(peer)


@each_version
async def test_a_reader_that_gives_up_leaves_everything_to_the_next(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        _, stream = await start(version, connection, peer)
        for number in range(10):
            reading = peer.start(stream.read())
            await turns(number + 2)
            reading.cancel()
            # Perhaps in the same turn as the cancellation.
            await peer.send(text(str(number)))
            assert await stream.read() == str(number)


@each_version
async def test_several_readers_take_turns(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        _, stream = await start(version, connection, peer)
        reading = [peer.start(stream.read()) for _ in range(3)]
        await turns()
        await peer.send(*numbered(3))
        assert sorted([await within(each) for each in reading]) == ["0", "1", "2"]


@each_version
async def test_leaving_a_stream_lets_go_of_what_waits_for_its_reader(version: int) -> None:
    client = client_of(version)
    seen: list[str] = []

    @client.session_update
    def _(notification: Any) -> Any:
        seen.append(notification.update.content.text)
        return acp.UNHANDLED

    async with opened(client) as (connection, peer):
        session, stream = await start(version, connection, peer, buffer=1, when_full="wait")
        await peer.send(*numbered(6))
        await until(lambda: connection.stats().handlers == 1)
        async with stream.reader:
            pass
        await served(peer)
        assert seen == ["0", "1", "2", "3", "4", "5"]
        assert await stream.rest() == []
        assert connection.stats().handlers == 0
        assert session.is_closed is (version == 1)


async def test_two_streams_of_a_session_have_each_its_own_bounds() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session, quick = await start(2, connection, peer, buffer=10)
        slow, waiting = Stream(session.updates(buffer=1)), session.updates(when_full="wait")
        await peer.send(*numbered(3))
        await served(peer)
        assert [await quick.read() for _ in range(3)] == ["0", "1", "2"]
        assert await slow.rest() == ["0", "overflow"]
        assert await Stream(waiting).read() == "0"


async def test_two_waiting_streams_of_a_session_are_both_waited_for() -> None:
    async with opened(client_of(2)) as (connection, peer):
        session, first = await start(2, connection, peer, buffer=1, when_full="wait")
        second = Stream(session.updates(buffer=1, when_full="wait"))
        await peer.send(*numbered(4))
        await served(peer)
        assert [await first.read() for _ in range(2)] == ["0", "1"]
        await served(peer)
        assert connection.stats().handlers == 1
        assert [await second.read() for _ in range(4)] == ["0", "1", "2", "3"]
        assert [await first.read() for _ in range(2)] == ["2", "3"]


async def test_a_handler_that_fails_costs_the_stream_nothing() -> None:
    client = client_of(2)

    @client.session_update
    def _(notification: Any) -> None:
        raise ValueError("mine")

    async with opened(client) as (connection, peer):
        _, stream = await start(2, connection, peer)
        await peer.send(*numbered(2))
        assert [await stream.read() for _ in range(2)] == ["0", "1"]


async def test_requests_that_are_lost_to_a_slow_reader_are_not_served() -> None:
    """Of version 1: the agent does not wait for them."""
    for when_full in ("fail", "drop_oldest"):
        async with opened(client_of(1)) as (connection, peer):
            bounds = {"buffer": 1, "when_full": when_full}
            session = await open_session(connection.new_session("/", **bounds), peer)
            first, second = permission(1), permission(2)
            await peer.send(first, second)
            answer = await peer.receive()
            lost = 2 if when_full == "fail" else 1
            assert (answer["id"], answer["error"]["code"]) == (lost, -32601)
            message = await within(session.read_update())
            assert message.responder.request_id == 3 - lost
            message.responder.respond({"outcome": {"outcome": "cancelled"}})
            assert (await peer.receive())["id"] == 3 - lost


async def test_the_outcome_of_a_prompt_is_never_dropped() -> None:
    """Of version 1."""
    async with opened(client_of(1)) as (connection, peer):
        bounds = {"buffer": 2, "when_full": "drop_oldest"}
        session = await open_session(connection.new_session("/", **bounds), peer)
        session.send_prompt("hi")
        request = await peer.receive()
        end = {"id": request["id"], "result": {"stopReason": "end_turn"}}
        await peer.send(*numbered(3), end, *numbered(10, 3))
        await served(peer)
        outcome = await within(session.read_update())
        assert outcome.result().stop_reason == "end_turn"
        assert [await Stream(session).read() for _ in range(1)] == ["12"]


async def test_outcomes_that_nobody_reads_are_bounded_too() -> None:
    """Of version 1."""
    async with opened(client_of(1)) as (connection, peer):
        bounds = {"buffer": 2, "when_full": "drop_oldest"}
        session = await open_session(connection.new_session("/", **bounds), peer)
        for reason in ("end_turn", "refusal", "max_tokens"):
            session.send_prompt("hi")
            await peer.answer((await peer.receive())["id"], {"stopReason": reason})
        await served(peer)
        assert session.dropped == 1
        outcomes = [await within(session.read_update()) for _ in range(2)]
        assert [outcome.result().stop_reason for outcome in outcomes] == ["refusal", "max_tokens"]


@each_wire
async def test_a_long_replay_reaches_who_reads_it(wire: str) -> None:
    """In version 1 what comes before the answer is kept, in version 2 it can be read at once."""
    count = 1000
    async with opened(client_of(1), wire=wire) as (connection, peer):
        loading = peer.start(connection.load_session("s1", "/"))
        await answer_setup(peer, *numbered(count))
        session = await within(loading)
        assert [await Stream(session).read() for _ in range(count)] == [
            str(number) for number in range(count)
        ]
    async with opened(client_of(2), wire=wire) as (connection, peer):
        builder = connection.resume_session("s1", "/")
        stream = Stream(builder.updates(buffer=1, when_full="wait"))
        loading = peer.start(builder)
        sending = peer.start(answer_setup(peer, *numbered(count)))
        with anyio.fail_after(BOUND):
            assert [await stream.read() for _ in range(count)] == [
                str(number) for number in range(count)
            ]
        await within(loading)
        await within(sending)
