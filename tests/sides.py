"""Agents and clients that tests of dispatch have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

import acp
from tests.raw_peer import BOUND

if TYPE_CHECKING:
    from collections.abc import Callable


class Nothing(acp.Agent):
    """An agent without handlers."""


class Silent(acp.Client):
    """A client without handlers."""


class Recorder(acp.Client):
    """Notes the updates; holds them up until it is let go."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.started: list[str] = []
        self.go = anyio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.started.append(update.content.text)
        await self.go.wait()
        self.texts.append(update.content.text)


class Prompted(acp.Agent):
    """Runs `turn` for each prompt."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.ended: list[str] = []

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        self.started.set()
        try:
            await self.turn()
        except anyio.get_cancelled_exc_class():
            self.ended.append("cancelled")
            raise
        finally:
            self.ended.append("ended")
        return acp.PromptResponse(stop_reason="end_turn")

    async def turn(self) -> None:
        await anyio.Event().wait()


async def until(condition: Callable[[], bool]) -> None:
    """Lets others run until the condition holds."""
    with anyio.fail_after(BOUND):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def turns(count: int = 20) -> None:
    """Lets everything that is ready run."""
    for _ in range(count):
        await anyio.lowlevel.checkpoint()
