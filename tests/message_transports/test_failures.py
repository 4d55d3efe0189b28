"""Transports of messages that end, fail, or give what is no message."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits
from acp._transports import messages
from acp.agent.connection import AgentSideConnection
from tests.message_transports.links import Ends, causes, client_over, nested
from tests.raw_peer import beside, serving, within
from tests.sides import Nothing

SECRET = "secret-7f3a"


async def test_none_is_the_end_of_input_and_the_transport_is_closed_once(
    ends: Ends,
) -> None:
    ours, theirs = ends
    async with client_over(ours) as (agent, group), anyio.create_task_group() as tasks:
        calling = beside(group or tasks, agent.initialize(1))
        await within(theirs.receive())
        await theirs.close()
        with pytest.raises(acp.ConnectionClosed):
            await within(calling)
        await within(agent.close())
    assert ours.closed == 1


@pytest.mark.parametrize("failing", ["send", "receive"])
async def test_an_error_of_the_transport_fails_the_calls_with_its_cause(
    failing: str, caplog: pytest.LogCaptureFixture, ends: Ends
) -> None:
    ours, _theirs = ends

    async def fail(*args: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        raise KeyError(SECRET)

    setattr(ours, failing, fail)
    async with client_over(ours, limits=Limits(closing=0.05)) as (agent, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
        assert causes(caught.value) == ["BrokenResourceError", "KeyError"]
        assert f"{failing}() failed with KeyError" in str(caught.value)
        with pytest.raises(acp.ConnectionClosed):
            await within(agent.new_session("/"))
    assert ours.closed == 1
    assert SECRET not in str(caught.value) + caplog.text


@pytest.mark.asyncio_only
@pytest.mark.parametrize("failing", ["send", "receive"])
async def test_a_transport_whose_own_task_was_cancelled_ends_the_connection(
    failing: str, ends: Ends
) -> None:
    ours, _theirs = ends

    async def fail(*args: Any) -> Any:
        inner = asyncio.ensure_future(asyncio.Event().wait())
        inner.cancel()
        await inner

    setattr(ours, failing, fail)
    async with client_over(ours, limits=Limits(closing=0.05)) as (agent, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
        assert causes(caught.value) == ["BrokenResourceError", "CancelledError"]
    assert ours.closed == 1


NO_MESSAGES: dict[str, Any] = {
    "no finite number": {"method": "x", "params": {SECRET: math.nan}},
    "an infinite number": {"method": "x", "params": [math.inf]},
    "an object of no type that JSON has": {"method": "x", "params": {"v": object()}},
    "a function": {"method": "x", "params": {SECRET: len}},
    "too deep": {"method": "x", "params": nested(1100)},
    "far too deep": {"method": "x", "params": nested(200_000)},
    "the text of a message": f'{{"method": "{SECRET}"}}',
    "bytes": b'{"method": "x"}',
    "a number": 7,
    "a tuple": ({"method": "x"},),
}


@pytest.mark.parametrize("what", list(NO_MESSAGES))
async def test_a_message_that_json_has_no_form_for_is_a_clear_error(
    what: str, caplog: pytest.LogCaptureFixture, ends: Ends
) -> None:
    ours, theirs = ends
    async with client_over(ours) as (agent, group), anyio.create_task_group() as tasks:
        calling = beside(group or tasks, agent.initialize(1))
        await within(theirs.receive())
        await within(theirs.send(NO_MESSAGES[what]))
        with pytest.raises(acp.ConnectionClosed, match="returned what is no message") as caught:
            await within(calling)
        kinds = {"TypeError", "ValidationError", "ValueError", "RecursionError"}
        assert kinds & set(causes(caught.value))
        shown = repr(caught.value)
        cause: BaseException | None = caught.value
        while cause is not None:
            shown += str(cause)
            cause = cause.__cause__
        assert SECRET not in shown
    assert SECRET not in caplog.text
    assert ours.closed == 1


async def test_a_dict_that_is_no_message_costs_nothing_but_itself(ends: Ends) -> None:
    """As a line of JSON that is no message."""
    ours, theirs = ends
    async with serving(AgentSideConnection, Nothing(), ours):
        # This one asks for nothing.
        await within(theirs.send({}))
        for odd in (
            {"id": 1},
            {"id": 1.5, "method": "x"},
            {"jsonrpc": "1.0", "id": 1, "method": "x"},
        ):
            await within(theirs.send(odd))
            assert (await within(theirs.receive()))["error"]["code"] == -32600
        await within(theirs.send({"id": 2, "method": "x"}))
        assert (await within(theirs.receive()))["id"] == 2


@pytest.mark.parametrize("kind", ["fails", "hangs", "hangs for ever"])
async def test_a_transport_that_cannot_be_closed_does_not_hold_up_the_end(
    kind: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    ends: Ends,
) -> None:
    monkeypatch.setattr(messages, "_PATIENCE", 0.05)
    ours, _theirs = ends

    async def close() -> None:
        ours.closed += 1
        if kind == "fails":
            raise OSError(SECRET)
        await anyio.sleep(math.inf if kind == "hangs for ever" else 0.1)

    ours.close = close
    async with client_over(ours) as (agent, _):
        await within(agent.close())
    assert ours.closed == 1
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert SECRET not in caplog.text
