"""Prompting an agent of version 2, for the scenarios of the interop tests.

Owns calls, prompts and waiting for what comes of them. What is checked is
`tests.interop.scenarios_v2`'s.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

from acp import UNSET, v2
from acp.v2 import schema
from tests.interop.checks import Checks, within

if TYPE_CHECKING:
    from tests.interop.client_v2 import InteropClient

__all__ = ("Runner", "Work", "blocks", "fold", "plain")


class Work:
    """One prompt, with the updates from its start to the idle state that ends it."""

    def __init__(self, response: Any, updates: list[Any]) -> None:
        self.message_id = response.message_id
        self.updates = updates
        self.idle = updates[-1]

    @property
    def kinds(self) -> list[str]:
        return [getattr(u, "state", None) or u.session_update for u in self.updates]

    @property
    def text(self) -> str:
        chunks = self.of("agent_message_chunk")
        return "".join(u.content.text for u in chunks if u.content.type == "text")

    def of(self, kind: str) -> list[Any]:
        """The updates of a kind."""
        return [u for u in self.updates if u.session_update == kind]


def blocks(prompt: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt


def plain(value: Any) -> Any:
    """An object as it stands on the wire."""
    return json.loads(acp_json(value))


def acp_json(value: Any) -> str:
    return value.model_dump_json(by_alias=True, exclude_unset=True)


class Runner:
    """What scenarios have in common, on one connection."""

    def __init__(self, checks: Checks, agent: v2.Connection, client: InteropClient) -> None:
        self.checks = checks
        self.agent = agent
        self.client = client
        self.session = ""
        self.cwd = os.getcwd()

    async def call(self, method: str, /, **params: Any) -> Any:
        return await within(self.agent.request(method, params))

    def since(self, start: int, end: int | None = None, session: str = "") -> list[Any]:
        wanted = session or self.session
        return [n.update for n in self.client.updates[start:end] if n.session_id == wanted]

    def idle_of(self, session: str) -> Any:
        return lambda n: n.session_id == session and getattr(n.update, "state", None) == "idle"

    async def submit(self, prompt: str | list[Any], session: str = "") -> Any:
        wanted = session or self.session
        return await self.call("session/prompt", sessionId=wanted, prompt=blocks(prompt))

    async def prompt(self, prompt: str | list[Any], session: str = "") -> Work:
        """Prompts, and waits for the idle state that ends the work."""
        wanted = session or self.session
        start = len(self.client.updates)
        response = await self.submit(prompt, wanted)
        end = await self.client.until(self.idle_of(wanted), start)
        return Work(response, self.since(start, end + 1, wanted))

    async def start_waiting(self) -> asyncio.Task[Work]:
        """Starts a prompt that waits, and returns once the agent says so."""
        start = len(self.client.updates)
        work = asyncio.create_task(self.prompt("wait"))
        await self.client.until(
            lambda n: getattr(getattr(n.update, "content", None), "text", "") == "waiting", start
        )
        return work

    async def cancel_work(self) -> None:
        await self.agent.notify(schema.CancelSessionNotification(session_id=self.session))


def fold(updates: list[Any]) -> tuple[list[str], dict[str, Any]]:
    """Content and metadata of the last message, from its upserts and chunks."""
    content: list[str] = []
    meta: dict[str, Any] = {}
    for update in updates:
        if update.session_update == "agent_message_chunk":
            content.append(update.content.text)
            continue
        if update.content is not UNSET:
            content = [block.text for block in update.content or ()]
        for name, value in (update.field_meta or {}).items():
            if value is None:
                meta.pop(name, None)
            else:
                meta[name] = value
    return content, meta
