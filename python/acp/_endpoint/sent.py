"""Requests of this side as handles.

Owns the public objects for a request that was sent or is prepared, and for its outcome. Who waits
and what is sent for a cancellation is `acp._caller`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from acp._calls import outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    from typing_extensions import Self

    from acp._caller import Caller
    from acp._calls import Call
    from acp._cancellation import Cancellation
    from acp._responder import Responder

__all__ = ("CancelHandle", "Outcome", "PreparedRequest", "SentRequest")

R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")

Maps = tuple["Callable[[Any], Any]", ...]


class Outcome(Generic[R_co]):
    """How a request ended: with a result, or with what went wrong."""

    __slots__ = ("_answer", "_error", "_maps", "_read", "_result")

    def __init__(self, answer: Any, maps: Maps = (), read: Callable[[Any], Any] = outcome) -> None:
        self._answer = answer
        self._read = read
        self._maps: Maps | None = maps
        self._result: Any = None
        self._error: Exception | None = None

    def result(self) -> R_co:
        """The result. Raises what awaiting the request would have raised."""
        error = self.error()
        if error is not None:
            raise error
        return self._result

    def error(self) -> Exception | None:
        """What `result` raises, or None."""
        maps, self._maps = self._maps, None
        if maps is not None:
            # Read and converted once, however often it is asked for.
            try:
                value = self._read(self._answer)
                for function in maps:
                    value = function(value)
                self._result = value
            except Exception as exc:  # noqa: BLE001 - it is what is asked for
                self._error = exc
        return self._error

    @property
    def event(self) -> Any:
        """The answer as the core gave it, or the exception in its place."""
        return self._answer

    @property
    def reader(self) -> Callable[[Any], Any]:
        """Makes a result of an answer, and tells the hook of one that does not fit."""
        return self._read


class CancelHandle:
    """Cancels a request from anywhere, also one that nobody waits for any more.

    Dropping it does nothing.
    """

    __slots__ = ("_caller", "_sent")

    def __init__(self, caller: Caller, sent: list[Call]) -> None:
        self._caller = caller
        self._sent = sent

    def cancel(self) -> bool:
        """Tells the peer, at most once per request. False when it was told, or there is nothing to
        cancel: the request is answered, or not sent yet.
        """
        return any(self._caller.cancel(call) for call in self._sent)


class SentRequest(Generic[R_co]):
    """A request that was sent, and that exactly one of these consumes:

    `await` it; `on_result(callback)` or `on_ok(responder, callback)`; `forward_to(responder)`;
    `detach()`; `map(function)`. Dropped without any of them it is cancelled, and warned about.
    `async with` cancels it when the block ends before it is consumed.

    Awaiting raises RequestError when the peer answers with an error, ConnectionClosed when no
    answer can come, RequestTimeout, ValidationError when the result does not fit its type.
    Cancelling who awaits tells the peer with `$/cancel_request`. Code of a handler may await it as
    well: what the answer depends on is not held up by that handler.

    That it could not be sent is its outcome, too. All this is for the thread of the loop.
    """

    __slots__ = ("__weakref__", "_call", "_caller", "_consumed", "_maps", "_timeout")

    def __init__(
        self, caller: Caller, call: Call, *, maps: Maps = (), timeout: float | None = None
    ) -> None:
        self._caller = caller
        self._call = call
        self._maps = maps
        self._timeout = timeout
        self._consumed = False

    @property
    def id(self) -> int | None:
        """The id that the request has on the wire; None when it could not be sent."""
        return self._call.id

    @property
    def method(self) -> str:
        """The method."""
        return self._call.method

    def _consume(self) -> Call:
        if self._consumed:
            message = "This request is awaited, forwarded, mapped, detached or has a callback"
            raise RuntimeError(message)
        self._consumed = True
        return self._call

    def __await__(self) -> Generator[Any, Any, R_co]:
        # Consumed by the first step, so that one which never comes leaves it to be dropped.
        call = self._consume()
        if self._timeout is None:
            answering = self._caller.answer(call)
        else:
            answering = self._caller.answer_within(call, self._timeout)
        answer = yield from answering.__await__()
        return Outcome[R_co](answer, self._maps, self._caller.outcome).result()

    def on_result(self, callback: Callable[[Outcome[R_co]], Any]) -> CancelHandle:
        """Has `callback`, sync or async, called with the outcome in the answer's place.

        It begins after the handlers of what came before the answer in the same session; what comes
        behind the answer there begins after the callback has ended, or while that waits for the
        peer, which it may. Other sessions wait for neither. It is called once in any case: when no
        answer can come, or it is here already, it is called in no order.

        An exception of the callback ends the connection, and is the cause of the ConnectionClosed
        that others get. Raises TypeError for what cannot be called, and ConnectionClosed when the
        connection has ended, in which it would run.
        """
        _check_callable(callback)
        maps, read = self._maps, self._caller.outcome

        def called(answer: Any) -> Any:
            ended = Outcome[R_co](answer, maps, read)
            if maps:
                ended.error()
            return callback(ended)

        call = self._consume()
        self._caller.call_back(call, called, self._timeout)
        return CancelHandle(self._caller, [call])

    def on_ok(self, responder: Responder, callback: Callable[[R_co], Any]) -> CancelHandle:
        """As `on_result`, with the result; an error goes to `responder`, unchanged, instead."""
        _check_callable(callback)
        if self._call.failure is not None:
            return self._fail(responder, self._call.failure)

        def called(ended: Outcome[R_co]) -> Any:
            error = ended.error()
            if error is None:
                return callback(ended.result())
            _fail(responder, ended.event, error)
            return None

        return self.on_result(called)

    def forward_to(self, responder: Responder) -> CancelHandle:
        """Answers another request with the outcome of this one, unchanged, and cancels this one
        when that one is cancelled.

        Where this one has no answer, that one is answered -32603.
        """
        if self._call.failure is not None:
            return self._fail(responder, self._call.failure)
        maps = self._maps

        def called(ended: Outcome[R_co]) -> None:
            # What nothing converts is not even read.
            if not maps and responder.forward(ended.event):
                return
            error = ended.error()
            try:
                if error is None:
                    responder.respond(ended.result())
            except RuntimeError as exc:
                # What was made of it has no form on the wire.
                error = exc
            if error is not None:
                _fail(responder, ended.event, error)

        handle = self.on_result(called)
        self._caller.cancel_with(self._call, responder.cancellation)
        return handle

    def _fail(self, responder: Responder, failure: Exception) -> CancelHandle:
        """It could not be sent: that is the answer, which takes no task."""
        call = self._consume()
        _fail(responder, None, failure)
        return CancelHandle(self._caller, [call])

    def detach(self) -> CancelHandle:
        """Nobody wants the answer; the request is not cancelled.

        Raises what kept it from being sent.
        """
        call = self._consume()
        if call.failure is not None:
            outcome(call.failure)
        return CancelHandle(self._caller, [call])

    def map(self, function: Callable[[R_co], S]) -> SentRequest[S]:
        """A handle in place of this one whose result is what `function` makes of the result, once.

        Errors pass it by; what `function` raises is the outcome. Raises TypeError for what cannot
        be called.
        """
        _check_callable(function)
        maps = (*self._maps, function)
        return SentRequest[S](self._caller, self._consume(), maps=maps, timeout=self._timeout)

    def watch(self, answered: Callable[[Any], object], taken: Callable[[], object]) -> None:
        """Has `answered` called with the answer as the core gives it, when that is read or at once
        when it was, and `taken` when it is handed over or given up. It consumes nothing.
        """
        call = self._call
        if call.failure is not None:
            answered(call.failure)
        elif call.answer is not None:
            answered(call.answer)
        elif not self._caller.expects(call):
            taken()
        else:
            call.watch(answered, taken)

    def cancel(self) -> bool:
        """Tells the peer that the request is cancelled. What it answers is the outcome still.

        False when it was told before, or the answer is here.
        """
        return self._caller.cancel(self._call)

    def cancel_handle(self) -> CancelHandle:
        """What can cancel the request from elsewhere, also when this object is gone."""
        return CancelHandle(self._caller, [self._call])

    def cancel_with(self, cancellation: Cancellation) -> Self:
        """Cancels the request when another one is cancelled, at once if it is already.

        It may be given several.
        """
        self._caller.cancel_with(self._call, cancellation)
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if not self._consumed:
            self._consumed = True
            self._caller.give_up(self._call)

    def __del__(self) -> None:
        # It has no such member when it could not be made.
        if not getattr(self, "_consumed", True):
            self._caller.dropped.add(self._call)


class PreparedRequest(Generic[R_co]):
    """A request that is complete and not sent, whatever becomes of the objects that it was made of.

    `send()` sends it, once, and so does each of the others that consume a `SentRequest`. It has its
    id from then on. Dropped before that it sends nothing.
    """

    __slots__ = ("_begin", "_caller", "_maps", "_method", "_sent", "_timeout")

    def __init__(
        self,
        caller: Caller,
        method: str,
        begin: Callable[[], Call],
        *,
        maps: Maps = (),
        timeout: float | None = None,
        sent: list[Call] | None = None,
    ) -> None:
        self._caller = caller
        self._method = method
        self._begin: Callable[[], Call] | None = begin
        self._maps = maps
        self._timeout = timeout
        self._sent: list[Call] = [] if sent is None else sent

    @property
    def method(self) -> str:
        """The method."""
        return self._method

    def _consume(self) -> Callable[[], Call]:
        begin, self._begin = self._begin, None
        if begin is None:
            message = "This request was sent or mapped already"
            raise RuntimeError(message)
        return begin

    def send(self) -> SentRequest[R_co]:
        """Sends the request. Raises RuntimeError the second time; all other failures are those of
        the handle.
        """
        call = self._consume()()
        self._sent.append(call)
        return SentRequest[R_co](self._caller, call, maps=self._maps, timeout=self._timeout)

    def __await__(self) -> Generator[Any, Any, R_co]:
        return self.send().__await__()

    def on_result(self, callback: Callable[[Outcome[R_co]], Any]) -> CancelHandle:
        """Sends it; the callback is there before any answer can be. See `SentRequest.on_result`.

        Raises TypeError for what cannot be called, and sends nothing then.
        """
        _check_callable(callback)
        return self.send().on_result(callback)

    def on_ok(self, responder: Responder, callback: Callable[[R_co], Any]) -> CancelHandle:
        """As `on_result`, with the result; an error goes to `responder`, unchanged, instead."""
        _check_callable(callback)
        return self.send().on_ok(responder, callback)

    def forward_to(self, responder: Responder) -> CancelHandle:
        """Sends it and answers another request with its outcome. See `SentRequest.forward_to`."""
        return self.send().forward_to(responder)

    def detach(self) -> CancelHandle:
        """Sends it without wanting its answer. Raises what keeps it from being sent."""
        return self.send().detach()

    def map(self, function: Callable[[R_co], S]) -> PreparedRequest[S]:
        """A request in place of this one, not sent either; see `SentRequest.map`."""
        _check_callable(function)
        return PreparedRequest[S](
            self._caller,
            self._method,
            self._consume(),
            maps=(*self._maps, function),
            timeout=self._timeout,
            sent=self._sent,
        )

    def cancel_handle(self) -> CancelHandle:
        """What can cancel the request once it is sent. Before that it does nothing, and nothing
        later.
        """
        return CancelHandle(self._caller, self._sent)


def _check_callable(function: object) -> None:
    if not callable(function):
        message = "A callback has to be a function or a method"
        raise TypeError(message)


def _fail(responder: Responder, event: Any, error: Exception) -> None:
    """Answers with what a request of this side has ended with, other than a result."""
    if getattr(event, "outcome", None) == "error" and responder.forward(event):
        return
    responder.error(error)
