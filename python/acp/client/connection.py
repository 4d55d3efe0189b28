"""The connection as a client sees it: what it can ask of its agent.

Owns the signatures and the params of each method. How a message travels is `acp._connection`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from acp._arguments import given
from acp._lazy import passing_on
from acp._old_forms import compatible_class, param_model, param_models
from acp._side import SideConnection
from acp.client._later import LaterAgentMethods
from acp.schema import (
    AcpMcpServer,
    AudioContentBlock,
    AuthenticateRequest,
    AuthenticateResponse,
    CancelNotification,
    ClientCapabilities,
    CloseSessionRequest,
    CloseSessionResponse,
    EmbeddedResourceContentBlock,
    ForkSessionRequest,
    ForkSessionResponse,
    HttpMcpServer,
    ImageContentBlock,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    ResourceContentBlock,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SetSessionConfigOptionBooleanRequest,
    SetSessionConfigOptionResponse,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
    SetSessionModeResponse,
    SseMcpServer,
    TextContentBlock,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp.interfaces import Agent, Client


__all__ = ["ClientSideConnection"]

if not TYPE_CHECKING:
    __getattr__ = passing_on(
        __name__,
        "acp.schema",
        "acp.utils",
        "acp.interfaces",
        "acp.client.router",
        "acp.connection",
        "acp.meta",
        "acp.exceptions",
        "acp._transport",
    )


@final
@compatible_class
class ClientSideConnection(LaterAgentMethods, SideConnection):
    """Serves a client and lets it reach its agent.

    Args:
        to_client: The client, or a function that makes it from this connection.
        input_stream: The agent's input: a StreamWriter, or one transport of this package for both
            directions.
        output_stream: The agent's output: a StreamReader.
        use_unstable_protocol: Whether unstable methods reach the client.
        **connection_kwargs: The fields of `ConnectionOptions`, and `listening`, `observers` and
            `receive_timeout`, which `AgentSideConnection` explains.

    Every method takes further keywords as the message's `_meta`. A method that returns a response
    raises RequestError when the agent answers with an error, ConnectionClosed when no answer can
    come, ValidationError when something does not fit its type; cancelling it cancels the request.
    """

    def __init__(
        self,
        to_client: Callable[[Agent], Client] | Client,
        input_stream: Any,
        output_stream: Any = None,
        *,
        use_unstable_protocol: bool = False,
        **connection_kwargs: Any,
    ) -> None:
        super().__init__(
            "client",
            to_client,
            input_stream,
            output_stream,
            use_unstable_protocol=use_unstable_protocol,
            **connection_kwargs,
        )

    @param_model(InitializeRequest)
    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **kwargs: Any,
    ) -> InitializeResponse:
        """`initialize`: settles version and capabilities; the first call on a connection."""
        params = InitializeRequest(
            protocol_version=protocol_version,
            **given(client_capabilities=client_capabilities, client_info=client_info),
            field_meta=kwargs or None,
        )
        return await self._connection.request("initialize", params)

    @param_model(NewSessionRequest)
    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        **kwargs: Any,
    ) -> NewSessionResponse:
        """`session/new`: opens a session in the directory `cwd`, an absolute path."""
        params = NewSessionRequest(
            cwd=cwd,
            **given(additional_directories=additional_directories),
            mcp_servers=mcp_servers or [],
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/new", params)

    @param_model(LoadSessionRequest)
    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        additional_directories: list[str] | None = None,
        **kwargs: Any,
    ) -> LoadSessionResponse:
        """`session/load`: opens an earlier session; its messages are updates that arrive before
        this returns.
        """
        params = LoadSessionRequest(
            cwd=cwd,
            session_id=session_id,
            mcp_servers=mcp_servers or [],
            **given(additional_directories=additional_directories),
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/load", params)

    @param_model(ListSessionsRequest)
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> ListSessionsResponse:
        """`session/list`: one page of earlier sessions; `cursor` is what the page before ended
        with.
        """
        params = ListSessionsRequest(cwd=cwd, cursor=cursor, field_meta=kwargs or None)
        return await self._connection.request("session/list", params)

    @param_model(SetSessionModeRequest)
    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> SetSessionModeResponse:
        """`session/set_mode`: switches the session to one of the modes that it offered."""
        params = SetSessionModeRequest(
            session_id=session_id, mode_id=mode_id, field_meta=kwargs or None
        )
        return await self._connection.request("session/set_mode", params)

    @param_models(SetSessionConfigOptionBooleanRequest, SetSessionConfigOptionSelectRequest)
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> SetSessionConfigOptionResponse:
        """`session/set_config_option`: sets one option, and returns all as they are then."""
        of_kind: Any = (
            SetSessionConfigOptionBooleanRequest
            if isinstance(value, bool)
            else SetSessionConfigOptionSelectRequest
        )
        params = of_kind(
            config_id=config_id, session_id=session_id, value=value, field_meta=kwargs or None
        )
        return await self._connection.request("session/set_config_option", params)

    @param_model(AuthenticateRequest)
    async def authenticate(self, method_id: str, **kwargs: Any) -> AuthenticateResponse:
        """`authenticate`: logs in by one of the methods that `initialize` offered."""
        params = AuthenticateRequest(method_id=method_id, field_meta=kwargs or None)
        return await self._connection.request("authenticate", params)

    @param_model(PromptRequest)
    async def prompt(
        self,
        session_id: str,
        prompt: list[
            TextContentBlock
            | ImageContentBlock
            | AudioContentBlock
            | ResourceContentBlock
            | EmbeddedResourceContentBlock
        ],
        **kwargs: Any,
    ) -> PromptResponse:
        """`session/prompt`: one turn.

        When it returns, the client's handlers have seen all updates of the turn.
        """
        params = PromptRequest(session_id=session_id, prompt=prompt, field_meta=kwargs or None)
        return await self._connection.request("session/prompt", params)

    @param_model(ForkSessionRequest)
    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        **kwargs: Any,
    ) -> ForkSessionResponse:
        """`session/fork`: opens a new session that begins with what the other one holds."""
        params = ForkSessionRequest(
            session_id=session_id,
            cwd=cwd,
            **given(additional_directories=additional_directories, mcp_servers=mcp_servers),
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/fork", params)

    @param_model(ResumeSessionRequest)
    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        **kwargs: Any,
    ) -> ResumeSessionResponse:
        """`session/resume`: opens an earlier session without getting its messages again."""
        params = ResumeSessionRequest(
            session_id=session_id,
            cwd=cwd,
            **given(additional_directories=additional_directories, mcp_servers=mcp_servers),
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/resume", params)

    @param_model(CloseSessionRequest)
    async def close_session(self, session_id: str, **kwargs: Any) -> CloseSessionResponse | None:
        """`session/close`: ends the session and what runs in it."""
        params = CloseSessionRequest(session_id=session_id, field_meta=kwargs or None)
        return await self._connection.request("session/close", params)

    @param_model(CancelNotification)
    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """`session/cancel`: wants the running turn to end; `prompt()` returns with the stop reason
        `cancelled`, and permissions that the agent waits for are answered as cancelled.
        """
        params = CancelNotification(session_id=session_id, field_meta=kwargs or None)
        await self._connection.cancel_turn("session/cancel", params)

    def on_connect(self, conn: Client) -> None:
        """Does nothing; it makes this class an `Agent` for the client."""
