"""How one connection behaves, where the protocol leaves a choice.

Owns the options and their defaults. It decides nothing itself.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from acp._limits import Limits

if TYPE_CHECKING:
    from acp._malformed import MalformedHook
    from acp._stats import CountHook

__all__ = ("ConnectionOptions",)


@functools.cache
def _limits() -> Limits:
    return Limits.from_environment()


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """Options of one connection, given as keywords to what makes it."""

    batches: Literal["accept", "reject"] = "accept"
    """Whether JSON-RPC batches of the peer are handled, or answered with one -32600."""
    require_initialize: bool = False
    """Whether requests before `initialize` are refused with -32600."""
    allow_reinitialize: bool = True
    """Whether `initialize` of protocol version 2 may be repeated until another request came."""
    expose_internal_errors: bool | None = None
    """Whether the peer sees the text of a handler's exception, or only the name of its type. None:
    with the connections that have the names of the official Python SDK, which shows it, it does;
    with all others it does not. Texts of exceptions may hold anything.
    """
    cancel_handlers: bool = True
    """Whether `$/cancel_request` cancels the handler, which otherwise has to look for itself."""
    cancel_prompts: bool = True
    """Whether `session/cancel` cancels the session's prompt handlers, after its own handler. Turns
    that look at a flag which that handler sets, and end their own way, need False.
    """
    send_cancel_request: bool = True
    """Whether cancelling a call of ours tells the peer with `$/cancel_request`."""
    hold_early_updates: bool = False
    """Whether notifications that the handler of `session/new` or `session/fork` sends, or code that
    it has started, wait until its answer is queued. A client may not know what to do with updates
    of a session whose id it does not have yet. They are held as far as `limits` allow.
    """
    unknown_values: Literal["keep", "raise"] = "raise"
    """What becomes of a message with an enum value, or a variant of a union, that this release does
    not know. `raise`: it does not fit, as with the official Python SDK, so that a request is
    answered -32602, a call raises ValidationError, a notification is not handled. `keep`: the
    handler or caller gets the string itself for an enum, and for a variant the object as a dict,
    with all that was sent, where version 1 has no class for unknown ones; types do not tell of
    either. A known variant that is malformed does not fit all the same.
    """
    on_malformed: MalformedHook | None = None
    """Called with an `acp.Malformed` for each thing that the peer sent and that was not, or not
    wholly, read. It must not take long. What it raises is logged once, by its type.
    """
    on_count: CountHook | None = None
    """Called when a counter of `stats()` has grown, with its name and by how much."""
    telemetry: bool | None = None
    """Whether OpenTelemetry gets a span for each request in either direction, and for each
    notification that is handled, and requests carry its trace context in `_meta`. None: where the
    program has given it a tracer provider before the connection is made; nothing is imported. True:
    always; making the connection raises ModuleNotFoundError where it is not installed.
    """
    limits: Limits = field(default_factory=_limits)
    """The bounds of the connection."""
