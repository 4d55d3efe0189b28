"""Handles that outlive their connection, their loop and, nearly, the interpreter."""

from __future__ import annotations

import gc
import importlib.util
import subprocess
import sys
import textwrap
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v1
from tests.deferring import in_a_cycle, late
from tests.endpoint_peer import client, endpoint_under_test, prompt_request
from tests.raw_peer import within
from tests.sides import until

if TYPE_CHECKING:
    from tests.conftest import Backend

BEGIN = """
import asyncio, gc, sys, threading
import acp
from acp import v1

kept = []

async def main():
    ours, theirs = acp.memory_pair()
    endpoint = v1.Agent(version_guard=False, limits=acp.Limits(closing=0.05))

    @endpoint.on_request("_late")
    async def _(message, ctx):
        kept.append(ctx.defer())
        kept.append(ctx)
        kept.append(ctx.cancellation)

    await theirs.open()
    hosted = endpoint.connect(ours)
    connection = await hosted.__aenter__()
    await theirs.send(b'{"jsonrpc":"2.0","id":1,"method":"_late"}\\n')
    while not kept:
        await asyncio.sleep(0) if BACKEND != "trio" else await trio.lowlevel.checkpoint()
    sent = connection.request("_x", {})
    kept.extend([sent, sent.cancel_handle(), connection.prepare("_x"), connection.request("_y")])
    kept.append(sent.map(str))
    connection.request("_z").on_result(print)
    connection.request("_z").detach()
"""
CLOSED = """
    await hosted.__aexit__(None, None, None)
"""
RUNS = {
    "asyncio": "asyncio.run(main())",
    "uvloop": "import uvloop; uvloop.run(main())",
    "trio": "import trio; trio.run(main)",
}
# The loop is neither closed nor run again: everything is as it was when it stopped.
ABANDONED = """
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""
ENDS = {
    "at the end": "",
    "collected": "cycle = [kept]; cycle.append(cycle); del kept, cycle; gc.collect()",
    "in a thread": """
        def collect():
            kept.clear()
            gc.collect()
        thread = threading.Thread(target=collect)
        thread.start()
        thread.join()
    """,
    "in a cycle at the end": "cycle = [kept]; cycle.append(cycle); gc.disable()",
}


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in which every warning is an error."""
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("backend", RUNS)
def test_what_is_kept_when_the_loop_has_ended_ends_without_a_word(backend: str, end: str) -> None:
    """C-095, C-109: nothing is owed any more, wherever it is dropped."""
    if backend == "uvloop":
        assert importlib.util.find_spec("uvloop") or sys.platform == "win32"
    head = f"BACKEND = {backend!r}\n" + ("import trio\n" if backend == "trio" else "")
    program = head + BEGIN + CLOSED + RUNS[backend] + "\n" + textwrap.dedent(ENDS[end])
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")
    # The callback was told that no answer can come.
    assert done.stdout.count("Outcome") == 1


@pytest.mark.parametrize("end", ENDS)
def test_what_is_kept_when_the_loop_is_abandoned_does_no_harm(end: str) -> None:
    """C-095, C-109: the loop tells that it was not closed, and nothing of this library does."""
    program = "BACKEND = 'asyncio'\n" + BEGIN + ABANDONED + textwrap.dedent(ENDS[end])
    done = run(program)
    assert done.returncode == 0
    assert "/acp/" not in done.stderr


def test_handles_of_a_connection_that_has_ended_do_nothing_more(anyio_backend: Backend) -> None:
    """C-097, C-109: also in another thread, after the loop itself has ended."""
    kept: list[Any] = []

    async def main() -> None:
        limits = acp.Limits(closing=0.05)
        async with late("endpoint", limits=limits) as (peer, connection, responders):
            await peer.request(1, "_late", {})
            await until(lambda: len(responders) == 1)
            sent = connection.request("_x", {})
            assert (await peer.receive())["method"] == "_x"
            kept.extend([responders.pop(), sent, sent.cancel_handle()])
            with anyio.move_on_after(0.01):
                await connection.wait_closed()
            await within(connection.raw._transport.close())
        responder, sent, handle = kept
        assert not responder.respond({})
        assert not handle.cancel()
        assert not sent.cancel()

    name, options = anyio_backend
    anyio.run(main, backend=name, backend_options=options)
    responder, sent, handle = kept
    kept.clear()
    assert not responder.respond({})
    assert not handle.cancel()
    in_a_cycle([responder, sent, handle])
    del responder, sent, handle
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()


async def test_a_handle_does_not_keep_what_its_connection_has_received() -> None:
    """The cycle between a request and its callback ends when that is called."""

    class Big:
        alive = 0

        def __init__(self) -> None:
            Big.alive += 1

        def __del__(self) -> None:
            Big.alive -= 1

    async with endpoint_under_test(client()) as (connection, peer):
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                big = Big()

                def called(ended: acp.Outcome[Any], big: Big = big) -> None:
                    del big

                handle = connection.request(prompt_request()).on_result(called)
                del big, called
                request = await peer.receive()
                await peer.answer(request["id"], {"stopReason": "end_turn"})
                await until(lambda: Big.alive == 0)
                assert not handle.cancel()
        finally:
            gc.enable()


async def test_a_context_may_be_kept_as_long_as_one_likes() -> None:
    contexts: list[v1.Context] = []
    endpoint = v1.Agent(version_guard=False)

    @endpoint.on_request("_x")
    async def _(message: Any, ctx: v1.Context) -> Any:
        contexts.append(ctx)
        return {}

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request("a", "_x", {"sessionId": "s"})
        assert (await peer.receive())["result"] == {}
        assert connection.stats().unanswered == 0
    (context,) = contexts
    assert (context.method, context.request_id, context.session_id) == ("_x", "a", "s")
    assert not context.cancellation.is_cancelled
    assert not context.in_turn
    with pytest.raises(RuntimeError, match="answered already"):
        context.defer()
