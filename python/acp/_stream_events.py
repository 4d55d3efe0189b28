"""What observers of a connection are given.

Owns the types alone, which programs name whether or not a connection is observed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ("StreamDirection", "StreamEvent", "StreamObserver")


class StreamDirection(str, Enum):
    """Which way a message goes, seen from the connection."""

    INCOMING = "incoming"
    OUTGOING = "outgoing"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One message as an observer sees it: a copy, which nobody else reads."""

    direction: StreamDirection
    message: dict[str, Any]


StreamObserver = Callable[[StreamEvent], Awaitable[None] | None]
"""Looks at messages; what it returns is awaited beside the connection, when it can be."""
