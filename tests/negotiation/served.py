"""Agents for tests of negotiation, and serving one over memory with the test as its client."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

import acp
from acp import v1, v2
from tests.raw_peer import BOUND, RawPeer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ("INFO", "Seen", "ask", "initialize", "routed")

INFO = {"name": "test", "version": "1"}


class Seen:
    """An agent of each version, and what they were asked."""

    def __init__(self, **options: Any) -> None:
        self.asked: list[tuple[int, Any]] = []
        self.v1 = v1.Agent("one", "1", **options)
        self.v2 = v2.Agent("two", "2", **options)
        for version, agent in ((1, self.v1), (2, self.v2)):
            self._watch(version, agent)

    def _watch(self, version: int, agent: Any) -> None:
        schema = agent.facts.schema

        @agent.initialize
        def opened(request: Any) -> Any:
            self.asked.append((version, request))
            return agent.facts.initialize(agent, request)

        @agent.new_session
        def made(request: Any) -> Any:
            self.asked.append((version, request))
            return schema.NewSessionResponse(session_id="s")

        @agent.on_request("_test/echo")
        def echo(params: Any) -> Any:
            return params


def ask(request_id: Any, method: str, params: Any = None) -> dict[str, Any]:
    """A request as JSON data."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def initialize(version: Any, request_id: Any = 0, **members: Any) -> dict[str, Any]:
    """An `initialize` that both versions can read."""
    params = {"protocolVersion": version, "info": INFO, "capabilities": {}, **members}
    return ask(request_id, "initialize", params)


class Client(RawPeer):
    """Sends whole frames, which may be batches."""

    async def put(self, *frames: Any) -> None:
        lines = [frame if isinstance(frame, str) else json.dumps(frame) for frame in frames]
        await self.send_text("".join(line + "\n" for line in lines))


@asynccontextmanager
async def routed(router: Any) -> AsyncGenerator[Client, None]:
    """The test as the client of what serves."""
    here, there = acp.memory_pair()
    await here.open()
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as group:
            group.start_soon(router.serve, there)
            try:
                yield Client(here, group)
            finally:
                await here.close()
