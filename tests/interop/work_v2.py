"""What a prompt has the interop agent of version 2 do.

Owns the scenarios, and what is kept of a session; the first word of a prompt chooses the scenario.
Sessions are opened and told of by `tests.interop.agent_v2`.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

import acp
from acp import v2
from acp.v2 import schema
from tests.interop.updates_v2 import every_update

__all__ = ("Kept", "Work")

CHOICES = {
    "mode": ("Mode", {"ask": "Ask", "code": "Code"}),
    "model": ("Model", {"fast": "Fast", "smart": "Smart"}),
}
OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


@dataclass
class Kept:
    """What the agent keeps of one session."""

    id: str
    cwd: str
    directories: list[str]
    chosen: dict[str, str] = field(default_factory=lambda: {"mode": "ask", "model": "fast"})
    verbose: bool = False
    history: list[Any] = field(default_factory=list[Any])
    background: dict[str, Any] = field(default_factory=dict[str, Any])
    """Tool calls that go on when their prompt is done, by their id."""

    def options(self) -> list[Any]:
        """The options, with the values that they have."""
        selects = [
            schema.SessionConfigOptionSelect(
                config_id=name,
                name=title,
                category=name,
                current_value=self.chosen[name],
                options=[
                    schema.SessionConfigSelectOption(value=value, name=label)
                    for value, label in values.items()
                ],
            )
            for name, (title, values) in CHOICES.items()
        ]
        switch = schema.SessionConfigOptionBoolean(
            config_id="verbose", name="Verbose", current_value=self.verbose
        )
        return [*selects, switch]

    def set_option(self, request: schema.SetSessionConfigOptionRequest) -> bool:
        """Sets an option. False when there is no such option, or it has no such value."""
        name, value = request.config_id, request.value
        if request.type == "boolean" and name == "verbose":
            self.verbose = bool(value)
        elif request.type == "id" and name in CHOICES and value in CHOICES[name][1]:
            self.chosen[name] = str(value)
        else:
            return False
        return True

    async def end_background(self, session: v2.AgentSession, call: str) -> None:
        """Cancels a tool call that goes on in the background, and tells of it."""
        if self.background.pop(call, None) is not None:
            await session.update(
                schema.ToolCallProgress(tool_call_id=call, status="cancelled", capabilities=None)
            )
            await session.set_background([*self.background.values()])


class Work:
    """One prompt that is being worked on."""

    def __init__(
        self,
        kept: Kept,
        prompt: list[Any],
        ctx: v2.Context,
        foreground: v2.Foreground,
        new_id: Callable[[str], str],
    ) -> None:
        self.kept = kept
        self.prompt = prompt
        self.client = ctx.connection
        self.session = ctx.session
        self.foreground = foreground
        self.new_id = new_id

    async def run(self, text: str, word: str, *words: str) -> None:
        """Does what the prompt says."""
        scenario = getattr(self, f"scenario_{word}", None)
        if scenario is None:
            await self.say(f"echo:{text}")
        else:
            await scenario(*words)

    async def tell(self, update: Any) -> None:
        await self.session.update(update)

    async def chunk(self, message_id: str, content: Any) -> None:
        await self.tell(schema.AgentMessageChunk(message_id=message_id, content=content))

    async def say(self, text: str) -> None:
        message_id, content = self.new_id("msg"), schema.TextContentBlock(text=text)
        self.kept.history.append(schema.AgentMessage(message_id=message_id, content=[content]))
        await self.chunk(message_id, content)

    # Messages.

    async def scenario_stream(self, count: str = "1", size: str = "0") -> None:
        message_id, padding = self.new_id("msg"), "x" * int(size)
        for number in range(int(count)):
            await self.chunk(message_id, schema.TextContentBlock(text=f"{number};{padding}"))

    async def scenario_echo(self, *words: str) -> None:
        message_id = self.new_id("msg")
        for block in self.prompt:
            await self.chunk(message_id, block)

    async def scenario_upsert(self) -> None:
        name, text = self.new_id("msg"), schema.TextContentBlock
        message = schema.AgentMessage
        await self.chunk(name, text(text="dropped"))
        meta: dict[str, Any] = {"a": 1, "b": 2}
        await self.tell(message(message_id=name, content=[text(text="kept")], field_meta=meta))
        await self.tell(message(message_id=name, field_meta={"b": None, "c": 3}))
        await self.chunk(name, text(text=" and more"))

    async def scenario_everything(self) -> None:
        for update in every_update():
            await self.tell(update)

    # Asking.

    async def scenario_permission(self) -> None:
        call = self.new_id("call")
        subject = schema.ToolCallPermissionSubject(
            tool_call=schema.ToolCallUpdate(
                tool_call_id=call, title="Dangerous thing", kind="execute", status="pending"
            )
        )
        answer = await self.ask("Do the dangerous thing?", subject)
        status = "completed" if answer == "yes" else "failed"
        await self.tell(schema.ToolCallProgress(tool_call_id=call, status=status))
        await self.say(f"permission:{answer}")

    async def scenario_command(self, *words: str) -> None:
        subject = schema.CommandPermissionSubject(command=" ".join(words), cwd=self.kept.cwd)
        await self.say(f"command:{await self.ask('Run it?', subject)}")

    async def ask(self, title: str, subject: Any) -> str:
        """The option that the user chooses, or `cancelled`."""
        async with self.foreground.blocked():
            answer = await self.session.request_permission(
                title, OPTIONS, description="Because the test says so", subject=subject
            )
        outcome = answer.outcome
        is_chosen = isinstance(outcome, schema.AllowedOutcome)
        return outcome.option_id if is_chosen else outcome.outcome

    async def scenario_elicit(self) -> None:
        form = schema.ElicitationSchema(
            type="object",
            properties={"name": schema.ElicitationStringPropertySchema(title="Name")},
            required=["name"],
        )
        answer = await self.session.elicit(
            schema.CreateFormSessionElicitationRequest(
                session_id=self.session.id, message="Who are you?", requested_schema=form
            )
        )
        content = json.dumps(getattr(answer, "content", None), separators=(",", ":"))
        await self.say(f"elicit:{answer.action}:{content}")

    async def scenario_ext(self) -> None:
        reply = await self.client.request("_interop.test/ask", {"n": 41})
        await self.client.notify("_interop.test/told", {"n": reply["n"]})
        await self.say(f"ext:{reply['n']}")

    # Tools.

    async def scenario_read(self, path: str) -> None:
        call = self.new_id("call")
        await self.tell(
            schema.ToolCallProgress(
                tool_call_id=call,
                title=f"Read {path}",
                kind="read",
                status="in_progress",
                locations=[schema.ToolCallLocation(path=path)],
            )
        )
        try:
            text = await anyio.Path(path).read_text("utf-8")
        except OSError:
            await self.tell(schema.ToolCallProgress(tool_call_id=call, status="failed"))
            await self.say("unreadable")
            return
        content = schema.ContentToolCallContent(content=schema.TextContentBlock(text=text))
        await self.tell(schema.ToolCallContentChunk(tool_call_id=call, content=content))
        await self.tell(schema.ToolCallProgress(tool_call_id=call, status="completed"))
        await self.say(f"read:{text}")

    async def scenario_run(self, *words: str) -> None:
        terminal, call, command = self.new_id("term"), self.new_id("call"), " ".join(words)
        await self.tell(
            schema.TerminalUpdate(
                terminal_id=terminal,
                command=command,
                cwd=self.kept.cwd,
                size=schema.TerminalSize(cols=80, rows=24),
            )
        )
        await self.tell(
            schema.ToolCallProgress(
                tool_call_id=call,
                title=command,
                kind="execute",
                status="in_progress",
                content=[schema.TerminalToolCallContent(terminal_id=terminal)],
            )
        )
        code = await self.output_of(words, terminal)
        ended = schema.TerminalExitStatus(exit_code=code)
        await self.tell(schema.TerminalUpdate(terminal_id=terminal, exit_status=ended))
        status = "completed" if code == 0 else "failed"
        await self.tell(schema.ToolCallProgress(tool_call_id=call, status=status))

    async def output_of(self, words: tuple[str, ...], terminal: str) -> int:
        """Runs a command, tells what it writes, and returns its exit code."""
        try:
            process = await anyio.open_process(
                words, cwd=self.kept.cwd, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT
            )
        except OSError:
            return 127
        async with process:
            assert process.stdout is not None
            async for data in process.stdout:
                text = base64.b64encode(data).decode()
                await self.tell(schema.TerminalOutputChunk(terminal_id=terminal, data=text))
            return await process.wait()

    async def scenario_background(self) -> None:
        call = self.new_id("call")
        can_be_cancelled = schema.ToolCallCapabilities(cancel=schema.ToolCallCancelCapabilities())
        await self.tell(
            schema.ToolCallProgress(
                tool_call_id=call,
                title="Watch",
                status="in_progress",
                capabilities=can_be_cancelled,
            )
        )
        self.kept.background[call] = schema.BackgroundToolCall(tool_call_id=call)
        await self.session.set_background([*self.kept.background.values()])
        await self.say(f"background:{call}")

    # Time, faults, options.

    async def scenario_wait(self) -> None:
        await self.say("waiting")
        await anyio.sleep_forever()

    async def scenario_sleep(self, milliseconds: str) -> None:
        await anyio.sleep(int(milliseconds) / 1000)
        await self.say(f"slept:{milliseconds}")

    async def scenario_fail(self, code: str = "-32603") -> None:
        raise acp.RequestError(int(code), "told to fail", {"why": "interop"})

    async def scenario_configure(self) -> None:
        self.kept.chosen["model"] = "smart"
        await self.tell(schema.ConfigOptionUpdate(config_options=self.kept.options()))
