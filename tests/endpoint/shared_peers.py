"""Shared sessions under test, whose agent is the test, and those who load them.

Owns what the tests of shared sessions have in common.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from acp import v2
from tests.endpoint.session_peers import client_of, opened, text
from tests.raw_peer import BOUND, PAIRS, RawPeer, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.abc import TaskGroup

SHARED: dict[str, Any] = {
    "protocolVersion": 2,
    "info": {"name": "a", "version": "1"},
    "capabilities": {"session": {}},
}
"""The answer of an agent that has sessions."""


class Agent(RawPeer):
    """The agent, played by the test: what it receives is asserted, message by message."""

    def __init__(self, transport: Any, group: TaskGroup) -> None:
        super().__init__(transport, group)
        self.group = group

    async def initialized(self) -> None:
        """Answers the first request of a client."""
        request = await self.receive()
        assert request["method"] == "initialize", request
        await self.answer(request["id"], SHARED)

    async def asked(self, method: str, session: str = "s1") -> Any:
        """The id of the next message, which has to be this request."""
        message = await self.receive()
        assert message is not None, "the connection has ended"
        assert (message.get("method"), message["params"]["sessionId"]) == (method, session)
        return message["id"]

    async def resumed(self, *replay: str, session: str = "s1") -> None:
        """Is asked for a resume, and answers it behind a replay."""
        request_id = await self.asked("session/resume", session)
        await self.replay(request_id, *replay, session=session)

    async def replay(self, request_id: Any, *replay: str, session: str = "s1") -> None:
        """Answers a resume behind a replay."""
        pieces = (text(piece, session) for piece in replay)
        await self.send(*pieces, {"id": request_id, "result": {}})

    async def closed(self, session: str = "s1") -> None:
        """Is asked for a close, and answers it."""
        await self.answer(await self.asked("session/close", session), {})

    async def refuse(self, request_id: Any, code: int) -> None:
        await self.send({"id": request_id, "error": {"code": code, "message": "no"}})


class Party:
    """Somebody who loads a session and stays in it until told to leave."""

    def __init__(
        self, agent: Agent, shared: v2.SharedSessions, session: str = "s1", **members: Any
    ) -> None:
        self.view: Any = None
        self.error: BaseException | None = None
        self._shared = shared
        self._session = session
        self._members = members
        self._scope = anyio.CancelScope()
        self._loaded = anyio.Event()
        self._go = anyio.Event()
        self._ended = anyio.Event()
        agent.group.start_soon(self._run)

    async def _run(self) -> None:
        try:
            with self._scope:
                load = self._shared.load(self._session, "/", **self._members)
                async with load as self.view:
                    self._loaded.set()
                    await self._go.wait()
        except Exception as exc:  # noqa: BLE001 - the test looks at it
            self.error = exc
        finally:
            self._loaded.set()
            self._ended.set()

    @property
    def waits(self) -> bool:
        return not self._loaded.is_set()

    async def loaded(self) -> Any:
        """The view, once it is there."""
        await within(self._loaded.wait())
        if self.error is not None:
            raise self.error
        assert self.view is not None
        return self.view

    async def failed(self) -> BaseException:
        """What it could not load the session for."""
        await within(self._ended.wait())
        assert self.error is not None
        return self.error

    async def leave(self) -> None:
        self._go.set()
        await within(self._ended.wait())
        assert self.error is None

    async def cancel(self) -> None:
        self.cancel_soon()
        await within(self._ended.wait())

    def cancel_soon(self) -> None:
        self._scope.cancel()


def said(view: v2.SessionView) -> str:
    """What the agent has said in a session, as its projection tells it."""
    message = view.projection.get("agent_message", "m")
    content = [] if message is None else message.content
    return "".join(getattr(block, "text", "?") for block in content or ())


@asynccontextmanager
async def attached(client: Any) -> AsyncGenerator[tuple[v2.Connection, Agent], None]:
    """A connection of a client that shared sessions may use, and the agent."""
    v2.SharedSessions.attach(client)
    with anyio.fail_after(3 * BOUND):
        async with opened(client) as (connection, peer), anyio.create_task_group() as group:
            yield connection, Agent(peer.transport, group)
            group.cancel_scope.cancel()


@asynccontextmanager
async def sharing(
    client: Any = None, *, wire: str = "memory", **options: Any
) -> AsyncGenerator[tuple[v2.SharedSessions, Agent], None]:
    """Shared sessions that own their connection, and the agent."""
    ours, theirs = PAIRS[wire]()
    await theirs.open()
    with anyio.fail_after(3 * BOUND):
        async with anyio.create_task_group() as group:
            agent = Agent(theirs, group)
            group.start_soon(agent.initialized)
            try:
                async with v2.SharedSessions(client or client_of(2), ours, **options) as shared:
                    yield shared, agent
            finally:
                await theirs.close()
                group.cancel_scope.cancel()
