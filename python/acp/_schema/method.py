"""One row of a method table.

Owns the form of a row. Must not know which methods there are, or what handles them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Method"]


class Method(NamedTuple):
    """One method as one side handles it; `mcp/message` has a row for each side."""

    side: Literal["agent", "client", "proxy", "protocol"]
    """Who handles it; `protocol` means every endpoint."""
    kind: Literal["request", "notification"]
    wire: str
    """The name on the wire."""
    name: str
    """The name in Python: of the connection's method and of the handler."""
    params: str
    """Name of the schema type of the params."""
    result: str | None
    """Name of the schema type of the result; None for a notification."""
    stable: bool
    """Whether it is part of the stable schema."""
