"""Which of many events of one kind the log tells of.

Owns the rule for what a peer, or a fault, may cause as often as it likes: the first, the second,
the fourth and so on are told, each with how many there were.
"""

from __future__ import annotations

__all__ = ("told",)


def told(count: int) -> str | None:
    """What the log's line on the event of this number ends with; None: there is no line."""
    if count & (count - 1):
        return None
    return "" if count == 1 else f" ({count} by now)"
