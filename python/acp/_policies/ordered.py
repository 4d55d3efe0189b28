"""One ordered stream of everything that an application has to apply.

Owns the queue between the handlers of an endpoint, which only put in, and one consumer, which
applies. It knows no message.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import anyio

if TYPE_CHECKING:
    from acp._endpoint.context import Context
    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.sent import CancelHandle, Outcome, PreparedRequest, SentRequest

__all__ = ("InboxClosed", "InboxFinished", "InboxFull", "InboxUpdate", "OrderedInbox")

R_co = TypeVar("R_co", covariant=True)

Policy = Literal["wait", "drop_oldest", "fail"]


@dataclass(frozen=True)
class InboxUpdate:
    """A `session/update` notification."""

    params: Any
    """The params, of the version of the connection."""
    connection: Any
    """The connection that it came on."""

    @property
    def session_id(self) -> str:
        """The session that it is about."""
        return self.params.session_id


@dataclass(frozen=True)
class InboxFinished(Generic[R_co]):
    """A request of one's own has its outcome."""

    key: Any
    """What `OrderedInbox.expect` was told to call it."""
    outcome: Outcome[R_co]


@dataclass(frozen=True)
class InboxClosed:
    """A connection has ended; nothing of it follows."""

    connection: Any


class InboxFull(RuntimeError):
    """The consumer is too slow: make the inbox larger, or have senders wait."""


class OrderedInbox:
    """A queue that handlers put into and one consumer reads: `async for event in inbox`.

    It keeps the order of the wire: the updates of a replay come before the `InboxFinished` of the
    request that asked for it, those that follow come after, and `InboxClosed` is the last. A
    consumer that stands still holds up the sessions that have something for it, and nothing else.

    Args:
        limit: Most events that wait.
        policy: What happens above that: `wait`, the handlers wait, and their session with them;
            `drop_oldest`, an event is lost and counted in `dropped`; `fail`, the consumer gets
            InboxFull behind what is there, and no further event.
    """

    def __init__(self, limit: int = 65_536, policy: Policy = "wait") -> None:
        if limit < 1:
            message = "An inbox has room for one event at least"
            raise ValueError(message)
        self._limit = limit
        self._policy: Policy = policy
        self._events: deque[Any] = deque()
        self._filled = anyio.Event()
        self._taken = anyio.Event()
        self._is_over = False
        self.dropped = 0
        """Events that were dropped by `drop_oldest`."""

    def __len__(self) -> int:
        return len(self._events)

    def attach(self, endpoint: Endpoint[Any]) -> None:
        """Puts every `session/update` of an endpoint's connections in, and their ends.

        It is one more handler: give the endpoint none of its own for updates.
        """

        async def updated(params: Any, ctx: Context) -> None:
            await self.put(InboxUpdate(params, ctx.connection))

        def watch(connection: Any) -> None:
            connection.raw.when_closed(lambda: self._put_last(InboxClosed(connection)))

        endpoint.on_notification("session/update")(updated)
        endpoint.when_begun(watch)

    def expect(self, request: SentRequest[Any] | PreparedRequest[Any], key: Any) -> CancelHandle:
        """Puts the outcome of a request in, in its place among the updates of its session."""

        async def finished(outcome: Outcome[Any]) -> None:
            await self.put(InboxFinished(key, outcome))

        return request.on_result(finished)

    async def put(self, event: Any) -> None:
        """Adds an event of any kind."""
        while len(self._events) >= self._limit and not self._is_over:
            if self._policy == "drop_oldest":
                self._events.popleft()
                self.dropped += 1
            elif self._policy == "fail":
                self._is_over = True
                self._filled.set()
            else:
                await self._taken.wait()
        if self._is_over:
            return
        self._events.append(event)
        self._filled.set()

    def _put_last(self, event: InboxClosed) -> None:
        """Adds an event for which there is always room: there is one of a connection."""
        if not self._is_over:
            self._events.append(event)
            self._filled.set()

    def close(self) -> None:
        """Ends the stream behind what is there. Later events are dropped."""
        if not self._is_over:
            self._policy = "drop_oldest"
        self._is_over = True
        self._filled.set()
        self._taken.set()

    def __aiter__(self) -> OrderedInbox:
        return self

    async def __anext__(self) -> Any:
        while not self._events:
            if self._is_over:
                if self._policy == "fail":
                    message = f"More than {self._limit} events waited for the consumer"
                    raise InboxFull(message)
                raise StopAsyncIteration
            self._filled = anyio.Event()
            await self._filled.wait()
        event = self._events.popleft()
        self._taken.set()
        self._taken = anyio.Event()
        return event
