"""Agents of both layers that leave an answer to a responder.

Owns the agents and what their handlers do with it. The rules are those of the tests.
"""

from __future__ import annotations

import gc
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import acp
from tests.endpoint_peer import agent, endpoint_under_test
from tests.raw_peer import agent_under_test

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from tests.raw_peer import RawPeer

    Handle = Callable[[Any, "list[acp.Responder]"], Awaitable[Any]]

ASKING: dict[str, Any] = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}


async def keep(deferring: Any, kept: list[acp.Responder]) -> None:
    """Leaves the answer to who has `kept`."""
    kept.append(deferring.defer())


async def drop(deferring: Any, kept: list[acp.Responder]) -> None:
    """Leaves the answer to nobody."""
    deferring.defer()


def in_a_cycle(thing: object) -> None:
    """Leaves a thing to nobody, in a cycle, so that only the collector finds it."""
    cycle: list[Any] = [thing]
    cycle.append(cycle)


def collected_elsewhere(things: list[Any]) -> threading.Thread:
    """Has the collector find things, in another thread."""

    def collect() -> None:
        while things:
            in_a_cycle(things.pop())
        gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    return thread


class Dialogs(acp.Client):
    """A client that leaves its questions to whoever has `kept`."""

    agent: Any

    def __init__(self) -> None:
        self.kept: list[acp.Responder] = []

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
    ) -> Any:
        self.kept.append(self.agent.defer())

    async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> Any:
        self.kept.append(self.agent.defer())


@asynccontextmanager
async def late(
    layer: str, handle: Handle = keep, **options: Any
) -> AsyncGenerator[tuple[RawPeer, Any, list[acp.Responder]], None]:
    """An agent of either layer that handles `_late`, its peer, and the responders that it keeps."""
    kept: list[acp.Responder] = []
    if layer == "drop-in":

        class Agent(acp.Agent):
            def on_connect(self, conn: Any) -> None:
                self.conn = conn

            async def ext_method(self, method: str, params: Any) -> Any:
                return await handle(self.conn, kept)

        async with agent_under_test(Agent(), **options) as (peer, connection):
            yield peer, connection, kept
    else:
        endpoint = agent(**options)

        @endpoint.on_request("_late")
        async def _(message: Any, ctx: Any) -> Any:
            return await handle(ctx, kept)

        async with endpoint_under_test(endpoint) as (connection, peer):
            yield peer, connection, kept


each_layer = pytest.mark.parametrize("layer", ["drop-in", "endpoint"])
