"""What a client can ask of its agent that the interfaces of the official Python SDK do not have.

Owns the signatures and the params of these methods. How a message travels is `acp._connection`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp import schema
from acp._arguments import given
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from acp._connection import Connection

__all__ = ("LaterAgentMethods",)

_NOT_FOUND = -32002


class LaterAgentMethods:
    """The part of a client's connection with methods that came later."""

    _connection: Connection

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
