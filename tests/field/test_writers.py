"""Many senders on one connection."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread

import acp
from tests.field.wires import Echo, each_side, each_wire, wired
from tests.raw_peer import within

FILLER = "x" * 20_000


def note(sender: str, number: int) -> dict[str, Any]:
    return {"sender": sender, "number": number, "filler": FILLER}


async def numbers_by_sender(peer: Any, count: int) -> dict[str, list[int]]:
    """The numbers of that many notes; each line has to be one of them, whole."""
    found: dict[str, list[int]] = defaultdict(list)
    for _ in range(count):
        params = (await peer.receive())["params"]
        assert params["filler"] == FILLER
        found[params["sender"]].append(params["number"])
    return found


@each_side
@each_wire
async def test_messages_of_many_tasks_are_whole_and_in_each_ones_order(
    side: str, wire: str
) -> None:
    """C39."""
    async with wired(side, Echo(), wire=wire) as (connection, peer):

        async def send(sender: str) -> None:
            for number in range(20):
                await connection.ext_notification("n", note(sender, number))

        async with anyio.create_task_group() as group:
            for sender in range(20):
                group.start_soon(send, str(sender))
            found = await numbers_by_sender(peer, 400)
    assert found == {str(sender): list(range(20)) for sender in range(20)}


@each_side
async def test_messages_of_threads_are_whole_when_they_are_sent_through_the_loop(
    side: str,
) -> None:
    """C39."""
    async with wired(side, Echo(), wire="pipes") as (connection, peer):

        def send(sender: str) -> None:
            for number in range(15):
                params = note(sender, number)
                anyio.from_thread.run(connection.ext_notification, "n", params)

        async with anyio.create_task_group() as group:
            for sender in range(4):
                group.start_soon(anyio.to_thread.run_sync, send, str(sender))
            found = await numbers_by_sender(peer, 60)
    assert found == {str(sender): list(range(15)) for sender in range(4)}


@each_side
@each_wire
async def test_answers_calls_and_notifications_share_one_wire(side: str, wire: str) -> None:
    """C39: lines of all kinds, none of them inside another."""
    async with wired(side, Echo(), wire=wire) as (connection, peer):

        async def send() -> None:
            for number in range(20):
                await connection.ext_notification("n", note("notes", number))

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            calls = [peer.start(connection.ext_method("call", note("calls", n))) for n in range(10)]
            requests = [{"id": n, "method": "_e", "params": note("answers", n)} for n in range(10)]
            group.start_soon(peer.send, *requests)
            kinds: dict[str, list[int]] = defaultdict(list)
            called: list[int] = []
            for _ in range(40):
                message = await peer.receive()
                body = message.get("params", message.get("result"))
                assert body["filler"] == FILLER
                kinds[body["sender"]].append(body["number"])
                if message.get("method") == "_call":
                    called.append(message["id"])
            for request_id in called:
                await peer.answer(request_id, {})
            for call in calls:
                await within(call)
    assert kinds["notes"] == list(range(20))
    assert sorted(kinds["calls"]) == sorted(kinds["answers"]) == list(range(10))


@each_side
async def test_a_sender_that_is_cancelled_leaves_no_part_of_a_line(side: str) -> None:
    """C39: wherever it was, the next line is whole."""
    async with wired(side, Echo(), wire="pipes") as (connection, peer):
        for number in range(5):

            async def send(sender: str = str(number)) -> None:
                for count in range(1000):
                    await connection.ext_notification("n", note(sender, count))

            sending = peer.start(send())
            await peer.receive()
            sending.cancel()
            assert (await peer.receive())["params"]["filler"] == FILLER
        await connection.ext_notification("last", {})
        while (await peer.receive())["method"] != "_last":
            pass


async def test_updates_of_many_sessions_sent_at_once_keep_their_order() -> None:
    """C39, C08: with the call that agents make."""
    async with wired("agent", Echo(), wire="pipes") as (connection, peer):

        async def send(session: str) -> None:
            for number in range(50):
                update = acp.update_agent_message_text(f"{number} {FILLER[:3000]}")
                await connection.session_update(session, update)

        found: dict[str, list[int]] = defaultdict(list)
        async with anyio.create_task_group() as group:
            for session in "abcdef":
                group.start_soon(send, session)
            for _ in range(300):
                params = (await peer.receive())["params"]
                text = params["update"]["content"]["text"]
                found[params["sessionId"]].append(int(text.split()[0]))
    assert found == {session: list(range(50)) for session in "abcdef"}
