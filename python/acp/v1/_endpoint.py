"""Agents, clients and connections of protocol version 1.

Owns the facts of this version that are no tables: its handshake, its capabilities, and what a turn
is. How handlers are called is `acp._endpoint`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._endpoint.builders import working_directory
from acp._endpoint.context import Context as AnyContext
from acp._endpoint.facts import Facts
from acp._endpoint.handshake import derived
from acp._endpoint.streams import BUFFER
from acp._profile import VERSION_1
from acp.v1 import schema
from acp.v1._handlers import AgentHandlers, ClientHandlers
from acp.v1._requests import TypedConnection
from acp.v1._sessions import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from typing_extensions import Unpack

    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.streams import WhenFull
    from acp.v1._sessions import SetupMembers

__all__ = ("Agent", "Client", "Connection", "Context")

_AGENT_GATES = {
    "session/load": "load_session",
    "session/list": "session_capabilities.list",
    "session/delete": "session_capabilities.delete",
    "session/fork": "session_capabilities.fork",
    "session/archive": "session_capabilities.archive",
    "session/unarchive": "session_capabilities.archive",
    "session/status": "session_capabilities.status",
    "session/options": "session_capabilities.options",
    "session/set_title": "session_capabilities.title",
    "session/resume": "session_capabilities.resume",
    "session/close": "session_capabilities.close",
    "logout": "auth.logout",
    "auth/status": "auth.status",
    "providers/list": "providers",
    "providers/set": "providers",
    "providers/disable": "providers",
}
_CLIENT_GATES = {
    "fs/read_text_file": "fs.read_text_file",
    "fs/write_text_file": "fs.write_text_file",
    "terminal/create": "terminal",
    "terminal/output": "terminal",
    "terminal/release": "terminal",
    "terminal/wait_for_exit": "terminal",
    "terminal/kill": "terminal",
    "elicitation/create": "elicitation",
}
_SENT_GATES = {
    "elicitation/complete": "elicitation",
}
"""What no handler stands for, though the peer has to offer it."""
_FLAGS = frozenset({"load_session", "read_text_file", "write_text_file", "terminal"})
"""Capabilities that are true or false; all others are objects."""


def _initialize(endpoint: Endpoint[Any], request: schema.InitializeRequest) -> Any:
    return schema.InitializeResponse(
        protocol_version=request.protocol_version,
        agent_capabilities=derived(endpoint, schema.AgentCapabilities),
        agent_info=_info(endpoint),
    )


def _opening(endpoint: Endpoint[Any]) -> Any:
    return schema.InitializeRequest(
        protocol_version=1,
        client_capabilities=derived(endpoint, schema.ClientCapabilities),
        client_info=_info(endpoint),
    )


def _info(endpoint: Endpoint[Any]) -> schema.Implementation:
    return schema.Implementation(name=endpoint.name, version=endpoint.version, title=endpoint.title)


def _seen(message: Any) -> tuple[Any, Any]:
    if isinstance(message, schema.InitializeRequest):
        return message.client_info, message.client_capabilities
    return message.agent_info, message.agent_capabilities


FACTS = Facts(
    VERSION_1,
    initialize=_initialize,
    opening=_opening,
    seen=_seen,
    gates={**_AGENT_GATES, **_CLIENT_GATES, **_SENT_GATES},
    offers={"agent": _AGENT_GATES, "client": _CLIENT_GATES},
    flags=_FLAGS,
    keeping_sides=frozenset({"client"}),
    reads_unclaimed=True,
    may_retry=True,
)
"""Protocol version 1."""


class Connection(TypedConnection):
    """One connection of an agent or client of version 1."""

    def new_session(
        self,
        cwd: str | PathLike[str] | None = None,
        mcp_servers: Sequence[schema.McpServer] = (),
        *,
        buffer: int = BUFFER,
        when_full: WhenFull = "fail",
        **members: Unpack[SetupMembers],
    ) -> SessionBuilder[schema.NewSessionResponse]:
        """A new session, not asked for yet: `async with connection.new_session(cwd) as session`.

        Args:
            cwd: Its directory; None for that of this process. Text is sent as it is, a path made
                absolute.
            mcp_servers: The servers that the agent is to use.
            buffer: Messages of the session that may wait to be read, and as many bytes as
                `Limits.waiting_bytes`.
            when_full: What happens beyond: `fail` ends the stream of the session with
                StreamOverflow and touches nothing else; `wait` has the session wait for the reader,
                and in the end the agent; `drop_oldest` loses the oldest and counts them.
            **members: Other members of the request.

        Raises RequestError with -32603 when the directory cannot be read.
        """
        request = schema.NewSessionRequest(
            cwd=working_directory(cwd), mcp_servers=mcp_servers, **members
        )
        return self.new_session_from(request, buffer=buffer, when_full=when_full)

    def new_session_from(
        self,
        request: schema.NewSessionRequest,
        *,
        buffer: int = BUFFER,
        when_full: WhenFull = "fail",
    ) -> SessionBuilder[schema.NewSessionResponse]:
        """The same with the whole request, which is sent as it is."""
        return SessionBuilder(self, "session/new", request, buffer=buffer, when_full=when_full)

    def load_session(
        self,
        session_id: str,
        cwd: str | PathLike[str] | None = None,
        mcp_servers: Sequence[schema.McpServer] = (),
        *,
        buffer: int = BUFFER,
        when_full: WhenFull = "fail",
        **members: Unpack[SetupMembers],
    ) -> SessionBuilder[schema.LoadSessionResponse]:
        """A session that the agent has, whose history comes first on its stream; the arguments are
        those of `new_session`.
        """
        request = schema.LoadSessionRequest(
            session_id=session_id,
            cwd=working_directory(cwd),
            mcp_servers=mcp_servers,
            **members,
        )
        return self.load_session_from(request, buffer=buffer, when_full=when_full)

    def load_session_from(
        self,
        request: schema.LoadSessionRequest,
        *,
        buffer: int = BUFFER,
        when_full: WhenFull = "fail",
    ) -> SessionBuilder[schema.LoadSessionResponse]:
        """The same with the whole request, which is sent as it is."""
        return SessionBuilder(self, "session/load", request, buffer=buffer, when_full=when_full)

    def resume_session(
        self,
        session_id: str,
        cwd: str | PathLike[str] | None = None,
        mcp_servers: Sequence[schema.McpServer] = (),
        *,
        buffer: int = BUFFER,
        when_full: WhenFull = "fail",
        **members: Unpack[SetupMembers],
    ) -> SessionBuilder[schema.ResumeSessionResponse]:
        """A session that the agent has, without its history; the arguments are those of
        `new_session`.
        """
        request = schema.ResumeSessionRequest(
            session_id=session_id,
            cwd=working_directory(cwd),
            mcp_servers=mcp_servers,
            **members,
        )
        return self.resume_session_from(request, buffer=buffer, when_full=when_full)

    def resume_session_from(
        self,
        request: schema.ResumeSessionRequest,
        *,
        buffer: int = BUFFER,
        when_full: WhenFull = "fail",
    ) -> SessionBuilder[schema.ResumeSessionResponse]:
        """The same with the whole request, which is sent as it is."""
        return SessionBuilder(self, "session/resume", request, buffer=buffer, when_full=when_full)


class Context(AnyContext):
    """What a handler of version 1 gets beside its message."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def connection(self) -> Connection:
            """The connection that the message came on."""
            ...


class Agent(AgentHandlers):
    """An agent of protocol version 1: the handlers of its methods, and what it says of itself."""

    facts = FACTS
    context_type = Context
    connection_type = Connection


class Client(ClientHandlers):
    """A client of protocol version 1."""

    facts = FACTS
    context_type = Context
    connection_type = Connection
