"""What an agent sends before it answers `initialize`, to a client that is still to be chosen."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v1, v2
from acp.negotiation import ClientConnector
from reliability.places import initialized
from tests.raw_peer import BOUND, RawPeer, chunk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

NOISE = [
    b"Loaded credentials.",
    b"{}",
    b'{"id":7,"result":{}}',
    b'{"id":"0","result":{"protocolVersion":2,"info":{"name":"x","version":"1"}}}',
    b'{"id":0.0,"result":{}}',
    b'{"id":null,"error":{"code":-32700,"message":"Parse error"}}',
    b'[{"id":7,"result":{}}]',
    b'{"id":7,"method":"_ping"}',
    b'{"method":"nothing/like/it"}',
    b'{"method":"m","params":"' + b"a" * 5000,
]


class Agent:
    """Sends some lines, then answers `initialize` with a version; notes what it is asked."""

    def __init__(self, version: int, *lines: bytes) -> None:
        self._version = version
        self._lines = lines
        self.opened = 0
        self.asked: list[str] = []

    async def serve(self, transport: acp.Transport) -> None:
        await transport.open()
        peer = RawPeer(transport)
        while (message := await peer.receive()) is not None:
            if "method" not in message:
                continue
            self.asked.append(message["method"])
            result: Any = {}
            if message["method"] == "initialize":
                result = initialized(self._version)
                await transport.send(b"".join(line + b"\n" for line in self._lines))
            await peer.answer(message["id"], result)
        await transport.close()


@asynccontextmanager
async def opener(agent: Agent) -> AsyncGenerator[Callable[[], acp.Transport], None]:
    async with anyio.create_task_group() as group:

        def open_transport() -> acp.Transport:
            here, there = acp.memory_pair()
            agent.opened += 1
            group.start_soon(agent.serve, there)
            return here

        with anyio.fail_after(BOUND):
            yield open_transport
        group.cancel_scope.cancel()


def connector(**options: Any) -> ClientConnector:
    session: Any = {"configOptions": {"boolean": {}}}
    same = v1.schema.ClientCapabilities(session=session)
    return ClientConnector(
        lambda: v1.Client("c", "1", capabilities=same, **options),
        lambda: v2.Client("c", "1", **options),
    )


@pytest.mark.parametrize("line", NOISE, ids=lambda line: line[:24].decode())
@pytest.mark.parametrize("version", [1, 2])
async def test_noise_before_the_answer_of_initialize_delays_and_decides_nothing(
    line: bytes, version: int
) -> None:
    """C-206: the connection is the one that was opened, and serves."""
    agent = Agent(version, line)
    async with (
        opener(agent) as open_transport,
        connector().connect(open_transport) as connection,
    ):
        assert connection.protocol_version == version
        assert await connection.request("_x", {}) == {}
    assert (agent.opened, agent.asked) == (1, ["initialize", "_x"])


UPDATE = json.dumps({"jsonrpc": "2.0", **chunk("x" * 1000)}).encode()
REQUEST = json.dumps({"id": "r", "method": "_ping", "params": {"text": "x" * 1000}}).encode()


@pytest.mark.parametrize("line", [UPDATE, REQUEST], ids=["updates", "requests"])
@pytest.mark.parametrize("version", [1, 2])
async def test_a_flood_before_the_answer_is_not_kept_beyond_a_bound(
    version: int, line: bytes
) -> None:
    """Where so much came that it cannot be played again, the client of version 1 asks anew."""
    agent = Agent(version, *[line] * 3000)
    async with (
        opener(agent) as open_transport,
        connector().connect(open_transport) as connection,
    ):
        assert connection.protocol_version == version
        assert await connection.request("_x", {}) == {}
    assert agent.opened == (2 if version == 1 else 1)
