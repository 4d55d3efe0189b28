"""From a method to the handler that serves it.

Owns the choice of a handler, the keywords it is called with, and what the protocol says about
single methods: which keep their place in a session's stream, which have an own result for a
cancellation. It starts no handler and sends nothing.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

from acp import interfaces
from acp._core import field_facts
from acp._elicitation import mode_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from acp._schema.method import Method

__all__ = ("HELD_RESPONSES", "NAMING_RESPONSES", "Route", "Router", "Routes", "may_be_empty")

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

_UNSTABLE = frozenset(
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

_MADE: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {"elicitation/create": {"mode": mode_of}}
"""Parameters of handlers that are no field of the params, and what makes them of the params."""


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
        self._methods = _methods(side)
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
        wire = method.wire
        if (wire in _UNSTABLE or not method.stable) and not self._unstable:
            _warn(f"{wire} is not stable: it is served only with use_unstable_protocol=True")
            return None
        handler = self._handler(method.name)
        if handler is None and wire == "session/cancel":
            # A turn can be cancelled also when the agent has nothing to do about it itself.
            handler = _nothing
        if handler is None:
            return None
        declared = getattr(self._interface, method.name, None)
        names = _field_names(method) if declared is None else _parameter_names(declared)
        from acp import schema

        empty = may_be_empty(getattr(schema, method.result or "", None))
        return Route(wire, _caller(handler, wire, names), may_return_nothing=empty)

    def _extension(self, kind: str, method: str) -> Route | None:
        handler = self._handler("ext_method" if kind == "request" else "ext_notification")
        if handler is None or not method.startswith("_"):
            return None
        return Route(method, lambda params: handler(method[1:], {} if params is None else params))

    def _handler(self, attribute: str) -> Callable[..., Any] | None:
        """The user's own handler.

        The bodies in `acp.interfaces` stand for handlers that are not there.
        """
        handler = getattr(self._target, attribute, None)
        if getattr(handler, "__func__", None) is getattr(self._interface, attribute, None):
            return None
        return handler if callable(handler) else None


@cache
def _methods(side: str) -> Mapping[tuple[str, str], Method]:
    """What a side serves, by kind and name on the wire."""
    from acp._schema.v1.methods import METHODS

    return {(method.kind, method.wire): method for method in METHODS if method.side == side}


async def _nothing() -> None:
    return


def _warn(message: str) -> None:
    try:
        warnings.warn(message, UserWarning, stacklevel=4)
    except UserWarning:
        # Where warnings are errors, it is no error of the connection, which has to go on.
        _log.warning(message)


def _field_names(method: Method) -> tuple[str, ...]:
    """What the handler of a method is called with that `acp.interfaces` does not have."""
    from acp import schema

    facts = field_facts(getattr(schema, method.params))
    return tuple(name for name, *_ in facts if name != "field_meta")


@cache
def may_be_empty(result: Any) -> bool:
    """Whether a type of a result has no required member."""
    # A union has required members in each variant.
    return isinstance(result, type) and not any(
        required for _, _, required, _ in field_facts(result)
    )


def _parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind in named and p.name != "self")


def _caller(
    handler: Callable[..., Any], method: str, names: tuple[str, ...]
) -> Callable[[Any], Any]:
    """A function that calls the handler with the fields of a params object as keywords.

    `names` are the fields that every handler is called with; those in `_MADE` are made of the whole
    object. A handler without `**kwargs` gets those of them that it declares, and any handler gets
    newer fields that it declares by name.
    """
    parameters = inspect.signature(handler).parameters
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    own = _parameter_names(handler)
    return _call_of(method, names, own, takes_all, _all_parameter_names(handler))(handler)


@lru_cache(maxsize=256)
def _call_of(
    method: str,
    names: tuple[str, ...],
    own: tuple[str, ...],
    takes_all: bool,
    all_own: tuple[str, ...],
) -> Callable[[Callable[..., Any]], Callable[[Any], Any]]:
    """Makes such a function for any handler of a method that declares these parameters.

    Connections whose handlers look alike have the compiled code in common.
    """
    made = _MADE.get(method, {})
    if takes_all:
        passed = names
    else:
        passed = tuple(name for name in names if name in own)
    newer = frozenset(own) - frozenset(names)
    reserved = {*names, *all_own}

    def in_full(handler: Callable[..., Any], params: Any) -> Any:
        keywords = {
            name: made[name](params) if name in made else getattr(params, name) for name in passed
        }
        if newer:
            keywords.update({name: getattr(params, name) for name in newer & _fields(params)})
        if takes_all and params.field_meta:
            # What the peer sends as `_meta` never takes the place of a declared parameter.
            keywords.update({k: v for k, v in params.field_meta.items() if k not in reserved})
        return handler(**keywords)

    if newer:
        return lambda handler: lambda params: in_full(handler, params)
    # Written out for this handler: making a dict of the keywords costs 0.3 µs more per message.
    keywords = ", ".join(
        f"{name}=made[{name!r}](params)" if name in made else f"{name}=params.{name}"
        for name in passed
    )
    source = f"lambda handler: lambda params: handler({keywords})"
    if takes_all:
        source += " if not params.field_meta else in_full(handler, params)"
    return eval(source, {"in_full": in_full, "made": made})


def _fields(params: object) -> frozenset[str]:
    names: set[str] = set()
    for base in type(params).__mro__:
        names.update(getattr(base, "__slots__", ()))
    return frozenset(names)


def _all_parameter_names(handler: Callable[..., Any]) -> tuple[str, ...]:
    """Also that of the bound instance: as a keyword it would collide."""
    function = getattr(handler, "__func__", handler)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    # That of the rest is no name of a keyword.
    return tuple(each.name for each in parameters if each.kind is not each.VAR_KEYWORD)
