"""The connection as a client sees it: what it can ask of its agent.

Owns the signatures and the params of each method. How a message travels is `acp._connection`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from acp import schema
from acp._arguments import given
from acp._side import SideConnection
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp.interfaces import Agent, Client

    McpServers = list[
        schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer | schema.McpServerStdio
    ]

__all__ = ["ClientSideConnection"]

_NOT_FOUND = -32002


@final
class ClientSideConnection(SideConnection):
    """Serves a client and lets it reach its agent.

    Args:
        to_client: The client, or a function that makes it from this connection.
        input_stream: The agent's input: a StreamWriter, or one transport of this package for both
            directions.
        output_stream: The agent's output: a StreamReader.
        use_unstable_protocol: Whether unstable methods reach the client.
        **connection_kwargs: The fields of `ConnectionOptions`, and `listening`, which
            `AgentSideConnection` explains.

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

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **kwargs: Any,
    ) -> schema.InitializeResponse:
        """`initialize`: settles version and capabilities; the first call on a connection."""
        params = schema.InitializeRequest(
            protocol_version=protocol_version,
            **given(client_capabilities=client_capabilities, client_info=client_info),
            field_meta=kwargs or None,
        )
        return await self._connection.request("initialize", params)

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **kwargs: Any,
    ) -> schema.NewSessionResponse:
        """`session/new`: opens a session in the directory `cwd`, an absolute path."""
        params = schema.NewSessionRequest(
            cwd=cwd,
            **given(additional_directories=additional_directories),
            mcp_servers=mcp_servers or [],
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/new", params)

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: McpServers | None = None,
        additional_directories: list[str] | None = None,
        **kwargs: Any,
    ) -> schema.LoadSessionResponse:
        """`session/load`: opens an earlier session; its messages are updates that arrive before
        this returns.
        """
        params = schema.LoadSessionRequest(
            cwd=cwd,
            session_id=session_id,
            mcp_servers=mcp_servers or [],
            **given(additional_directories=additional_directories),
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/load", params)

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> schema.ListSessionsResponse:
        """`session/list`: one page of earlier sessions; `cursor` is what the page before ended
        with.
        """
        params = schema.ListSessionsRequest(cwd=cwd, cursor=cursor, field_meta=kwargs or None)
        return await self._connection.request("session/list", params)

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> schema.SetSessionModeResponse:
        """`session/set_mode`: switches the session to one of the modes that it offered."""
        params = schema.SetSessionModeRequest(
            session_id=session_id, mode_id=mode_id, field_meta=kwargs or None
        )
        return await self._connection.request("session/set_mode", params)

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """`session/set_config_option`: sets one option, and returns all as they are then."""
        of_kind: Any = (
            schema.SetSessionConfigOptionBooleanRequest
            if isinstance(value, bool)
            else schema.SetSessionConfigOptionSelectRequest
        )
        params = of_kind(
            config_id=config_id, session_id=session_id, value=value, field_meta=kwargs or None
        )
        return await self._connection.request("session/set_config_option", params)

    async def authenticate(self, method_id: str, **kwargs: Any) -> schema.AuthenticateResponse:
        """`authenticate`: logs in by one of the methods that `initialize` offered."""
        params = schema.AuthenticateRequest(method_id=method_id, field_meta=kwargs or None)
        return await self._connection.request("authenticate", params)

    async def prompt(
        self,
        session_id: str,
        prompt: list[
            schema.TextContentBlock
            | schema.ImageContentBlock
            | schema.AudioContentBlock
            | schema.ResourceContentBlock
            | schema.EmbeddedResourceContentBlock
        ],
        **kwargs: Any,
    ) -> schema.PromptResponse:
        """`session/prompt`: one turn.

        When it returns, the client's handlers have seen all updates of the turn.
        """
        params = schema.PromptRequest(
            session_id=session_id, prompt=prompt, field_meta=kwargs or None
        )
        return await self._connection.request("session/prompt", params)

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **kwargs: Any,
    ) -> schema.ForkSessionResponse:
        """`session/fork`: opens a new session that begins with what the other one holds."""
        params = schema.ForkSessionRequest(
            session_id=session_id,
            cwd=cwd,
            **given(additional_directories=additional_directories, mcp_servers=mcp_servers),
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/fork", params)

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **kwargs: Any,
    ) -> schema.ResumeSessionResponse:
        """`session/resume`: opens an earlier session without getting its messages again."""
        params = schema.ResumeSessionRequest(
            session_id=session_id,
            cwd=cwd,
            **given(additional_directories=additional_directories, mcp_servers=mcp_servers),
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/resume", params)

    async def close_session(
        self, session_id: str, **kwargs: Any
    ) -> schema.CloseSessionResponse | None:
        """`session/close`: ends the session and what runs in it."""
        params = schema.CloseSessionRequest(session_id=session_id, field_meta=kwargs or None)
        return await self._connection.request("session/close", params)

    async def delete_session(self, session_id: str, **kwargs: Any) -> schema.DeleteSessionResponse:
        """`session/delete`: removes the session from those that the agent lists.

        That the agent does not know it (-32002) is a success: it is not listed.
        """
        params = schema.DeleteSessionRequest(session_id=session_id, field_meta=kwargs or None)
        try:
            return await self._connection.request("session/delete", params)
        except RequestError as error:
            if error.code != _NOT_FOUND:
                raise
            return schema.DeleteSessionResponse()

    async def logout(self, **kwargs: Any) -> schema.LogoutResponse:
        """`logout`: gives up what `authenticate` gave."""
        params = schema.LogoutRequest(field_meta=kwargs or None)
        return await self._connection.request("logout", params)

    async def auth_status(self, **kwargs: Any) -> schema.AuthStatusResponse:
        """`auth/status` (unstable): tells who is logged in."""
        params = schema.AuthStatusRequest(field_meta=kwargs or None)
        return await self._connection.request("auth/status", params)

    async def list_providers(self, **kwargs: Any) -> schema.ListProvidersResponse:
        """`providers/list` (unstable): tells which model providers there are."""
        params = schema.ListProvidersRequest(field_meta=kwargs or None)
        return await self._connection.request("providers/list", params)

    async def set_provider(
        self,
        provider_id: str,
        api_type: schema.LlmProtocol,
        base_url: str,
        headers: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> schema.SetProviderResponse:
        """`providers/set` (unstable): has a model provider reached by an address and a protocol."""
        params = schema.SetProviderRequest(
            provider_id=provider_id,
            api_type=api_type,
            base_url=base_url,
            **given(headers=headers),
            field_meta=kwargs or None,
        )
        return await self._connection.request("providers/set", params)

    async def disable_provider(
        self, provider_id: str, **kwargs: Any
    ) -> schema.DisableProviderResponse:
        """`providers/disable` (unstable): turns a model provider off."""
        params = schema.DisableProviderRequest(provider_id=provider_id, field_meta=kwargs or None)
        return await self._connection.request("providers/disable", params)

    async def archive_session(
        self, session_id: str, **kwargs: Any
    ) -> schema.ArchiveSessionResponse:
        """`session/archive` (unstable): takes the session out of the everyday list."""
        params = schema.ArchiveSessionRequest(session_id=session_id, field_meta=kwargs or None)
        return await self._connection.request("session/archive", params)

    async def unarchive_session(
        self, session_id: str, **kwargs: Any
    ) -> schema.UnarchiveSessionResponse:
        """`session/unarchive` (unstable): puts the session back into the everyday list."""
        params = schema.UnarchiveSessionRequest(session_id=session_id, field_meta=kwargs or None)
        return await self._connection.request("session/unarchive", params)

    async def session_status(self, session_id: str, **kwargs: Any) -> schema.SessionStatusResponse:
        """`session/status` (unstable): tells whether the session is open."""
        params = schema.SessionStatusRequest(session_id=session_id, field_meta=kwargs or None)
        return await self._connection.request("session/status", params)

    async def session_options(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        session_id: str | None = None,
        **kwargs: Any,
    ) -> schema.SessionOptionsResponse:
        """`session/options` (unstable): tells what there is to set before there is a session."""
        params = schema.SessionOptionsRequest(
            cwd=cwd,
            **given(additional_directories=additional_directories, session_id=session_id),
            field_meta=kwargs or None,
        )
        return await self._connection.request("session/options", params)

    async def set_session_title(
        self, session_id: str, title: str, **kwargs: Any
    ) -> schema.SetSessionTitleResponse:
        """`session/set_title` (unstable): names the session."""
        params = schema.SetSessionTitleRequest(
            session_id=session_id, title=title, field_meta=kwargs or None
        )
        return await self._connection.request("session/set_title", params)

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """`session/cancel`: wants the running turn to end; `prompt()` returns with the stop reason
        `cancelled`, and permissions that the agent waits for are answered as cancelled.
        """
        params = schema.CancelNotification(session_id=session_id, field_meta=kwargs or None)
        await self._connection.cancel_turn("session/cancel", params)

    def on_connect(self, conn: Client) -> None:
        """Does nothing; it makes this class an `Agent` for the client."""
