"""Connections in scopes, stacks and tasks that were not made for them: ends in any order."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
import sniffio

import acp
from acp import v1
from tests.endpoint.session_peers import each_version
from tests.field.children import ANSWERING, lifeline
from tests.field.test_process_trees import holding
from tests.field.wires import wired
from tests.raw_peer import BOUND, within
from tests.sides import Silent, until

QUICK = acp.Limits(closing=0.05)


def module_of(version: int) -> Any:
    return v1 if version == 1 else acp.v2


def echoing(version: int) -> Any:
    agent = module_of(version).Agent("a", "1", limits=QUICK)

    @agent.on_request("_x/echo")
    def echo(params: Any) -> Any:
        return params

    @agent.on_request("_x/never")
    async def never(params: Any) -> Any:
        await anyio.Event().wait()

    return agent


async def entered(stack: AsyncExitStack, version: int) -> tuple[Any, Any]:
    """An agent's connection and a client's, both in the stack, and initialized."""
    here, there = acp.memory_pair()
    module = module_of(version)
    serving = await stack.enter_async_context(echoing(version).connect(there))
    client = module.Client("c", "1", limits=QUICK)
    connection = await stack.enter_async_context(client.connect(here))
    await within(connection.initialize())
    return connection, serving


@each_version
async def test_a_stack_of_connections_unwinds_with_and_without_an_exception(version: int) -> None:
    """C17: as stacks of contexts do, on every loop."""
    for failing in (False, True):
        connections: list[Any] = []
        with anyio.fail_after(BOUND):
            try:
                async with AsyncExitStack() as stack:
                    for _ in range(3):
                        connection, _ = await entered(stack, version)
                        connections.append(connection)
                    for connection in connections:
                        assert await within(connection.request("_x/echo", {"n": 1})) == {"n": 1}
                    if failing:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                assert failing
        for connection in connections:
            with pytest.raises(acp.ConnectionClosed):
                await within(connection.request("_x/echo", {}))


@each_version
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
@pytest.mark.asyncio_only
async def test_connections_end_in_any_order_and_in_any_task(
    version: int, order: tuple[int, ...]
) -> None:
    """C17: opened in one task, closed in another; on trio blocks nest."""
    stacks = [AsyncExitStack() for _ in range(3)]
    opening = [asyncio.ensure_future(entered(stack, version)) for stack in stacks]
    connections = [(await within(each))[0] for each in opening]
    for position, number in enumerate(order):
        await within(asyncio.ensure_future(stacks[number].aclose()))
        for left in order[position + 1 :]:
            answer = await within(connections[left].request("_x/echo", {"left": left}))
            assert answer == {"left": left}


@each_version
async def test_a_connection_can_be_closed_from_any_task_while_its_block_is_open(
    version: int,
) -> None:
    """C17: the block then ends as if it had been left."""
    async with AsyncExitStack() as stack:
        connection, _ = await entered(stack, version)
        async with anyio.create_task_group() as group:
            with anyio.fail_after(BOUND):
                group.start_soon(connection.close)
                await connection.wait_closed()


@each_version
@pytest.mark.parametrize("around", ["group", "timeout"])
async def test_a_cancelled_scope_around_a_call_ends_its_block_and_nothing_else(
    version: int, around: str
) -> None:
    """C17: the outer scope is cancelled in the middle of a request."""
    ended: list[str] = []

    started: list[Any] = []

    async def use() -> None:
        async with AsyncExitStack() as stack:
            stack.callback(ended.append, "unwound")
            connection, serving = await entered(stack, version)
            started.append(serving)
            await connection.request("_x/never", {})

    with anyio.fail_after(BOUND):
        if around == "group":
            async with anyio.create_task_group() as group:
                group.start_soon(use)
                await until(lambda: bool(started) and started[0].stats().handlers > 0)
                group.cancel_scope.cancel()
        else:
            with anyio.move_on_after(0.05) as scope:
                await use()
            assert scope.cancelled_caught
    assert ended == ["unwound"]
    # The loop is none the worse for it.
    async with AsyncExitStack() as stack:
        connection, _ = await entered(stack, version)
        assert await within(connection.request("_x/echo", {"n": 2})) == {"n": 2}


async def test_a_cancelled_group_around_a_prompt_leaves_no_process(tmp_path: Path) -> None:
    """C17, C11: on trio, too."""
    silent = "for r in requests():\n    r['id'] or answer(r, protocolVersion=1)"
    with lifeline(tmp_path) as alive:
        command = (sys.executable, "-I", "-S", "-c", ANSWERING + holding(alive.path, silent))
        client = v1.Client("c", "1", limits=QUICK)
        prompting = anyio.Event()

        async def use() -> None:
            async with client.connect(acp.process_transport(*command)) as connection:
                await within(connection.initialize())
                prompting.set()
                request = v1.schema.PromptRequest(session_id="s", prompt=[])
                await connection.request(request)

        with anyio.fail_after(BOUND):
            async with anyio.create_task_group() as group:
                group.start_soon(use)
                await prompting.wait()
                await alive.held_by(1)
                group.cancel_scope.cancel()
            await alive.ended()


async def test_connections_that_nobody_keeps_make_no_noise() -> None:
    """C17: neither `never awaited` nor a warning of the collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            async with AsyncExitStack() as stack:
                connection, _ = await entered(stack, 1)
                connection.request("_x/echo", {}).detach()
                if sniffio.current_async_library() == "asyncio":
                    async with wired("client", Silent()):
                        pass
            del connection
            gc.collect()
