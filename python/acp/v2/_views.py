"""What goes into a projection and comes out of it, besides objects of the schema.

Owns the bounds that a projection keeps, its counts, and the view of a terminal. It folds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from acp._core import UNSET

if TYPE_CHECKING:
    from acp.v2.schema import TerminalUpdate

__all__ = ("ProjectionLimits", "ProjectionStats", "TerminalView")


@dataclass(frozen=True)
class ProjectionLimits:
    """How much a `SessionProjection` keeps. Sizes are bytes of JSON text, about what arrived.

    Above `entities` or `bytes`, entities are dropped whole, that which was not updated for longest
    first, and never the one that was updated just now. What comes later for a dropped one is
    counted and ignored, since the beginning of it is missing; the last `entities` dropped ones are
    known as such.

    An update that would take one entity, or one value of the session as a whole, above
    `entity_bytes` is counted and left out, so that this entity stays as it was.

    Raises ValueError for limits that are below 1, or above the one around them.
    """

    entities: int = 10_000
    """Messages, tool calls, terminals, plans, compactions, subagents, cursors and updates of
    unknown kinds, together.
    """
    bytes: int = 64 << 20
    """All entities together."""
    entity_bytes: int = 16 << 20
    """One entity; at most `bytes`."""
    terminal_bytes: int = 1 << 20
    """The output of one terminal, in bytes of output; of more, the end is kept. At most
    `entity_bytes`.
    """
    others: int = 256
    """Updates of unknown kinds; of more, the latest are kept."""

    def __post_init__(self) -> None:
        if any(getattr(self, field.name) < 1 for field in fields(self)):
            raise ValueError("a limit of a projection has to be at least 1")
        if not self.terminal_bytes <= self.entity_bytes <= self.bytes:
            raise ValueError("terminal_bytes, entity_bytes and bytes have to be in this order")


@dataclass(frozen=True)
class ProjectionStats:
    """A projection in numbers, since it was made or cleared."""

    messages: int
    """Messages that were of the session, whatever became of them."""
    entities: int
    """Entities that are kept now."""
    bytes: int
    """Their size now."""
    dropped: int
    """Entities that made room for others."""
    late: int
    """Updates of dropped entities."""
    refused: int
    """Updates that would have taken something above `entity_bytes`."""
    malformed: int
    """Pieces of terminal output that are no base64."""
    notices: int
    """Notices, which are no part of the session's history and are not kept."""
    others: int
    """Updates of unknown kinds, kept or not."""
    replays: int
    """Replays that were told to be complete."""


@dataclass(frozen=True)
class TerminalView:
    """A terminal as it was at one moment."""

    terminal: TerminalUpdate
    """Everything but the output."""
    output: bytes
    """What it has printed, or the end of that."""
    cut: int
    """Bytes before `output` that were not kept."""

    @property
    def exited(self) -> bool:
        """Whether its process has ended; an exit status without members says so, too."""
        status = self.terminal.exit_status
        return status is not UNSET and status is not None

    @property
    def text(self) -> str:
        """The output as UTF-8; what is none shows as U+FFFD."""
        return self.output.decode("utf-8", "replace")
