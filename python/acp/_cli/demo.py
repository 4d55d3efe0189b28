"""The client of the demo, and the check that all of it went as it should.

Owns the course of the demo. It uses the library as any client does; how things look is
`acp._cli.screen`'s.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import acp
from acp import schema

if TYPE_CHECKING:
    from acp._cli.screen import Screen

__all__ = ("UPDATES_BEFORE_CANCEL", "agent_program", "either_of", "run_demo")

_SECONDS_PER_WORD = 0.06
_LONGEST = 60.0
"""Seconds after which the demo has failed."""
UPDATES_BEFORE_CANCEL = 5
"""What the agent has counted when it is cancelled."""


class _DemoClient(acp.Client):
    """Shows what the agent does and notes what was seen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.seen: set[str] = set()
        self.texts = 0
        self.enough = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        if isinstance(update, schema.AgentMessageChunk):
            self._text(update)
        elif isinstance(update, schema.AgentThoughtChunk):
            self._screen.stream("thought", "  thinks", _text_of(update))
            self.seen.add("thought")
        elif isinstance(update, schema.AgentPlanUpdate):
            self._plan(update)
        elif isinstance(update, (schema.ToolCallStart, schema.ToolCallProgress)):
            self._tool_call(update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **kwargs: Any,
    ) -> schema.RequestPermissionResponse:
        chosen = next(option for option in options if option.kind == "allow_once")
        names = " / ".join(option.name for option in options)
        self._screen.show(
            "permission",
            "  permission",
            f"{names}  ->  {chosen.name}",
            tool_call_id=tool_call.tool_call_id,
            option_id=chosen.option_id,
        )
        self.seen.add("permission")
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(option_id=chosen.option_id)
        )

    def _text(self, update: schema.AgentMessageChunk) -> None:
        self._screen.stream("text", "  agent", _text_of(update))
        self.texts += 1
        if self.texts > 1:
            self.seen.add("streamed text")
        if self.texts >= UPDATES_BEFORE_CANCEL:
            self.enough.set()

    def _plan(self, update: schema.AgentPlanUpdate) -> None:
        steps = [(entry.status, entry.content) for entry in update.entries]
        marks = "\n".join(f"[{'x' if s == 'completed' else ' '}] {c}" for s, c in steps)
        members = [{"status": status, "content": content} for status, content in steps]
        self._screen.show("plan", "  plan", marks, entries=members)
        if all(status == "completed" for status, _ in steps):
            self.seen.add("plan")

    def _tool_call(self, update: schema.ToolCallStart | schema.ToolCallProgress) -> None:
        lines = [f"{update.title or update.tool_call_id}: {update.status}"]
        for shown in update.content or ():
            if isinstance(shown, schema.FileEditToolCallContent):
                lines += [f"- {line}" for line in (shown.old_text or "").splitlines()]
                lines += [f"+ {line}" for line in shown.new_text.splitlines()]
        self._screen.show(
            "tool_call",
            "  tool",
            "\n".join(lines),
            tool_call_id=update.tool_call_id,
            status=update.status,
        )
        if update.status == "completed":
            self.seen.add("tool call")


_EXPECTED = (
    "initialize",
    "new session",
    "thought",
    "streamed text",
    "plan",
    "permission",
    "tool call",
    "end of turn",
    "cancelled turn",
    "clean exit",
)


def run_demo(screen: Screen, *, live: bool, v2: bool = False) -> int:
    """Runs the demo and returns the exit code: 0 only when everything was seen.

    Args:
        screen: Where it is shown.
        live: Whether the agent takes its time, for somebody who watches.
        v2: Whether both speak version 2 of the protocol.
    """
    run, expected = _run, _EXPECTED
    if v2:
        from acp._cli import demo_v2

        run, expected = demo_v2.run, demo_v2.EXPECTED
    try:
        seen = asyncio.run(asyncio.wait_for(run(screen, live=live), _LONGEST))
    except (OSError, acp.RequestError, asyncio.TimeoutError) as exc:
        screen.show("failed", "failed", type(exc).__name__, error=type(exc).__name__)
        return 1
    missing = [step for step in expected if step not in seen]
    if missing:
        screen.show("failed", "failed", "not seen: " + ", ".join(missing), missing=missing)
        return 1
    screen.show("passed", "passed", ", ".join(expected), seen=list(expected))
    return 0


def agent_program(module: str, *, live: bool) -> tuple[list[str], dict[str, str]]:
    """The command that starts an agent of the demo, and the variables that it needs."""
    pace = _SECONDS_PER_WORD if live else 0
    command = [sys.executable, "-m", f"acp._cli.{module}", str(pace)]
    # The agent finds the library where this process found it, also when it is not installed.
    return command, {"PYTHONPATH": os.fspath(Path(acp.__file__).parents[1])}


async def _run(screen: Screen, *, live: bool) -> set[str]:
    client = _DemoClient(screen)
    command, env = agent_program("demo_agent", live=live)
    async with acp.spawn_agent_process(client, *command, env=env) as (agent, process):
        started = f"process {process.pid}, over standard input and output"
        screen.show("started", "agent", started, pid=process.pid)
        await _open(screen, client, agent)
    screen.show("exited", "exit", f"code {process.returncode}", code=process.returncode)
    if process.returncode == 0:
        client.seen.add("clean exit")
    return client.seen


async def _open(screen: Screen, client: _DemoClient, agent: acp.Agent) -> None:
    greeting = await agent.initialize(
        acp.PROTOCOL_VERSION,
        client_info=schema.Implementation(name="acp-demo", version=acp.__version__),
    )
    info = greeting.agent_info
    name = info.name if info is not None else "unnamed"
    version = greeting.protocol_version
    text = f"{name}, protocol version {version}"
    screen.show("response", "initialize", text, protocol_version=version, agent=name)
    client.seen.add("initialize")

    session = (await agent.new_session(os.getcwd())).session_id
    screen.show("response", "session/new", session, session_id=session)
    client.seen.add("new session")

    reason = await _prompt(screen, agent, session, "Make hello.py greet the world")
    if reason == "end_turn":
        client.seen.add("end of turn")

    client.texts = 0
    client.enough.clear()
    turn = asyncio.ensure_future(_prompt(screen, agent, session, "Count, and do not stop"))
    try:
        await either_of(turn, client.enough)
        screen.show("notification", "cancel", "session/cancel", method="session/cancel")
        await agent.cancel(session)
        if await turn == "cancelled":
            client.seen.add("cancelled turn")
    finally:
        turn.cancel()


async def _prompt(screen: Screen, agent: acp.Agent, session: str, text: str) -> str:
    screen.show("request", "prompt", text, method="session/prompt", text=text)
    answer = await agent.prompt(session, [acp.text_block(text)])
    reason = answer.stop_reason
    screen.show("response", "stopped", reason, stop_reason=reason)
    return reason


async def either_of(turn: asyncio.Future[str], enough: asyncio.Event) -> None:
    """Waits until enough was counted, or the turn ended early."""
    waiting = asyncio.ensure_future(enough.wait())
    try:
        await asyncio.wait([turn, waiting], return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _text_of(update: schema.AgentMessageChunk | schema.AgentThoughtChunk) -> str:
    content = update.content
    return content.text if isinstance(content, schema.TextContentBlock) else ""
