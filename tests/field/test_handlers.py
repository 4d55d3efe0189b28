"""Handlers that fail in every way they can, and messages that nobody handles."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.field.wires import Echo, each_cut, each_side, wired
from tests.raw_peer import prompt
from tests.sides import Nothing

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup, ExceptionGroup


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def endless() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["itself"] = value
    return value


RAISED: dict[str, Any] = {
    "a value error": lambda: ValueError("secret"),
    "a group": lambda: ExceptionGroup("secret", [ValueError("secret"), OSError()]),
    "a group of base exceptions": lambda: BaseExceptionGroup("secret", [ValueError("secret")]),
    "a timeout": lambda: TimeoutError("secret"),
    "a timeout of asyncio": lambda: asyncio.TimeoutError("secret"),
    "the end of an iteration": lambda: StopAsyncIteration("secret"),
    "a recursion error": lambda: RecursionError("secret"),
    "a memory error": lambda: MemoryError("secret"),
    "an assertion": lambda: AssertionError("secret"),
    "a broken pipe": lambda: BrokenPipeError("secret"),
    "the end of an input": lambda: EOFError("secret"),
    "a closed resource": lambda: anyio.ClosedResourceError("secret"),
    "what cannot be printed": Unprintable,
    "a key error": lambda: KeyError("secret"),
    "a type error": lambda: TypeError("secret"),
    "text that is no unicode": lambda: ValueError("secret\udcff"),
}
RETURNED: dict[str, Any] = {
    "an object": object,
    "not a number": lambda: {"x": float("nan")},
    "keys that are no strings": lambda: {(1, 2): 3},
    "itself": endless,
    "too deep": lambda: nested(2000),
    "a class": lambda: Unprintable,
    "an exception": lambda: ValueError("secret"),
    "deep inside": lambda: {"a": [{"b": object()}]},
}


class Failing(Echo):
    """Fails with what `failure` makes, at its first step or later."""

    def __init__(self, failure: Any, *, late: bool, raises: bool) -> None:
        super().__init__()
        self.failure = failure
        self.late = late
        self.raises = raises

    async def fail(self) -> Any:
        if self.late:
            await anyio.lowlevel.checkpoint()
        if self.raises:
            raise self.failure()
        return self.failure()

    async def ext_method(self, method: str, params: Any) -> Any:
        return await self.fail() if method == "fail" else params

    async def ext_notification(self, method: str, params: Any) -> None:
        if method == "fail":
            await self.fail()
        else:
            await super().ext_notification(method, params)


each_time = pytest.mark.parametrize("late", [False, True])


@each_side
@each_time
@pytest.mark.parametrize(
    ("raised", "expose"),
    [(raised, False) for raised in RAISED]
    + [(raised, True) for raised in RAISED if raised != "what cannot be printed"],
)
async def test_a_request_whose_handler_raises_is_answered_once_and_the_connection_lives(
    side: str, late: bool, raised: str, expose: bool
) -> None:
    """C32: the text of the exception is shown only when that was asked for."""
    handlers = Failing(RAISED[raised], late=late, raises=True)
    async with wired(side, handlers, expose_internal_errors=expose) as (_, peer):
        answer = await peer.exchange(1, "_fail")
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        assert expose or "secret" not in str(answer)
        assert (await peer.exchange(2))["id"] == 2


@each_side
@each_time
@pytest.mark.parametrize("returned", list(RETURNED))
async def test_a_result_that_has_no_form_is_one_error_and_the_connection_lives(
    side: str, late: bool, returned: str
) -> None:
    """C32."""
    handlers = Failing(RETURNED[returned], late=late, raises=False)
    async with wired(side, handlers) as (_, peer):
        answer = await peer.exchange(1, "_fail")
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        assert (await peer.exchange(2))["id"] == 2


@each_side
@each_time
@pytest.mark.parametrize("raised", list(RAISED))
async def test_a_notification_whose_handler_raises_is_answered_by_nobody_and_logged_once(
    side: str, late: bool, raised: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C32: those behind it are handled."""
    handlers = Failing(RAISED[raised], late=late, raises=True)
    async with wired(side, handlers) as (_, peer):
        await peer.send({"method": "_fail"}, {"method": "_next"}, {"method": "_next"})
        assert (await peer.exchange(2))["id"] == 2
    assert [method for method, _ in handlers.notes] == ["next", "next"]
    warned = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warned) == 1
    assert not warned[0].exc_info
    assert "secret" not in caplog.text


