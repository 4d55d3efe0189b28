"""Sessions of protocol version 1, from the client's side.

Owns the handle of a session with the stream of what comes in it, and the builders that open one.
What is open and who reads it is the registry's in `acp._endpoint.sessions`.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypedDict, TypeVar

from acp._endpoint.builders import Builder, as_blocks
from acp._endpoint.feeds import Feed, feed_of
from acp._endpoint.sent import Outcome
from acp._endpoint.setups import close
from acp._endpoint.streams import BUFFER, check_bounds
from acp.exceptions import RequestError, SessionClosed
from acp.v1 import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from acp._endpoint.sent import CancelHandle, SentRequest
    from acp._endpoint.sessions import Message, Opening, Reader
    from acp._endpoint.setups import Setup
    from acp._endpoint.streams import WhenFull
    from acp._responder import Responder
    from acp._runtime import Slot
    from acp.v1._endpoint import Connection

    Prompt = str | schema.ContentBlock | Sequence[schema.ContentBlock]

    class SetupMembers(TypedDict, total=False):
        """What a request for a session may have besides its directory and servers."""

        additional_directories: Sequence[str] | None
        system_prompt: schema.SystemPrompt | None
        config_options: Sequence[schema.InitialSessionConfigOption] | None
        field_meta: dict[str, Any] | None


__all__ = ("ActiveSession", "PromptOutcome", "Session", "SessionBuilder", "SessionMessage")

R_co = TypeVar("R_co", covariant=True)


class SessionMessage(NamedTuple):
    """A message of a session that no handler of the connection wanted."""

    method: str
    """The method, such as `session/update`."""
    params: Any
    """The params as the method's type; JSON data where the method is not known."""
    responder: Responder | None
    """Answers it, when it is a request; None for a notification."""

    @property
    def update(self) -> schema.SessionUpdate | None:
        """What has happened, of a `session/update`; None for all others."""
        return self.params.update if self.method == "session/update" else None


class PromptOutcome(Outcome[schema.PromptResponse]):
    """How a prompt ended that `send_prompt` has sent: `result()` has the answer, or raises what it
    ended with.
    """

    __slots__ = ()


