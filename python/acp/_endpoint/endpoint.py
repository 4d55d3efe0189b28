"""What serves a protocol version: handlers, and the connections that it makes.

Owns registering handlers and starting connections. Which methods there are is generated; how
handlers are called is `acp._endpoint.routing`'s, and the life of a connection `Hosted`'s.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from acp._connection import Connection as RawConnection
from acp._endpoint.facts import Facts, Side, feature_of, other_side
from acp._endpoint.handlers import Handler, make, make_low_level
from acp._endpoint.handshake import check, seeing
from acp._endpoint.hosting import Hosted
from acp._endpoint.routing import EndpointRouter
from acp._options import ConnectionOptions
from acp._transports.base import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Self

    from acp._endpoint.connection import Connection
    from acp._limits import Limits
    from acp._schema.method import Method

__all__ = ("Endpoint",)

C = TypeVar("C", bound="Connection")
F = TypeVar("F")

_Role = Literal["handlers", "closers", "background", "beginnings"]


class Endpoint(Generic[C]):
    """An agent or a client: handlers, and what it says of itself.

    One endpoint serves any number of connections. Handlers are given before; each is a function or
    method, sync or async, that takes the message and, if it likes, a context. A message is offered
    to the handlers that it is for in the order in which they were given, until one does not return
    `acp.UNHANDLED` or an `acp.unhandled(…)`.

    Args:
        name: What it calls itself.
        version: The version of the program.
        title: A name for people.
        capabilities: What it says that it can do; None: what its handlers stand for.
        features: Names of unstable methods that are on, such as `session_fork`; `all` is every one.
        state: Makes what `Context.state` is on each connection, from the connection.
        version_guard: False: the core does not keep the rules of initialization.
        **options: The fields of `ConnectionOptions`.
    """

    side: ClassVar[Side]
    facts: ClassVar[Facts]
    context_type: ClassVar[Any]
    connection_type: ClassVar[Any]

    def __init__(
        self,
        name: str = "acp",
        version: str = "0",
        *,
        title: str | None = None,
        capabilities: Any = None,
        features: Iterable[str] = (),
        state: Callable[[Any], Any] | None = None,
        version_guard: bool = True,
        **options: Any,
    ) -> None:
        self.name = name
        self.version = version
        self.title = title
        self.capabilities = capabilities
        self.features = frozenset(features)
        self._parts: list[_Part | Endpoint[Any]] = []
        self._state = state
        options.setdefault("require_initialize", version_guard)
        self._options = ConnectionOptions(**options)
        self._profile = replace(self.facts.profile, guard=version_guard)

    # Handlers.

    def on_request(self, message: Any, params: Any = None) -> Callable[[Any], Any]:
        """Decorates a handler of a request.

        `message` is the type of the params or the name of the method; for a method outside of the
        protocol, `params` may be a type of one's own: a dataclass, a model with `model_validate`,
        or a function, called with the JSON data. What does not fit it is answered -32602. Raises
        TypeError for a type that is no request which this side handles.
        """
        return self._on("request", message, params)

    def on_notification(self, message: Any, params: Any = None) -> Callable[[Any], Any]:
        """Decorates a handler of a notification; the arguments are those of `on_request`."""
        return self._on("notification", message, params)

    def _on(
        self, kind: Literal["request", "notification"], message: Any, params: Any
    ) -> Callable[[F], F]:
        facts = self.facts
        if isinstance(message, str):
            wire = message
            known = facts.method(self.side, kind, wire)
            if known is None and facts.method(other_side(self.side), kind, wire) is not None:
                text = f"{wire} is no {kind} that the {self.side} handles"
                raise TypeError(text)
        else:
            known = facts.method_of(self.side, kind, message)
            if known is None:
                text = (
                    f"{getattr(message, '__name__', message)!s} is no {kind} that the {self.side} "
                    f"handles in protocol version {facts.version}"
                )
                raise TypeError(text)
            wire = known.wire
        if known is not None and params is not None:
            text = f"The params of {wire} have the type of the protocol"
            raise TypeError(text)

        def register(function: F) -> F:
            self._add("handlers", make(kind, wire, function, params))  # pyright: ignore[reportArgumentType]
            return function

        return register

    def handle(self, kind: Literal["request", "notification"], wire: str, handler: Any) -> Any:
        """Registers a handler by the method's name on the wire, and returns it."""
        self._add("handlers", make(kind, wire, handler))
        return handler

    def handle_with(self, target: object) -> Self:
        """Adds the methods of an object that have the name of a method of this side."""
        for method in self.facts.methods.values():
            function = getattr(target, method.name, None)
            if method.side == self.side and callable(function):
                self.handle(method.kind, method.wire, function)
        return self

    def add_handler(self, target: object) -> Self:
        """Adds an object that sees every message in its place among the handlers.

        It has `async def handle(self, message, ctx)`, which gets an `acp.Message` and declines or
        answers as any handler does; if it has `async def handle_response(self, response)`, that
        sees the answers to requests of this side before who waits for them, as an `acp.Response`.
        """
        self._add("handlers", make_low_level(target))
        return self

    def fallback_request(self, function: F) -> F:
        """Decorates the handler of requests that no other one serves; the params are JSON data
        where the method is unknown, and `ctx.method` is its name.
        """
        self._add("handlers", make("request", None, function))  # pyright: ignore[reportArgumentType]
        return function

    def fallback_notification(self, function: F) -> F:
        """Decorates the handler of notifications that no other one serves."""
        self._add("handlers", make("notification", None, function))  # pyright: ignore[reportArgumentType]
        return function

    def on_close(self, function: F) -> F:
        """Decorates a function that is called with each connection when its input has ended.

        All are called, one after the other, before the last output is sent. They may send
        notifications, and must not wait for the end of the connection. The first exception is the
        error that the connection ends with. They are not called when it ends in another way: by
        this side, or by a failure.
        """
        self._add("closers", function)
        return function

    def background(self, function: F) -> F:
        """Decorates an async function that runs beside each connection, called with it.

        It is cancelled when the connection ends; an exception of it ends the connection.
        """
        self._add("background", function)
        return function

    def when_begun(self, function: Callable[[Any], object]) -> None:
        """Has a function called with each connection once it runs, before anything of it can be
        handled or its end be told.
        """
        self._add("beginnings", function)

    def include(self, other: Endpoint[Any], *, first: bool = False) -> Self:
        """Puts the handlers of another endpoint of the same side and version here, in their order;
        those that it is given later, too. Its features are on as well.

        Args:
            other: The endpoint.
            first: In front of all that is here, and nowhere else, if it was included before.

        Raises ValueError for one of another version or side, or that includes this one.
        """
        if other.facts is not self.facts or other.side != self.side:
            message = "Only an endpoint of the same side and protocol version can be included"
            raise ValueError(message)
        if other is self or self in other._included():
            message = "An endpoint cannot include itself"
            raise ValueError(message)
        if first:
            self._parts[:] = [other, *(part for part in self._parts if part is not other)]
        else:
            self._parts.append(other)
        return self

    def _add(self, role: _Role, item: Any) -> None:
        self._parts.append(_Part(role, item))

    def _included(self) -> Iterator[Endpoint[Any]]:
        for part in self._parts:
            if isinstance(part, Endpoint):
                yield part
                yield from part._included()

    def _all(self, role: str) -> Iterator[Any]:
        for part in self._parts:
            if isinstance(part, Endpoint):
                yield from part._all(role)
            elif part.role == role:
                yield part.item

    def handlers(self) -> Iterator[Handler]:
        """The handlers in their order, those of included endpoints among them."""
        return self._all("handlers")

    def closers(self) -> Iterator[Callable[[Any], Any]]:
        """What is called when the input of a connection has ended."""
        return self._all("closers")

    def serves(self, wire: str) -> bool:
        """Whether there is a handler for a method, and the method is on."""
        return any(
            handler.kind is not None
            and handler.wire == wire
            and not self.is_off(self.facts.method(self.side, handler.kind, wire))
            for handler in self.handlers()
        )

    def is_off(self, method: Method | None) -> bool:
        """Whether a method is one that has to be switched on, and is not."""
        if method is None or method.stable:
            return False
        on = self.features.union(*(other.features for other in self._included()))
        return "all" not in on and feature_of(method) not in on

    def check_feature(self, method: Method) -> None:
        """Raises RuntimeError for an unstable method that is not on."""
        if self.is_off(method):
            feature = feature_of(method)
            message = f"{method.wire} is not stable: it is on with features={{{feature!r}}}"
            raise RuntimeError(message)

    # What connections need.

    @property
    def limits(self) -> Limits:
        """The bounds of each connection."""
        return self._options.limits

    def own_handler(self, kind: str, wire: str, connection: Connection) -> Handler | None:
        """The endpoint's own handler of a message, behind those of the user."""
        del connection
        if self.side == "agent" and kind == "request" and wire == "initialize":
            return make("request", wire, functools.partial(self.facts.initialize, self))
        return None

    def seeing(
        self, wire: str, call: Callable[[Any], Any], connection: Connection
    ) -> Callable[[Any], Any]:
        """What is called with the params in place of `call`, which serves a method."""
        return seeing(self, connection, call) if wire == "initialize" else call

    # Connections.

    def _make(self, transport: Any) -> C:
        """A connection over a transport that nothing runs yet. Raises what `connect` raises."""
        if not isinstance(transport, Transport):
            message = "An endpoint needs a transport, such as acp.stdio_transport()"
            raise TypeError(message)
        check(self)
        connection: C = self.connection_type(self, self._options.limits)
        router = EndpointRouter(self, connection)
        raw = RawConnection(self.side, router, transport, self._options, self._profile)
        connection.attach(raw, router)
        if self._state is not None:
            connection.state = self._state(connection)
        return connection

    async def serve(self, transport: Transport) -> None:
        """Serves one connection until its input ends or it is closed.

        Raises ConnectionClosed with its cause when the connection ends by a failure, and what
        `connect` raises.
        """
        async with self.connect(transport) as connection:
            await connection.wait_closed()
        connection.raw.raise_failure()

    def connect(self, transport: Transport) -> Hosted[C]:
        """Opens a connection: `async with endpoint.connect(transport) as connection`.

        At the end of the block nothing more is handled; what was sent still goes out, and the
        connection is closed. Entering it raises what opening the transport raises, TypeError for
        what is no transport, and ValueError for an agent that says it has sessions and does not
        serve all that belongs to them.
        """
        return Hosted(lambda: self._make(transport), transport)

    def begin(self, connection: Connection) -> None:
        """A connection runs now."""
        for function in self._all("beginnings"):
            function(connection)
        for function in self._all("background"):
            connection.spawn(_run(function, connection))


class _Part:
    """Something that an endpoint was given."""

    __slots__ = ("item", "role")

    def __init__(self, role: str, item: Any) -> None:
        self.role = role
        self.item = item


async def _run(function: Callable[[Any], Any], connection: Connection) -> None:
    await function(connection)
