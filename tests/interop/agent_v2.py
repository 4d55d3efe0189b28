"""An agent of version 2 with the scenarios of the interop tests.

`python -m tests.interop.agent_v2` serves it on the standard streams. Owns its sessions and what it
says of itself; what a prompt has it do is `tests.interop.work_v2`'s. It is written as users write
agents, on public names alone.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import acp
from acp import v2
from acp.v2 import schema
from tests.interop.updates_v2 import COMMANDS
from tests.interop.work_v2 import Kept, Work

__all__ = ("InteropAgent",)

AUTH_METHOD = "interop"
PAGE = 2
CAPABILITIES = schema.AgentCapabilities(
    session=schema.SessionCapabilities(
        prompt=schema.PromptCapabilities(
            image=schema.PromptImageCapabilities(),
            audio=schema.PromptAudioCapabilities(),
            embedded_context=schema.PromptEmbeddedContextCapabilities(),
        ),
        mcp=schema.McpCapabilities(
            stdio=schema.McpStdioCapabilities(), http=schema.McpHttpCapabilities()
        ),
        delete=schema.SessionDeleteCapabilities(),
        additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
    )
)


def check_servers(servers: Sequence[Any]) -> None:
    """Raises RequestError (-32602) for servers that cannot be started, or told apart."""
    for server in servers:
        if server.type not in ("stdio", "http"):
            raise acp.RequestError.invalid_params({"type": server.type})
    names = [server.name for server in servers]
    if len({*names}) < len(names):
        raise acp.RequestError.invalid_params({"mcpServers": "two have the same name"})


class InteropAgent:
    """Does what prompts tell it to, by their first word."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._ids = itertools.count(1)
        self._notes = 0
        self.endpoint = v2.Agent(
            "interop-agent-v2", "1.0.0", title="Interop agent", capabilities=CAPABILITIES
        )
        self.endpoint.keep_sessions(background=True)
        self.endpoint.handle_with(self)
        self.endpoint.on_request("_interop.test/ping")(self.ping)
        self.endpoint.on_request("_interop.test/notes")(self.notes)
        self.endpoint.on_notification("_interop.test/note")(self.note)

    # Opening.

    def initialize(self, request: schema.InitializeRequest) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=request.protocol_version,
            info=schema.Implementation(
                name="interop-agent-v2", title="Interop agent", version="1.0.0"
            ),
            capabilities=CAPABILITIES,
            auth_methods=[schema.AgentAuthMethod(method_id=AUTH_METHOD, name="Interop login")],
        )

    def login(self, request: schema.LoginAuthRequest) -> schema.LoginAuthResponse:
        if request.method_id != AUTH_METHOD:
            raise acp.RequestError.invalid_params({"methodId": request.method_id})
        return schema.LoginAuthResponse()

    def logout(self, request: schema.LogoutAuthRequest) -> schema.LogoutAuthResponse:
        return schema.LogoutAuthResponse()

    # Sessions.

    def new_session(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        check_servers(request.mcp_servers)
        kept = Kept(f"s{next(self._ids)}", request.cwd, request.additional_directories)
        self._kept[kept.id] = kept
        return schema.NewSessionResponse(session_id=kept.id, **_told(kept))

    async def resume_session(
        self, request: schema.ResumeSessionRequest, ctx: v2.Context
    ) -> schema.ResumeSessionResponse:
        kept = self._of(request)
        check_servers(request.mcp_servers)
        if request.cwd != kept.cwd:
            raise acp.RequestError.invalid_params({"cwd": request.cwd})
        if request.replay_from is not None:
            await ctx.session.replay(kept.history)
        return schema.ResumeSessionResponse(**_told(kept))

    def list_sessions(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        if not (request.cursor or "0").isdecimal():
            raise acp.RequestError.invalid_params({"cursor": request.cursor})
        found = [kept for kept in self._kept.values() if request.cwd in (None, kept.cwd)]
        start = int(request.cursor or 0)
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    session_id=kept.id,
                    cwd=kept.cwd,
                    title=f"Session {kept.id}",
                    additional_directories=kept.directories,
                )
                for kept in found[start : start + PAGE]
            ],
            next_cursor=str(start + PAGE) if start + PAGE < len(found) else None,
        )

    def close_session(self, request: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        self._of(request).background.clear()
        return schema.CloseSessionResponse()

    def delete_session(self, request: schema.DeleteSessionRequest) -> schema.DeleteSessionResponse:
        self._kept.pop(request.session_id, None)
        return schema.DeleteSessionResponse()

    def set_config_option(
        self, request: schema.SetSessionConfigOptionRequest
    ) -> schema.SetSessionConfigOptionResponse:
        kept = self._of(request)
        if not kept.set_option(request):
            raise acp.RequestError.invalid_params({"configId": request.config_id})
        return schema.SetSessionConfigOptionResponse(config_options=kept.options())

    # Prompts, and what goes on beside them.

    async def prompt(self, request: schema.PromptRequest, ctx: v2.Context) -> None:
        kept = self._of(request)
        text = "".join(
            block.text for block in request.prompt if isinstance(block, schema.TextContentBlock)
        )
        word, *rest = text.split() or [""]
        if word == "reject":
            code = int(rest[0]) if rest else -32602
            raise acp.RequestError(code, "told to reject", {"why": "interop"})
        message_id = self._new_id("user")
        async with ctx.foreground(message_id) as foreground:
            message = schema.UserMessage(message_id=message_id, content=request.prompt)
            kept.history.append(message)
            work = Work(kept, request.prompt, ctx, foreground, self._new_id)
            await work.run(text, word, *rest)

    def cancel_tool_call(
        self, request: schema.CancelToolCallRequest, ctx: v2.Context
    ) -> schema.CancelToolCallResponse:
        kept = self._of(request)
        if request.tool_call_id not in kept.background:
            raise acp.RequestError.invalid_params({"toolCallId": request.tool_call_id})
        ctx.after_answer(kept.end_background, ctx.session, request.tool_call_id)
        return schema.CancelToolCallResponse()

    # Outside the protocol.

    def ping(self, params: Any) -> Any:
        return {"pong": params}

    def notes(self, params: Any) -> Any:
        return {"count": self._notes}

    def note(self, params: Any) -> None:
        self._notes += 1

    def _new_id(self, kind: str) -> str:
        return f"{kind}_{next(self._ids)}"

    def _of(self, request: Any) -> Kept:
        try:
            return self._kept[request.session_id]
        except KeyError:
            raise acp.RequestError.session_not_found(request.session_id) from None


def _told(kept: Kept) -> Any:
    """What the answers that open a session tell of it."""
    return {"config_options": kept.options(), "available_commands": COMMANDS}


if __name__ == "__main__":
    asyncio.run(InteropAgent().endpoint.serve(acp.stdio_transport()))
