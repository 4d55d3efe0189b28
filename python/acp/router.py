"""A table of handlers for `acp.connection.Connection`, under the name of the official Python SDK.

Owns the form of the table. How a handler is found and called is `acp._handler_calls`'s, and what
the protocol says about methods `acp._router`'s; agents and clients need no table.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from acp import interfaces, schema
from acp._core import decode, encode
from acp._handler_calls import call_of, field_names, find_handler
from acp._router import UNSTABLE, Router, may_be_empty, methods_of
from acp.exceptions import RequestError
from acp.utils import ensure_dict, normalize_result, to_camel_case

if TYPE_CHECKING:
    from acp._schema.base import BaseModel
    from acp._schema.method import Method

__all__ = [
    "AsyncHandler",
    "HandlerT",
    "MessageRouter",
    "RequestHandler",
    "Route",
    "build_router",
    "to_camel_case",
]

AsyncHandler = Callable[[Any], Awaitable[Any | None]]
"""Handles the messages of one method, given their params."""

RequestHandler = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Handles extensions, given the method without its underscore, and the params."""

HandlerT = TypeVar("HandlerT", bound=RequestHandler)


@dataclass(slots=True)
class Route:
    """What is done with the messages of one method.

    Fields:
        method: its name on the wire.
        func: its handler; None when there is none.
        kind: whether it is for requests or notifications.
        optional: whether `default_result` is the result where there is no handler.
        default_result: that result.
        adapt_result: what makes the result of a request from what the handler returns.
        warn_unstable: whether the method is refused, with a warning, because it is not stable.
    """

    method: str
    func: AsyncHandler | None
    kind: Literal["request", "notification"]
    optional: bool = False
    default_result: Any = None
    adapt_result: Callable[[Any | None], Any] | None = None
    warn_unstable: bool = False

    async def handle(self, params: Any) -> Any:
        """What the handler makes of the params. Raises RequestError (-32601) when nothing may."""
        if self.func is None and self.optional:
            return self.default_result
        if self.func is not None and self.warn_unstable:
            message = (
                f"{self.method} is not stable: it is served only with use_unstable_protocol=True"
            )
            warnings.warn(message, UserWarning, stacklevel=2)
        if self.func is None or self.warn_unstable:
            raise RequestError.method_not_found(self.method)
        result = await self.func(params)
        if self.kind == "request" and self.adapt_result is not None:
            return self.adapt_result(result)
        return result


class MessageRouter:
    """From methods to handlers. It is a handler of `acp.connection.Connection` itself.

    Unstable methods are served only with `use_unstable_protocol`.
    """

    def __init__(self, use_unstable_protocol: bool = False) -> None:
        self._unstable = use_unstable_protocol
        self._routes: dict[tuple[str, str], Route] = {}
        self._extensions: dict[str, RequestHandler] = {}

    def add_route(self, route: Route) -> None:
        """Adds a route, or puts it in the place of the one that its method had."""
        self._routes[route.kind, route.method] = route

    def route_request(
        self,
        method: str,
        model: type[BaseModel],
        obj: Any,
        attr: str,
        optional: bool = False,
        default_result: Any = None,
        adapt_result: Callable[[Any | None], Any] | None = None,
        unstable: bool = False,
    ) -> Route:
        """Has the requests of a method handled by the attribute `attr` of `obj`.

        It is called with the fields of `model` as keywords.
        """
        route = Route(
            method,
            _handler(method, model, obj, attr),
            "request",
            optional=optional,
            default_result=default_result,
            adapt_result=adapt_result,
            warn_unstable=unstable and not self._unstable,
        )
        self.add_route(route)
        return route

    def route_notification(
        self,
        method: str,
        model: type[BaseModel],
        obj: Any,
        attr: str,
        optional: bool = False,
        unstable: bool = False,
    ) -> Route:
        """The same for notifications."""
        route = Route(
            method,
            _handler(method, model, obj, attr),
            "notification",
            optional=optional,
            warn_unstable=unstable and not self._unstable,
        )
        self.add_route(route)
        return route

    def handle_extension_request(self, handler: HandlerT) -> HandlerT:
        """Has requests whose method begins with an underscore handled; a decorator."""
        self._extensions["request"] = handler
        return handler

    def handle_extension_notification(self, handler: HandlerT) -> HandlerT:
        """Has notifications whose method begins with an underscore handled; a decorator."""
        self._extensions["notification"] = handler
        return handler

    async def __call__(self, method: str, params: Any | None, is_notification: bool) -> Any:
        """What the handler of a message makes of it. Raises RequestError (-32601) for others."""
        kind = "notification" if is_notification else "request"
        extension = self._extensions.get(kind)
        if method.startswith("_") and extension is not None:
            return await extension(method[1:], ensure_dict(params))
        route = self._routes.get((kind, method))
        if route is None:
            raise RequestError.method_not_found(method)
        return await route.handle(params)


def build_router(
    side: Literal["agent", "client"], target: Any, use_unstable_protocol: bool
) -> MessageRouter:
    """The table for an agent or a client: what a connection of that side does with its handlers."""
    table = MessageRouter(use_unstable_protocol)
    router = Router(target, side, unstable=True)
    for method in methods_of(side).values():
        gated = method.wire in UNSTABLE or not method.stable
        result = getattr(schema, method.result or "", None)
        table.add_route(
            Route(
                method.wire,
                _of_route(router, method),
                method.kind,
                adapt_result=normalize_result if may_be_empty(result) else None,
                warn_unstable=gated and not use_unstable_protocol,
            )
        )
    interface = interfaces.Agent if side == "agent" else interfaces.Client
    extension = find_handler(target, "ext_method", interface)
    if extension is not None:
        table.handle_extension_request(extension)
    noted = find_handler(target, "ext_notification", interface)
    table.handle_extension_notification(_ignore if noted is None else noted)
    return table


async def _ignore(method: str, params: dict[str, Any]) -> None:
    del method, params


def _of_route(router: Router, method: Method) -> AsyncHandler | None:
    find = router.request if method.kind == "request" else router.notification
    route = find(method.wire)
    if route is None:
        return None
    call = route.call

    async def handle(params: Any) -> Any:
        # The type may be a union, which has no class.
        read = decode(1, method.params, encode(params), lax=True)
        return await call(read)

    return handle


def _handler(method: str, model: type[BaseModel], obj: Any, attr: str) -> AsyncHandler | None:
    call = call_of(obj, attr, method, field_names(model), None)
    if call is None:
        return None

    async def handle(params: Any) -> Any:
        return await cast("Any", call)(model.model_validate(params))

    return handle
