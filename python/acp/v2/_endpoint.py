"""Agents, clients and connections of protocol version 2.

Owns the facts of this version that are no tables: its handshake and its capabilities. How handlers
are called is `acp._endpoint`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._endpoint.builders import working_directory
from acp._endpoint.context import Context as AnyContext
from acp._endpoint.facts import Facts
from acp._profile import Profile
from acp.v2 import schema
from acp.v2._handlers import AgentHandlers, ClientHandlers
from acp.v2._requests import TypedConnection
from acp.v2._sessions import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from typing_extensions import Unpack

    from acp._endpoint.endpoint import Endpoint
    from acp.v2._sessions import SetupMembers

__all__ = ("Agent", "Client", "Connection", "Context")

_BASELINE = (
    "session/new",
    "session/list",
    "session/resume",
    "session/close",
    "session/prompt",
    "session/cancel",
)
_AGENT_GATES = {
    **dict.fromkeys(_BASELINE, "session"),
    "session/set_config_option": "session",
    "session/delete": "session.delete",
    "session/fork": "session.fork",
    "session/archive": "session.archive",
    "session/unarchive": "session.archive",
    "session/status": "session.status",
    "session/options": "session.options",
    "session/set_title": "session.title",
    "auth/status": "auth.status",
    "providers/list": "providers",
    "providers/set": "providers",
    "providers/disable": "providers",
}
_CLIENT_GATES = {"elicitation/create": "elicitation"}


def _initialize(endpoint: Endpoint, request: schema.InitializeRequest) -> Any:
    return schema.InitializeResponse(
        protocol_version=request.protocol_version,
        info=_info(endpoint),
        capabilities=endpoint.own_capabilities(schema.AgentCapabilities, _AGENT_GATES),
    )


def _opening(endpoint: Endpoint) -> Any:
    return schema.InitializeRequest(
        protocol_version=2,
        info=_info(endpoint),
        capabilities=endpoint.own_capabilities(schema.ClientCapabilities, _CLIENT_GATES),
    )


def _info(endpoint: Endpoint) -> schema.Implementation:
    return schema.Implementation(name=endpoint.name, version=endpoint.version, title=endpoint.title)


def _seen(message: Any) -> tuple[Any, Any]:
    return message.info, message.capabilities


FACTS = Facts(
    Profile(2),
    initialize=_initialize,
    opening=_opening,
    seen=_seen,
    gates={**_AGENT_GATES, **_CLIENT_GATES},
    flags=frozenset(),
    baseline=_BASELINE,
)
"""Protocol version 2."""


class Connection(TypedConnection):
    """One connection of an agent or client of version 2."""

    def new_session(
        self,
        cwd: str | PathLike[str] | None = None,
        mcp_servers: Sequence[schema.McpServer] = (),
        **members: Unpack[SetupMembers],
    ) -> SessionBuilder[schema.NewSessionResponse]:
        """A new session, not asked for yet: `session, response = await connection.new_session(…)`.

        Args:
            cwd: Its directory; None for that of this process. Text is sent as it is, a path made
                absolute.
            mcp_servers: The servers that the agent is to use.
            **members: Other members of the request.

        Raises RequestError with -32603 when the directory cannot be read.
        """
        request = schema.NewSessionRequest(
            cwd=working_directory(cwd), mcp_servers=mcp_servers, **members
        )
        return self.new_session_from(request)

    def new_session_from(
        self, request: schema.NewSessionRequest
    ) -> SessionBuilder[schema.NewSessionResponse]:
        """The same with the whole request, which is sent as it is."""
        return SessionBuilder(self, "session/new", request)

    def resume_session(
        self,
        session_id: str,
        cwd: str | PathLike[str] | None = None,
        mcp_servers: Sequence[schema.McpServer] = (),
        *,
        replay_from: schema.ReplayFrom | None = None,
        **members: Unpack[SetupMembers],
    ) -> SessionBuilder[schema.ResumeSessionResponse]:
        """A session that the agent has; the arguments are those of `new_session`.

        With `replay_from` its history comes as updates, which have been handled when this returns.
        """
        request = schema.ResumeSessionRequest(
            session_id=session_id,
            cwd=working_directory(cwd),
            mcp_servers=mcp_servers,
            replay_from=replay_from,
            **members,
        )
        return self.resume_session_from(request)

    def resume_session_from(
        self, request: schema.ResumeSessionRequest
    ) -> SessionBuilder[schema.ResumeSessionResponse]:
        """The same with the whole request, which is sent as it is."""
        return SessionBuilder(self, "session/resume", request)

    def fork_session(
        self,
        session_id: str,
        cwd: str | PathLike[str] | None = None,
        mcp_servers: Sequence[schema.McpServer] = (),
        *,
        cursor_id: str | None = None,
        **members: Unpack[SetupMembers],
    ) -> SessionBuilder[schema.ForkSessionResponse]:
        """A new session that begins as a copy of another; the arguments are those of `new_session`.

        Unstable: it is on with the feature `session_fork`.
        """
        request = schema.ForkSessionRequest(
            session_id=session_id,
            cwd=working_directory(cwd),
            mcp_servers=mcp_servers,
            cursor_id=cursor_id,
            **members,
        )
        return self.fork_session_from(request)

    def fork_session_from(
        self, request: schema.ForkSessionRequest
    ) -> SessionBuilder[schema.ForkSessionResponse]:
        """The same with the whole request, which is sent as it is."""
        return SessionBuilder(self, "session/fork", request)


class Context(AnyContext):
    """What a handler of version 2 gets beside its message."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def connection(self) -> Connection:
            """The connection that the message came on."""
            ...


class Agent(AgentHandlers):
    """An agent of protocol version 2: the handlers of its methods, and what it says of itself."""

    facts = FACTS
    context_type = Context
    connection_type = Connection


class Client(ClientHandlers):
    """A client of protocol version 2."""

    facts = FACTS
    context_type = Context
    connection_type = Connection
