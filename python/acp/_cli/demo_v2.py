"""The client of the demo of version 2.

Owns its course: one prompt that is accepted, worked on and over, and one that is cancelled. It uses
the library as any client does; how things look is `acp._cli.screen`'s.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import acp
from acp import v2
from acp._cli.demo import UPDATES_BEFORE_CANCEL, agent_program, either_of
from acp.kit import choose_option
from acp.v2 import schema

if TYPE_CHECKING:
    from acp._cli.screen import Screen

__all__ = ("EXPECTED", "run")

EXPECTED = (
    "initialize",
    "new session",
    "accepted prompt",
    "thought",
    "streamed text",
    "plan",
    "permission",
    "tool call",
    "end of work",
    "cancelled work",
    "clean exit",
)
"""What has to be seen."""


class _DemoClient:
    """Shows what the agent does and notes what was seen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.seen: set[str] = set()
        self.texts = 0
        self.enough = asyncio.Event()
        self.endpoint = v2.Client("acp-demo", acp.__version__)
        self.endpoint.handle_with(self)

    def session_update(self, note: schema.UpdateSessionNotification) -> None:
        update = note.update
        if isinstance(update, schema.AgentMessageChunk):
            self._text(update)
        elif isinstance(update, schema.AgentThoughtChunk):
            self._screen.stream("thought", "  thinks", _text_of(update))
            self.seen.add("thought")
        elif isinstance(update, schema.AgentPlanContentUpdate):
            self._plan(update)
        elif isinstance(update, schema.ToolCallProgress):
            self._tool_call(update)
        elif isinstance(update, (schema.RunningStateUpdate, schema.RequiresActionStateUpdate)):
            self._screen.show("state", "  state", update.state, state=update.state)

    def request_permission(
        self, request: schema.RequestPermissionRequest
    ) -> schema.RequestPermissionResponse:
        chosen = choose_option(request.options, "allow_once")
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome())
        names = " / ".join(option.name for option in request.options)
        shown = f"{request.title} {names}  ->  {chosen}"
        self._screen.show("permission", "  permission", shown, option_id=chosen)
        self.seen.add("permission")
        outcome = schema.AllowedOutcome(option_id=chosen)
        return schema.RequestPermissionResponse(outcome=outcome)

    def _text(self, update: schema.AgentMessageChunk) -> None:
        self._screen.stream("text", "  agent", _text_of(update))
        self.texts += 1
        if self.texts > 1:
            self.seen.add("streamed text")
        if self.texts >= UPDATES_BEFORE_CANCEL:
            self.enough.set()

    def _plan(self, update: schema.AgentPlanContentUpdate) -> None:
        if not isinstance(update.plan, schema.PlanUpdateItems):
            return
        steps = [(entry.status, entry.content) for entry in update.plan.entries]
        marks = "\n".join(f"[{'x' if s == 'completed' else ' '}] {c}" for s, c in steps)
        members = [{"status": status, "content": content} for status, content in steps]
        self._screen.show("plan", "  plan", marks, entries=members)
        if all(status == "completed" for status, _ in steps):
            self.seen.add("plan")

    def _tool_call(self, update: schema.ToolCallProgress) -> None:
        lines = [f"{update.title or update.tool_call_id}: {update.status}"]
        for shown in update.content or ():
            if isinstance(shown, schema.FileEditToolCallContent) and shown.patch is not None:
                # Behind the names of the files.
                lines += shown.patch.text.splitlines()[4:]
        members: dict[str, Any] = {"tool_call_id": update.tool_call_id, "status": update.status}
        self._screen.show("tool_call", "  tool", "\n".join(lines), **members)
        if update.status == "completed":
            self.seen.add("tool call")

    async def prompt(self, session: v2.Session, text: str) -> str:
        """Prompts, and waits until the agent is idle: the reason that it has stopped for."""
        self.texts = 0
        self.enough.clear()
        self._screen.show("request", "prompt", text, method="session/prompt", text=text)
        prompt = session.send_prompt(text)
        over = session.wait_idle(prompt)
        # In its place among the updates.
        prompt.on_result(self._answered)
        reason = (await over).stop_reason or "none"
        self._screen.show("state", "idle", reason, state="idle", stop_reason=reason)
        return reason

    def _answered(self, outcome: acp.Outcome[schema.PromptResponse]) -> None:
        if outcome.error() is None:
            message_id = outcome.result().message_id
            self._screen.show("response", "accepted", f"as {message_id}", message_id=message_id)
            self.seen.add("accepted prompt")


async def run(screen: Screen, *, live: bool) -> set[str]:
    """Runs the demo and returns what was seen."""
    client = _DemoClient(screen)
    command, env = agent_program("demo_agent_v2", live=live)
    transport = acp.process_transport(*command, env=env)
    async with client.endpoint.connect(transport) as connection:
        pid = transport.process.pid
        started = f"process {pid}, over standard input and output"
        screen.show("started", "agent", started, pid=pid)
        await _talk(screen, client, connection)
    code = transport.process.returncode
    screen.show("exited", "exit", f"code {code}", code=code)
    if code == 0:
        client.seen.add("clean exit")
    return client.seen


async def _talk(screen: Screen, client: _DemoClient, connection: v2.Connection) -> None:
    greeting = await connection.initialize()
    version, name = greeting.protocol_version, greeting.info.name
    text = f"{name}, protocol version {version}"
    screen.show("response", "initialize", text, protocol_version=version, agent=name)
    client.seen.add("initialize")
    async with connection.new_session() as session:
        session_id = session.session_id
        screen.show("response", "session/new", session_id, session_id=session_id)
        client.seen.add("new session")
        if await client.prompt(session, "Make hello.py greet the world") == "end_turn":
            client.seen.add("end of work")
        work = asyncio.ensure_future(client.prompt(session, "Count, and do not stop"))
        try:
            await either_of(work, client.enough)
            screen.show("notification", "cancel", "session/cancel", method="session/cancel")
            await session.cancel_active_work()
            if await work == "cancelled":
                client.seen.add("cancelled work")
        finally:
            work.cancel()


def _text_of(update: schema.AgentMessageChunk | schema.AgentThoughtChunk) -> str:
    content = update.content
    return content.text if isinstance(content, schema.TextContentBlock) else ""
