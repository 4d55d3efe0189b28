"""A connection of an endpoint of `acp.v1` or `acp.v2`, whose other end is written by hand.

Owns the pair between them; what the hand writes is in `tests.raw_peer`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from acp import ConnectionClosed, v1
from tests import raw_peer
from tests.raw_peer import BOUND, RawPeer
from tests.sides import turns

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@asynccontextmanager
async def endpoint_under_test(
    endpoint: Any, *, fails: bool = False
) -> AsyncGenerator[tuple[v1.Connection, RawPeer], None]:
    """A connection of an endpoint, and the test as its peer. With `fails`, the block of the
    connection ends with what it has failed with.
    """
    ours, theirs = raw_peer.pair()
    await theirs.open()
    async with anyio.create_task_group() as group:
        try:
            with pytest.raises(ConnectionClosed) if fails else nullcontext():
                async with endpoint.connect(ours) as connection:
                    yield connection, RawPeer(theirs, group)
                    # Before the block ends that waits for it: a wait that has no end shows here.
                    with anyio.fail_after(BOUND):
                        await connection.close()
        finally:
            await theirs.close()
            group.cancel_scope.cancel()


def client(**options: Any) -> v1.Client:
    """A client without handlers."""
    return v1.Client(**options)


def agent(**options: Any) -> v1.Agent:
    """An agent without handlers, which serves from its first message on."""
    return v1.Agent(version_guard=False, **options)


def prompt_request(session: str = "s") -> v1.schema.PromptRequest:
    """A prompt of version 1."""
    return v1.schema.PromptRequest(session_id=session, prompt=[])


def told_of(request: dict[str, Any]) -> dict[str, Any]:
    """What the peer gets when a request is cancelled."""
    params = {"requestId": request["id"]}
    return {"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}


async def says_nothing_more(connection: Any, peer: RawPeer) -> None:
    """Whatever was sent was received, and nothing is about to be."""
    await turns()
    await connection.notify("_mark", {})
    assert (await peer.receive())["method"] == "_mark"
