"""Long frames: what arrives whatever its length, what a limit costs, and that length costs no more
than itself.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, schema
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.field.wires import Echo, answer_of, each_cut, each_side, each_wire, wired
from tests.raw_peer import beside, serving, within
from tests.sides import turns

SMALL = Limits(max_message_bytes=1000)


class Images(acp.Agent):
    """Sends back the image of the prompt, as an update."""

    client: Any

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        update = schema.AgentMessageChunk(
            session_update="agent_message_chunk", content=acp.image_block(prompt[0].data, "a/b")
        )
        await self.client.session_update(session_id, update)
        return acp.PromptResponse(stop_reason="end_turn")


class Viewer(acp.Client):
    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.sizes.append(len(update.content.data))


@pytest.mark.asyncio_only
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 3_000_000])
async def test_a_long_message_passes_streams_that_the_user_made_with_a_small_limit(
    size: int,
) -> None:
    """C12: both directions."""
    one, other = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=one, limit=65_536)
    their_reader, their_writer = await asyncio.open_connection(sock=other, limit=65_536)
    viewer = Viewer()
    async with (
        AgentSideConnection(Images(), their_writer, their_reader),
        ClientSideConnection(viewer, writer, reader) as agent,
    ):
        await within(agent.prompt("s", [acp.image_block("A" * size, "a/b")]))
    assert viewer.sizes == [size]
    for end in (writer, their_writer):
        end.close()
        await within(end.wait_closed())


@pytest.mark.parametrize("size", [3_000_000, 60_000_000])
@each_wire
async def test_a_very_long_message_passes_in_both_directions_by_default(
    wire: str, size: int
) -> None:
    """C12."""
    data = b"A" * size
    async with wired("agent", Echo(), wire=wire) as (_, peer):
        head = b'{"jsonrpc":"2.0","id":1,"method":"_x/echo","params":{"d":"'
        sending = peer.start(peer.send_bytes(head, data, b'"}}\n'))
        parts: list[bytes] = []
        while not parts or not parts[-1].endswith(b"\n"):
            parts.append(await within(peer.transport.receive()))
        await within(sending)
        assert b"".join(parts) == b'{"jsonrpc":"2.0","id":1,"result":{"d":"' + data + b'"}}\n'


FILLER = b"x" * 2000


@each_side
@each_cut
@pytest.mark.parametrize(
    ("members", "answered"),
    [
        (b'"id":5,"method":"_x/echo","params":{"f":"%s"}', 5),
        (b'"params":{"f":"%s"},"method":"_x/echo","id":5', 5),
        (b'"method":"_x/echo","params":{"id":6,"f":["%s"],"method":1},"id":"five"', "five"),
        (b'"id":-5,"params":["%s",{"id":1}],"method":"_x/echo"', -5),
        (b'"id":[1],"method":"_x/echo","params":{"f":"%s"}', None),
        (b'"id":5.5,"method":"_x/echo","params":{"f":"%s"}', None),
    ],
)
async def test_a_request_above_the_limit_is_refused_under_its_id_and_the_next_is_served(
    side: str, cut: int | None, members: bytes, answered: Any
) -> None:
    """C13."""
    echo = Echo()
    async with wired(side, echo, cut=cut, limits=SMALL) as (_, peer):
        await peer.send_bytes(b'{"jsonrpc":"2.0",', members.replace(b"%s", FILLER), b"}\n")
        # What is no message is answered by the serving side alone.
        if answered is not None or side == "agent":
            refusal = await peer.receive()
            assert (refusal["id"], refusal["error"]["code"]) == (answered, -32600)
        assert (await peer.exchange(6))["result"] == {}
    assert len(echo.requests) == 1


@each_side
@each_cut
@pytest.mark.parametrize(
    "members",
    [
        b'"id":0,"result":{"f":"%s"}',
        b'"result":{"f":"%s","id":1},"id":0',
        b'"error":{"code":1,"message":"%s"},"id":0',
    ],
)
async def test_an_answer_above_the_limit_fails_its_caller_alone_and_says_nothing(
    side: str, cut: int | None, members: bytes
) -> None:
    """C13."""
    async with wired(side, Echo(), cut=cut, limits=SMALL) as (connection, peer):
        first = peer.start(answer_of(connection))
        await peer.receive()
        second = peer.start(answer_of(connection))
        await peer.receive()
        await peer.send_bytes(b'{"jsonrpc":"2.0",', members.replace(b"%s", FILLER), b"}\n")
        with pytest.raises((acp.RemoteProtocolError, acp.RequestError)):
            await within(first)
        assert not second.done()
        await peer.answer(1, {"ok": True})
        assert await within(second) == {"ok": True}
        assert (await peer.exchange(6))["id"] == 6


@each_side
async def test_a_notification_above_the_limit_is_answered_by_nobody(side: str) -> None:
    """C13."""
    echo = Echo()
    async with wired(side, echo, limits=SMALL) as (_, peer):
        await peer.send_bytes(b'{"jsonrpc":"2.0","method":"_n/x","params":{"f":"', FILLER, b'"}}\n')
        assert (await peer.exchange(6))["id"] == 6
    assert echo.notes == []


OVERSIZE: dict[str, tuple[bytes, str]] = {
    "request": (b'{"jsonrpc":"2.0","id":5,"method":"_x/e","params":{"f":"%s"}}', "frame"),
    "notification": (b'{"jsonrpc":"2.0","method":"_n/x","params":{"f":"%s"}}', "frame"),
    "answer": (b'{"jsonrpc":"2.0","id":0,"result":{"f":"%s"}}', "response"),
    "answer to nobody": (b'{"jsonrpc":"2.0","id":9,"result":{"f":"%s"}}', "frame"),
    "text": (b"%s", "frame"),
    "array": (b'[{"jsonrpc":"2.0","method":"_n/x"},"%s"]', "frame"),
}


@each_side
@each_cut
@pytest.mark.parametrize("shape", list(OVERSIZE))
async def test_a_frame_above_the_limit_is_offered_to_the_hook_once_by_its_beginning(
    side: str, cut: int | None, shape: str
) -> None:
    """C13."""
    told: list[acp.Malformed] = []
    text, kind = OVERSIZE[shape]
    line = text.replace(b"%s", b"x" * 9000)
    options: dict[str, Any] = {"cut": cut, "limits": SMALL, "on_malformed": told.append}
    async with wired(side, Echo(), **options) as (connection, peer):
        calling = peer.start(answer_of(connection))
        await peer.receive()
        await peer.send_bytes(line, b"\r\n")
        if shape != "answer":
            await peer.answer(0, {})
            await within(calling)
        else:
            with pytest.raises(acp.RemoteProtocolError):
                await within(calling)
        counters = connection.stats().counters
    (each,) = told
    assert (each.kind, each.reason, each.size) == (kind, "size", len(line))
    assert each.data == line[:4096]
    assert each.method == ("_x/answer" if kind == "response" else None)
    assert counters["rejected_size"] == (kind == "frame")
    assert counters["malformed_responses"] == (kind == "response")


@each_side
@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_the_limit_counts_the_bytes_of_the_line(side: str, more: int) -> None:
    """C13: the longest line that is read has exactly that many."""
    head, tail = b'{"jsonrpc":"2.0","id":1,"method":"_x/echo","params":{"f":"', b'"}}'
    size = SMALL.max_message_bytes + more
    async with wired(side, Echo(), limits=SMALL) as (_, peer):
        await peer.send_bytes(head, b"x" * (size - len(head) - len(tail)), tail, b"\n")
        assert ("error" in await peer.receive()) is (more > 0)


@pytest.mark.parametrize("hook", ["None", "told.append"])
def test_a_frame_far_above_the_limit_takes_no_memory_of_its_size(hook: str) -> None:
    """C13: a line that never ends does not fill the host's memory, whoever is told of it."""
    program = """
import asyncio, resource, acp
from acp.agent.connection import AgentSideConnection

class Endless(acp.Transport):
    left = 3000
    sent = b""
    async def receive(self):
        self.left -= 1
        if self.left == 2999:
            return b'{"jsonrpc":"2.0","id":5,"method":"_x/e","params":{"f":"'
        if self.left == 0:
            return b'"}}\\n'
        return piece if self.left > 0 else b""
    async def send(self, data):
        self.sent += data
    def send_nowait(self, data):
        self.sent += bytes(data)
        return len(data)
    async def close(self):
        pass

piece = b"x" * 65536
told = []
async def main():
    transport = Endless()
    limits = acp.Limits(max_message_bytes=1 << 20)
    connection = AgentSideConnection(
        object(), transport, listening=False, limits=limits, on_malformed=HOOK
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await connection.listen()
    assert [len(each.data) for each in told] == ([] if HOOK is None else [4096]), told
    assert b'"id":5' in transport.sent and b"-32600" in transport.sent, transport.sent
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(main())
"""
    program = program.replace("HOOK", hook)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    # KiB; the frame has 192 MiB.
    assert int(done.stdout) < 8 * 1024


