"""From a method to the handler that serves it.

Owns the choice of a handler, and what the protocol says about single methods: which keep their
place in a session's stream, which have an own result for a cancellation. It starts no handler and
sends nothing.
"""

from __future__ import annotations

import logging
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

from acp import interfaces
from acp._core import field_facts
from acp._handler_calls import call_of, field_names, find_handler, parameter_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from acp._schema.method import Method

__all__ = (
    "HELD_RESPONSES",
    "NAMING_RESPONSES",
    "UNSTABLE",
    "Route",
    "Router",
    "Routes",
    "may_be_empty",
    "methods_of",
)

_log = logging.getLogger("acp")

HELD_RESPONSES = frozenset(
    {
        "session/new",
        "session/load",
        "session/resume",
        "session/fork",
        "session/prompt",
        "session/close",
    }
)
"""Requests whose answer is handed over only after the notifications of its session that came before
it.
"""

NAMING_RESPONSES = frozenset({"session/new", "session/fork"})
"""Those of them that tell the session themselves; what a request names is another one."""

_ORDERED = frozenset({"session/prompt", "session/request_permission", "elicitation/create"})
"""Requests that depend on what came before them in their session, and start in its order."""

_CANCELLED_RESULTS: Mapping[str, Mapping[str, Any]] = {
    "session/request_permission": {"outcome": {"outcome": "cancelled"}},
    "elicitation/create": {"action": "cancel"},
}
"""Methods that answer a cancelled request with a result."""

UNSTABLE = frozenset(
    {
        "session/fork",
        "session/resume",
        "session/close",
        "elicitation/create",
        "elicitation/complete",
    }
)
"""Methods of the stable schema that a drop-in connection, too, serves only with
`use_unstable_protocol=True`.
"""


class Route:
    """One handler, and how a message of its method is treated."""

    __slots__ = (
        "call",
        "cancelled_result",
        "ends_turns",
        "ends_with_turn",
        "is_turn",
        "may_return_nothing",
        "opens",
        "ordered",
        "takes_event",
    )

    def __init__(
        self,
        method: str,
        call: Callable[[Any], Any],
        *,
        may_return_nothing: bool = False,
        takes_event: bool = False,
    ) -> None:
        self.call = call
        """Calls the handler with the message's params; what it returns is to be awaited."""
        self.takes_event = takes_event
        """It gets the message itself instead, and reads the params when it has to."""
        self.ordered = method in _ORDERED
        """The handler starts in the order of its session's stream."""
        self.opens = method == "initialize"
        """Nothing else is handled before its answer."""
        self.is_turn = method == "session/prompt"
        """The request is a turn of its session, which `ends_turns` cancels."""
        self.ends_turns = method == "session/cancel"
        self.ends_with_turn = method == "session/request_permission"
        """A question that is not to be decided any more once its turn is cancelled."""
        self.cancelled_result = _CANCELLED_RESULTS.get(method)
        self.may_return_nothing = may_return_nothing
        """The result is an object without required members: None stands for an empty one."""


class Routes(Protocol):
    """From methods to handlers, for one connection."""

    @property
    def direct(self) -> dict[str, tuple[Route, Callable[[Any], Any]]]:
        """The routes of notifications that were needed so far and have no other effect than their
        handler's, with what calls it.
        """
        ...

    def request(self, method: str) -> Route | None:
        """The route of a request; None when nothing serves it."""
        ...

    def notification(self, method: str) -> Route | None:
        """The route of a notification; None when nothing serves it."""
        ...


class Router:
    """The handlers of one user object: an agent or a client in the form of `acp.interfaces`."""

    __slots__ = (
        "_interface",
        "_methods",
        "_notifications",
        "_requests",
        "_target",
        "_unstable",
        "direct",
    )

    def __init__(
        self, target: object, side: Literal["agent", "client"], *, unstable: bool = False
    ) -> None:
        self._target = target
        self._interface = interfaces.Agent if side == "agent" else interfaces.Client
        self._unstable = unstable
        self._methods = methods_of(side)
        self._requests: dict[str, Route | None] = {}
        self._notifications: dict[str, Route | None] = {}
        self.direct: dict[str, tuple[Route, Callable[[Any], Any]]] = {}
        """The routes of notifications that were needed so far and have no other effect than their
        handler's, with what calls it.
        """

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

    def _route(
        self,
        kind: Literal["request", "notification"],
        method: str,
        known: dict[str, Route | None],
    ) -> Route | None:
        found = self._methods.get((kind, method))
        if found is None:
            # Not remembered: the peer chooses these names, and could make any number of them.
            return self._extension(kind, method)
        route = known[method] = self._build(found)
        if kind == "notification" and route is not None and not route.ends_turns:
            self.direct[method] = (route, route.call)
        return route

    def _build(self, method: Method) -> Route | None:
        from acp import schema

        wire = method.wire
        if (wire in UNSTABLE or not method.stable) and not self._unstable:
            _warn(f"{wire} is not stable: it is served only with use_unstable_protocol=True")
            return None
        declared = getattr(self._interface, method.name, None)
        params = getattr(schema, method.params, None)
        names = field_names(params) if declared is None else parameter_names(declared)
        call = call_of(self._target, method.name, wire, names, self._interface)
        if call is None and wire == "session/cancel":
            # A turn can be cancelled also when the agent has nothing to do about it itself.
            call = _nothing
        if call is None:
            return None
        empty = may_be_empty(getattr(schema, method.result or "", None))
        return Route(wire, call, may_return_nothing=empty)

    def _extension(self, kind: str, method: str) -> Route | None:
        attribute = "ext_method" if kind == "request" else "ext_notification"
        handler = find_handler(self._target, attribute, self._interface)
        if handler is None or not method.startswith("_"):
            return None
        return Route(method, lambda params: handler(method[1:], {} if params is None else params))


@cache
def methods_of(side: str) -> Mapping[tuple[str, str], Method]:
    """What a side serves, by kind and name on the wire."""
    from acp._schema.v1.methods import METHODS

    return {(method.kind, method.wire): method for method in METHODS if method.side == side}


async def _nothing(params: Any) -> None:
    del params


def _warn(message: str) -> None:
    try:
        warnings.warn(message, UserWarning, stacklevel=4)
    except UserWarning:
        # Where warnings are errors, it is no error of the connection, which has to go on.
        _log.warning(message)


@cache
def may_be_empty(result: Any) -> bool:
    """Whether a type of a result has no required member."""
    # A union has required members in each variant.
    return isinstance(result, type) and not any(
        required for _, _, required, _ in field_facts(result)
    )
