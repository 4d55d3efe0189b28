"""From a method to the handlers of a connection.

Owns which way a message goes: straight to the one function that it is for, where that is all, or
through the chain; and what is remembered of it. It starts no handler and sends nothing.
"""

from __future__ import annotations

import functools
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from acp._endpoint.chain import Chain
from acp._endpoint.handlers import Unhandled
from acp._router import Route
from acp._stepping import current_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._endpoint.connection import Connection
    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.handlers import Handler, Kind

__all__ = ("EndpointRouter",)

Places = list[tuple[int, "Handler"]]


class EndpointRouter:
    """The handlers of an endpoint, as those of one connection."""

    __slots__ = ("_connection", "_endpoint", "_notifications", "_requests", "chain", "direct")

    def __init__(self, endpoint: Endpoint[Any], connection: Connection) -> None:
        self._endpoint = endpoint
        self._connection = connection
        self.chain = Chain(endpoint, connection)
        self._requests: dict[str, Route | None] = {}
        self._notifications: dict[str, Route | None] = {}
        self.direct: dict[str, tuple[Route, Callable[[Any], Any]]] = {}

    def forget(self) -> None:
        """The handlers have changed: every route is looked up anew."""
        self._requests.clear()
        self._notifications.clear()
        self.direct.clear()

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

    def _route(self, kind: Kind, wire: str, known: dict[str, Route | None]) -> Route | None:
        endpoint = self._endpoint
        method = endpoint.facts.method(endpoint.side, kind, wire)
        first, last = self.chain.first(kind, wire), self.chain.last(kind, wire)
        route = self._build(kind, wire, first, last)
        if method is not None or any(handler.wire == wire for _, handler in first):
            # Other names are the peer's choice, and could be any number.
            known[wire] = route
            if route is not None and kind == "notification":
                self._remember(wire, route)
        if route is not None and method is not None and kind == "request":
            route.may_return_nothing = endpoint.facts.may_be_empty(method)
        return route

    def _remember(self, wire: str, route: Route) -> None:
        """Has notifications go straight to their handler, where that is all that they mean."""
        if not route.ends_turns and not route.takes_event:
            self.direct[wire] = (route, route.call)

    def _build(self, kind: Kind, wire: str, first: Places, last: list[Handler]) -> Route | None:
        chain = self.chain
        handlers = [handler for _, handler in first] or last[:1]
        call: Callable[[Any], Any] | None
        takes_event = False
        if handlers and not handlers[0].low_level and not chain.is_extended:
            others = last if first else last[1:]
            call = self._caller(kind, wire, handlers[0], first[1:], others)
        elif handlers or chain.is_extended or self._has_meaning(kind, wire):
            takes_event = True
            call = functools.partial(chain.offer, kind=kind, first=first, last=last)
        else:
            call = None
        sessions = None if chain.sessions is None else chain.sessions.read_by(wire)
        if sessions is not None and not sessions.unclaimed_only and kind == "notification":
            call, takes_event = sessions.beside(_of_params(call, takes_event)), False
        if call is None:
            return None
        plain = _of_params(call, takes_event)
        seen = self._endpoint.seeing(wire, plain, self._connection)
        if seen is not plain:
            call, takes_event = seen, False
        return Route(wire, call, takes_event=takes_event)

    def _has_meaning(self, kind: Kind, wire: str) -> bool:
        """Whether a message means something also where there is no handler for it."""
        endpoint = self._endpoint
        if kind == "request":
            return endpoint.facts.method(endpoint.side, kind, wire) is not None
        # A turn can be cancelled also when the agent has nothing to do about it itself.
        return wire == "session/cancel" or endpoint.side in endpoint.facts.keeping_sides

    def _caller(
        self, kind: Kind, wire: str, handler: Handler, first: Places, last: list[Handler]
    ) -> Callable[[Any], Any]:
        """What calls a handler with the params, and only when it declines looks for others."""
        chain = self.chain
        context = self._connection.context
        if kind == "notification":
            # What it declines has to be looked at only where others are asked, or it may wait.
            others = first or last or self._endpoint.facts.may_retry
            if not others or not handler.may_decline:
                if handler.direct is not None:
                    return handler.direct
                return lambda params: handler.call(params, context)

        async def goes_on(params: Any, result: Any) -> Any:
            if type(result) is Unhandled:
                return await chain.offer_on(result, params, kind, first, last)
            return chain.result(wire, result) if kind == "request" else None

        function = handler.direct
        if function is not None and iscoroutinefunction(function):

            async def call(params: Any) -> Any:
                result = await function(params)
                if result is None and kind == "notification":
                    return None
                return await goes_on(params, result)

        else:

            async def call(params: Any) -> Any:
                result = handler.call(params, context)
                if hasattr(result, "__await__"):
                    result = await result
                return await goes_on(params, result)

        return call


def _of_params(call: Callable[[Any], Any] | None, takes_event: bool) -> Any:
    """The same, called with the params."""
    if call is None or not takes_event:
        return call

    def of_params(params: Any) -> Any:
        del params
        return call(current_run.get().event)

    return of_params
