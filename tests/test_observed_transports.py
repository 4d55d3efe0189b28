"""A function that sees each line of a transport, and changes nothing."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp._transports.descriptors import DescriptorTransport
from acp.client.connection import ClientSideConnection
from acp.transports import observed, process_transport
from tests.raw_peer import RawPeer, chunk, pipe_pair, serving, within
from tests.rest import Notes, rested
from tests.sides import Silent, until

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "secret-7a11"

kinds = pytest.mark.parametrize("make", [acp.memory_pair, pipe_pair])


class Seen:
    """Keeps what it is shown."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __call__(self, direction: str, line: str) -> None:
        self.lines.append((direction, line))

    def of(self, direction: str) -> list[str]:
        return [line for seen, line in self.lines if seen == direction]

    def messages(self, direction: str) -> list[Any]:
        return [json.loads(line) for line in self.of(direction)]


@kinds
async def test_each_line_is_shown_once_with_its_direction(make: Callable[[], Any]) -> None:
    """C-142."""
    ours, theirs = make()
    seen = Seen()
    async with (
        serving(ClientSideConnection, notes := Notes(), observed(ours, seen)) as (client, group),
        theirs,
    ):
        peer = RawPeer(theirs, group)
        for turn in range(20):
            calling = peer.start(client.ext_method("x", {"turn": turn}))
            request = await peer.receive()
            await peer.send(chunk(f"before {turn}"))
            await peer.answer(request["id"], {"turn": turn})
            assert await within(calling) == {"turn": turn}
            await peer.send(chunk(f"after {turn}"), chunk("é\U0001f600"))
        await peer.send_text("no JSON\r\n")
        await peer.request(7, "_echo", {})
        await until(lambda: len(seen.of("received")) == 20 * 4 + 2)
        await until(lambda: len(notes.texts) == 60)
        sent = seen.messages("sent")
        assert [each["params"]["turn"] for each in sent if each.get("method") == "_x"] == [
            *range(20)
        ]
        await until(lambda: seen.messages("sent")[-1]["id"] == 7)
    received = seen.of("received")
    assert received.count("no JSON") == 1
    texts = [
        json.loads(line)["params"]["update"]["content"]["text"]
        for line in received
        if "session/update" in line
    ]
    assert texts == notes.texts


@pytest.mark.asyncio_only
@kinds
async def test_a_connection_that_is_observed_rests_and_shows_what_wakes_it(
    make: Callable[[], Any],
) -> None:
    """C-142."""
    ours, theirs = make()
    seen = Seen()
    async with (
        serving(ClientSideConnection, notes := Notes(), observed(ours, seen)) as (client, group),
        theirs,
    ):
        peer = RawPeer(theirs, group)
        await rested(client)
        calling = peer.start(client.ext_method("x", {}))
        request = await peer.receive()
        # An answer alone is taken where it arrives, and what comes with an update is not.
        await peer.answer(request["id"], {})
        await within(calling)
        await rested(client)
        await peer.send(chunk("a"))
        await until(lambda: notes.texts == ["a"])
    assert [line.get("method") for line in seen.messages("received")] == [None, "session/update"]


async def test_a_line_that_goes_out_in_parts_is_shown_when_it_is_whole() -> None:
    """C-142."""
    ours, theirs = pipe_pair()
    seen = Seen()
    text = "x" * 1_000_000
    async with (
        serving(ClientSideConnection, Silent(), observed(ours, seen)) as (client, group),
        theirs,
    ):
        peer = RawPeer(theirs, group)
        calling = peer.start(client.ext_method("x", {"text": text}))
        request = await peer.receive()
        assert request["params"]["text"] == text
        await peer.answer(request["id"], {})
        await within(calling)
        # More than 64 KiB comes in pieces, of which nothing is lost.
        assert json.loads("".join(seen.of("sent")))["params"]["text"] == text
        assert max(map(len, seen.of("sent"))) <= 64 * 1024


async def test_a_line_without_end_is_shown_at_the_end() -> None:
    """C-142."""
    ours, theirs = acp.memory_pair()
    seen = Seen()
    async with serving(ClientSideConnection, Silent(), observed(ours, seen)), theirs:
        await RawPeer(theirs).send_text("whole\nhalf")
        await theirs.close()
        # The end of the input ends the connection, and that closes the transport.
        await until(lambda: seen.of("received") == ["whole", "half"])


AGENT = """
import json, sys
sys.stderr.write("up\\n")
for line in sys.stdin:
    request = json.loads(line)
    sys.stderr.write("asked\\n")
    sys.stderr.flush()
    result = {"protocolVersion": 1}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize("also", [True, False])
async def test_a_process_shows_its_stderr_too(also: bool) -> None:
    """C-142."""
    seen, lines = Seen(), list[str]()
    options: Any = {"on_stderr": lines.append} if also else {}
    transport = observed(process_transport(sys.executable, "-c", AGENT, **options), seen)
    async with serving(ClientSideConnection, Silent(), transport) as (client, _):
        await within(client.initialize(protocol_version=1))
        await until(lambda: seen.of("stderr") == ["up", "asked"])
    assert lines == (["up", "asked"] if also else [])
    assert [message["id"] for message in seen.messages("sent")] == [
        message["id"] for message in seen.messages("received")
    ]


async def test_a_function_that_fails_changes_nothing_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-142."""

    def fail(direction: str, line: str) -> None:
        raise ValueError(SECRET)

    ours, theirs = acp.memory_pair()
    with caplog.at_level(logging.WARNING, "acp"):
        async with (
            serving(ClientSideConnection, notes := Notes(), observed(ours, fail)) as (_, group),
            theirs,
        ):
            peer = RawPeer(theirs, group)
            await peer.send(chunk("a"), chunk("b"))
            await until(lambda: notes.texts == ["a", "b"])
    assert [record.getMessage() for record in caplog.records] == [
        "on_line failed with ValueError; this is told once"
    ]
    assert SECRET not in caplog.text


def test_a_function_that_has_to_be_awaited_is_refused() -> None:
    """C-142."""

    async def on_line(direction: str, line: str) -> None: ...

    for given in (on_line, None, "forward"):
        with pytest.raises(TypeError):
            observed(acp.memory_pair()[0], given)  # type: ignore[arg-type]


async def test_a_transport_that_sees_every_byte_still_does() -> None:
    """C-142."""

    class Own(DescriptorTransport):
        seen = b""

        async def receive(self) -> bytes:
            data = await super().receive()
            self.seen += data
            return data

    (read, their_write), (their_read, write) = os.pipe(), os.pipe()
    own, seen = Own(read, write), Seen()
    theirs = DescriptorTransport(their_read, their_write)
    async with (
        serving(ClientSideConnection, Silent(), observed(own, seen)) as (client, group),
        theirs,
    ):
        peer = RawPeer(theirs, group)
        calling = peer.start(client.ext_method("x", {}))
        request = await peer.receive()
        await peer.answer(request["id"], {"a": 1})
        assert await within(calling) == {"a": 1}
    assert own.seen.decode().splitlines() == seen.of("received")


async def test_what_ended_a_connection_is_told_as_without() -> None:
    """C-142."""
    transport = observed(process_transport(sys.executable, "-c", "raise SystemExit(3)"), Seen())
    async with serving(ClientSideConnection, Silent(), transport) as (client, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(client.initialize(protocol_version=1))
    assert caught.value.exit_code == 3
    with anyio.fail_after(5):
        await transport.close()
