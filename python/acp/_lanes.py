"""The ordered stream of one session on one connection.

Owns what waits behind a handler that has suspended, and when it need not wait. It starts no handler and knows no
method.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

if TYPE_CHECKING:
    from acp._core import NotificationReceived, RequestReceived
    from acp._router import Route
    from acp._stepping import Suspended

__all__ = ("HandlerRun", "Lane")


class HandlerRun:
    """One call of a handler, from its first step to its end."""

    __slots__ = (
        "calls",
        "cancelled",
        "closing",
        "event",
        "lane",
        "owner",
        "route",
        "scope",
        "suspended",
        "turn_cancelled",
        "turns",
    )

    def __init__(
        self, owner: object, event: NotificationReceived | RequestReceived, route: Route | None
    ) -> None:
        self.owner = owner
        """The dispatcher that started it."""
        self.event = event
        self.route = route
        self.calls = 0
        """Unanswered requests and blocked sends that its code waits for, on the same connection."""
        self.lane: Lane | None = None
        """The lane that it keeps."""
        self.closing = False
        """It waits for the connection to close, and is not cancelled by that."""
        self.suspended: Suspended | None = None
        self.scope: CancelScope | None = None
        self.cancelled = False
        """The peer cancelled its request."""
        self.turn_cancelled = False
        """The peer cancelled the turn that its request is."""
        self.turns: tuple[HandlerRun, ...] = ()
        """The turns that it cancels at its end."""


class Lane:
    """What waits behind the handler that keeps the lane. A lane exists only while there is one."""

    __slots__ = ("end_patience", "head", "impatient", "key", "released", "waiting")

    def __init__(self, key: str | None, head: HandlerRun) -> None:
        self.key = key
        self.head: HandlerRun | None = head
        self.waiting: deque[Any] = deque()
        self.released: deque[RequestReceived] = deque()
        """Requests that need not wait any more and have not started yet."""
        self.impatient = False
        self.end_patience: Callable[[], None] | None = None

    @property
    def yields(self) -> bool:
        """Whether answers are handed over and requests start though the lane is kept.

        So it is while the handler in front itself waits for the peer: what it waits for may depend on them.
        """
        return self.impatient or (self.head is not None and self.head.calls > 0)

    def take_head(self, head: HandlerRun | None) -> None:
        """Another handler keeps the lane from now on, or, for a moment, none."""
        self.head = head
        self.impatient = False
        if self.end_patience is not None:
            self.end_patience()
            self.end_patience = None
