"""A connection as the code of an endpoint sees it.

Owns what can be done on a connection whatever its version: requests as handles, notifications,
tasks, state. The versions add the types.
"""

from __future__ import annotations

import functools
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from acp._core import Model, encode
from acp._endpoint.facts import other_side
from acp._endpoint.hosting import close_with, drive
from acp._endpoint.interception import Interceptor
from acp._endpoint.sent import PreparedRequest, SentRequest
from acp._endpoint.sessions import Sessions
from acp._endpoint.setups import WATCHED, watcher
from acp._endpoint.told import mismatch_of, offers
from acp._endpoint.user_types import of_user, to_wire
from acp.exceptions import ConnectionClosed, RequestError, UnsupportedByPeer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from typing_extensions import Self

    from acp._calls import Call
    from acp._connection import Connection as RawConnection
    from acp._endpoint.dynamic import HandlerGuard
    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.facts import Side
    from acp._endpoint.routing import EndpointRouter
    from acp._endpoint.setups import Ending, Setup
    from acp._limits import Limits
    from acp._schema.method import Method
    from acp._stats import ConnectionStats, HandlerInfo
    from acp._termination import Termination
    from acp._transports.base import Transport

__all__ = ("Connection",)

C = TypeVar("C", bound="Connection")


class Connection:
    """One connection of an endpoint: what its code can ask of the peer.

    It is made by `Endpoint.connect` and `Endpoint.serve`, and used in the thread of its loop.
    """

    raw: RawConnection
    """What it runs on: no types, no checks but those of the life cycle."""
    router: EndpointRouter
    """Finds the handlers of a message."""

    def __init__(self, endpoint: Endpoint[Any], limits: Limits) -> None:
        self._endpoint = endpoint
        self.limits = limits
        """Its bounds."""
        self._context = endpoint.context_type
        self._facts = endpoint.facts
        self._peer: Side = other_side(endpoint.side)
        self.peer_info: Any = None
        """Name and version of the peer, once initialized; None when it did not tell."""
        self.peer_capabilities: Any = None
        """What the peer can do, once initialized."""
        self.state: Any = None
        """What the endpoint's `state` has made for this connection."""

    def attach(self, raw: RawConnection, router: EndpointRouter) -> None:
        """Tells what it runs on, and what finds its handlers."""
        self.raw = raw
        self.router = router
        raw.has_part(self)
        if any(handler.answers is not None for handler in self._endpoint.handlers()):
            self._intercept()

    def context(self) -> Any:
        """What a handler gets beside its message; called inside its first step."""
        return self._context(self)

    @property
    def protocol_version(self) -> int:
        """The version that is spoken."""
        return self._facts.version

    # Sending.

    def request(
        self,
        message: Any,
        params: Any = None,
        *,
        result: Any = None,
        timeout: float | None = None,
        unchecked: bool = False,
    ) -> SentRequest[Any]:
        """Sends a request and returns its handle.

        Args:
            message: The params, an object of this version's schema that tells the method; or the
                name of a method.
            params: With a name: the params, an object, dict, list, dataclass or model.
            result: With a name that the protocol does not know: the type of the result, see
                `Endpoint.on_request`.
            timeout: Seconds after which awaiting raises RequestTimeout.
            unchecked: Sends also what the peer's capabilities do not allow.

        Raises TypeError for an object that is no request to this peer in this version,
        UnsupportedByPeer, and RuntimeError in another thread; nothing is sent then. All other
        failures are the handle's. It is queued in any case, also where the peer takes little: that
        is bounded by `Limits.unsent_bytes_hard`.
        """
        wire, params = self._message("request", message, params, unchecked=unchecked)
        begun = self._begin(wire, params)
        return SentRequest(self.raw.caller, begun, maps=_maps(result), timeout=timeout)

    def _begin(self, wire: str, params: Any, seen_by: Setup | Ending | None = None) -> Call:
        """Queues a request; what keeps it from being sent is its outcome."""
        self.raw.check_thread()
        if seen_by is None and wire in WATCHED and self._peer == "agent":
            seen_by = watcher(self.sessions, wire, params)
        try:
            self.raw.check_open()
            if seen_by is not None:
                seen_by.begin()
            call = self.raw.caller.begin(wire, params)
        except (ConnectionClosed, RuntimeError, TypeError, ValueError, OverflowError) as exc:
            failure = exc
            if seen_by is not None:
                seen_by.failed(lambda: failure)
            return self.raw.caller.failed(wire, exc)
        if seen_by is not None:
            call.opening, call.taken = seen_by.answered, seen_by.taken
        elif wire == "initialize":
            call.opening = self._initialized
        return call

    def begin_setup(
        self,
        request: Any,
        setup: Setup,
        make: Callable[[Any], Any],
        *,
        timeout: float | None,
        unchecked: bool,
    ) -> SentRequest[Any]:
        """Sends a request that opens a session; `make` makes the result of what is answered.

        Raises as `request` does.
        """
        wire, params = self._message("request", request, None, unchecked=unchecked)
        begun = self._begin(wire, params, setup)
        return SentRequest(self.raw.caller, begun, maps=(make,), timeout=timeout)

    @functools.cached_property
    def sessions(self) -> Sessions:
        """The sessions that this side has opened."""
        return Sessions(self, unclaimed_only=self._facts.reads_unclaimed)

    def prepare(
        self,
        message: Any,
        params: Any = None,
        *,
        result: Any = None,
        timeout: float | None = None,
        unchecked: bool = False,
    ) -> PreparedRequest[Any]:
        """A request as of `request`, as it is now, which is sent by `send()` of what is returned.

        What is done to its objects later does not change it. Raises what `request` raises, and
        ValidationError for what JSON has no form for.
        """
        wire, params = self._message("request", message, params, unchecked=unchecked)
        encode(params, version=self.protocol_version)
        begin = functools.partial(self._begin, wire, deepcopy(params))
        return PreparedRequest(self.raw.caller, wire, begin, maps=_maps(result), timeout=timeout)

    async def initialize(self, request: Any = None, *, timeout: float | None = None) -> Any:
        """Sends `initialize`, the first request of a connection, and returns the answer.

        Without a request it is made of what the endpoint says of itself. Raises VersionMismatch
        when the agent speaks another version, and closes the connection then; and what awaiting a
        request raises.
        """
        request = self._facts.opening(self._endpoint) if request is None else request
        try:
            return await self.request(request, timeout=timeout)
        except RequestError as error:
            mismatch = mismatch_of(error)
            if mismatch is None:
                raise
            await self.close()
            raise mismatch from None

    def _initialized(self, answer: Any) -> None:
        if getattr(answer, "outcome", "") != "result":
            return
        try:
            self.saw(answer.result())
        except ValueError:
            # Who awaits the answer is told.
            return

    async def notify(self, message: Any, params: Any = None, *, unchecked: bool = False) -> None:
        """Sends a notification; waits while the peer takes too little of what was sent.

        Arguments and errors are those of `request`, and ConnectionClosed.
        """
        wire, params = self._message("notification", message, params, unchecked=unchecked)
        if wire == "session/cancel":
            await self.raw.cancel_turn(wire, params)
        else:
            await self.raw.notify(wire, params)

    def notify_nowait(self, message: Any, params: Any = None, *, unchecked: bool = False) -> None:
        """Queues a notification. Raises `anyio.WouldBlock` while the peer takes too little."""
        wire, params = self._message("notification", message, params, unchecked=unchecked)
        self.raw.post_nowait(wire, params)
        if wire == "session/cancel":
            self.raw.end_questions(params)

    def cancel_request(self, request_id: int | str) -> None:
        """Sends `$/cancel_request` for any id, without looking whether there is such a request."""
        self.raw.post("$/cancel_request", {"requestId": request_id})

    def _message(self, kind: str, message: Any, params: Any, *, unchecked: bool) -> tuple[str, Any]:
        if isinstance(message, str):
            method = self._facts.method(self._peer, kind, message)
            wire, params = message, to_wire(params)
            if isinstance(params, Model) and not self._may_send(params, method):
                raise self._foreign(params, kind)
        else:
            method = self._facts.method_of(self._peer, kind, cast("type[Any]", type(message)))
            if method is None:
                raise self._foreign(message, kind)
            wire, params = method.wire, message
        if method is not None and not unchecked:
            self._check(method)
        return wire, params

    def _may_send(self, params: Model, method: Method | None) -> bool:
        if method is None:
            return self._facts.owns(type(params))
        return self._facts.fits(type(params), method.params)

    def _foreign(self, message: object, kind: str) -> TypeError:
        of_type = type(message)
        return TypeError(
            f"{of_type.__name__} of {of_type.__module__} is no {kind} to the {self._peer} in "
            f"protocol version {self._facts.version}"
        )

    def _check(self, method: Method) -> None:
        self._endpoint.check_feature(method)
        gate, told = self._facts.gates.get(method.wire), self.peer_capabilities
        if gate is not None and told is not None and not offers(told, gate):
            raise UnsupportedByPeer(method.wire, gate)

    def peer_supports(self, name: str) -> bool:
        """Whether the peer's capabilities allow a method, by its name in Python or on the wire, or
        have what a path with dots names, such as `session.fork`.

        False before the connection is initialized.
        """
        if self.peer_capabilities is None:
            return False
        for method in self._facts.methods.values():
            if method.side == self._peer and name in (method.name, method.wire):
                gate = self._facts.gates.get(method.wire)
                return gate is None or offers(self.peer_capabilities, gate)
        return offers(self.peer_capabilities, name)

    def saw(self, message: Any) -> None:
        """Notes what the params or the result of `initialize` tell about the peer."""
        self.peer_info, self.peer_capabilities = self._facts.seen(message)

    # Handlers of this connection alone.

    def handler(self, target: object) -> HandlerGuard:
        """Adds a low-level handler (see `Endpoint.add_handler`) to this connection, behind those of
        its endpoint and before their fallbacks.

        It is called as long as the guard is held: `with connection.handler(target):`. Messages that
        wait for a handler are offered to it first, oldest first, each when the one before has been
        handled; those that come meanwhile have their turn then.
        """
        guard = self.router.chain.opened().add(target)
        if hasattr(target, "handle_response"):
            self._intercept()
        return guard

    def handlers_changed(self) -> None:
        """The handlers of this connection are not those that they were."""
        self.router.forget()

    def _intercept(self) -> None:
        answering, caller = self.router.chain.answering, self.raw.caller
        caller.intercept(Interceptor(answering, self.spawn, caller.runtime).see)

    # Tasks.

    def begin(self) -> None:
        """The connection runs now: what runs beside it begins."""
        self._endpoint.begin(self)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs a coroutine in a task of this connection, which is cancelled when that ends.

        An exception of it ends the connection, and is the `__cause__` of the ConnectionClosed that
        callers get. Raises ConnectionClosed when the connection has begun to end; the coroutine is
        not run then.
        """
        self.raw.spawn(work)

    def spawn_connection(self, endpoint: Endpoint[C], transport: Transport) -> C:
        """Runs another connection inside of this one, as `endpoint` serves it, and returns it.

        It ends with this connection at the latest; `async with` closes it at the end of the block.
        Its failure, be it that the transport cannot be opened, is one of a task of this connection.
        Raises what `Endpoint.connect` and `spawn` raise.
        """
        child = endpoint._make(transport)
        self.raw.spawn(drive(child), child.raw.abandon)
        child.begin()
        return child

    def in_turn(self, session_id: str) -> bool:
        """Whether a prompt of this side is unanswered in a session. See `Context.in_turn`."""
        return self.raw.in_turn(session_id)

    def from_thread(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Runs `await function(*args)` in the loop of this connection, for another thread."""
        return self.raw.from_thread(function, *args)

    # Life.

    def stats(self) -> ConnectionStats:
        """The connection in numbers, at this moment.

        Where handlers were added to it or messages wait for such, the counters have `parked`, those
        that wait, and `expelled`, those that went because there were too many.
        """
        found = self.raw.stats()
        dynamic = self.router.chain.dynamic
        if dynamic is None:
            return found
        more = {"parked": len(dynamic.parked), "expelled": dynamic.parked.expelled}
        return replace(found, counters={**found.counters, **more})

    def handlers(self) -> list[HandlerInfo]:
        """The handlers that have suspended and not ended, oldest first."""
        return self.raw.handlers()

    async def close(self) -> None:
        """Ends the connection and returns when the transport is closed."""
        await self.raw.close()

    async def wait_closed(self) -> Termination:
        """Returns when the connection has ended, by whichever side, and tells how."""
        await self.raw.wait_closed()
        termination = self.raw.termination
        assert termination is not None
        return termination

    @property
    def termination(self) -> Termination | None:
        """How the connection has ended; None as long as it has not."""
        return self.raw.termination

    def closing(self) -> None:
        """The connection begins to end: what waits for a handler waits in vain."""
        dynamic = self.router.chain.dynamic
        if dynamic is not None:
            dynamic.closing()

    async def input_ended(self) -> Exception | None:
        """Calls the functions of `on_close`. Returns the first exception."""
        first: Exception | None = None
        for function in self._endpoint.closers():
            failure = await close_with(function, self)
            first = first or failure
        return first

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def _maps(result: Any) -> tuple[Callable[[Any], Any], ...]:
    return () if result is None else (functools.partial(of_user, result),)