@each_side
@each_time
async def test_a_cancellation_that_a_handler_makes_up_is_answered_once(
    side: str, late: bool
) -> None:
    """C32: nobody has cancelled it."""

    class Cancelling(Echo):
        async def ext_method(self, method: str, params: Any) -> Any:
            if late:
                await anyio.lowlevel.checkpoint()
            if method == "cancel":
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()
                return {"cancelled": scope.cancelled_caught}
            return params

    async with wired(side, Cancelling()) as (_, peer):
        assert (await peer.exchange(1, "_cancel"))["result"] == {"cancelled": True}
        assert (await peer.exchange(2))["id"] == 2


@pytest.mark.asyncio_only
@each_side
@each_time
async def test_a_cancelled_error_that_a_handler_raises_is_answered_once(
    side: str, late: bool
) -> None:
    """C32: a task that it awaited was cancelled by others."""

    class Awaiting(Echo):
        async def ext_method(self, method: str, params: Any) -> Any:
            if method == "fail":
                if late:
                    await anyio.lowlevel.checkpoint()
                task = asyncio.ensure_future(asyncio.sleep(60))
                asyncio.get_running_loop().call_soon(task.cancel)
                await task
            return params

    async with wired(side, Awaiting()) as (_, peer):
        answer = await peer.exchange(1, "_fail")
        assert (answer["id"], "error" in answer) == (1, True)
        assert (await peer.exchange(2))["id"] == 2


@each_side
async def test_a_hundred_failures_in_a_row_leave_nothing_behind(side: str) -> None:
    """C32: each has its answer, in whatever order."""
    handlers = Failing(RAISED["a value error"], late=True, raises=True)
    async with wired(side, handlers) as (_, peer):
        await peer.send(*({"id": number, "method": "_fail"} for number in range(100)))
        answers = [await peer.receive() for _ in range(100)]
        assert {answer["id"] for answer in answers} == set(range(100))
        assert (await peer.exchange("last"))["id"] == "last"


UNHANDLED = [
    '{"jsonrpc":"2.0","method":"_acme.dev/mcp_updated","params":{}}',
    '{"jsonrpc":"2.0","method":"session/teleport","params":{}}',
    '{"jsonrpc":"2.0","method":"session/cancel","params":{"wrong":1}}',
    '{"jsonrpc":"2.0","method":"session/cancel"}',
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}',
    '{"jsonrpc":"2.0","method":"session/update","params":[]}',
    '{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}',
    '{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}',
    '{"jsonrpc":"2.0","method":"$/progress","params":{"x":1}}',
    '{"jsonrpc":"2.0","method":"","params":{}}',
    '{"jsonrpc":"2.0","method":"_","params":null}',
    '{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}',
]


@each_side
@each_cut
@pytest.mark.parametrize("line", UNHANDLED)
async def test_a_notification_that_nobody_handles_is_answered_by_nothing(
    side: str, cut: int | None, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C18: and logged without a traceback."""
    async with wired(side, Nothing(), cut=cut) as (_, peer):
        await peer.send_bytes(line.encode(), b"\n")
        assert (await peer.exchange(2, "_x"))["id"] == 2
    logged = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert [r for r in logged if r.levelno > logging.WARNING or r.exc_info] == []


@each_side
@pytest.mark.parametrize("method", ["_x/y", "session/teleport", "session/cancel", "_"])
async def test_a_message_with_a_null_id_is_a_request_and_answered(side: str, method: str) -> None:
    """C18."""
    async with wired(side, Nothing()) as (_, peer):
        await peer.send_bytes(f'{{"jsonrpc":"2.0","id":null,"method":"{method}"}}\n'.encode())
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32601)


async def test_a_failing_update_does_not_cost_the_agent_its_turn() -> None:
    """C32: an agent that sends what does not fit learns it where it sends."""

    class Sending(Nothing):
        client: Any = None
        refused = 0

        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            for update in ({"sessionUpdate": "no"}, 5, None):
                with pytest.raises((ValueError, TypeError)):
                    await self.client.session_update(session_id, update)
                self.refused += 1
            return {"stopReason": "end_turn"}

    agent = Sending()
    async with wired("agent", agent) as (_, peer):
        answer = await peer.exchange(1, "session/prompt", prompt())
        assert answer["result"] == {"stopReason": "end_turn"}
    assert agent.refused == 3
