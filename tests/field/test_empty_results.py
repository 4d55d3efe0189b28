"""Handlers that return nothing, and metadata with unlucky names."""

from __future__ import annotations

from typing import Any

import pytest

import acp
from tests.field.test_values import REQUESTS, Saying
from tests.field.wires import wired
from tests.raw_peer import prompt


@pytest.mark.parametrize("method", list(REQUESTS))
async def test_a_handler_that_returns_nothing_is_answered_with_an_object(method: str) -> None:
    """C24: strict readers refuse null for a write that succeeded."""
    side, params = REQUESTS[method]
    async with wired(side, Saying(None), use_unstable_protocol=True) as (_, peer):
        assert (await peer.exchange(1, method, params))["result"] == {}


async def test_metadata_named_like_the_catch_all_reaches_it() -> None:
    """C09: it collides with nothing."""
    seen: list[dict[str, Any]] = []

    class Spread(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            seen.append(kwargs)
            return acp.PromptResponse(stop_reason="end_turn")

    async with wired("agent", Spread()) as (_, peer):
        await peer.exchange(1, "session/prompt", {**prompt(), "_meta": {"kwargs": 1}})
    assert seen[0]["kwargs"] == 1
