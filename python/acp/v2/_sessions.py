"""Sessions of protocol version 2, from the client's side.

Owns the handle of a session, the builders that open one, and reading its updates, which is apart
from both. What is open and who reads it is the registry's in `acp._endpoint.sessions`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar, cast

from acp._endpoint.builders import Builder, as_blocks
from acp._endpoint.feeds import Feed, feed_of
from acp._endpoint.setups import close
from acp._endpoint.streams import BUFFER
from acp.exceptions import SessionClosed
from acp.v2 import schema
from acp.v2._idle import IdleWait

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from acp._endpoint.sent import SentRequest
    from acp._endpoint.sessions import Message, Opening, Reader
    from acp._endpoint.setups import Setup
    from acp._endpoint.streams import WhenFull
    from acp.v2._endpoint import Connection

    Prompt = str | schema.ContentBlock | Sequence[schema.ContentBlock]

    class SetupMembers(TypedDict, total=False):
        """What a request for a session may have besides its directory and servers."""

        additional_directories: Sequence[str] | None
        system_prompt: schema.SystemPrompt | None
        config_options: Sequence[schema.InitialSessionConfigOption] | None
        field_meta: dict[str, Any] | None


__all__ = ("Session", "SessionBuilder", "SessionSetup", "UpdateStream")

R_co = TypeVar("R_co", covariant=True)


class Session:
    """A session that this client has opened: what can be asked of it.

    It is its id and its connection, and holds nothing of what happens in the session. Copies are
    the same handle; dropping it sends nothing. Once the session is closed, or its id stands for
    another one, everything but `close` raises SessionClosed.
    """

    __slots__ = ("_connection", "_opening")

    def __init__(self, connection: Connection, opening: Opening) -> None:
        self._connection = connection
        self._opening = opening

    @property
    def session_id(self) -> str:
        """The id that the agent gave it."""
        return self._opening.session_id

    @property
    def connection(self) -> Connection:
        """The connection that it was opened on."""
        return self._connection

    @property
    def is_closed(self) -> bool:
        """Whether the handle is of no use any more."""
        return self._opening.is_closed

    def send_prompt(
        self,
        prompt: Prompt,
        *,
        idempotency_key: str | None = None,
        field_meta: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> SentRequest[schema.PromptResponse]:
        """Sends a prompt: a text, a block of content, or several.

        The answer tells that the agent has taken it into the conversation, and the id of that
        message; not that the turn is over, which `wait_idle` waits for. Several prompts may be sent
        at the same time. An error ends neither the session nor its updates.
        """
        self._opening.check()
        request = schema.PromptRequest(
            session_id=self.session_id,
            prompt=as_blocks(schema, prompt),
            idempotency_key=idempotency_key,
            field_meta=field_meta,
        )
        return self._connection.request(request, timeout=timeout)

    async def cancel_active_work(self) -> None:
        """Tells the agent to stop what it does in this session.

        Permissions that it waits for in this session are answered as cancelled, at once; what
        their handlers answer later goes nowhere. Elicitations are the agent's to withdraw. The work
        has ended when the session is idle, with `cancelled` as the reason to stop. Waits while the
        peer takes too little of what was sent.
        """
        self._opening.check()
        await self._connection.notify(schema.CancelSessionNotification(session_id=self.session_id))

    def set_config_option(
        self, config_id: str, value: str | bool, *, timeout: float | None = None
    ) -> SentRequest[schema.SetSessionConfigOptionResponse]:
        """Sets an option: the id of one of its values, or whether it is on.

        The answer has all options as they are then. They are not kept here.
        """
        self._opening.check()
        request: schema.SetSessionConfigOptionRequest
        if isinstance(value, bool):
            request = schema.SetSessionConfigOptionBooleanRequest(
                session_id=self.session_id, config_id=config_id, value=value
            )
        else:
            request = schema.SetSessionConfigOptionSelectRequest(
                session_id=self.session_id, config_id=config_id, value=value
            )
        return self._connection.request(request, timeout=timeout)

    async def close(self) -> schema.CloseSessionResponse:
        """Closes the session, whose last updates have been handled when this returns.

        An agent that does not know it any more counts as one that has closed it. Closing again does
        nothing. Raises what awaiting a request raises.
        """
        if self._opening.is_closed:
            return schema.CloseSessionResponse()
        request = schema.CloseSessionRequest(session_id=self.session_id)
        response = await close(self._connection, request)
        return schema.CloseSessionResponse() if response is None else response

    def updates(self, *, buffer: int = BUFFER, when_full: WhenFull = "fail") -> UpdateStream:
        """The updates of this session from now on: `async for update in session.updates()`.

        Each is read once its handler, if there is one, has ended. Any number of streams may be read
        beside each other, and each begins with this call.

        Args:
            buffer: Updates that may wait to be read; at most `Limits.waiting_bytes` of them.
            when_full: What happens beyond: `fail` ends this stream with StreamOverflow and touches
                nothing else; `wait` has the session wait for the reader, and in the end the agent;
                `drop_oldest` loses the oldest and counts them.
        """
        self._opening.check()
        stream = UpdateStream(self._connection, buffer, when_full)
        self._connection.sessions.attach(self.session_id, stream.feed, self._opening)
        return stream

    def wait_idle(
        self, prompt: SentRequest[schema.PromptResponse] | schema.PromptResponse | str | None = None
    ) -> IdleWait:
        """A wait, begun with this call, until the session is idle: awaited, it returns the update.

        Without a prompt it is the first idle behind a state seen from now on in which the agent is
        active. With a prompt that was sent, awaited or not, it is the first idle behind the message
        of the user that the prompt became, or behind an active state once the agent has accepted
        it: `await session.wait_idle(session.send_prompt("…"))`. With the answer of a prompt, or the
        id in it, both may have come before the call, which looks at nothing of that: begin to wait
        before the prompt is awaited.

        States that are not known are neither active nor idle. Raises the prompt's error,
        SessionClosed when the session is closed first, ConnectionClosed.
        """
        self._opening.check()
        wait = IdleWait(self._connection.raw.caller.runtime)
        self._connection.sessions.attach(self.session_id, wait, self._opening)
        if isinstance(prompt, str):
            wait.for_message(prompt)
        elif isinstance(prompt, schema.PromptResponse):
            wait.for_message(prompt.message_id)
        elif prompt is not None:
            wait.for_prompt(prompt)
        return wait

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<Session ({'closed' if self.is_closed else 'open'})>"


class SessionSetup(tuple[Session, R_co]):  # noqa: SLOT001 - no room for slots behind a tuple
    """An opened session and the agent's whole answer: `session, response = await builder`."""

    setup: Setup

    @property
    def session(self) -> Session:
        """The handle."""
        return self[0]

    @property
    def response(self) -> R_co:
        """The answer, as the agent gave it."""
        return self[1]

    @property
    def raw_response(self) -> bytes:
        """The same as JSON text, as it was received: with members that this release does not know,
        too.
        """
        return self.setup.raw_response()


