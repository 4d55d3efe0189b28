"""Agents, clients and connections of protocol version 2.

Owns the facts of this version that are no tables: its handshake and its capabilities. How handlers
are called is `acp._endpoint`'s.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from acp._endpoint.builders import working_directory
from acp._endpoint.context import Context as AnyContext
from acp._endpoint.facts import Facts
from acp._endpoint.handlers import make
from acp._endpoint.handshake import derived
from acp._profile import Profile
from acp.v2 import schema
from acp.v2._agent_sessions import AgentSession, AgentSessions
from acp.v2._handlers import AgentHandlers, ClientHandlers
from acp.v2._obligations import Kept, answer_close, seen_to
from acp.v2._requests import TypedConnection
from acp.v2._sessions import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from typing_extensions import Self, Unpack

    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.handlers import Handler
    from acp._limits import Limits
    from acp.v2._foreground import Foreground
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
_OWN = ("session/cancel", "session/close")
"""What an agent that keeps its sessions serves by itself."""
_SENT_GATES = {
    "session/set_config_option": "session",
    "elicitation/complete": "elicitation",
}
"""What no handler stands for, though the peer has to offer it."""


def _initialize(endpoint: Endpoint[Any], request: schema.InitializeRequest) -> Any:
    return schema.InitializeResponse(
        protocol_version=request.protocol_version,
        info=_info(endpoint),
        capabilities=derived(endpoint, schema.AgentCapabilities),
    )


def _opening(endpoint: Endpoint[Any]) -> Any:
    return schema.InitializeRequest(
        protocol_version=2,
        info=_info(endpoint),
        capabilities=derived(endpoint, schema.ClientCapabilities),
    )


def _info(endpoint: Endpoint[Any]) -> schema.Implementation:
    return schema.Implementation(name=endpoint.name, version=endpoint.version, title=endpoint.title)


def _seen(message: Any) -> tuple[Any, Any]:
    return message.info, message.capabilities


FACTS = Facts(
    Profile(2),
    initialize=_initialize,
    opening=_opening,
    seen=_seen,
    gates={**_AGENT_GATES, **_CLIENT_GATES, **_SENT_GATES},
    offers={"agent": _AGENT_GATES, "client": _CLIENT_GATES},
    flags=frozenset(),
    baseline=_BASELINE,
)
"""Protocol version 2."""


class Connection(TypedConnection):
    """One connection of an agent or client of version 2."""

    def __init__(self, endpoint: Endpoint[Any], limits: Limits) -> None:
        super().__init__(endpoint, limits)
        self.own_capabilities: Any = endpoint.capabilities
        """What an agent at this end has said in its answer of `initialize` that it can do; before
        that what it was given to say.
        """
        self._agent_sessions: AgentSessions | None = None

    @property
    def agent_sessions(self) -> AgentSessions:
        """The sessions that are open here, of the agent at this end.

        Raises RuntimeError on the connection of a client.
        """
        if self._agent_sessions is None:
            if not isinstance(self._endpoint, Agent):
                message = "Only an agent has these sessions"
                raise RuntimeError(message)
            self._agent_sessions = AgentSessions(self, background=self._endpoint.lists_background)
        return self._agent_sessions

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

    @property
    def session(self) -> AgentSession:
        """The open session of the message, for the handlers of an agent.

        Raises RequestError (-32002) when no session of that id is open: an agent with
        `keep_sessions()` has those open that its handlers have made and resumed, others open them
        with `connection.agent_sessions.open(…)`.
        """
        return self.connection.agent_sessions.get(self.session_id)

    def accept(
        self,
        message_id: str,
        *,
        content: Sequence[schema.ContentBlock] | None = None,
        field_meta: dict[str, Any] | None = None,
    ) -> None:
        """Inserts the prompt that is handled: the client is told the user's message, and the
        request is answered, one directly behind the other. The handler goes on, and what it returns
        counts no more; what it raises is told as the error of an idle. The session is open from
        here on.

        Args:
            message_id: The id that the message has from now on, also in replays.
            content: The message as it is inserted; None: as it was sent.
            field_meta: The `_meta` of the message.

        Raises RequestError (-32800) when the prompt is cancelled, or the session is being closed,
        RuntimeError when the request is answered or is no prompt. Then nothing is sent.
        """
        sessions = self.connection.agent_sessions
        sessions.accept(self._request(), message_id, content, field_meta)

    def foreground(self, message_id: str | None = None, *, hold: bool = True) -> Foreground:
        """`async with`: a block of foreground work that begins with the insertion of the prompt.

        Args:
            message_id: The id for the message; None makes one.
            hold: Waits until the prompts before have had their turn. False inserts at once, also
                into work that goes on.

        Entering raises what `accept` raises; see `Foreground`.
        """
        message_id = uuid4().hex if message_id is None else message_id
        session = self.connection.agent_sessions.open(self._request().event.lane)
        return session.inserting(functools.partial(self.accept, message_id), hold=hold)


class Agent(AgentHandlers):
    """An agent of protocol version 2: the handlers of its methods, and what it says of itself."""

    facts = FACTS
    context_type = Context
    connection_type = Connection
    lists_background = False
    """Whether each report of a state tells what goes on in the background."""
    _kept: Kept | None = None

    def keep_sessions(
        self, *, replay_from: Iterable[str] = ("start",), background: bool = False
    ) -> Self:
        """Has what an agent owes for its sessions seen to around its handlers, and returns itself.

        Sessions are open from the answer of `session/new` and `session/fork`, or from
        `session/resume` on, until they are closed, archived or deleted. Prompts are refused for
        sessions that are not open (-32002), when they are empty, or have content that the agent has
        not offered to take (-32602). The agent needs no handlers for `session/cancel` and
        `session/close`.

        Args:
            replay_from: Types of replay cursors that the handler of `session/resume` knows; others
                are refused (-32602).
            background: Whether each report of a state tells what goes on in the background.
        """
        self._kept = Kept(frozenset(replay_from))
        self.lists_background = background
        return self

    def include(self, other: Endpoint[Any], *, first: bool = False) -> Self:
        """Adds the handlers of another agent of this version, behind those so far or `first`;
        sessions are kept when either keeps them.

        Raises ValueError for one of another version or side.
        """
        super().include(other, first=first)
        if isinstance(other, Agent) and self._kept is None:
            self._kept = other._kept
            self.lists_background = other.lists_background
        return self

    def serves(self, wire: str) -> bool:
        """Whether there is a handler for a method."""
        return super().serves(wire) or (self._kept is not None and wire in _OWN)

    def own_handler(self, kind: str, wire: str, connection: Any) -> Handler | None:
        """The agent's own handler of a message, behind those of the user."""
        if self._kept is not None and kind == "request" and wire == "session/close":
            return make("request", wire, functools.partial(answer_close, connection))
        return super().own_handler(kind, wire, connection)

    def seeing(
        self, wire: str, call: Callable[[Any], Any], connection: Any
    ) -> Callable[[Any], Any]:
        """Sees to what is owed around the handlers of a method."""
        call = super().seeing(wire, call, connection)
        return seen_to(wire, call, connection, self._kept)


class Client(ClientHandlers):
    """A client of protocol version 2."""

    facts = FACTS
    context_type = Context
    connection_type = Connection
