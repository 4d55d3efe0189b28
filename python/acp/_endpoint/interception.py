"""Answers to requests of this side, seen by handlers before who waits for them.

Owns the public object of such an answer, and that who waits gets one outcome: what a handler gives
it, what it raises, or the answer as it came. Which handlers there are is the chain's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._calls import outcome
from acp._dropped import Dropped
from acp._endpoint.handlers import Unhandled
from acp._runtime import fill
from acp.exceptions import ConnectionClosed, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from acp._calls import Call
    from acp._runtime import Runtime

__all__ = ("Interceptor", "Response")


class _Given:
    """An answer in place of the one that came."""

    __slots__ = ("_result", "id", "lane", "method")

    outcome = "result"

    def __init__(self, received: Any, result: Any) -> None:
        self.id = received.id
        self.lane = received.lane
        self.method = received.method
        self._result = result

    def result(self) -> Any:
        return self._result


class _Way:
    """From an answer to who waits for it. When nobody has it any more, the answer is lost."""

    __slots__ = ("__weakref__", "_call", "_dropped", "_then", "answer", "held")

    def __init__(self, call: Call, then: Callable[[Any], Any] | None, dropped: Dropped) -> None:
        self._call = call
        self._then = then
        self._dropped = dropped
        self.answer: Any = None
        """What who waits gets."""
        self.held = True
        """Handlers are asked at the moment, in the answer's place in its lane."""

    def give(self, answer: Any, run: Callable[[Coroutine[Any, Any, Any]], object]) -> bool:
        if self.answer is not None:
            return False
        self.answer = answer
        if self._then is None:
            fill(self._call.slot, answer)
        elif not self.held:
            run(self.tell())
        return True

    async def tell(self) -> None:
        """Calls what takes the place of the answer, when there is one."""
        if self._then is not None and self.answer is not None:
            result = self._then(self.answer)
            if hasattr(result, "__await__"):
                await result

    def __del__(self) -> None:
        if self.answer is None:
            self._dropped.add((self._call, self._then))


class Response:
    """The answer to a request of this side, as a handler sees it before who waits for it.

    The handler returns `acp.UNHANDLED` to let it pass, or `acp.unhandled(response.replace(…))` for
    another in its place. Returning anything else it has taken it: who waits gets what `route` or
    `fail` is called with, now or later. A response that is dropped without either fails the request
    with -32603; a callback in the answer's place is not called then, and the connection ends.
    """

    __slots__ = ("_interceptor", "_way", "answer")

    def __init__(self, interceptor: Interceptor, way: _Way, answer: Any) -> None:
        self._interceptor = interceptor
        self._way = way
        self.answer: Any = answer
        """The answer as the core gave it, or what another handler has put in its place."""

    @property
    def method(self) -> str:
        """The method of the request."""
        return self.answer.method

    @property
    def request_id(self) -> int:
        """The id of the request."""
        return self.answer.id

    @property
    def is_routed(self) -> bool:
        """Whether who waits for it has it."""
        return self._way.answer is not None

    def result(self) -> Any:
        """The result, as the type of the method. Raises what awaiting the request would raise."""
        return outcome(self.answer)

    def error(self) -> Exception | None:
        """What `result` raises, or None."""
        try:
            self.result()
        except Exception as exc:  # noqa: BLE001 - it is what is asked for
            return exc
        return None

    def replace(self, result: Any) -> Response:
        """The response with another result, for `acp.unhandled`."""
        return Response(self._interceptor, self._way, _Given(self.answer, result))

    def route(self, *result: Any) -> bool:
        """Gives who waits for it the answer as it is, or another result.

        False when it has one already.
        """
        answer = _Given(self.answer, *result) if result else self.answer
        return self._way.give(answer, self._interceptor.spawn)

    def fail(self, error: Exception) -> bool:
        """Has who waits for it get an exception. False when it has an answer already."""
        return self._way.give(error, self._interceptor.spawn)

    def __repr__(self) -> str:
        return f"<Response to {self.method!r}>"


class Interceptor:
    """Has the handlers of one connection see the answers."""

    __slots__ = ("_handlers", "dropped", "spawn")

    def __init__(
        self,
        handlers: Callable[[], Iterable[Callable[[Response], Any]]],
        spawn: Callable[[Coroutine[Any, Any, Any]], object],
        runtime: Runtime,
    ) -> None:
        self._handlers = handlers
        self.spawn = spawn
        """Runs a coroutine beside the handlers."""
        self.dropped = Dropped(runtime, self)
        """What waits for answers that a handler has taken and lost."""

    async def see(self, call: Call, answer: Any, then: Callable[[Any], Any] | None) -> None:
        """Has an answer seen, and given to who waits: `then`, or who awaits the call."""
        if isinstance(answer, ConnectionClosed):
            # There is none, and who waits knows.
            result: Any = None if then is None else then(answer)
            if hasattr(result, "__await__"):
                await result
            return
        self.dropped.expect()
        way = _Way(call, then, self.dropped)
        response = Response(self, way, answer)
        for handler in self._handlers():
            try:
                result = handler(response)
                if hasattr(result, "__await__"):
                    result = await result
            except Exception as exc:  # noqa: BLE001 - it is what who waits gets
                response.fail(exc)
                break
            if type(result) is not Unhandled:
                break
            if isinstance(result.message, Response):
                response = result.message
        else:
            response.route()
        way.held = False
        await way.tell()

    def was_dropped(self, lost: tuple[Call, Callable[[Any], Any] | None]) -> None:
        """Nobody has an answer any more, and who waits for it is told."""
        call, then = lost
        text = f"response to `{call.method}` never received"
        failure = RequestError(-32603, "Internal error", text)
        if then is None:
            fill(call.slot, failure)
        else:
            self.spawn(_fail(failure))


async def _fail(failure: Exception) -> None:
    raise failure
