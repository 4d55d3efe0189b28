"""A connection as the code of an endpoint sees it.

Owns what can be done on a connection whatever its version: requests as handles, notifications,
tasks, state. The versions add the types.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, cast

from acp._endpoint.facts import other_side
from acp._endpoint.handlers import of_user, to_wire
from acp._endpoint.sent import CancelHandle, PreparedRequest, SentRequest
from acp._endpoint.sessions import Sessions
from acp._endpoint.setups import WATCHED, watcher
from acp.exceptions import ConnectionClosed, RequestError, UnsupportedByPeer, VersionMismatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from types import TracebackType

    from typing_extensions import Self

    from acp._cancellation import Cancellation
    from acp._connection import Connection as RawConnection
    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.facts import Side
    from acp._endpoint.routing import EndpointRouter
    from acp._endpoint.setups import Ending, Setup
    from acp._limits import Limits
    from acp._schema.method import Method
    from acp._stats import ConnectionStats, HandlerInfo

__all__ = ("Connection",)


class Connection:
    """One connection of an endpoint: what its code can ask of the peer.

    It is made by `Endpoint.connect` and `Endpoint.serve`, and used in the thread of its loop.
    """

    raw: RawConnection
    """What it runs on: no types, no checks but those of the life cycle."""
    router: EndpointRouter
    """Finds the handlers of a message."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._context = endpoint.context_type
        self._facts = endpoint.facts
        self._peer: Side = other_side(endpoint.side)
        self.peer_info: Any = None
        """Name and version of the peer, once initialized; None when it did not tell."""
        self.peer_capabilities: Any = None
        """What the peer can do, once initialized."""
        self.state: Any = None
        """What the endpoint's `state` has made for this connection."""

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

        Raises TypeError for an object that is no request to this peer in this version, and
        UnsupportedByPeer; nothing is sent then. All other failures are the handle's.
        """
        wire, params = self._message("request", message, params, unchecked=unchecked)
        maps = () if result is None else (functools.partial(of_user, result),)
        seen_by = None
        if wire in WATCHED and self._peer == "agent":
            seen_by = watcher(self.sessions, wire, params)
        return self._send(wire, params, seen_by, maps, timeout)

    def _send(
        self,
        wire: str,
        params: Any,
        seen_by: Setup | Ending | None,
        maps: tuple[Callable[[Any], Any], ...],
        timeout: float | None,
    ) -> SentRequest[Any]:
        try:
            self.raw.check_open()
            if seen_by is not None:
                seen_by.begin()
            call = self.raw.caller.begin(wire, params)
        except (ConnectionClosed, RuntimeError, ValueError) as exc:
            failure = exc
            if seen_by is not None:
                seen_by.failed(lambda: failure)
            return SentRequest(self, None, failure=exc)
        if seen_by is not None:
            call.opening, call.taken = seen_by.answered, seen_by.taken
        elif wire == "initialize":
            call.opening = self._initialized
        return SentRequest(self, call, maps=maps, timeout=timeout)

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
        return self._send(wire, params, setup, (make,), timeout)

    @functools.cached_property
    def sessions(self) -> Sessions:
        """The sessions that this side has opened."""
        return Sessions(self, unclaimed_only=self.protocol_version == 1)

    @property
    def limits(self) -> Limits:
        """The bounds of the connection."""
        return self._endpoint.limits

    def prepare(
        self,
        message: Any,
        params: Any = None,
        *,
        result: Any = None,
        timeout: float | None = None,
        unchecked: bool = False,
    ) -> PreparedRequest[Any]:
        """A request as of `request`, checked now and sent by `send()` of what is returned."""
        wire, params = self._message("request", message, params, unchecked=unchecked)
        return PreparedRequest(
            self,
            lambda: self.request(wire, params, result=result, timeout=timeout, unchecked=True),
        )

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
            mismatch = _mismatch(error)
            if mismatch is None:
                raise
            await self.close()
            raise mismatch from None

    def _initialized(self, answer: Any) -> None:
        if getattr(answer, "outcome", "") != "result":
            return
        try:
            self.peer_info, self.peer_capabilities = self._facts.seen(answer.result())
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
        of_type = cast("type[Any]", type(message))
        if isinstance(message, str):
            method = self._facts.method(self._peer, kind, message)
            wire = message
            params = to_wire(params)
        else:
            method = self._facts.method_of(self._peer, kind, of_type)
            if method is None:
                text = (
                    f"{of_type.__name__} of {of_type.__module__} is no {kind} to the "
                    f"{self._peer} in protocol version {self._facts.version}"
                )
                raise TypeError(text)
            wire, params = method.wire, message
        if method is not None and not unchecked:
            self._check(method)
        return wire, params

    def _check(self, method: Method) -> None:
        self._endpoint.check_feature(method)
        gate = self._facts.gates.get(method.wire)
        if gate is not None and self.peer_capabilities is not None and not self._offers(gate):
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
                return gate is None or self._offers(gate)
        return self._offers(name)

    def _offers(self, path: str) -> bool:
        """Whether the peer's capabilities have something at a path; `|` stands between choices."""
        for choice in path.split("|"):
            found: Any = self.peer_capabilities
            for step in choice.split("."):
                found = getattr(found, step, None)
                if not found and not _is_marker(found):
                    break
            else:
                return True
        return False

    # Tasks.

    def begin(self) -> None:
        """The connection runs now: what runs beside it begins."""
        self._endpoint.begin(self)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs a coroutine in a task of this connection, which is cancelled when that ends.

        An exception of it ends the connection.
        """
        self.raw.spawn(work)

    def cancel_with(self, handle: CancelHandle, cancellation: Cancellation) -> None:
        """Cancels a request of ours when one of the peer is cancelled."""
        if cancellation.is_cancelled:
            handle.cancel()
        else:
            cancellation.add(handle.cancel)

    def from_thread(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Runs `await function(*args)` in the loop of this connection, for another thread."""
        return self.raw.from_thread(function, *args)

    # Life.

    def stats(self) -> ConnectionStats:
        """The connection in numbers, at this moment."""
        return self.raw.stats()

    def handlers(self) -> list[HandlerInfo]:
        """The handlers that have suspended and not ended, oldest first."""
        return self.raw.handlers()

    async def close(self) -> None:
        """Ends the connection and returns when the transport is closed."""
        await self.raw.close()

    async def wait_closed(self) -> None:
        """Returns when the connection has ended, by whichever side."""
        await self.raw.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.close()


_UNSUPPORTED_VERSION = -32022


def _mismatch(error: RequestError) -> VersionMismatch | None:
    """What an error of `initialize` says about versions; None when that is nothing."""
    if isinstance(error, VersionMismatch):
        return error
    if error.code != _UNSUPPORTED_VERSION:
        return None
    supported: tuple[int, ...] = ()
    # What the peer sends as data may be anything.
    with contextlib.suppress(TypeError, KeyError):
        listed = cast("Any", error.data)["supported"]
        supported = tuple(each for each in listed if isinstance(each, int))
    return VersionMismatch(error.code, error.message, error.data, supported=supported)


def _is_marker(value: object) -> bool:
    """Whether a capability is an object: its presence is what counts, also when it is empty."""
    return value is not None and not isinstance(value, (bool, str, list))
