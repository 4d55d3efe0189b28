"""Requests of this side as handles.

Owns the public objects for a request that was sent or is prepared, and for its outcome. Who waits
and what is sent for a cancellation is `acp._caller`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyio import move_on_after

from acp._calls import Call, outcome
from acp.exceptions import RequestTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    from typing_extensions import Self

    from acp._cancellation import Cancellation
    from acp._endpoint.connection import Connection
    from acp._responder import Responder

__all__ = ("CancelHandle", "Outcome", "PreparedRequest", "SentRequest")

R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class Outcome(Generic[R_co]):
    """How a request ended: with a result, or with what went wrong."""

    __slots__ = ("_answer", "_maps")

    def __init__(self, answer: Any, maps: tuple[Callable[[Any], Any], ...]) -> None:
        self._answer = answer
        self._maps = maps

    def result(self) -> R_co:
        """The result. Raises what awaiting the request would have raised."""
        value = outcome(self._answer)
        for function in self._maps:
            value = function(value)
        return value

    def error(self) -> Exception | None:
        """What `result` raises, or None."""
        try:
            self.result()
        except Exception as exc:  # noqa: BLE001 - it is what is asked for
            return exc
        return None

    @property
    def event(self) -> Any:
        """The answer as the core gave it, or the ConnectionClosed in its place."""
        return self._answer


class CancelHandle:
    """Cancels a request from anywhere, also one that nobody waits for any more."""

    __slots__ = ("_request",)

    def __init__(self, call: Callable[[], Call | None], connection: Connection) -> None:
        self._request = (call, connection)

    def cancel(self) -> bool:
        """Tells the peer, at most once per request. False when it was told, or there is nothing to
        cancel: the request is answered, or not sent yet.
        """
        find, connection = self._request
        call = find()
        return call is not None and connection.raw.caller.cancel(call)


class SentRequest(Generic[R_co]):
    """A request that was sent, and that exactly one of these consumes:

    `await` it; `on_result(callback)`; `forward_to(responder)`; `detach()`. Dropped without any of
    them it is cancelled, and warned about. `async with` cancels it when it is left unanswered.

    Awaiting raises RequestError when the peer answers with an error, ConnectionClosed when no
    answer can come, RequestTimeout, ValidationError when the result does not fit its type.
    Cancelling who awaits tells the peer with `$/cancel_request`.
    """

    __slots__ = (
        "__weakref__",
        "_call",
        "_connection",
        "_consumed",
        "_failure",
        "_maps",
        "_timeout",
    )

    def __init__(
        self,
        connection: Connection,
        call: Call | None,
        *,
        failure: Exception | None = None,
        maps: tuple[Callable[[Any], Any], ...] = (),
        timeout: float | None = None,
    ) -> None:
        self._connection = connection
        self._call = call
        self._failure = failure
        self._maps = maps
        self._timeout = timeout
        self._consumed = False
        connection.raw.caller.dropped.expect()

    @property
    def id(self) -> int | None:
        """The id that the request has on the wire; None when it could not be sent."""
        return None if self._call is None else self._call.id

    @property
    def method(self) -> str:
        """The method; empty when it could not be sent."""
        return "" if self._call is None else self._call.method

    def _consume(self) -> Call | None:
        if self._consumed:
            message = "This request is awaited, forwarded, detached or has a callback already"
            raise RuntimeError(message)
        self._consumed = True
        return self._call

    def __await__(self) -> Generator[Any, Any, R_co]:
        return self._wait(self._consume()).__await__()

    async def _wait(self, call: Call | None) -> R_co:
        if call is None:
            assert self._failure is not None
            raise self._failure
        caller = self._connection.raw.caller
        if self._timeout is None:
            return Outcome[R_co](await caller.answer(call), self._maps).result()
        with move_on_after(self._timeout):
            return Outcome[R_co](await caller.answer(call), self._maps).result()
        raise RequestTimeout(call.method, self._timeout)

    def on_result(self, callback: Callable[[Outcome[R_co]], Any]) -> CancelHandle:
        """Has `callback`, sync or async, called with the outcome in the answer's place.

        It begins after the handlers of what came before the answer in the same session, and what
        comes behind it there begins after the callback has ended, or while that waits for the peer.
        An exception of it ends the connection. When no answer can come it is called as well, in no
        order, and so it is when the answer is here already.
        """
        call = self._consume()
        handle = CancelHandle(lambda: call, self._connection)
        maps = self._maps

        def called(answer: Any) -> Any:
            return callback(Outcome(answer, maps))

        self._connection.raw.caller.call_back(call, called, self._failure)
        return handle

    def on_ok(self, responder: Responder, callback: Callable[[R_co], Any]) -> CancelHandle:
        """As `on_result`, with the result; an error goes to `responder` instead."""

        def called(ended: Outcome[R_co]) -> Any:
            try:
                result = ended.result()
            except Exception as exc:  # noqa: BLE001 - it is the responder's
                responder.error(exc)
                return None
            return callback(result)

        return self.on_result(called)

    def forward_to(self, responder: Responder) -> CancelHandle:
        """Answers another request with the outcome of this one, unchanged, and cancels this one
        when that one is cancelled.
        """

        def called(ended: Outcome[R_co]) -> None:
            if self._maps or not responder.forward(ended.event):
                error = ended.error()
                if error is None:
                    responder.respond(ended.result())
                else:
                    responder.error(error)

        handle = self.on_result(called)
        self._connection.cancel_with(handle, responder.cancellation)
        return handle

    def detach(self) -> CancelHandle:
        """Nobody wants the answer; the request is not cancelled."""
        call = self._consume()
        # What its answer means besides, it means all the same.
        if call is not None and call.opening is None:
            self._connection.raw.caller.give_up(call, tell=False, forget=False)
        return CancelHandle(lambda: call, self._connection)

    def map(self, function: Callable[[R_co], S]) -> SentRequest[S]:
        """A handle in place of this one whose result is what `function` makes of the result.

        Errors pass it by; what `function` raises is the outcome.
        """
        call = self._consume()
        return SentRequest[S](
            self._connection,
            call,
            failure=self._failure,
            maps=(*self._maps, function),
            timeout=self._timeout,
        )

    def watch(self, answered: Callable[[Any], object], taken: Callable[[], object]) -> None:
        """Has `answered` called with the answer as the core gives it, when that is read or at once
        when it was, and `taken` when it is handed over or given up. It consumes nothing.
        """
        call = self._call
        if call is None:
            answered(self._failure)
        elif call.settled:
            answered(call.answer)
        elif not self._connection.raw.caller.expects(call):
            taken()
        else:
            call.watch(answered, taken)

    def cancel(self) -> bool:
        """Tells the peer that the request is cancelled. What it answers is the outcome still.

        False when it was told before, or the answer is here.
        """
        return self._call is not None and self._connection.raw.caller.cancel(self._call)

    def cancel_handle(self) -> CancelHandle:
        """What can cancel the request from elsewhere. Dropping it does nothing."""
        call = self._call
        return CancelHandle(lambda: call, self._connection)

    def cancel_with(self, cancellation: Cancellation) -> Self:
        """Cancels the request when another one is cancelled, at once if it is already."""
        self._connection.cancel_with(self.cancel_handle(), cancellation)
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._call is not None and not self._consumed:
            self._consumed = True
            self._connection.raw.caller.give_up(self._call)

    def __del__(self) -> None:
        if not self._consumed and self._call is not None:
            self._connection.raw.caller.dropped.add(self._call)


class PreparedRequest(Generic[R_co]):
    """A request that is complete and not sent.

    `send()` sends it, once. Dropped before that it sends nothing.
    """

    __slots__ = ("_connection", "_make", "_sent")

    def __init__(self, connection: Connection, make: Callable[[], SentRequest[R_co]]) -> None:
        self._connection = connection
        self._make: Callable[[], SentRequest[R_co]] | None = make
        self._sent: Call | None = None

    def send(self) -> SentRequest[R_co]:
        """Sends the request. Raises RuntimeError the second time."""
        make, self._make = self._make, None
        if make is None:
            message = "This request was sent already"
            raise RuntimeError(message)
        sent = make()
        self._sent = sent._call
        return sent

    def on_result(self, callback: Callable[[Outcome[R_co]], Any]) -> CancelHandle:
        """Sends it; the callback is there before any answer can be."""
        return self.send().on_result(callback)

    def __await__(self) -> Generator[Any, Any, R_co]:
        return self.send().__await__()

    def detach(self) -> CancelHandle:
        """Sends it without wanting its answer."""
        return self.send().detach()

    def forward_to(self, responder: Responder) -> CancelHandle:
        """Sends it and forwards its outcome."""
        return self.send().forward_to(responder)

    def cancel_handle(self) -> CancelHandle:
        """What can cancel the request once it is sent; before that it does nothing."""
        return CancelHandle(lambda: self._sent, self._connection)
