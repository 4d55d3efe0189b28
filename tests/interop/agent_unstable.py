"""An agent with the unstable methods of version 1 or of version 2, for the interop tests.

`python -m tests.interop.agent_unstable 1|2` serves it on the standard streams. Owns what it does;
what the versions have in common is written once, on the schema of either.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from dataclasses import dataclass
from typing import Any

import acp
from acp import v1, v2

__all__ = ("FEATURES", "UnstableAgent", "made", "unstable_updates")

FEATURES = (
    *("session_fork", "session_archive", "session_unarchive", "session_status"),
    *("session_set_title", "providers", "auth_status"),
)
"""The unstable methods that are on, on both sides."""
ACCOUNT = {"label": "Interop", "active": True, "email": "ada@example.com"}
USAGE = {"totalTokens": 30, "inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 5}
SESSION: dict[str, Any] = {"fork": {}, "archive": {}, "status": {}, "title": {}}
SYSTEM_PROMPT: dict[str, Any] = {"systemPrompt": {"mode": {"override": {}}}}


def unstable_updates(version: int) -> list[dict[str, Any]]:
    """One update of each kind that is not stable in a version."""
    entry = {"content": "step", "priority": "low", "status": "pending"}
    text = {"type": "text", "text": "go"}
    plans: list[dict[str, Any]] = [
        {"type": "items", "planId": "p1", "entries": [entry]},
        {"type": "file", "planId": "p2", "uri": "file:///plan.md"},
        {"type": "markdown", "planId": "p3", "content": "# Plan"},
    ]
    if version == 1:
        # Its unions are closed, and a file is no plan any more.
        del plans[1]
    child = {"sessionUpdate": "subagent_update", "sessionId": "child"}
    message = {"sessionUpdate": "session_message", "messageId": "x1"}
    of_both = {"senderSessionId": "parent", "recipientSessionId": "child", "content": [text]}
    can: dict[str, Any] = {"title": "Helper", "capabilities": {"cancel": {}}, "cwd": "/tmp"}
    found: list[dict[str, Any]] = [
        *({"sessionUpdate": "plan_update", "plan": plan} for plan in plans),
        {"sessionUpdate": "plan_removed", "planId": "p3"},
        {**child, **can, "state": {"state": "running"}},
        {**message, **of_both},
        {**message, "sessionUpdate": "session_message_chunk", "content": {**text, "text": " on"}},
        {**child, "state": {"state": "unknown"}},
    ]
    if version == 2:
        background = [{"type": "subagent", "sessionId": "child"}]
        state = {"sessionUpdate": "state_update", "state": "running", "background": background}
        found.append(state)
    return found


@dataclass
class Session:
    """What the agent keeps of one session."""

    id: str
    cwd: str
    system_prompt: Any
    title: str | None = None
    archived: bool = False
    is_open: bool = True


class UnstableAgent:
    """What both versions have; what differs is in a class for each."""

    endpoint: v1.Agent | v2.Agent
    schema: Any

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._numbers = itertools.count(1)
        self._authenticated = False
        provider, current = self.schema.ProviderInfo, self.schema.ProviderCurrentConfig
        self._providers = {
            "main": provider(
                provider_id="main",
                supported=["openai", "anthropic"],
                required=True,
                current=current(api_type="openai", base_url="https://example.com"),
            ),
            "extra": provider(provider_id="extra", supported=["_interop.test/llm"], required=False),
        }
        self.endpoint.handle_with(self)

    # Signing in.

    async def sign_in(self, connection: Any) -> None:
        self._authenticated = True
        update = self.schema.AuthStatusUpdateNotification(**self._status())
        await connection.notify(update)

    def auth_status(self, request: Any) -> Any:
        return self.schema.AuthStatusResponse(**self._status())

    def _status(self) -> dict[str, Any]:
        if not self._authenticated:
            return {"state": "unauthenticated", "accounts": []}
        return {"state": "authenticated", "accounts": [self.schema.AuthAccount(**ACCOUNT)]}

    # Providers.

    def list_providers(self, request: Any) -> Any:
        return self.schema.ListProvidersResponse(providers=[*self._providers.values()])

    def set_provider(self, request: Any) -> Any:
        self._provider(request).current = self.schema.ProviderCurrentConfig(
            api_type=request.api_type, base_url=request.base_url
        )
        return self.schema.SetProviderResponse()

    def disable_provider(self, request: Any) -> Any:
        provider = self._provider(request)
        if provider.required:
            raise acp.RequestError.invalid_params({"providerId": request.provider_id})
        provider.current = None
        return self.schema.DisableProviderResponse()

    def _provider(self, request: Any) -> Any:
        try:
            return self._providers[request.provider_id]
        except KeyError:
            data = {"providerId": request.provider_id}
            raise acp.RequestError.invalid_params(data) from None

    # Sessions.

    def new_session(self, request: Any) -> Any:
        return self.schema.NewSessionResponse(session_id=self._make(request, None))

    def fork_session(self, request: Any) -> Any:
        given = self._of(request).system_prompt
        return self.schema.ForkSessionResponse(session_id=self._make(request, given))

    def _make(self, request: Any, system_prompt: Any) -> str:
        if request.system_prompt is not None:
            system_prompt = request.system_prompt
            if system_prompt.mode not in ("append", "override"):
                raise acp.RequestError.invalid_params({"mode": system_prompt.mode})
        session = Session(f"s{next(self._numbers)}", request.cwd, system_prompt)
        self._sessions[session.id] = session
        return session.id

    def list_sessions(self, request: Any) -> Any:
        wanted = request.archived or "exclude"
        if wanted not in ("exclude", "include", "only"):
            raise acp.RequestError.invalid_params({"archived": wanted})
        return self.schema.ListSessionsResponse(
            sessions=[
                self.schema.SessionInfo(
                    session_id=each.id, cwd=each.cwd, title=each.title, archived=each.archived
                )
                for each in self._sessions.values()
                if wanted == "include" or each.archived is (wanted == "only")
            ]
        )

    def archive_session(self, request: Any) -> Any:
        session = self._of(request)
        session.archived, session.is_open = True, False
        return self.schema.ArchiveSessionResponse()

    def unarchive_session(self, request: Any) -> Any:
        self._of(request).archived = False
        return self.schema.UnarchiveSessionResponse()

    def session_status(self, request: Any) -> Any:
        status = "open" if self._of(request).is_open else "saved"
        return self.schema.SessionStatusResponse(status=status)

    def set_session_title(self, request: Any) -> Any:
        title = request.title.strip()[:20]
        if not title:
            raise acp.RequestError.invalid_params({"title": request.title})
        self._of(request).title = title
        return self.schema.SetSessionTitleResponse(title=title)

    def _of(self, request: Any) -> Session:
        try:
            return self._sessions[request.session_id]
        except KeyError:
            raise acp.RequestError.session_not_found(request.session_id) from None

    # Prompts.

    def updates_of(self, request: Any) -> list[Any]:
        """What comes of a prompt."""
        session, word = self._of(request), request.prompt[0].text
        if word == "unstable-updates":
            return unstable_updates(self.endpoint.facts.version)
        if word != "system":
            return []
        prompt = session.system_prompt
        told = None if prompt is None else prompt.model_dump_json(by_alias=True, exclude_unset=True)
        content = self.schema.TextContentBlock(text=json.dumps(None) if told is None else told)
        message_id = f"m{next(self._numbers)}"
        return [self.schema.AgentMessageChunk(message_id=message_id, content=content)]


class _OnV1(UnstableAgent):
    schema = v1.schema

    def __init__(self) -> None:
        capabilities = v1.schema.AgentCapabilities.model_validate(
            {
                "sessionCapabilities": {**SESSION, **SYSTEM_PROMPT, "list": {}},
                "auth": {"status": {}},
                "providers": {},
            }
        )
        self.endpoint = v1.Agent(
            "interop-unstable", "1.0.0", capabilities=capabilities, features=FEATURES
        )
        super().__init__()

    def initialize(self, request: v1.schema.InitializeRequest) -> v1.schema.InitializeResponse:
        return v1.schema.InitializeResponse(
            protocol_version=1,
            agent_info=v1.schema.Implementation(name="interop-unstable", version="1.0.0"),
            agent_capabilities=self.endpoint.capabilities,
            auth_methods=[v1.schema.AuthMethodAgent(id="interop", name="Interop")],
        )

    async def authenticate(self, request: Any, ctx: v1.Context) -> Any:
        await self.sign_in(ctx.connection)
        return v1.schema.AuthenticateResponse()

    async def prompt(self, request: Any, ctx: v1.Context) -> v1.schema.PromptResponse:
        for update in self.updates_of(request):
            note = v1.schema.SessionNotification(session_id=request.session_id, update=update)
            await ctx.connection.notify(note)
        usage = v1.schema.Usage.model_validate(USAGE)
        return v1.schema.PromptResponse(stop_reason="end_turn", usage=usage)


class _OnV2(UnstableAgent):
    schema = v2.schema

    def __init__(self) -> None:
        capabilities = v2.schema.AgentCapabilities.model_validate(
            {
                "session": {**SESSION, **SYSTEM_PROMPT, "mcp": {"stdio": {}, "http": {}}},
                "auth": {"status": {}},
                "providers": {},
            }
        )
        self.endpoint = v2.Agent(
            "interop-unstable", "1.0.0", capabilities=capabilities, features=FEATURES
        ).keep_sessions()
        super().__init__()

    def initialize(self, request: v2.schema.InitializeRequest) -> v2.schema.InitializeResponse:
        return v2.schema.InitializeResponse(
            protocol_version=2,
            info=v2.schema.Implementation(name="interop-unstable", version="1.0.0"),
            capabilities=self.endpoint.capabilities,
            auth_methods=[v2.schema.AgentAuthMethod(method_id="interop", name="Interop")],
        )

    async def login(self, request: Any, ctx: v2.Context) -> Any:
        await self.sign_in(ctx.connection)
        return v2.schema.LoginAuthResponse()

    def resume_session(self, request: Any) -> v2.schema.ResumeSessionResponse:
        self._of(request).is_open = True
        return v2.schema.ResumeSessionResponse()

    def session_status(self, request: Any) -> Any:
        response = super().session_status(request)
        if response.status == "open":
            response.state = v2.schema.IdleStateUpdate()
        return response

    async def prompt(self, request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground() as foreground:
            for update in self.updates_of(request):
                await ctx.session.update(update)
            foreground.stop("end_turn", usage=v2.schema.Usage.model_validate(USAGE))


def made(version: int) -> UnstableAgent:
    """The agent of a version."""
    return _OnV1() if version == 1 else _OnV2()


if __name__ == "__main__":
    asyncio.run(made(int(sys.argv[1])).endpoint.serve(acp.stdio_transport()))
