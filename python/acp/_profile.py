"""What an endpoint of one kind does in its own way.

Owns the facts by which the connections of the drop-in surface and those of each protocol version
differ below their handlers. It decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

__all__ = ("DROP_IN", "RAW", "VERSION_1", "Profile")


@dataclass(frozen=True, slots=True)
class Profile:
    """Facts about the endpoint that a connection serves."""

    version: int
    """The protocol version that it speaks."""
    lax: bool = False
    """It reads what the official Python SDK reads."""
    guard: bool = True
    """The core keeps the rules of initialization."""
    overtakes: bool = False
    """Notifications go past a handler that patience with has ended."""
    official_errors: bool = False
    """The data of its errors have the form that those of the official Python SDK have."""
    turn: str | None = None
    """The request whose answer ends a turn of its session."""
    cancelled_turn: Mapping[str, str] | None = None
    """The result of a prompt that ends because its session was cancelled; None: an error."""


VERSION_1 = Profile(1, turn="session/prompt", cancelled_turn={"stopReason": "cancelled"})
"""The endpoints of `acp.v1`."""

DROP_IN = replace(VERSION_1, lax=True, overtakes=True, official_errors=True)
"""The endpoints with the names of the official Python SDK."""

RAW = replace(DROP_IN, guard=False)
"""One whose handler gets everything as plain JSON data."""
