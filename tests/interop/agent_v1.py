"""An agent of version 1 with the scenarios of the interop tests.

`python -m tests.interop.agent_v1` serves it on the standard streams.

Owns what each scenario does; the first word of a prompt chooses it. It is written as users write
agents, on public names alone, and refuses what comes before `initialize`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import acp
from acp import schema
from tests.interop.updates_v1 import COUNT_META, every_update

__all__ = ("InteropAgent",)

AUTH_METHOD = "interop"
PAGE = 2
MODES = [
    schema.SessionMode(id="ask", name="Ask"),
    schema.SessionMode(id="code", name="Code", description="Edits files"),
]
MODELS = {"fast": "Fast", "smart": "Smart"}
CAPABILITIES = schema.AgentCapabilities(
    load_session=True,
    prompt_capabilities=schema.PromptCapabilities(image=True, audio=True, embedded_context=True),
    mcp_capabilities=schema.McpCapabilities(http=True, sse=True),
    session_capabilities=schema.SessionCapabilities(
        list=schema.SessionListCapabilities(),
        delete=schema.SessionDeleteCapabilities(),
        resume=schema.SessionResumeCapabilities(),
        close=schema.SessionCloseCapabilities(),
        additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
    ),
    auth=schema.AgentAuthCapabilities(logout=schema.LogoutCapabilities()),
)
OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Allow once", kind="allow_once"),
    schema.PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


@dataclass
class Session:
    """What the agent keeps of one session."""

    id: str
    cwd: str
    directories: list[str]
    mode: str = "ask"
    model: str = "fast"
    verbose: bool = False
    history: list[Any] = field(default_factory=list[Any])
    numbers: Any = field(default_factory=lambda: itertools.count(1))
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """The turn that runs is to end."""

    def modes(self) -> schema.SessionModeState:
        return schema.SessionModeState(current_mode_id=self.mode, available_modes=MODES)

    def options(self) -> list[Any]:
        return [
            schema.SessionConfigOptionSelect(
                id="model",
                name="Model",
                category="model",
                current_value=self.model,
                options=[
                    schema.SessionConfigSelectOption(value=value, name=name)
                    for value, name in MODELS.items()
                ],
            ),
            schema.SessionConfigOptionBoolean(
                id="verbose", name="Verbose", current_value=self.verbose
            ),
        ]

    def state(self) -> dict[str, Any]:
        return {"modes": self.modes(), "config_options": self.options()}


class InteropAgent(acp.Agent):
    """Does what prompts tell it to, by their first word."""

    _client: Any

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._ids = itertools.count(1)
        self._notes = 0

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    # Opening.

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=schema.Implementation(
                name="interop-agent-v1", title="Interop agent", version="1.0.0"
            ),
            agent_capabilities=CAPABILITIES,
            auth_methods=[schema.AuthMethodAgent(id=AUTH_METHOD, name="Interop login")],
            field_meta={"interop.test/requested": protocol_version},
        )

    async def authenticate(self, method_id: str, **kwargs: Any) -> acp.AuthenticateResponse:
        if method_id != AUTH_METHOD:
            raise acp.RequestError.invalid_params({"methodId": method_id})
        return acp.AuthenticateResponse()

    async def logout(self, **kwargs: Any) -> schema.LogoutResponse:
        return schema.LogoutResponse()

    # Sessions.

    async def new_session(
        self, cwd: str, additional_directories: Any = None, **kwargs: Any
    ) -> acp.NewSessionResponse:
        session = Session(f"s{next(self._ids)}", cwd, additional_directories or [])
        self._sessions[session.id] = session
        return acp.NewSessionResponse(session_id=session.id, **session.state())

    async def load_session(
        self, cwd: str, session_id: str, **kwargs: Any
    ) -> acp.LoadSessionResponse:
        session = self._session(session_id)
        for update in session.history:
            await self._client.session_update(session_id, update)
        return acp.LoadSessionResponse(**session.state())

    async def resume_session(
        self, session_id: str, cwd: str, **kwargs: Any
    ) -> schema.ResumeSessionResponse:
        return schema.ResumeSessionResponse(**self._session(session_id).state())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> schema.ListSessionsResponse:
        if not (cursor or "0").isdecimal():
            raise acp.RequestError.invalid_params({"cursor": cursor})
        found = [one for one in self._sessions.values() if cwd in (None, one.cwd)]
        start = int(cursor or 0)
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    session_id=one.id,
                    cwd=one.cwd,
                    title=f"Session {one.id}",
                    additional_directories=one.directories,
                )
                for one in found[start : start + PAGE]
            ],
            next_cursor=str(start + PAGE) if start + PAGE < len(found) else None,
        )

    async def close_session(self, session_id: str, **kwargs: Any) -> schema.CloseSessionResponse:
        self._session(session_id).stopped.set()
        return schema.CloseSessionResponse()

    async def delete_session(self, session_id: str, **kwargs: Any) -> schema.DeleteSessionResponse:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.stopped.set()
        return schema.DeleteSessionResponse()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> acp.SetSessionModeResponse:
        session = self._session(session_id)
        if mode_id not in {mode.id for mode in MODES}:
            raise acp.RequestError.invalid_params({"modeId": mode_id})
        session.mode = mode_id
        update = schema.CurrentModeUpdate(current_mode_id=mode_id)
        await self._client.session_update(session_id, update)
        return acp.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> acp.SetSessionConfigOptionResponse:
        session = self._session(session_id)
        if config_id == "verbose" and isinstance(value, bool):
            session.verbose = value
        elif config_id == "model" and value in MODELS:
            session.model = str(value)
        else:
            raise acp.RequestError.invalid_params({"configId": config_id})
        return acp.SetSessionConfigOptionResponse(config_options=session.options())

    # Turns.

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        session = self._session(session_id)
        session.stopped.clear()
        text = "".join(block.text for block in prompt if block.type == "text")
        session.history.append(
            schema.UserMessageChunk(
                message_id=f"m{next(session.numbers)}", content=acp.text_block(text)
            )
        )
        word, *rest = text.split() or [""]
        if word == "echo":
            return await self._echo(session, prompt)
        scenario = getattr(self, f"_scenario_{word}", None)
        if scenario is None:
            await self._say(session, f"echo:{text}")
            return _end()
        return await scenario(session, *rest) or _end()

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        session = self._sessions.get(session_id)
        if session is not None:
            session.stopped.set()

    async def _echo(self, session: Session, prompt: list[Any]) -> acp.PromptResponse:
        for block in prompt:
            await self._update(session, schema.AgentMessageChunk(message_id="echo", content=block))
        return _end()

    async def _scenario_stream(self, session: Session, count: str = "1", size: str = "0") -> Any:
        padding = "x" * int(size)
        message = f"m{next(session.numbers)}"
        for number in range(int(count)):
            if session.stopped.is_set():
                return _end("cancelled")
            content = acp.text_block(f"{number};{padding}")
            await self._update(
                session, schema.AgentMessageChunk(message_id=message, content=content)
            )
        return None

    async def _scenario_permission(self, session: Session) -> Any:
        call: dict[str, Any] = {
            "tool_call_id": f"call_{next(session.numbers)}",
            "title": "Dangerous thing",
            "kind": "execute",
            "status": "pending",
        }
        await self._update(session, schema.ToolCallStart(**call))
        answer = await self._client.request_permission(
            session.id, schema.ToolCallUpdate(**call), OPTIONS
        )
        if answer.outcome.outcome == "cancelled":
            return _end("cancelled")
        chosen = answer.outcome.option_id
        await self._update(
            session,
            schema.ToolCallProgress(
                tool_call_id=call["tool_call_id"],
                status="failed" if chosen == "no" else "completed",
            ),
        )
        await self._say(session, f"permission:{chosen}")
        return None

    async def _scenario_read(self, session: Session, path: str, *lines: str) -> None:
        line, limit = (int(lines[0]), int((*lines, "1")[1])) if lines else (None, None)
        file = await self._client.read_text_file(session.id, path, line=line, limit=limit)
        await self._say(session, f"read:{file.content}")

    async def _scenario_write(self, session: Session, path: str, *words: str) -> None:
        await self._client.write_text_file(session.id, path, " ".join(words))
        await self._say(session, "written")

    async def _scenario_terminal(self, session: Session, command: str, *args: str) -> None:
        terminal = await self._client.create_terminal(
            session.id,
            command,
            args=list(args),
            env=[schema.EnvVariable(name="INTEROP", value="1")],
            output_byte_limit=4096,
        )
        call = f"call_{next(session.numbers)}"
        await self._update(
            session,
            schema.ToolCallStart(
                tool_call_id=call,
                title=" ".join(args),
                kind="execute",
                status="in_progress",
                content=[schema.TerminalToolCallContent(terminal_id=terminal.terminal_id)],
            ),
        )
        ended = await self._client.wait_for_terminal_exit(session.id, terminal.terminal_id)
        output = await self._client.terminal_output(session.id, terminal.terminal_id)
        await self._client.release_terminal(session.id, terminal.terminal_id)
        status = "completed" if ended.exit_code == 0 else "failed"
        await self._update(session, schema.ToolCallProgress(tool_call_id=call, status=status))
        truncated = json.dumps(output.truncated)
        await self._say(session, f"terminal:{ended.exit_code}:{truncated}:{output.output}")

    async def _scenario_wait(self, session: Session) -> Any:
        await self._say(session, "waiting")
        await session.stopped.wait()
        return _end("cancelled")

    async def _scenario_sleep(self, session: Session, milliseconds: str) -> None:
        await asyncio.sleep(int(milliseconds) / 1000)
        await self._say(session, f"slept:{milliseconds}")

    async def _scenario_fail(self, session: Session, code: str = "-32603") -> None:
        raise acp.RequestError(int(code), "told to fail", {"why": "interop", "code": int(code)})

    async def _scenario_everything(self, session: Session) -> Any:
        updates = every_update()
        for update in updates:
            await self._update(session, update)
        return _end(field_meta={COUNT_META: len(updates)})

    async def _scenario_elicit(self, session: Session) -> None:
        form = schema.ElicitationSchema(
            properties={
                "name": schema.ElicitationStringPropertySchema(title="Name"),
                "age": schema.ElicitationIntegerPropertySchema(minimum=0),
            },
            required=["name"],
        )
        answer = await self._client.create_elicitation(
            "Who are you?", SimpleNamespace(session_id=session.id, requested_schema=form)
        )
        content = json.dumps(getattr(answer, "content", None), separators=(",", ":"))
        await self._say(session, f"elicit:{answer.action}:{content}")

    async def _scenario_ext(self, session: Session) -> None:
        reply = await self._client.ext_method("interop.test/ask", {"n": 41})
        await self._client.ext_notification("interop.test/told", {"n": reply["n"]})
        await self._say(session, f"ext:{reply['n']}")

    # Outside the protocol.

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "interop.test/ping":
            return {"pong": params}
        if method == "interop.test/notes":
            return {"count": self._notes}
        raise acp.RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "interop.test/note":
            self._notes += 1

    # What scenarios have in common.

    def _session(self, session_id: str) -> Session:
        try:
            return self._sessions[session_id]
        except KeyError:
            raise acp.RequestError.session_not_found(session_id) from None

    async def _update(self, session: Session, update: Any) -> None:
        await self._client.session_update(session.id, update)

    async def _say(self, session: Session, text: str) -> None:
        update = schema.AgentMessageChunk(
            message_id=f"m{next(session.numbers)}", content=acp.text_block(text)
        )
        session.history.append(update)
        await self._update(session, update)


def _end(stop_reason: Any = "end_turn", **members: Any) -> acp.PromptResponse:
    return acp.PromptResponse(stop_reason=stop_reason, **members)


if __name__ == "__main__":
    agent = InteropAgent()
    asyncio.run(acp.run_agent(agent, require_initialize=True, use_unstable_protocol=True))
