"""Leases on shared sessions.

Owns what who has one can read and ask for, and reading what changes. When a session is opened and
closed is `acp.v2._shared_table`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from acp._endpoint.streams import BUFFER
from acp._policies.ordered import InboxFull, OrderedInbox
from acp.exceptions import ConnectionClosed, SessionClosed, StreamOverflow
from acp.v2 import schema

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from acp.v2._projection import Message, SessionProjection
    from acp.v2._sessions import Session
    from acp.v2._shared_table import Opening, SharedTable

__all__ = ("SessionChanges", "SessionView")


class SessionView:
    """A lease on a shared session. See `SharedSessions.load`.

    The session is open as long as there is a lease, and closed when the last one is released. All
    leases have the same projection. `share` gives one more; so does `copy.copy`. Each is released
    on its own, by `release` or at the end of a `with` block.
    """

    __slots__ = ("_is_released", "_opening", "_table", "projection", "response", "session")

    def __init__(self, table: SharedTable, opening: Opening) -> None:
        assert opening.projection is not None
        assert opening.setup is not None
        self._table = table
        self._opening = opening
        self._is_released = False
        self.projection: SessionProjection = opening.projection
        """What the session amounts to now. Every lease has the same one: it is to be read only."""
        self.session: Session = opening.setup.session
        """The handle. Whoever closes the session by it closes it for all leases."""
        self.response: schema.ResumeSessionResponse = opening.setup.response
        """The agent's whole answer to the resume."""

    @property
    def session_id(self) -> str:
        """The session."""
        return self._opening.session_id

    @property
    def is_released(self) -> bool:
        """Whether this lease was given back."""
        return self._is_released

    @property
    def is_disconnected(self) -> bool:
        """Whether the connection has ended. The projection stays as it was then."""
        return self._table.is_disconnected

    def share(self) -> SessionView:
        """One more lease on the same session.

        Raises SessionClosed when this one is released or the session was closed by its handle, and
        ConnectionClosed.
        """
        self._check_live()
        return self._table.lease(self._opening)

    __copy__ = share

    def release(self) -> None:
        """Gives this lease back, at once; its streams end. Again, it does nothing.

        The last one closes the session, and does not wait for the answer.
        """
        if self._is_released:
            return
        self._is_released = True
        for stream in tuple(self._opening.streams):
            if stream.view is self:
                stream.close()
        self._table.released(self, self._opening)

    def changes(
        self, *, buffer: int = BUFFER, when_full: Literal["fail", "drop_oldest"] = "fail"
    ) -> SessionChanges:
        """What changes from now on: `async for change in view.changes()`.

        Read the projection behind this call, and nothing is missed.

        Args:
            buffer: Changes that may wait to be read.
            when_full: What happens beyond: `fail` ends this stream with StreamOverflow;
                `drop_oldest` loses the oldest and counts them. The projection has them all. That
                the session waits for a reader is no choice here: others share it.

        Raises SessionClosed when this lease is released, and ValueError for what is no bound or
        policy.
        """
        self._check()
        if when_full not in ("fail", "drop_oldest"):
            message = "when_full is 'fail' or 'drop_oldest'"
            raise ValueError(message)
        stream = SessionChanges(self, OrderedInbox(buffer, when_full))
        if self._opening.projection is None:
            stream.close()
        else:
            self._opening.streams.add(stream)
        return stream

    async def apply(self, message: Message) -> None:
        """Applies a message that says something about the session and comes by no update, such as
        the answer of `Session.set_config_option`, for all leases.

        Raises what `share` and `SessionProjection.apply` raise.
        """
        self._check_live()
        told = self._opening.apply(message)
        if told is not None:
            await told

    async def cancel_active_work(self) -> None:
        """As `Session.cancel_active_work`; unfinished tool calls are marked as cancelled for all
        leases, at once. Raises what `share` raises.
        """
        self._check_live()
        for name in self.projection.cancel_active_work():
            update = schema.ToolCallProgress(tool_call_id=name, status="cancelled")
            await self._opening.tell(
                schema.UpdateSessionNotification(session_id=self.session_id, update=update)
            )
        await self.session.cancel_active_work()

    def _check(self) -> None:
        if self._is_released:
            raise SessionClosed(self.session_id)

    def _check_live(self) -> None:
        self._check()
        if self._opening.projection is None:
            raise ConnectionClosed if self.is_disconnected else SessionClosed(self.session_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        state = "released" if self._is_released else "held"
        return f"<SessionView ({state})>"


class SessionChanges:
    """What changes in a shared session, in its order. See `SessionView.changes`.

    A change is what was applied to the projection: an update with its session, or another message
    that says something about the session, such as the question for a permission. It is for one
    reader. It ends when its lease is released or the session is closed, and raises ConnectionClosed
    when the connection has ended, and StreamOverflow; what came before is read first.
    """

    __slots__ = ("__weakref__", "_inbox", "view")

    def __init__(self, view: SessionView, inbox: OrderedInbox) -> None:
        self.view = view
        self._inbox = inbox

    @property
    def dropped(self) -> int:
        """Changes that were lost because they were not read in time."""
        return self._inbox.dropped

    async def put(self, change: Message) -> None:
        """Adds a change, without waiting."""
        await self._inbox.put(change)

    def close(self) -> None:
        """Ends it behind what is there."""
        self._inbox.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        try:
            return await self._inbox.__anext__()
        except InboxFull:
            raise StreamOverflow from None
        except StopAsyncIteration:
            if self.view.is_released or not self.view.is_disconnected:
                raise
        raise ConnectionClosed
