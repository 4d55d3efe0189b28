"""The handlers of an endpoint, in the order in which they were given.

Owns what was registered for which messages, and how a user's function is called. It calls none by
itself and knows no connection.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any, Final, Literal, cast, final

from acp._core import Model
from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._endpoint.context import Context

__all__ = ("UNHANDLED", "Handler", "Unhandled", "of_user", "takes_context")

Kind = Literal["request", "notification"]


@final
class Unhandled:
    """What a handler returns that does not want a message: the next one is asked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "acp.UNHANDLED"


UNHANDLED: Final = Unhandled()
"""Returned by a handler: the message is not mine; the handlers behind are asked."""


@dataclasses.dataclass(frozen=True)
class Handler:
    """One function and the messages that it is for."""

    kind: Kind
    wire: str | None
    """The method; None for every method that no other handler has taken."""
    call: Callable[[Any, Callable[[], Context]], Any]
    """Calls the function with the params and, when it takes one, a context."""
    direct: Callable[[Any], Any] | None
    """The function itself, when it takes the params alone and nothing has to be converted."""


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether a handler takes a context as its second argument. Raises TypeError when it cannot be
    called with a message.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    places = 0
    for each in parameters:
        if each.kind is each.VAR_POSITIONAL:
            return True
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            places += 1
    if not places:
        message = "A handler takes the message and, if it likes, a context"
        raise TypeError(message)
    return places > 1


def make(kind: Kind, wire: str | None, function: Callable[..., Any], params: Any = None) -> Handler:
    """A handler from a user's function; `params` is a type of the user's for an extension."""
    if not callable(function):
        message = "A handler has to be a function or a method"
        raise TypeError(message)
    with_context = takes_context(function)
    if params is None:

        def call(message: Any, context: Callable[[], Context]) -> Any:
            return function(message, context()) if with_context else function(message)

    else:

        def call(message: Any, context: Callable[[], Context]) -> Any:
            converted = of_user(params, message)
            return function(converted, context()) if with_context else function(converted)

    return Handler(kind, wire, call, None if with_context or params is not None else function)


def of_user(kind: Any, value: Any) -> Any:
    """JSON data as a type of the user's: a model with `model_validate`, a dataclass, or a function.

    Raises RequestError with -32602 when it does not fit.
    """
    try:
        if hasattr(kind, "model_validate"):
            return kind.model_validate(value)
        if dataclasses.is_dataclass(kind):
            return cast("Any", kind)(**value)
        return kind(value)
    except RequestError:
        raise
    except (TypeError, ValueError) as exc:
        raise RequestError.invalid_params() from exc


def to_wire(value: Any) -> Any:
    """What can be written, of a value of a user's type."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    # Objects of the schema have it, too, and are written as they are.
    dump = None if isinstance(value, Model) else getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json", by_alias=True)
