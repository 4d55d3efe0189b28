"""Arguments that were left out.

Owns the one rule for them. It knows no message.
"""

from __future__ import annotations

from typing import Any

__all__ = ("given",)


def given(**members: Any) -> dict[str, Any]:
    """The members that are not None: what was left out is no member of a message, and no null."""
    return {name: value for name, value in members.items() if value is not None}
