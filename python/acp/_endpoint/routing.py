"""From a method to the handlers of an endpoint, for one connection.

Owns which handlers a message is offered to, in which order, and what it means that none wants it.
It starts no handler and sends nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._endpoint.facts import feature_of
from acp._endpoint.handlers import UNHANDLED, to_wire
from acp._router import Route, may_be_empty
from acp._stepping import current_run
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._endpoint.connection import Connection
    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.handlers import Handler
    from acp._endpoint.sessions import Sessions
    from acp._schema.method import Method

__all__ = ("EndpointRouter",)


class EndpointRouter:
    """The handlers of an endpoint, as those of one connection."""

    __slots__ = ("_connection", "_endpoint", "_notifications", "_requests", "direct", "sessions")

    def __init__(self, endpoint: Endpoint, connection: Connection) -> None:
        self._endpoint = endpoint
        self._connection = connection
        self._requests: dict[str, Route | None] = {}
        self._notifications: dict[str, Route | None] = {}
        self.direct: dict[str, tuple[Route, Callable[[Any], Any]]] = {}
        self.sessions: Sessions | None = None
        """Whose messages may have readers, beside or behind the handlers."""

    def request(self, method: str) -> Route | None:
        """The route of a request; None when nothing serves it."""
        try:
            return self._requests[method]
        except KeyError:
            return self._route("request", method, self._requests)

    def notification(self, method: str) -> Route | None:
        """The route of a notification; None when nothing serves it."""
        try:
            return self._notifications[method]
        except KeyError:
            return self._route("notification", method, self._notifications)

    def forget(self) -> None:
        """The handlers of messages may be others from now on."""
        self._requests.clear()
        self._notifications.clear()
        self.direct.clear()

    def _route(self, kind: str, wire: str, known: dict[str, Route | None]) -> Route | None:
        facts, side = self._endpoint.facts, self._endpoint.side
        method = facts.method(side, kind, wire)
        route = self._build(kind, wire, method)
        registered = method is not None or any(h.wire == wire for h in self._endpoint.handlers)
        if registered:
            # Other names are the peer's choice, and could be any number.
            known[wire] = route
            if kind == "notification" and route is not None and not route.ends_turns:
                self.direct[wire] = (route, route.call)
        return route

    def _build(self, kind: str, wire: str, method: Method | None) -> Route | None:
        endpoint = self._endpoint
        is_off = method is not None and not (
            method.stable or feature_of(method) in endpoint.features or "all" in endpoint.features
        )
        handlers = [
            handler
            for handler in endpoint.handlers
            if handler.kind == kind
            and (handler.wire is None or (handler.wire == wire and not is_off))
        ]
        # A handler without a method is for what no other one has taken.
        handlers.sort(key=lambda handler: handler.wire is None)
        own = endpoint.own_handler(kind, wire, self._connection)
        if own is not None:
            handlers.append(own)
        sessions = None if is_off or self.sessions is None else self.sessions.read_by(wire)
        if sessions is not None and sessions.unclaimed_only:
            handlers.append(sessions.last)
        if wire == "session/cancel" and not handlers:
            # A turn can be cancelled also when the agent has nothing to do about it itself.
            return Route(wire, endpoint.seeing(wire, _nothing, self._connection))
        if not handlers and sessions is None:
            answers_itself = kind == "request" and method is not None and not is_off
            return Route(wire, self._unhandled) if answers_itself else None
        empty = (
            kind == "request"
            and method is not None
            and may_be_empty(getattr(endpoint.facts.schema, method.result or "", None))
        )
        if sessions is None or sessions.unclaimed_only:
            call = self._caller(handlers, wire, is_request=kind == "request")
        else:
            call = sessions.beside(
                self._caller(handlers, wire, is_request=False) if handlers else None
            )
        return Route(wire, endpoint.seeing(wire, call, self._connection), may_return_nothing=empty)

    def _unhandled(self, params: Any) -> Any:
        """Some methods have an answer of their own where nobody handles them."""
        del params
        core = self._connection.raw.core
        raise RequestError(*core.unhandled(current_run.get().event))

    def _caller(
        self, handlers: list[Handler], wire: str, *, is_request: bool
    ) -> Callable[[Any], Any]:
        connection = self._connection
        context = connection.context
        if len(handlers) == 1 and not is_request:
            (handler,) = handlers
            if handler.direct is not None:
                return handler.direct
            call = handler.call
            return lambda params: call(params, context)
        return lambda params: _offer(handlers, params, context, wire, is_request=is_request)


async def _offer(
    handlers: list[Handler],
    params: Any,
    context: Callable[[], Any],
    wire: str,
    *,
    is_request: bool,
) -> Any:
    """What the first handler that wants a message makes of it."""
    for handler in handlers:
        result = handler.call(params, context)
        if hasattr(result, "__await__"):
            result = await result
        if result is not UNHANDLED:
            return to_wire(result) if is_request else None
    if is_request:
        raise RequestError.method_not_found(wire)
    return None


def _nothing(params: Any) -> None:
    del params
