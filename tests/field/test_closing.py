"""Closing a connection from inside, and with handlers that do not want to end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import sniffio

import acp
from acp import Limits
from tests.field.wires import Echo, answer_of, each_side, each_wire, wired
from tests.raw_peer import BOUND, within

SHORT = Limits(closing=0.05, draining=0.05)


class Closing(Echo):
    """Closes its connection in a handler, in the way that `how` says."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.connection: Any = None
        self.closed = anyio.Event()

    async def close(self) -> Any:
        if self.how == "after a suspension":
            await anyio.lowlevel.checkpoint()
        if self.how == "twice":
            await self.connection.close()
        if self.how == "in a task below":
            async with anyio.create_task_group() as group:
                group.start_soon(self.connection.close)
        else:
            await self.connection.close()
        self.closed.set()
        return {"closed": True}

    async def ext_method(self, method: str, params: Any) -> Any:
        return await self.close()

    async def ext_notification(self, method: str, params: Any) -> None:
        await self.close()


@each_side
@each_wire
@pytest.mark.parametrize("kind", ["request", "notification"])
@pytest.mark.parametrize("how", ["at once", "after a suspension", "twice", "in a task below"])
async def test_a_handler_that_closes_its_connection_returns_and_the_connection_ends(
    side: str, wire: str, kind: str, how: str
) -> None:
    """C16."""
    handlers = Closing(how)
    async with wired(side, handlers, wire=wire, limits=SHORT) as (connection, peer):
        handlers.connection = connection
        await (peer.request(1, "_close") if kind == "request" else peer.notify("_close"))
        with anyio.fail_after(BOUND):
            await handlers.closed.wait()
        while await peer.receive() is not None:
            pass
        await within(connection.close())


@each_side
async def test_two_handlers_may_close_at_the_same_time(side: str) -> None:
    """C16."""
    handlers = Closing("after a suspension")
    async with wired(side, handlers, limits=SHORT) as (connection, peer):
        handlers.connection = connection
        await peer.send(*({"id": number, "method": "_close"} for number in range(3)))
        while await peer.receive() is not None:
            pass
        await within(connection.close())


class Stubborn(Echo):
    """Swallows cancellations, as many as `most`."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.swallowed = 0
        self.running = anyio.Event()
        self.let_go = anyio.Event()

    async def stay(self) -> None:
        self.running.set()
        while self.swallowed < self.most and not self.let_go.is_set():
            await self.wait()

    async def wait(self) -> None:
        try:
            await self.let_go.wait()
        except anyio.get_cancelled_exc_class():
            self.swallowed += 1

    async def ext_method(self, method: str, params: Any) -> Any:
        await self.stay()
        return params

    async def ext_notification(self, method: str, params: Any) -> None:
        await self.stay()


@each_side
@pytest.mark.parametrize("kind", ["request", "notification"])
async def test_closing_outlasts_a_handler_that_swallows_some_cancellations(
    side: str, kind: str
) -> None:
    """C16."""
    handlers = Stubborn(3)
    async with wired(side, handlers, limits=SHORT) as (connection, peer):
        await (peer.request(1, "_stay") if kind == "request" else peer.notify("_stay"))
        await within(handlers.running.wait())
        started = time.monotonic()
        await within(connection.close())
        assert time.monotonic() - started < 2
    assert handlers.swallowed >= 1


class Busy(Echo):
    """Goes on in a thread, which nothing can cancel."""

    def __init__(self) -> None:
        super().__init__()
        self.running = anyio.Event()
        self.ended = False

    async def ext_method(self, method: str, params: Any) -> Any:
        self.running.set()
        try:
            await anyio.to_thread.run_sync(time.sleep, 0.3)
        finally:
            self.ended = True
        return params


@each_side
async def test_closing_does_not_wait_for_a_handler_in_a_thread_to_send_what_is_queued(
    side: str,
) -> None:
    """C16: what could be sent is, and the peer reads the end."""
    handlers = Busy()
    async with wired(side, handlers, limits=SHORT) as (connection, peer):
        await peer.request(1, "_work", {})
        await within(handlers.running.wait())
        await connection.ext_notification("last", {})
        await within(connection.close())
        messages = []
        while (message := await peer.receive()) is not None:
            messages.append(message)
        assert messages[0]["method"] == "_last"
    assert handlers.ended


@each_side
async def test_closing_answers_what_a_quick_handler_still_gives(side: str) -> None:
    """C16: a request that is nearly done is not lost."""
    running, go = anyio.Event(), anyio.Event()

    class Nearly(Echo):
        async def ext_method(self, method: str, params: Any) -> Any:
            running.set()
            await go.wait()
            return {"done": True}

    async with wired(side, Nearly()) as (connection, peer):
        await peer.request(1, "_x", {})
        await within(running.wait())
        closing = peer.start(connection.close())
        await anyio.lowlevel.checkpoint()
        go.set()
        assert (await peer.receive())["result"] == {"done": True}
        assert await peer.receive() is None
        await within(closing)


@each_side
async def test_calls_that_wait_fail_when_the_connection_is_closed(side: str) -> None:
    """C16, C06."""
    async with wired(side, Echo()) as (connection, peer):
        calls = [peer.start(answer_of(connection)) for _ in range(3)]
        for _ in calls:
            await peer.receive()
        await within(connection.close())
        for call in calls:
            with pytest.raises(acp.ConnectionClosed):
                await within(call)


@pytest.mark.asyncio_only
@each_side
async def test_closing_from_a_task_that_a_handler_made_does_not_wait_for_itself(side: str) -> None:
    """C16: the task has the context of the handler, which goes on."""
    assert sniffio.current_async_library() == "asyncio"

    class Making(Echo):
        connection: Any = None
        task: asyncio.Task[None] | None = None

        async def ext_notification(self, method: str, params: Any) -> None:
            self.task = asyncio.ensure_future(self.connection.close())
            await asyncio.shield(self.task)

    making = Making()
    async with wired(side, making, limits=SHORT) as (connection, peer):
        making.connection = connection
        await peer.notify("_close")
        assert await peer.receive() is None
        assert making.task is not None
        await within(making.task)


@pytest.mark.asyncio_only
@each_side
async def test_a_body_that_was_cancelled_still_closes(side: str) -> None:
    """C16, C17: the task that holds the connection is cancelled during a call."""
    ended = asyncio.Event()

    async def use() -> None:
        async with wired(side, Echo(), limits=SHORT) as (connection, peer):
            calling = peer.start(answer_of(connection))
            await peer.receive()
            ended.set()
            await calling

    task = asyncio.ensure_future(use())
    await within(ended.wait())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(task)


@pytest.mark.asyncio_only
async def test_connections_may_be_closed_in_the_order_in_which_they_were_opened() -> None:
    """C17: and in another task than the one that opened them."""
    pairs = [wired("client", Echo()) for _ in range(3)]
    opened = [await within(asyncio.ensure_future(pair.__aenter__())) for pair in pairs]
    for pair, (connection, _) in zip(pairs, opened, strict=True):
        await within(connection.close())
        await within(asyncio.ensure_future(pair.__aexit__(None, None, None)))