class ActiveSession(Generic[R_co]):
    """A session that this client has opened, and the stream of what comes in it.

    The stream has the messages of the session that no handler of the connection wanted, requests
    included, and the outcomes of `send_prompt`, all in their order. A handler that only looks at
    updates returns `acp.UNHANDLED`. Several tasks may read; each item goes to one.

    Leaving `async with`, `close`, and dropping the handle end the stream: later messages of the
    session are unhandled. Once the session is closed or left, or its id stands for another one,
    everything but `close` raises SessionClosed.
    """

    __slots__ = ("_connection", "_feed", "_is_left", "_opening", "_response", "_setup")

    def __init__(self, connection: Connection, feed: Feed[SessionMessage | PromptOutcome]) -> None:
        self._connection = connection
        self._feed = feed
        self._is_left = False
        self._opening: Opening | None = None
        self._setup: Setup | None = None
        self._response: Any = None

    def opened(self, setup: Setup, response: Any) -> Self:
        """The session is there."""
        self._setup = setup
        self._opening = setup.opening
        self._response = response
        return self

    @property
    def session_id(self) -> str:
        """The id of the session."""
        assert self._opening is not None
        return self._opening.session_id

    @property
    def connection(self) -> Connection:
        """The connection that it was opened on."""
        return self._connection

    @property
    def response(self) -> R_co:
        """The answer that opened it, as the agent gave it: modes, options, `_meta`."""
        return self._response

    @property
    def raw_response(self) -> bytes:
        """The same as JSON text, as it was received: with members that this release does not know,
        too.
        """
        assert self._setup is not None
        return self._setup.raw_response()

    @property
    def is_closed(self) -> bool:
        """Whether the handle is of no use any more."""
        return self._opening is None or self._opening.is_closed or self._is_left

    @property
    def dropped(self) -> int:
        """Messages of the session that were lost because they were not read in time."""
        return self._feed.dropped

    # Asking.

    def prompt(
        self,
        prompt: Prompt,
        *,
        field_meta: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> SentRequest[schema.PromptResponse]:
        """Sends a prompt: a text, a block of content, or several. Awaited, it returns the answer,
        which ends the turn; all updates of the turn have been handled then. The outcome does not
        come on the stream.
        """
        self._check()
        request = schema.PromptRequest(
            session_id=self.session_id, prompt=as_blocks(schema, prompt), field_meta=field_meta
        )
        return self._connection.request(request, timeout=timeout)

    def send_prompt(
        self, prompt: Prompt, *, field_meta: dict[str, Any] | None = None
    ) -> CancelHandle:
        """Sends a prompt and returns at once: its outcome comes on the stream, behind the messages
        of the turn. What is returned cancels the request; `cancel` cancels the turn.
        """
        # What waits for the answer does not hold the stream, which ends when nobody reads it.
        put = functools.partial(_put_outcome, weakref.ref(self._feed))
        return self.prompt(prompt, field_meta=field_meta).on_result(put)

    async def cancel(self) -> None:
        """Cancels the turn: tells the agent, and answers the permissions that it waits for in this
        session as cancelled, at once and also those on the stream; what is answered later goes
        nowhere. The turn ends with its answer. Waits while the peer takes too little of what was
        sent.
        """
        self._check()
        await self._connection.notify(schema.CancelNotification(session_id=self.session_id))

    async def close(self) -> None:
        """Closes the session at the agent, and ends the stream.

        An agent that does not know it any more counts as one that has closed it. Closing again does
        nothing. Raises UnsupportedByPeer when the agent has no `session/close` (leaving
        `async with` ends the stream alone), and what awaiting a request raises.
        """
        if self.is_closed:
            return
        request = schema.CloseSessionRequest(session_id=self.session_id)
        await close(self._connection, request)

    # Reading.

    async def read_update(self) -> SessionMessage | PromptOutcome:
        """The next of the stream, waiting for it.

        Raises SessionClosed behind the last one, when the session is closed or left,
        ConnectionClosed when the connection is, StreamOverflow when it was read too slowly.
        """
        while True:
            item = await self._feed.get()
            # Cancelling the turn has answered it: there is nothing to decide any more.
            if (
                not isinstance(item, SessionMessage)
                or item.responder is None
                or not item.responder.is_answered
            ):
                return item

    async def read_to_string(self) -> str:
        """The text of the agent's message up to the end of the next turn that `send_prompt` began.

        Other updates are passed over, and requests are answered as not served. Raises what the
        prompt ended with, and what `read_update` raises.
        """
        texts: list[str] = []
        while True:
            item = await self.read_update()
            if isinstance(item, PromptOutcome):
                item.result()
                return "".join(texts)
            if item.responder is not None:
                item.responder.error(RequestError.method_not_found(item.method))
            update = item.update
            if isinstance(update, schema.AgentMessageChunk) and isinstance(
                update.content, schema.TextContentBlock
            ):
                texts.append(update.content.text)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | PromptOutcome:
        try:
            return await self.read_update()
        except SessionClosed:
            raise StopAsyncIteration from None

    # Leaving.

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._is_left = True
        self._feed.end(functools.partial(SessionClosed, self.session_id))
        self._feed.clear()
        self._connection.sessions.detach(self._feed)

    def _check(self) -> None:
        if self.is_closed:
            raise SessionClosed(self.session_id)

    def __repr__(self) -> str:
        return f"<ActiveSession ({'closed' if self.is_closed else 'open'})>"


Session = ActiveSession
"""The name that both versions have for the handle of a session."""


class SessionBuilder(Builder[ActiveSession[R_co]]):
    """A request that opens a session, complete and not sent.

    `session = await builder` sends it, and so does `async with builder as session`, which leaves
    the session at the end of the block without closing it at the agent; `builder.start_session()`
    gives the handle of the request. Unused it sends nothing, and it can be used once.

    Messages of the session that come before the answer are kept for its stream, within
    `Limits.kept_messages` and `Limits.kept_bytes`.
    """

    gates: ClassVar[str] = "session_capabilities"
    reads_at_once: ClassVar[bool] = False

    def __init__(
        self,
        connection: Connection,
        wire: str,
        request: Any,
        *,
        buffer: int = BUFFER,
        when_full: WhenFull = "fail",
    ) -> None:
        super().__init__(connection, wire, request)
        check_bounds(buffer, when_full)
        self._typed = connection
        self._bounds = (buffer, when_full)
        self._entered: ActiveSession[R_co] | None = None

    def on_session_start(
        self, function: Callable[[ActiveSession[R_co]], Coroutine[Any, Any, Any]]
    ) -> CancelHandle:
        """Sends the request and returns at once; `await function(session)` runs in a task of the
        connection once the session is open.

        When it does not open, or the function raises, the connection ends.
        """
        return self.start_session().on_result(
            lambda ended: self._typed.spawn(function(ended.result()))
        )

    def _result(
        self,
    ) -> tuple[Sequence[Reader], Callable[[Setup, Any], ActiveSession[R_co]]]:
        feed = feed_of(self._typed, *self._bounds, _item_of, _discard)
        session: ActiveSession[R_co] = ActiveSession(self._typed, feed)
        return (feed,), session.opened

    async def __aenter__(self) -> ActiveSession[R_co]:
        self._entered = session = await self
        return session

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._entered is not None:
            await self._entered.__aexit__(exc_type, exc, tb)


def _put_outcome(
    feed: weakref.ref[Feed[SessionMessage | PromptOutcome]], ended: Outcome[schema.PromptResponse]
) -> Slot[None] | None:
    found = feed()
    outcome = PromptOutcome(ended.event, (), ended.reader)
    return None if found is None else found.put(outcome, 0, is_lasting=True)


def _item_of(message: Message) -> SessionMessage | PromptOutcome:
    return SessionMessage(message.method, message.params, message.responder)


def _discard(item: SessionMessage | PromptOutcome) -> None:
    """Nobody will read it: a request is answered like one that nobody serves."""
    if isinstance(item, SessionMessage) and item.responder is not None:
        item.responder.error(RequestError.method_not_found(item.method))