class SessionBuilder(Builder[SessionSetup[R_co]]):
    """A request that opens a session, complete and not sent.

    `session, response = await builder` sends it; `builder.start_session()` gives the handle of the
    request. `async with builder as session` closes the session at the end of the block; left by an
    exception, without waiting for the answer. Unused it sends nothing, and it can be used once.
    """

    gates: ClassVar[str] = "session"
    reads_at_once: ClassVar[bool] = True

    def __init__(self, connection: Connection, wire: str, request: Any) -> None:
        super().__init__(connection, wire, request)
        self._typed = connection
        self._readers: list[Reader] = []
        self._session: Session | None = None

    def updates(self, *, buffer: int = BUFFER, when_full: WhenFull = "fail") -> UpdateStream:
        """The updates of the session that will be opened, from the first one on; the arguments are
        those of `Session.updates`.

        Those that come before a new session's answer are kept within `Limits.kept_messages` and
        `Limits.kept_bytes`. The replay of one that is resumed can be read while the answer is
        awaited.
        """
        self._check_unstarted()
        stream = UpdateStream(self._typed, buffer, when_full)
        self._readers.append(stream.feed)
        return stream

    def wait_idle(self) -> IdleWait:
        """A wait as of `Session.wait_idle` that sees the session from its first update on."""
        self._check_unstarted()
        wait = IdleWait(self._typed.raw.caller.runtime)
        self._readers.append(wait)
        return wait

    def _result(
        self,
    ) -> tuple[Sequence[Reader], Callable[[Setup, Any], SessionSetup[R_co]]]:
        return self._readers, functools.partial(_opened, self._typed)

    async def __aenter__(self) -> Session:
        setup = await self
        self._session = setup.session
        return self._session

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        session = cast("Session", self._session)
        if exc_type is None:
            await session.close()
        elif not session.is_closed:
            request = schema.CloseSessionRequest(session_id=session.session_id)
            self._typed.request(request, unchecked=True).detach()


def _opened(connection: Connection, setup: Setup, response: Any) -> SessionSetup[Any]:
    assert setup.opening is not None
    made: SessionSetup[Any] = SessionSetup((Session(connection, setup.opening), response))
    made.setup = setup
    return made


class UpdateStream:
    """The updates of one session, in their order: `async for update in stream`.

    It is begun by `Session.updates`, or before the session is there by `SessionBuilder.updates`. It
    ends when the session is closed, and raises ConnectionClosed when the connection is, and
    StreamOverflow when it was read too slowly; what has come before is read first. Dropping it, or
    leaving `async with`, ends it as well.
    """

    __slots__ = ("_connection", "feed")

    def __init__(self, connection: Connection, buffer: int, when_full: WhenFull) -> None:
        self._connection = connection
        self.feed: Feed[schema.SessionUpdate] = feed_of(connection, buffer, when_full, _update_of)

    @property
    def dropped(self) -> int:
        """Updates that were lost because they were not read in time."""
        return self.feed.dropped

    def close(self) -> None:
        """Ends it; what was not read is gone. Closing again does nothing."""
        self.feed.end(SessionClosed)
        self.feed.clear()
        self._connection.sessions.detach(self.feed)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> schema.SessionUpdate:
        try:
            return await self.feed.get()
        except SessionClosed:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()


def _update_of(message: Message) -> schema.SessionUpdate:
    return message.params.update
