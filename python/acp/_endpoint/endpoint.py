"""What serves a protocol version: handlers, and the connections that it makes.

Owns registering handlers and starting connections. Which methods there are is generated; how they
are called is `acp._endpoint.routing`'s.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from acp._connection import Connection as RawConnection
from acp._endpoint.facts import Facts, Side, feature_of
from acp._endpoint.handlers import Handler, make
from acp._endpoint.hosting import Hosted
from acp._endpoint.routing import EndpointRouter
from acp._options import ConnectionOptions
from acp._transports.base import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import Self

    from acp._endpoint.connection import Connection
    from acp._limits import Limits
    from acp._schema.method import Method

__all__ = ("Endpoint",)

F = TypeVar("F")


class Endpoint:
    """An agent or a client: handlers, and what it says of itself.

    One endpoint serves any number of connections. Handlers are given before; each is a function or
    method, sync or async, that takes the message and, if it likes, a context.

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
        self.handlers: list[Handler] = []
        self._state = state
        self._closers: list[Callable[[Any], Any]] = []
        self._background: list[Callable[[Any], Any]] = []
        options.setdefault("require_initialize", version_guard)
        self._options = ConnectionOptions(**options)
        self._profile = replace(self.facts.profile, guard=version_guard)

    # Handlers.

    def on_request(self, message: Any, params: Any = None) -> Callable[[F], F]:
        """Decorates a handler of a request.

        `message` is the type of the params or the name of the method; for a method outside of the
        protocol, `params` may be a type of one's own: a model with `model_validate`, a dataclass
        or a function, called with the JSON data.
        """
        return self._on("request", message, params)

    def on_notification(self, message: Any, params: Any = None) -> Callable[[F], F]:
        """Decorates a handler of a notification; the arguments are those of `on_request`."""
        return self._on("notification", message, params)

    def _on(
        self, kind: Literal["request", "notification"], message: Any, params: Any
    ) -> Callable[[F], F]:
        if isinstance(message, str):
            wire = message
        else:
            method = self.facts.method_of(self.side, kind, message)
            if method is None:
                text = (
                    f"{getattr(message, '__name__', message)!s} is no {kind} that the {self.side} "
                    f"handles in protocol version {self.facts.version}"
                )
                raise TypeError(text)
            wire = method.wire

        def register(function: F) -> F:
            self.handlers.append(make(kind, wire, function, params))  # pyright: ignore[reportArgumentType]
            return function

        return register

    def handle(self, kind: Literal["request", "notification"], wire: str, handler: Any) -> Any:
        """Registers a handler by the method's name on the wire, and returns it."""
        self.handlers.append(make(kind, wire, handler))
        return handler

    def fallback_request(self, function: F) -> F:
        """Decorates the handler of requests that no other one serves; the params are JSON data
        where the method is unknown, and `ctx.method` is its name.
        """
        self.handlers.append(make("request", None, function))  # pyright: ignore[reportArgumentType]
        return function

    def fallback_notification(self, function: F) -> F:
        """Decorates the handler of notifications that no other one serves."""
        self.handlers.append(make("notification", None, function))  # pyright: ignore[reportArgumentType]
        return function

    def on_close(self, function: F) -> F:
        """Decorates a function that is called with each connection when it has ended."""
        self._closers.append(function)  # pyright: ignore[reportArgumentType]
        return function

    def background(self, function: F) -> F:
        """Decorates an async function that runs beside each connection, called with it."""
        self._background.append(function)  # pyright: ignore[reportArgumentType]
        return function

    def include(self, other: Endpoint) -> Self:
        """Adds the handlers of another endpoint of the same side and version, behind those so far.

        Raises ValueError for one of another version or side.
        """
        if other.facts is not self.facts or other.side != self.side:
            message = "Only an endpoint of the same side and protocol version can be included"
            raise ValueError(message)
        self.handlers += other.handlers
        self._closers += other._closers
        self._background += other._background
        self.features |= other.features
        return self

    def handle_with(self, target: object) -> Self:
        """Adds the methods of an object that have the name of a method of this side."""
        for method in self.facts.methods.values():
            function = getattr(target, method.name, None)
            if method.side == self.side and callable(function):
                kind: Any = method.kind
                self.handlers.append(make(kind, method.wire, function))
        return self

    def serves(self, wire: str) -> bool:
        """Whether there is a handler for a method."""
        return any(handler.wire == wire for handler in self.handlers)

    def check_feature(self, method: Method) -> None:
        """Raises RuntimeError for an unstable method that is not on."""
        if method.stable or "all" in self.features or feature_of(method) in self.features:
            return
        message = f"{method.wire} is not stable: it is on with features={{{feature_of(method)!r}}}"
        raise RuntimeError(message)

    def own_capabilities(self, kind: type[Any], gates: Mapping[str, str]) -> Any:
        """What the endpoint says that it can do: what was given, or what its handlers stand for."""
        if self.capabilities is not None:
            return self.capabilities
        found: dict[str, Any] = {}
        for wire, path in gates.items():
            if not self.serves(wire):
                continue
            *groups, last = path.split(".")
            group = found
            for name in groups:
                group = group.setdefault(name, {})
            group[last] = True if last in self.facts.flags else group.get(last, {})
        return kind(**found)

    # What connections need.

    @property
    def limits(self) -> Limits:
        """The bounds of each connection."""
        return self._options.limits

    def own_handler(self, kind: str, wire: str, connection: Connection) -> Handler | None:
        """The endpoint's own handler of a message, behind those of the user."""
        if self.side == "agent" and kind == "request" and wire == "initialize":
            return make("request", wire, functools.partial(self.facts.initialize, self))
        return None

    def seeing(
        self, wire: str, call: Callable[[Any], Any], connection: Connection
    ) -> Callable[[Any], Any]:
        """Notes what a message tells about the peer, once it is handled."""
        if wire != "initialize":
            return call

        async def seen(params: Any) -> Any:
            result = call(params)
            if hasattr(result, "__await__"):
                result = await result
            connection.peer_info, connection.peer_capabilities = self.facts.seen(params)
            return result

        return seen

    # Connections.

    def _make(self, transport: Any) -> Any:
        if not isinstance(transport, Transport):
            message = "An endpoint needs a transport, such as acp.stdio_transport()"
            raise TypeError(message)
        self._check()
        connection: Connection = self.connection_type(self)
        router = EndpointRouter(self, connection)
        connection.router = router
        connection.raw = RawConnection(self.side, router, transport, self._options, self._profile)
        if self._state is not None:
            connection.state = self._state(connection)
        return connection

    def _check(self) -> None:
        """Raises ValueError for an agent that says it has sessions and does not serve them."""
        if self.side != "agent" or getattr(self.capabilities, "session", None) is None:
            return
        missing = [wire for wire in self.facts.baseline if not self.serves(wire)]
        if missing:
            message = f"An agent with sessions needs handlers for {', '.join(missing)}"
            raise ValueError(message)

    async def serve(self, transport: Transport) -> None:
        """Serves one connection until its input ends or it is closed.

        Raises ConnectionClosed with its cause when the connection ends by a failure.
        """
        async with self.connect(transport) as connection:
            await connection.wait_closed()
        connection.raw.raise_failure()

    def connect(self, transport: Transport) -> Hosted[Any]:
        """Opens a connection: `async with endpoint.connect(transport) as connection`.

        It is closed at the end of the block.
        """
        return Hosted(lambda: self._make(transport), self._closed)

    async def _closed(self, connection: Any) -> None:
        for function in self._closers:
            result = function(connection)
            if hasattr(result, "__await__"):
                await result

    def begin(self, connection: Connection) -> None:
        """A connection runs now."""
        for function in self._background:
            connection.spawn(function(connection))
