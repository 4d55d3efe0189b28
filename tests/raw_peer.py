"""The other end of a connection under test, written by hand: it sends and receives plain JSON.

Owns nothing of the library but the transport between them, and runs on asyncio and trio: on trio
the connection under test is served by a task of this module.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import sniffio

import acp
from acp._transports.descriptors import DescriptorTransport
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from anyio.abc import TaskGroup

    from acp import Transport

BOUND = 10.0
"""Seconds that any single wait of a test may take."""


def pipe_pair() -> tuple[Transport, Transport]:
    """Two connected transports over pipes, as between two processes."""
    there, back = os.pipe(), os.pipe()
    return DescriptorTransport(back[0], there[1]), DescriptorTransport(there[0], back[1])


PAIRS: dict[str, Callable[[], tuple[Transport, Transport]]] = {
    "memory": acp.memory_pair,
    "pipe": pipe_pair,
}
pair = PAIRS["memory"]
"""What is between a connection under test and its peer; fixtures change it."""


class Running:
    """What a task of asyncio is, on trio: its cancellation raises `CancelledError` there, too."""

    def __init__(self, awaitable: Awaitable[Any], group: TaskGroup) -> None:
        self._awaitable = awaitable
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._value: Any = None
        self._failure: BaseException | None = asyncio.CancelledError()
        group.start_soon(self._run)

    async def _run(self) -> None:
        try:
            with self._scope:
                self._value = await self._awaitable
                self._failure = None
        except Exception as exc:  # noqa: BLE001 - handed to who awaits it
            self._failure = exc
        finally:
            self._ended.set()

    def done(self) -> bool:
        return self._ended.is_set()

    def cancel(self) -> None:
        self._scope.cancel()

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from self._ended.wait().__await__()
        if self._failure is not None:
            raise self._failure
        return self._value


def beside(group: TaskGroup | None, awaitable: Any) -> Any:
    """Has it run beside the caller: a task of asyncio, on trio a `Running` in the group."""
    if sniffio.current_async_library() == "asyncio":
        return asyncio.ensure_future(awaitable)
    assert group is not None
    return Running(awaitable, group)


class RawPeer:
    """Sends and receives single messages."""

    def __init__(self, transport: Transport, group: TaskGroup | None = None) -> None:
        self.transport = transport
        self._group = group
        self._received: list[dict[str, Any]] = []
        self._rest = b""

    def start(self, awaitable: Any) -> Any:
        """Has it run beside the test."""
        return beside(self._group, awaitable)

    async def send(self, *messages: dict[str, Any]) -> None:
        """Sends messages in one chunk."""
        lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
        await self.send_text("".join(line + "\n" for line in lines))

    async def send_text(self, text: str) -> None:
        await within(self.transport.send(text.encode()))

    async def request(self, request_id: Any, method: str, params: Any = None) -> None:
        await self.send({"id": request_id, "method": method, "params": params})

    async def notify(self, method: str, params: Any = None) -> None:
        await self.send({"method": method, "params": params})

    async def answer(self, request_id: Any, result: Any) -> None:
        await self.send({"id": request_id, "result": result})

    async def receive(self) -> Any:
        """The next message; None at the end of input."""
        while not self._received:
            chunk = await within(self.transport.receive())
            if not chunk:
                return None
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._received += [json.loads(line) for line in lines]
        return self._received.pop(0)

    async def receive_all(self) -> list[Any]:
        """Every message until the end of input."""
        messages: list[Any] = []
        while (message := await self.receive()) is not None:
            messages.append(message)
        return messages


@asynccontextmanager
async def agent_under_test(
    agent: Any, **options: Any
) -> AsyncGenerator[tuple[RawPeer, AgentSideConnection], None]:
    """An agent whose client is the test."""
    async with _under_test(AgentSideConnection, agent, options) as (connection, peer):
        yield peer, connection


@asynccontextmanager
async def client_under_test(
    client: Any, **options: Any
) -> AsyncGenerator[tuple[ClientSideConnection, RawPeer], None]:
    """A client whose agent is the test."""
    async with _under_test(ClientSideConnection, client, options) as (connection, peer):
        yield connection, peer


@asynccontextmanager
async def _under_test(
    kind: Any, handlers: Any, options: dict[str, Any]
) -> AsyncGenerator[tuple[Any, RawPeer], None]:
    ours, theirs = pair()
    await theirs.open()
    async with serving(kind, handlers, ours, **options) as (connection, group):
        try:
            yield connection, RawPeer(theirs, group)
        finally:
            await theirs.close()


@asynccontextmanager
async def serving(
    kind: Any, handlers: Any, transport: Transport, **options: Any
) -> AsyncGenerator[tuple[Any, TaskGroup | None], None]:
    """A connection that is served while the body runs; on trio with the group that serves it."""
    if sniffio.current_async_library() == "asyncio":
        connection = kind(handlers, transport, **options)
        try:
            yield connection, None
        finally:
            await within(connection.close())
        return
    async with anyio.create_task_group() as group:
        connection = kind(handlers, transport, listening=False, **options)
        # It counts as running from here on: which task has the first step is trio's choice.
        listening = connection._connection.run()
        group.start_soon(lambda: listening)
        try:
            yield connection, group
        finally:
            await within(connection.close())
            group.cancel_scope.cancel()


def chunk(text: str, session: str = "s") -> dict[str, Any]:
    """A `session/update` with a piece of text."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def prompt(text: str = "", session: str = "s") -> dict[str, Any]:
    """The params of a `session/prompt`."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


async def within(awaitable: Any) -> Any:
    """The value of `awaitable`, which has to come in time."""
    with anyio.fail_after(BOUND):
        return await awaitable
