"""One function of the user's as the handler of every message.

Owns what it is called with. It knows no method and no type of the schema.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from acp._core import NotificationReceived, RequestReceived, decode
from acp._router import Route

__all__ = ("JsonValue", "MethodHandler", "OneHandler")

JsonValue = Any
"""Plain JSON data."""

MethodHandler = Callable[[str, JsonValue | None, bool], Awaitable[JsonValue | None]]
"""Handles a message, given its method, its params, and whether it is a notification."""


class OneHandler:
    """Routes of a connection that has one handler."""

    __slots__ = ("_handler", "direct")

    def __init__(self, handler: MethodHandler) -> None:
        self._handler = handler
        self.direct: dict[str, tuple[Route, Callable[[Any], Any]]] = {}
        """None: the handler wants the method, too."""

    def request(self, method: str) -> Route:
        """The route of a request."""
        return Route(method, self._call, takes_event=True)

    def notification(self, method: str) -> Route:
        """The route of a notification."""
        return Route(method, self._call, takes_event=True)

    def _call(self, event: RequestReceived | NotificationReceived) -> Awaitable[Any]:
        raw = event.raw_params()
        # Any type of open values reads as the connection itself does.
        params = None if raw is None else decode(1, "ExtRequest", raw)
        return self._handler(event.method, params, type(event) is NotificationReceived)
