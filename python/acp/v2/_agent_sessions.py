"""The sessions of an agent on one connection, and what can be done with each.

Owns which sessions are open, insertion of prompts, and what cancelling and closing a session means.
What goes on in the foreground is `_foreground`'s, what handlers owe `_obligations`'.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from acp._core import UNSET
from acp._stepping import current_run
from acp.exceptions import ConnectionClosed, RequestError
from acp.v2 import schema
from acp.v2._foreground import Foreground, Work, is_of_closing
from acp.v2._questions import Questions
from acp.v2._reporting import Reported, without_states

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence

    from acp._endpoint.sent import SentRequest
    from acp._errors import WireError
    from acp._lanes import RequestRun
    from acp.v2._endpoint import Connection

__all__ = ("AgentSession", "AgentSessions")


class AgentSession:
    """One open session of an agent: what it is doing, as its client sees it.

    Foreground work is either told by blocks, `async with session.foreground()`, or by reporting
    `running`, `requires_action` and `idle`. What was reported is not reported again; a session that
    is idle has no second end. It is made by `AgentSessions.open` and used in the thread of its
    connection.
    """

    __slots__ = ("_connection", "_questions", "_sessions", "_work", "id")

    def __init__(self, sessions: AgentSessions, session_id: str, *, background: bool) -> None:
        self.id = session_id
        self._sessions = sessions
        self._connection = sessions.connection
        state = Reported(self._post, [] if background else None)
        self._work = Work(session_id, state, self._error_of)
        self._questions: Questions | None = None

    @property
    def state(self) -> str:
        """What was reported last: `idle`, `running` or `requires_action`."""
        return self._work.state.name

    @property
    def is_closing(self) -> bool:
        """Whether the session is being closed, so that nothing begins in it any more."""
        return self._work.closings > 0

    # Telling.

    async def update(self, update: schema.SessionUpdate) -> None:
        """Sends one `session/update` of this session."""
        await self._connection.notify(self._notification(update))

    async def replay(self, updates: Iterable[schema.SessionUpdate]) -> None:
        """Sends updates of the past, for `session/resume`, without the states among them: what the
        session is doing now is told behind them.
        """
        for update in without_states(updates):
            await self.update(update)

    async def running(self) -> None:
        """Reports that foreground work has begun or goes on."""
        await self._pause(self._work.state.active("running"))

    async def requires_action(self) -> None:
        """Reports that all foreground work waits for the user; `running` or `idle` has to follow.

        Not for a question beside which other foreground work goes on.
        """
        await self._pause(self._work.state.active("requires_action"))

    async def idle(
        self,
        stop_reason: str | None = None,
        *,
        error: Exception | None = None,
        usage: schema.Usage | None = None,
        field_meta: dict[str, Any] | None = None,
    ) -> None:
        """Reports that no foreground work remains, and why: `end_turn`, `cancelled`, …

        Args:
            stop_reason: Why the work has ended.
            error: What it has failed with; the stop reason is `error` then.
            usage: Tokens that the work took.
            field_meta: The `_meta` of the update.

        Does nothing in a session that is idle. Raises RuntimeError while a foreground block is
        open, whose end reports idle, and ValueError for an error with another stop reason.
        """
        if self._work.blocks:
            message = "A foreground block is open: its end reports idle, see `Foreground.stop`"
            raise RuntimeError(message)
        if error is None:
            pause = self._work.state.idle(stop_reason, usage=usage, field_meta=field_meta)
        elif stop_reason in (None, "error"):
            pause = self._work.state.failed(self._error_of(error))
        else:
            message = "An error goes with the stop reason 'error'"
            raise ValueError(message)
        await self._pause(pause)

    async def snapshot(self) -> None:
        """Sends the state as it is, once more. The answer of `session/resume` has it before it
        without this.
        """
        await self._pause(self.tell_state())

    def tell_state(self) -> bool:
        """As `snapshot`, at once. True when the sender has to pause."""
        return self._work.state.snapshot()

    async def set_background(self, items: Sequence[schema.BackgroundWork] | None) -> None:
        """Sets what goes on beside the foreground, which each report tells from now on, and reports
        the state with it. None: reports do not tell.
        """
        await self._pause(self._work.state.list_background(items))

    # Working.

    def foreground(self) -> Foreground:
        """A block of foreground work, with a prompt or without one."""
        return Foreground(self._work, self._connection)

    def inserting(self, insert: Callable[[], None], *, hold: bool) -> Foreground:
        """A block of foreground work that begins with the insertion of a prompt."""
        return Foreground(self._work, self._connection, insert=insert, hold=hold)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """`async with`: one at a time, in the order in which they came.

        A prompt that waits here is held: not inserted, and not answered. Handlers of prompts begin
        in the order of the wire, so that those keep it which come here before they wait for
        anything else. A held prompt is one of the handlers that run, see `Limits.running_handlers`.

        Raises RequestError (-32800) when the session was cancelled or closed meanwhile, or the
        request cancelled.
        """
        self._work.check_open()
        run, serving = current_run.get(), self._connection.raw.serving
        await self._work.turns.take(serving, run if serving.serves(run) else None)
        try:
            yield
        finally:
            self._work.turns.leave()

    # Asking.

    async def request_permission(
        self,
        title: str,
        options: Sequence[schema.PermissionOption],
        *,
        description: str | None = None,
        subject: schema.RequestPermissionSubject | None = None,
        field_meta: dict[str, Any] | None = None,
        background: bool = False,
    ) -> schema.RequestPermissionResponse:
        """Asks the user. The outcome is `cancelled` when the question is withdrawn: by
        `session/cancel`, unless it is asked for work in the background, and by `session/close`.

        Raises what awaiting a request raises.
        """
        request = schema.RequestPermissionRequest(
            session_id=self.id,
            title=title,
            options=options,
            description=description,
            subject=subject,
            field_meta=field_meta,
        )
        withdrawn = schema.RequestPermissionResponse(outcome=schema.DeniedOutcome())
        sent = self._connection.request(request)
        return await self._ask(sent, withdrawn, with_work=not background)

    async def elicit(
        self, request: schema.CreateElicitationRequest
    ) -> schema.CreateElicitationResponse:
        """Asks the user for input. It is cancelled when the session is closed, and when who awaits
        it is; `session/cancel` alone leaves it open.

        Raises what awaiting a request raises.
        """
        sent = self._connection.request(request)
        withdrawn = schema.CancelElicitationResponse()
        return await self._ask(sent, withdrawn, with_work=False)

    async def _ask(self, sent: SentRequest[Any], withdrawn: Any, *, with_work: bool) -> Any:
        if self._questions is None:
            self._questions = Questions()
        return await self._questions.ask(sent, withdrawn, with_work=with_work)

    # Ending.

    def cancel(self) -> None:
        """What `session/cancel` does: the foreground work is cancelled, and `cancelled` is what
        idle tells once all of it has ended; permissions asked for it are withdrawn; prompts that
        are not inserted are answered -32800. An idle session stays as it is.
        """
        self.begin_cancel()()

    def begin_cancel(self, *, everything: bool = False) -> Callable[[], None]:
        """As `cancel`, in two steps: the function that is returned cancels the foreground work."""
        work, serving = self._work, self._connection.raw.serving
        blocks = work.blocks
        for block in blocks:
            block.mark()
        if self._questions is not None:
            self._questions.withdraw(everything=everything)
        work.turns.refuse_all()
        runs = serving.turns(self.id, always=everything)
        for run in runs:
            if run.answered:
                # Work that it begins from here on is cancelled as well.
                run.turn_cancelled = not run.ends_itself
            elif run.scope is None:
                serving.cancel_late(run)
            else:
                serving.cancel_turn(run)

        def cancel() -> None:
            for block in blocks:
                block.cancel()
            for run in runs:
                serving.cancel_turn(run)

        return cancel

    async def close(self) -> None:
        """What `session/close` does: cancels everything, waits until it has ended, and forgets the
        session. Cancelled itself, it leaves the session open.
        """
        async with self.closing():
            pass

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[None]:
        """`async with`: as `close`, with the block between the last end and the forgetting."""
        work = self._work
        work.closings += 1
        try:
            self.begin_cancel(everything=True)()
            while work.is_busy(besides=current_run.get()):
                await work.changed()
            try:
                yield
            finally:
                work.is_closed = True
                with suppress(ConnectionClosed):
                    # What was reported by hand, and by nobody as ended.
                    work.state.idle("cancelled")
        finally:
            work.closings -= 1
            if work.is_closed and not work.closings:
                self._sessions.discard(self)

    # What the handler of a prompt means for its session.

    def insert(self, run: RequestRun, message: schema.UserMessage) -> None:
        """Tells the client that the message of a prompt is inserted."""
        self._work.check_open()
        self._post(message)
        self._work.state.owe_idle()
        if run.scope is not None:
            self._work.prompts[run] = None

    def prompt_began(self, run: RequestRun) -> None:
        """The handler of a prompt begins. Raises RequestError (-32800) in a closing session."""
        self._work.check_open()
        self._work.prompts[run] = None

    def prompt_failed(self, run: RequestRun, exc: BaseException) -> None:
        """The handler of an inserted prompt has ended with an exception."""
        if not is_of_closing(self._connection, exc):
            self._work.prompt_failed(run, exc)

    def prompt_ended(self, run: RequestRun) -> None:
        """The handler of a prompt has ended."""
        self._work.prompt_ended(run)

    def _notification(self, update: Any) -> schema.UpdateSessionNotification:
        return schema.UpdateSessionNotification(session_id=self.id, update=update)

    def _post(self, update: Any) -> bool:
        return self._connection.raw.post("session/update", self._notification(update))

    async def _pause(self, pause: bool) -> None:
        if pause:
            await self._connection.raw.pause()

    def _error_of(self, exc: Exception) -> WireError:
        return self._connection.raw.serving.error_of(exc, "session/prompt")

    def __repr__(self) -> str:
        return f"<AgentSession ({self.state})>"


class AgentSessions:
    """The sessions that are open on one connection of an agent, by their id."""

    __slots__ = ("_background", "_by_id", "connection")

    def __init__(self, connection: Connection, *, background: bool = False) -> None:
        self.connection = connection
        self._background = background
        self._by_id: dict[str, AgentSession] = {}

    def open(self, session_id: str) -> AgentSession:
        """The session of that id, which is open from now on: idle, unless it was open before.

        Only for ids that the agent knows: it stays until it is closed or discarded.
        """
        session = self._by_id.get(session_id)
        if session is None:
            session = AgentSession(self, session_id, background=self._background)
            self._by_id[session_id] = session
        return session

    def get(self, session_id: str | None) -> AgentSession:
        """The open session of that id. Raises RequestError (-32002) when there is none."""
        session = self.find(session_id)
        if session is None:
            data = None if session_id is None else {"sessionId": session_id}
            raise RequestError(-32002, "Session not found", data)
        return session

    def find(self, session_id: str | None) -> AgentSession | None:
        """The open session of that id, or None."""
        return None if session_id is None else self._by_id.get(session_id)

    def discard(self, session: AgentSession) -> None:
        """Forgets a session, and stops nothing that goes on in it."""
        if self._by_id.get(session.id) is session:
            del self._by_id[session.id]

    def accept(
        self,
        run: RequestRun,
        message_id: str,
        content: Sequence[schema.ContentBlock] | None = None,
        field_meta: dict[str, Any] | None = None,
    ) -> None:
        """Inserts a prompt: tells its message, and answers the request.

        Raises RequestError (-32800) for one that is cancelled, RuntimeError for one that is
        answered, and for what is no prompt.
        """
        serving = self.connection.raw.serving
        if run.event.method != "session/prompt":
            message = "Only a prompt can be accepted"
            raise RuntimeError(message)
        if not serving.serves(run) or run.answered:
            message = "This prompt is answered already"
            raise RuntimeError(message)
        if run.cancelled or run.turn_cancelled:
            raise RequestError.request_cancelled()
        if content is None:
            content = run.event.params().prompt
        meta = UNSET if field_meta is None else field_meta
        message = schema.UserMessage(message_id=message_id, content=content, field_meta=meta)
        self.open(run.event.lane).insert(run, message)
        serving.answer_late(run, schema.PromptResponse(message_id=message_id))

    def __iter__(self) -> Iterator[AgentSession]:
        return iter([*self._by_id.values()])

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._by_id
