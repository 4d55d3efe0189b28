"""The handlers of an endpoint, in the order in which they were given.

Owns what was registered for which messages, how a user's function is called, and what it returns
that does not want a message. It calls none by itself and knows no connection.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast, final

from acp._endpoint.user_types import of_user
from acp._errors import blame_params
from acp.exceptions import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._endpoint.context import Context

__all__ = ("UNHANDLED", "Handler", "Kind", "Unhandled", "make", "make_low_level", "unhandled")

Kind = Literal["request", "notification"]


@final
class Unhandled:
    """What a handler returns that does not want a message: the next one is asked.

    `UNHANDLED` is the plain one; `unhandled()` makes those that say more.
    """

    __slots__ = ("message", "retry")

    def __init__(self, message: Any = None, *, retry: bool = False) -> None:
        self.message = message
        """What the next one gets in place of the message; None: the message."""
        self.retry = retry
        """Where nobody wants the message, it waits for handlers to come."""

    def __repr__(self) -> str:
        return f"acp.unhandled(retry={self.retry})" if self.retry else "acp.UNHANDLED"


UNHANDLED: Final = Unhandled()
"""Returned by a handler: the message is not mine; the handlers behind are asked."""


def unhandled(message: Any = None, *, retry: bool = False) -> Unhandled:
    """What a handler returns that does not want a message, or wants the next one to see another.

    Args:
        message: What the handlers behind get: the `Message` of a low-level handler (see its
            `replace`), or params; None for the message as it is.
        retry: Where none of them wants it either, the message waits for handlers that the
            connection is given later, instead of being refused or ignored. It counts whichever
            handler said so. Of version 1 only; a connection of version 2 keeps no messages.
    """
    return UNHANDLED if message is None and not retry else Unhandled(message, retry=retry)


@dataclass(frozen=True)
class Handler:
    """One function and the messages that it is for."""

    kind: Kind | None
    """What it handles; None: both kinds."""
    wire: str | None
    """The method; None for every method."""
    call: Callable[[Any, Callable[[], Context]], Any]
    """Calls the function with what it handles and, when it takes one, a context."""
    direct: Callable[[Any], Any] | None = None
    """The function itself, when it takes the params alone and nothing has to be converted."""
    low_level: bool = False
    """It gets the `Message` in place of its params, in the order of all others; one of the user's
    without a method and not on that level is for what no other one has taken.
    """
    answers: Callable[[Any], Any] | None = None
    """Sees the answers to requests of this side before who waits for them."""
    may_decline: bool = True
    """It may return that it does not want the message."""

    def wants(self, kind: Kind, wire: str) -> bool:
        """Whether a message is one that it is registered for, in its place among all others."""
        return self.low_level or (self.kind == kind and self.wire == wire)

    def is_fallback(self, kind: Kind) -> bool:
        """Whether it is for messages of a kind that no other one has taken."""
        return not self.low_level and self.kind == kind and self.wire is None


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether a handler takes a context as its second argument: what has a default and is not named
    `ctx` is something of its own. Raises TypeError when it cannot be called with a message.
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
            if places == 1 and each.default is not each.empty and each.name != "ctx":
                break
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
            try:
                converted = of_user(params, message)
            except ValidationError as exc:
                blame_params(exc)
                raise
            return function(converted, context()) if with_context else function(converted)

    direct = None if with_context or params is not None else function
    return Handler(kind, wire, call, direct, may_decline=not _returns_none(function))


def make_low_level(target: object) -> Handler:
    """A handler of every message from an object with `handle(message, ctx)`, and of every answer
    when it has `handle_response(response)`. Raises TypeError when it has neither.
    """
    handle = getattr(target, "handle", None)
    answers = getattr(target, "handle_response", None)
    if not callable(handle) and not callable(answers):
        message = "A low-level handler has handle(message, ctx), or handle_response(response)"
        raise TypeError(message)

    def call(message: Any, context: Callable[[], Context]) -> Any:
        return cast("Any", handle)(message, context())

    return Handler(
        None,
        None,
        call,
        low_level=callable(handle),
        answers=answers if callable(answers) else None,
    )


def _returns_none(function: Callable[..., Any]) -> bool:
    """Whether a function says, by its annotation, that it returns nothing."""
    try:
        annotations: Any = getattr(function, "__annotations__", None) or {}
    except NameError:
        # From Python 3.14 on they are evaluated here, and may name what only type checkers import.
        return False
    return annotations.get("return", ...) in (None, "None")
