"""Sessions of one connection that several parts of a program look at together.

Owns whose connection that is, and the way of its messages to what is kept of its sessions. What
each load and release means is `acp.v2._shared_table`'s. It is a policy above the handles: it uses
what every program can use.
"""

from __future__ import annotations

import functools
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from acp._endpoint.handlers import UNHANDLED
from acp.v2 import schema
from acp.v2._endpoint import Client, Connection
from acp.v2._shared_table import SharedTable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from acp._transports.base import Transport
    from acp.v2._endpoint import Context
    from acp.v2._sessions import SessionBuilder, SetupMembers
    from acp.v2._shared_views import SessionView
    from acp.v2._views import ProjectionLimits

__all__ = ("SharedSessions",)

_TABLES: dict[Connection, SharedTable] = {}
"""Until its connection ends, what is known of each: the next who shares its sessions has to wait
for a close that the one before has asked for.
"""
_ATTACHED: WeakKeyDictionary[Client, Client] = WeakKeyDictionary()
"""What `attach` has put in front of the handlers of each client."""


class SharedSessions:
    """Sessions that several parts of a program look at, each opened once::

        async with SharedSessions(client, acp.process_transport("agent")) as shared:
            async with shared.load("session", "/work") as view:
                changes = view.changes()
                show(view.projection)
                async for change in changes:
                    ...

    All that load a session at the same time share one `session/resume`, with its whole history, and
    one projection of it; when the last of them leaves, the session is closed. A load that comes
    during the close, or while the replay for loads that were all given up is still read, waits, and
    opens the session anew. Sessions do not wait for each other.

    Given a transport, it opens the connection, initializes it, and closes it at the end of the
    block, whatever is unanswered then. Given a connection of the client, it uses that one, and at
    the end of the block asks for the close of what is still open. What is unanswered then is waited
    for by who shares the sessions of that connection next; there can be one at a time.

    Its handlers of `session/update` and `session/request_permission` are two more of the client:
    `attach` puts them in front of the others, with a transport by itself. They concern the sessions
    that are loaded here. Updates go on to the client's own handlers afterwards. Permissions of
    these sessions do so only when `permissions` returns UNHANDLED. An update handler of the client
    that waits for the agent, or longer than `Limits.lane_patience`, lets answers pass the updates
    behind it, also that of a resume or a close: what then comes late counts as said now.

    It is used in the loop of its connection, and starts no task.

    Args:
        client: Whose connection it is.
        over: A transport, or a connection of this client that was opened after `attach`.
        permissions: Answers the permission requests of these sessions, as a handler of the client
            would: called with the request, sync or async, such as `acp.kit.PermissionPolicy`. None
            cancels each. What is not decided when the last lease is released is cancelled.
        limits: Bounds of each projection.
        initialize: With a transport: the request, in place of what the client says of itself.
    """

    def __init__(
        self,
        client: Client,
        over: Transport | Connection,
        *,
        permissions: Callable[[schema.RequestPermissionRequest], Any] | None = None,
        limits: ProjectionLimits | None = None,
        initialize: schema.InitializeRequest | None = None,
    ) -> None:
        self._client = client
        self._over = over
        self._permissions = permissions
        self._limits = limits
        self._initialize = initialize
        self._owned = AsyncExitStack()
        self._table: SharedTable | None = None
        self._is_over = False

    @staticmethod
    def attach(client: Client) -> None:
        """Puts the handlers in front of those that a client has, for the connections that it opens
        afterwards. Attaching again puts them there again, and leaves no second ones.
        """
        part = _ATTACHED.get(client)
        if part is None:
            part = _ATTACHED[client] = Client()
            part.handle("notification", "session/update", _updated)
            part.handle("request", "session/request_permission", _asked)
        client.include(part, first=True)

    @property
    def connection(self) -> Connection:
        """The connection. Raises RuntimeError outside of `async with`."""
        return self._used().connection

    def load(
        self,
        session_id: str,
        cwd: str | PathLike[str] | None = None,
        mcp_servers: Sequence[schema.McpServer] = (),
        **members: Unpack[SetupMembers],
    ) -> AbstractAsyncContextManager[SessionView]:
        """A lease on a session of the agent: `async with shared.load(…) as view`.

        The arguments are those of `Connection.resume_session`; where the session is loaded already,
        those of who was the first count. Nothing is sent before the block is entered. Given up
        while the session is resumed, it leaves the others to wait; the last one has the session
        closed once its replay is read.

        A handler of an update of the same session must not wait for a load, which waits for it.

        Entering raises what the resume fails with, for each that waits for it, and a later load
        asks again; the error of a close that has failed, from then on for this session;
        ConnectionClosed; and RuntimeError outside of `async with shared`, or when that is left
        first. The call itself raises what `Connection.resume_session` raises.
        """
        table = self._used()
        resume = table.connection.resume_session(
            session_id, cwd, mcp_servers, replay_from=schema.ReplayFromStart(), **members
        )
        return self._lease(table, resume)

    @asynccontextmanager
    async def _lease(
        self, table: SharedTable, resume: SessionBuilder[schema.ResumeSessionResponse]
    ) -> AsyncGenerator[SessionView, None]:
        self._used()
        with await table.load(resume) as view:
            yield view

    def _used(self) -> SharedTable:
        if self._table is None or self._is_over:
            message = "Shared sessions are used inside of `async with`"
            raise RuntimeError(message)
        return self._table

    async def __aenter__(self) -> Self:
        if self._table is not None:
            message = "These shared sessions were used already"
            raise RuntimeError(message)
        async with AsyncExitStack() as stack:
            self._table = table = await self._open(stack)
            table.is_in_use = True
            table.permissions = self._permissions
            table.limits = self._limits
            self._owned = stack.pop_all()
        return self

    async def _open(self, stack: AsyncExitStack) -> SharedTable:
        if not isinstance(self._over, Connection):
            self.attach(self._client)
            connection = await stack.enter_async_context(self._client.connect(self._over))
            await connection.initialize(self._initialize)
            return _table_of(connection)
        if self._client not in _ATTACHED:
            message = "SharedSessions.attach(client) comes before the connection is opened"
            raise ValueError(message)
        table = _table_of(self._over)
        if table.is_in_use:
            message = "The sessions of this connection are shared already"
            raise RuntimeError(message)
        return table

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._is_over = True
        if self._table is not None:
            self._table.leave()
        await self._owned.__aexit__(exc_type, exc, tb)


def _table_of(connection: Connection) -> SharedTable:
    table = _TABLES.get(connection)
    if table is None:
        table = _TABLES[connection] = SharedTable(connection)
        connection.raw.when_closed(functools.partial(_disconnected, connection))
    return table


def _disconnected(connection: Connection) -> None:
    _TABLES.pop(connection).disconnected()


def _updated(message: schema.UpdateSessionNotification, ctx: Context) -> Any:
    table = _TABLES.get(ctx.connection)
    told = None if table is None else table.update(message)
    return UNHANDLED if told is None else _passed_on(told)


async def _passed_on(told: Any) -> Any:
    await told
    return UNHANDLED


async def _asked(request: schema.RequestPermissionRequest, ctx: Context) -> Any:
    table = _TABLES.get(ctx.connection)
    return UNHANDLED if table is None else await table.ask(request)
