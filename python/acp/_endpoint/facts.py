"""The facts about one protocol version that endpoints need.

Owns the look-up of methods by name and by the type of their params, and which of them are on. The
facts themselves are generated tables and the objects of `acp.v1` and `acp.v2`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from acp._router import may_be_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from acp._profile import Profile
    from acp._schema.method import Method
    from acp.exceptions import RequestError

    Refusal = Callable[[bytes | None], RequestError]

__all__ = ("Facts", "Side", "feature_of", "other_side")

Side = Literal["agent", "client"]


def other_side(side: Side) -> Side:
    """The side that a side talks to."""
    return "client" if side == "agent" else "agent"


_FAMILIES = ("providers", "auth_status", "mcp", "proxy")
"""Features that more than one method belongs to."""


def feature_of(method: Method) -> str:
    """The name by which an unstable method is switched on."""
    name = method.wire.replace("/", "_").lstrip("_")
    return next((family for family in _FAMILIES if name.startswith(family)), name)


@dataclass(frozen=True)
class Facts:
    """One protocol version."""

    profile: Profile
    initialize: Callable[[Any, Any], Any]
    """`initialize(endpoint, request)` is the answer of an agent without a handler for it."""
    opening: Callable[[Any], Any]
    """`opening(endpoint)` is the request that a client begins with."""
    seen: Callable[[Any], tuple[Any, Any]]
    """Name and capabilities of the peer, from the params or the result of `initialize`."""
    gates: Mapping[str, str]
    """What of the peer's capabilities a method needs, as a path with dots."""
    offers: Mapping[Side, Mapping[str, str]]
    """The methods of a side that stand for a capability of its own, as a path with dots; it takes
    handlers for all of the same one.
    """
    flags: frozenset[str]
    """The last steps of those paths that are true or false, where all others are objects."""
    baseline: tuple[str, ...] = ()
    """Methods that an agent has to serve which says that it has sessions."""
    keeping_sides: frozenset[Side] = frozenset()
    """Those on which messages of sessions wait for handlers to come when nobody wants them."""
    reads_unclaimed: bool = False
    """Who reads a session gets what no handler wanted, requests included, and not what they see."""
    may_retry: bool = False
    """A handler that declines may say that the message is to wait."""

    @property
    def version(self) -> int:
        """The number of the version."""
        return self.profile.version

    @cached_property
    def schema(self) -> Any:
        """The module with the objects."""
        return importlib.import_module(f"acp.v{self.version}.schema")

    @cached_property
    def methods(self) -> Mapping[tuple[str, str, str], Method]:
        """Each method, by who handles it, kind, and name on the wire."""
        module = importlib.import_module(f"acp._schema.v{self.version}.methods")
        return {(m.side, m.kind, m.wire): m for m in module.METHODS}

    def method(self, side: Side, kind: str, wire: str) -> Method | None:
        """What `side` handles under a name; None when there is no such method."""
        return self.methods.get((side, kind, wire)) or self.methods.get(("protocol", kind, wire))

    @cached_property
    def _by_type(self) -> Mapping[type, list[Method]]:
        found: dict[type, list[Method]] = {}
        for method in self.methods.values():
            for kind in _classes(getattr(self.schema, method.params, None)):
                found.setdefault(kind, []).append(method)
        return found

    @cached_property
    def _classes_of(self) -> dict[str, tuple[type, ...]]:
        return {}

    def fits(self, kind: type, name: str | None) -> bool:
        """Whether a class of the schema is the type of that name, or one of its variants."""
        known = self._classes_of
        name = name or ""
        if name not in known:
            known[name] = _classes(getattr(self.schema, name, None))
        return issubclass(kind, known[name])

    @cached_property
    def _own(self) -> dict[type, bool]:
        return {}

    def owns(self, kind: type) -> bool:
        """Whether a class of a schema is one of this version."""
        if kind not in self._own:
            home = f"acp._schema.v{self.version}."
            self._own[kind] = any(each.__module__.startswith(home) for each in kind.__mro__)
        return self._own[kind]

    def may_be_empty(self, method: Method) -> bool:
        """Whether the result of a method has no required member."""
        return may_be_empty(getattr(self.schema, method.result or "", None))

    def method_of(self, side: Side, kind: str, params: Any) -> Method | None:
        """The method of `side` whose params are of a type, which may be a union of the schema; None
        when there is none.
        """
        for each in _classes(params):
            for known in each.__mro__:
                for method in self._by_type.get(known, ()):
                    if method.kind == kind and method.side in (side, "protocol"):
                        return method
        return None


def _classes(kind: Any) -> tuple[type, ...]:
    """The classes of a type of the schema, which may be a union of them."""
    if isinstance(kind, type):
        return (kind,)
    return tuple(one for each in getattr(kind, "__args__", ()) for one in _classes(each))
