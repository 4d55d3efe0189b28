"""From the attributes of a user's object to functions that call its handlers with params.

Owns where a handler is found and what it is called with. Which message it is for is told by
`acp._router`.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from acp._core import field_facts
from acp._elicitation import mode_of
from acp._old_forms import to_camel_case, warn_of_old_handler

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ("call_of", "field_names", "find_handler", "parameter_names")

_MADE: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {"elicitation/create": {"mode": mode_of}}
"""Parameters of handlers that are no field of the params, and what makes them of the params."""


def find_handler(target: object, attribute: str, interface: type | None) -> Any:
    """The user's own handler; None when there is none.

    The bodies in `acp.interfaces` stand for handlers that are not there.
    """
    handler = getattr(target, attribute, None)
    body = getattr(interface, attribute, None)
    if body is not None and getattr(handler, "__func__", None) is body:
        return None
    return handler if callable(handler) else None


def call_of(
    target: object, attribute: str, method: str, names: tuple[str, ...], interface: type | None
) -> Callable[[Any], Any] | None:
    """A function that calls the handler of a method with the fields of a params object.

    `names` are the fields that every handler is called with; those in `_MADE` are made of the whole
    object. A handler without `**kwargs` gets those of them that it declares, and any handler gets
    newer fields that it declares by name. One in the old form gets the object itself. None when
    there is no handler.
    """
    handler = find_handler(target, attribute, interface)
    if handler is not None and not _takes_params(handler, attribute):
        return _caller(handler, method, names)
    if handler is None and "_" in attribute:
        attribute = to_camel_case(attribute)
        handler = find_handler(target, attribute, interface)
    if handler is None:
        return None
    old = handler

    def call_old(params: Any) -> Any:
        warn_of_old_handler(target, attribute)
        return old(params)

    return call_old


def _takes_params(handler: Any, attribute: str) -> bool:
    """Whether a handler whose name is the same in both forms has the old one."""
    if "_" in attribute:
        return False
    try:
        names = list(inspect.signature(handler).parameters)
    except (TypeError, ValueError):
        return False
    return names == ["params"]


def field_names(model: Any) -> tuple[str, ...]:
    """The fields of params, as keywords of a handler."""
    return tuple(name for name, *_ in field_facts(model) if name != "field_meta")


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters that a function can be given as keywords."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind in named and p.name != "self")


def _caller(
    handler: Callable[..., Any], method: str, names: tuple[str, ...]
) -> Callable[[Any], Any]:
    parameters = inspect.signature(handler).parameters
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    own = parameter_names(handler)
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