def seconds_to_receive(megabytes: int, cut: int) -> float:
    """Processor time of one long request in pieces of `cut` bytes, and its answer."""

    async def talk() -> float:
        data = b"x" * (megabytes << 20)
        async with wired("agent", Echo(), cut=cut) as (_, peer):
            started = time.process_time()
            head = b'{"jsonrpc":"2.0","id":1,"method":"nobody","params":{"f":"'
            sending = peer.start(peer.send_bytes(head, data, b'"}}\n'))
            assert (await peer.receive())["error"]["code"] == -32601
            await within(sending)
            return time.process_time() - started

    return min(anyio.run(talk) for _ in range(3))


def test_the_time_for_a_frame_in_pieces_grows_with_its_length_and_no_faster() -> None:
    """C14: eight times the length takes eight times as long, not sixty-four times."""
    one, eight = seconds_to_receive(1, 4096), seconds_to_receive(8, 4096)
    assert eight < 8 * 3 * max(one, 0.002)


@pytest.mark.parametrize("answering", [False, True])
async def test_a_long_frame_does_not_keep_other_tasks_from_running(answering: bool) -> None:
    """C14."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.thread_time()
            await anyio.lowlevel.checkpoint()
            longest = max(longest, time.thread_time() - before)

    class Taking(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            return

    async with wired("client", Taking(), wire="pipes") as (agent, peer):
        calling = peer.start(agent.list_sessions()) if answering else None
        await turns()
        text = b"x" * (8 << 20)
        update = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
        head = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
        async with anyio.create_task_group() as group:
            ticking = beside(group, tick())
            await peer.send_bytes(head, update, text, b'"}}}}\n')
            await peer.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"nobody"}\n')
            while (await peer.receive()).get("id") != 1:
                pass
            if calling is not None:
                await peer.answer(0, {"sessions": []})
                await within(calling)
            ticking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ticking
    # Processor time of this thread, which no other process is in.
    assert longest < 0.05


async def test_two_connections_exchange_long_messages_at_the_same_time() -> None:
    """C12: each direction is full of one message."""
    ours, theirs = acp.memory_pair()
    echo = Echo()
    async with (
        serving(AgentSideConnection, echo, ours) as (client, group),
        serving(ClientSideConnection, echo, theirs) as (agent, _),
    ):
        filler = {"f": "y" * 3_000_000}
        calls = [beside(group, end.ext_method("x/echo", filler)) for end in (client, agent)]
        for call in calls:
            assert await within(call) == filler
