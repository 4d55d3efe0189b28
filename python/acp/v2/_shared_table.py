"""Who shares which session of a connection, and what that means on the wire.

Owns the state of each session that is shared: who waits for its resume, who has a lease, who waits
for its close. There is no task and no queue in it: what a program asks for is done in the call, and
what the agent answers in the answer's place in its session. How messages get here, and whose
connection it is, are `acp.v2._shared_sessions`'s; what a lease offers is `acp.v2._shared_views`'s.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from typing import TYPE_CHECKING, Any, Literal, cast

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from acp._endpoint.handlers import UNHANDLED
from acp._endpoint.sent import Outcome
from acp.exceptions import RequestError
from acp.v2 import schema
from acp.v2._projection import SessionProjection
from acp.v2._shared_views import SessionView

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp.v2._endpoint import Connection
    from acp.v2._projection import Message
    from acp.v2._sessions import SessionBuilder, SessionSetup
    from acp.v2._shared_views import SessionChanges
    from acp.v2._views import ProjectionLimits

    Setup = SessionSetup[schema.ResumeSessionResponse]
    Resume = SessionBuilder[schema.ResumeSessionResponse]
    Failure = Callable[[], Exception]

__all__ = ("Opening", "SharedTable")

_UNKNOWN_SESSION = -32002
"""The code of an agent that does not know the session."""

_CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}


class Waiter:
    """A load that waits for its lease."""

    __slots__ = ("_event", "_failure", "resume", "view")

    def __init__(self, resume: Resume) -> None:
        self._event = anyio.Event()
        self._failure: Failure | None = None
        self.resume = resume
        """What it would send itself, were it the first."""
        self.view: SessionView | None = None
        """The lease, once it has one."""

    def grant(self, view: SessionView) -> None:
        """It has a lease."""
        self.view = view
        self._event.set()

    def fail(self, failure: Failure) -> None:
        """It gets none. Each has an exception of its own: a traceback belongs to one task."""
        self._failure = failure
        self._event.set()

    async def granted(self) -> SessionView:
        """The lease, when there is one. Raises what it failed with."""
        await self._event.wait()
        if self._failure is not None:
            raise self._failure()
        assert self.view is not None
        return self.view


class Opening:
    """One opening of a session, from its resume to the answer of its close. The session may be
    opened again; that is another one.
    """

    __slots__ = (
        "failure",
        "projection",
        "questions",
        "session_id",
        "setup",
        "status",
        "streams",
        "views",
        "waiters",
    )

    def __init__(self, session_id: str, projection: SessionProjection) -> None:
        self.session_id = session_id
        self.status: Literal["resuming", "abandoned", "ready", "closing", "blocked", "over"] = (
            "resuming"
        )
        self.projection: SessionProjection | None = projection
        """What its messages amount to; None when nobody will look at it any more."""
        self.setup: Setup | None = None
        """What its resume was answered with."""
        self.waiters: list[Waiter] = []
        """Loads that wait: for it while it is resumed, otherwise for its end."""
        self.views: list[SessionView] = []
        """The leases on it."""
        self.streams: weakref.WeakSet[SessionChanges] = weakref.WeakSet()
        """Who reads what changes."""
        self.questions: set[anyio.CancelScope] = set()
        """Permissions that are being decided."""
        self.failure: Failure | None = None
        """Why it could not be closed."""

    def retire(self, status: Literal["abandoned", "closing", "over"]) -> list[Waiter]:
        """Nobody looks at it any more. Returns the loads that wait for its end."""
        self.status = status
        self.projection = None
        for stream in tuple(self.streams):
            stream.close()
        for question in self.questions:
            question.cancel()
        return self.waiters

    def apply(self, message: Message) -> Awaitable[None] | None:
        """Applies a message. What is returned tells of it, and has to be awaited."""
        if self.projection is None or not self.projection.apply(message) or not self.streams:
            return None
        return self.tell(message)

    async def tell(self, message: Message) -> None:
        """Tells who reads what changes. It never waits for them."""
        for stream in tuple(self.streams):
            await stream.put(message)


class SharedTable:
    """The shared sessions of one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_in_use = False
        """Whether a `SharedSessions` stands for it."""
        self.is_disconnected = False
        self.permissions: Callable[[schema.RequestPermissionRequest], Any] | None = None
        self.limits: ProjectionLimits | None = None
        self._openings: dict[str, Opening] = {}

    # What a program asks for.

    async def load(self, resume: Resume) -> SessionView:
        """A lease on the session of a resume, which is sent when nobody has the session."""
        # One that is cancelled already has not begun.
        await checkpoint_if_cancelled()
        waiter = self._join(resume)
        try:
            return await waiter.granted()
        except BaseException:
            self._give_up(waiter)
            raise

    def _join(self, resume: Resume) -> Waiter:
        waiter = Waiter(resume)
        opening = self._current(resume.request.session_id)
        if opening is None:
            self._begin(waiter)
        elif opening.status == "ready":
            waiter.grant(self.lease(opening))
        elif opening.failure is not None:
            raise opening.failure()
        else:
            opening.waiters.append(waiter)
        return waiter

    def _current(self, session_id: str) -> Opening | None:
        """The opening that counts. One whose session somebody has closed by its handle does not
        count any more: releases of its leases mean nothing.
        """
        opening = self._openings.get(session_id)
        if opening is None or opening.status != "ready" or not _is_closed(opening):
            return opening
        self._end(opening)
        return None

    def _begin(self, waiter: Waiter) -> Opening:
        """Sends the resume of a load. Raises what that raises, and nothing has changed then."""
        if self.is_disconnected:
            raise self.connection.raw.closed_error()
        sent = waiter.resume.start_session()
        session_id = waiter.resume.request.session_id
        opening = Opening(session_id, SessionProjection(session_id, limits=self.limits))
        opening.waiters.append(waiter)
        self._openings[session_id] = opening
        sent.on_result(functools.partial(self._resumed, opening))
        return opening

    def _give_up(self, waiter: Waiter) -> None:
        """Nobody waits for a load any more."""
        if waiter.view is not None:
            waiter.view.release()
            return
        opening = self._openings.get(waiter.resume.request.session_id)
        if opening is None or waiter not in opening.waiters:
            return
        opening.waiters.remove(waiter)
        if opening.status == "resuming" and not opening.waiters:
            opening.retire("abandoned")

    def lease(self, opening: Opening) -> SessionView:
        """One more lease."""
        assert opening.setup is not None
        view = SessionView(self, opening)
        opening.views.append(view)
        return view

    def released(self, view: SessionView, opening: Opening) -> None:
        """A lease is given back. Of an opening that does not count any more, it means nothing."""
        opening.views.remove(view)
        if not opening.views and opening.status == "ready":
            self._close(opening)

    def leave(self) -> None:
        """Gives back all leases and loads."""
        for opening in tuple(self._openings.values()):
            waiters, opening.waiters = opening.waiters, []
            for waiter in waiters:
                waiter.fail(_left)
            if opening.status == "resuming":
                opening.retire("abandoned")
            for view in tuple(opening.views):
                view.release()
        self.is_in_use = False
        self.permissions = None

    # What the agent says.

    def update(self, message: schema.UpdateSessionNotification) -> Awaitable[None] | None:
        """An update. What is returned has to be awaited."""
        opening = self._openings.get(message.session_id)
        return None if opening is None else opening.apply(message)

    async def ask(self, request: schema.RequestPermissionRequest) -> Any:
        """The answer to a question: UNHANDLED when it is not about a session that is shared."""
        opening = self._openings.get(request.session_id)
        if opening is None:
            return UNHANDLED
        told = opening.apply(request)
        if told is not None:
            await told
        if self.permissions is None or opening.projection is None:
            return _CANCELLED
        with anyio.CancelScope() as question:
            opening.questions.add(question)
            try:
                answer = self.permissions(request)
                return await answer if inspect.isawaitable(answer) else answer
            finally:
                opening.questions.discard(question)
        return _CANCELLED

    def _resumed(self, opening: Opening, outcome: Outcome[Setup]) -> None:
        """The resume is answered, and all that came before the answer is applied."""
        if opening.status == "over":
            return
        try:
            opening.setup = setup = outcome.result()
        except Exception:  # noqa: BLE001 - whoever waits is told
            if opening.status == "resuming":
                waiters, opening.waiters = opening.waiters, []
                for waiter in waiters:
                    waiter.fail(_failure_of(outcome))
            self._end(opening)
            return
        if opening.status == "abandoned":
            self._close(opening)
            return
        opening.apply(setup.response)
        opening.status = "ready"
        waiters, opening.waiters = opening.waiters, []
        for waiter in waiters:
            waiter.grant(self.lease(opening))

    def _close(self, opening: Opening) -> None:
        if _is_closed(opening):
            self._end(opening)
            return
        opening.retire("closing")
        request = schema.CloseSessionRequest(session_id=opening.session_id)
        sent = self.connection.request(request, unchecked=True)
        sent.on_result(functools.partial(self._closed, opening))

    def _closed(self, opening: Opening, outcome: Outcome[schema.CloseSessionResponse]) -> None:
        """The close is answered."""
        if opening.status == "over":
            return
        error = outcome.error()
        if error is None or (isinstance(error, RequestError) and error.code == _UNKNOWN_SESSION):
            self._end(opening)
            return
        opening.status = "blocked"
        opening.failure = _failure_of(outcome)
        waiters, opening.waiters = opening.waiters, []
        for waiter in waiters:
            waiter.fail(opening.failure)

    def _end(self, opening: Opening) -> None:
        """An opening is gone: the loads that waited for that open the session anew."""
        waiters = opening.retire("over")
        del self._openings[opening.session_id]
        while waiters:
            first = waiters.pop(0)
            try:
                self._begin(first).waiters += waiters
            except Exception as exc:  # noqa: BLE001 - whoever waits is told
                # Another one may ask for less.
                first.fail(functools.partial(_same, exc))
            else:
                return

    def disconnected(self) -> None:
        """The connection has ended."""
        self.is_disconnected = True
        openings, self._openings = self._openings, {}
        for opening in openings.values():
            for waiter in opening.retire("over"):
                waiter.fail(self.connection.raw.closed_error)


def _is_closed(opening: Opening) -> bool:
    """Whether somebody has closed the session by its handle."""
    return opening.setup is not None and opening.setup.session.is_closed


def _failure_of(outcome: Outcome[Any]) -> Failure:
    """Makes what a request has ended with, anew for each that raises it."""
    return cast("Failure", lambda: Outcome(outcome.event).error() or outcome.error())


def _same(exc: Exception) -> Exception:
    return exc


def _left() -> Exception:
    return RuntimeError("The shared sessions were left while the session was loaded")
