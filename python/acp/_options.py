"""How one connection behaves, where the protocol leaves a choice.

Owns the options and their defaults. It decides nothing itself.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from acp._limits import Limits

if TYPE_CHECKING:
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
    expose_internal_errors: bool = False
    """Whether the peer sees the text of a handler's exception, or only the name of its type."""
    cancel_handlers: bool = True
    """Whether `$/cancel_request` cancels the handler, which otherwise has to look for itself."""
    cancel_prompts: bool = True
    """Whether `session/cancel` cancels the session's prompt handlers, after its own handler."""
    send_cancel_request: bool = True
    """Whether cancelling a call of ours tells the peer with `$/cancel_request`."""
    on_count: CountHook | None = None
    """Called when a counter of `stats()` has grown, with its name and by how much."""
    limits: Limits = field(default_factory=_limits)
    """The bounds of the connection."""
