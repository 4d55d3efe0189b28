"""Secrets in messages stay out of logs, of exceptions as they are shown, and of errors on the wire.

The conversations are those of `reliability`; here those of endpoints of both versions, of the
negotiation between them, and of what stands above.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reliability import indiscretions
from reliability.endpoint_indiscretions import endpoint_scenarios
from reliability.router_indiscretions import router_scenarios
from reliability.secrets_kept import Watch, everything

SCENARIOS: dict[str, list[tuple[str, Any]]] = {
    "v1": indiscretions.of_layer("v1"),
    "v2": indiscretions.of_layer("v2"),
    "endpoints": endpoint_scenarios(),
    "negotiation": router_scenarios(indiscretions.BAD_LINES, indiscretions.BAD_ANSWERS),
}


@pytest.mark.parametrize("group", list(SCENARIOS))
def test_nothing_of_a_message_is_shown_when_something_goes_wrong(group: str) -> None:
    watch = Watch()
    scenarios = SCENARIOS[group]
    with watch.on_everything():
        done = asyncio.run(everything(watch, scenarios, 1))
    assert watch.hits == {}
    assert done == len(scenarios)
    # It was looked at all that there was.
    assert watch.looked_at["log records"] > 2 * done
    assert watch.looked_at["exceptions"] > 0


def test_a_secret_that_is_shown_is_found() -> None:
    async def telling(secret: str) -> list[BaseException]:
        raise_from = KeyError("outer")
        raise_from.__cause__ = ValueError(f"<{secret}>")
        return [raise_from]

    watch = Watch()
    with watch.on_everything():
        asyncio.run(everything(watch, [("telling", telling)], 1))
    assert watch.hits == {("exceptions", "telling"): 1}
