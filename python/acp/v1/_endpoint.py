"""Agents, clients and connections of protocol version 1.

Owns the facts of this version that are no tables: its handshake, its capabilities, and what a turn
is. How handlers are called is `acp._endpoint`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._endpoint.context import Context as AnyContext
from acp._endpoint.facts import Facts
from acp._profile import Profile
from acp.v1 import schema
from acp.v1._handlers import AgentHandlers, ClientHandlers
from acp.v1._requests import TypedConnection

if TYPE_CHECKING:
    from acp._endpoint.endpoint import Endpoint

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
_FLAGS = frozenset({"load_session", "read_text_file", "write_text_file", "terminal"})
"""Capabilities that are true or false; all others are objects."""


def _initialize(endpoint: Endpoint, request: schema.InitializeRequest) -> Any:
    return schema.InitializeResponse(
        protocol_version=request.protocol_version,
        agent_capabilities=endpoint.own_capabilities(schema.AgentCapabilities, _AGENT_GATES),
        agent_info=_info(endpoint),
    )


def _opening(endpoint: Endpoint) -> Any:
    return schema.InitializeRequest(
        protocol_version=1,
        client_capabilities=endpoint.own_capabilities(schema.ClientCapabilities, _CLIENT_GATES),
        client_info=_info(endpoint),
    )


def _info(endpoint: Endpoint) -> schema.Implementation:
    return schema.Implementation(name=endpoint.name, version=endpoint.version, title=endpoint.title)


def _seen(message: Any) -> tuple[Any, Any]:
    if isinstance(message, schema.InitializeRequest):
        return message.client_info, message.client_capabilities
    return message.agent_info, message.agent_capabilities


FACTS = Facts(
    Profile(1, turn="session/prompt", cancelled_turn={"stopReason": "cancelled"}),
    initialize=_initialize,
    opening=_opening,
    seen=_seen,
    gates={**_AGENT_GATES, **_CLIENT_GATES},
    flags=_FLAGS,
    baseline=("session/new", "session/prompt"),
)
"""Protocol version 1."""


class Connection(TypedConnection):
    """One connection of an agent or client of version 1."""


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
