"""The requests that open and end a session.

Owns what their answers mean for the registry, and what becomes of readers that wait for a session
which does not open. Who sends them and what they say is not known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._calls import outcome, session_of
from acp._router import NAMING_RESPONSES
from acp.exceptions import RequestError, SessionClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from acp._endpoint.connection import Connection
    from acp._endpoint.sessions import Opening, Reader, Sessions

__all__ = ("WATCHED", "Ending", "Setup", "close", "watcher")

_UNKNOWN_SESSION = -32002
"""The code of an agent that does not know the session."""

_SETUPS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
# Archiving closes a session that is open.
_ENDINGS = frozenset({"session/close", "session/delete", "session/archive"})


class Setup:
    """A request that opens a session, from before it is sent to its answer.

    `readers` get what comes for the session: before the answer it is kept for them, or, with
    `at_once` and an id that is known, given to them.
    """

    __slots__ = (
        "_answer",
        "_at_once",
        "_is_over",
        "_readers",
        "_sessions",
        "opening",
        "session_id",
    )

    def __init__(
        self,
        sessions: Sessions,
        session_id: str | None,
        readers: Sequence[Reader] = (),
        *,
        at_once: bool = False,
    ) -> None:
        self._sessions = sessions
        self._readers = tuple(readers)
        self._at_once = at_once and session_id is not None
        self._is_over = False
        self.session_id = session_id
        """None when only the answer tells it."""
        self.opening: Opening | None = None
        """What has been opened."""
        self._answer: Any = None

    def raw_response(self) -> bytes:
        """The result of the answer, as JSON text."""
        return self._answer.raw_result()

    def begin(self) -> None:
        """The request is about to be queued."""
        if self._at_once and self.session_id is not None:
            for reader in self._readers:
                self._sessions.attach(self.session_id, reader, None)
        elif self._readers:
            self._sessions.expect(self)

    def answered(self, answer: Any) -> None:
        """The answer is read: whatever comes behind it is of an open session."""
        session = self.session_id
        is_new = session is None
        if getattr(answer, "outcome", None) == "result" and is_new:
            session = answer.lane
        if getattr(answer, "outcome", None) != "result" or session is None:
            self.failed(lambda: _failure_of(answer))
            return
        self._is_over = True
        self._answer = answer
        self.opening = self._sessions.opened(session, is_new=is_new)
        kept = self._sessions.settle(self, session)
        for reader in self._readers:
            self._sessions.attach(session, reader, self.opening)
            for message in kept:
                reader.take_kept(message)
        self._readers = ()

    def taken(self) -> None:
        """Who waits for the answer has it, or has given up."""
        self.failed(lambda: SessionClosed(self.session_id or ""))

    def failed(self, failure: Callable[[], Exception]) -> None:
        """No session is opened."""
        if self._is_over:
            return
        self._is_over = True
        readers, self._readers = self._readers, ()
        for reader in readers:
            reader.end(failure)
            self._sessions.detach(reader)
        for message in self._sessions.settle(self, self.session_id):
            message.refuse()

    def wants(self, session: str) -> bool:
        """Whether a message of a session may be one of what it opens."""
        if self.session_id is None:
            return not self._sessions.is_open(session)
        return self.session_id == session


class Ending:
    """A request that ends a session."""

    __slots__ = ("_is_deletion", "_opening", "_session_id", "_sessions")

    def __init__(self, sessions: Sessions, session_id: str, *, is_deletion: bool) -> None:
        self._sessions = sessions
        self._session_id = session_id
        self._is_deletion = is_deletion
        self._opening: Opening | None = None

    def begin(self) -> None:
        """The request is about to be queued."""

    def answered(self, answer: Any) -> None:
        """The answer is read: from here on the id may be that of another session."""
        result = getattr(answer, "outcome", None)
        if result == "result" or (result == "error" and answer.error()[0] == _UNKNOWN_SESSION):
            self._opening = self._sessions.ended(self._session_id, is_deletion=self._is_deletion)

    def taken(self) -> None:
        """All that came before the answer is handled."""
        if self._opening is not None:
            self._sessions.release(self._opening)

    def failed(self, failure: Callable[[], Exception]) -> None:
        """It was not sent."""


WATCHED = _SETUPS | _ENDINGS
"""The requests that open or end a session."""


def watcher(sessions: Sessions, wire: str, params: Any) -> Setup | Ending:
    """What sees the answer of one of these requests."""
    session = session_of(params)
    if wire in _SETUPS:
        return Setup(sessions, None if wire in NAMING_RESPONSES else session)
    return Ending(sessions, session or "", is_deletion=wire == "session/delete")


async def close(connection: Connection, request: Any) -> Any:
    """What closing a session is answered with; None when the agent does not know it any more."""
    try:
        return await connection.request(request)
    except RequestError as exc:
        if exc.code != _UNKNOWN_SESSION:
            raise
        return None


def _failure_of(answer: Any) -> Exception:
    """What a caller raises who gets that answer."""
    try:
        outcome(answer)
    except Exception as exc:  # noqa: BLE001 - it is what is asked for
        return exc
    return SessionClosed()
