"""Prompts of a session that wait for their turn.

Owns who waits, in which order, and who gets no turn any more. It knows no work and sends nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from anyio import Event

from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._lanes import RequestRun
    from acp._serving import Serving

__all__ = ("Turns",)


class _Ticket:
    """One that waits for its turn."""

    __slots__ = ("event", "is_granted", "is_refused")

    def __init__(self) -> None:
        self.event = Event()
        self.is_granted = False
        self.is_refused = False

    def refuse(self) -> None:
        """It gets no turn any more."""
        self.is_refused = True
        self.event.set()


class Turns:
    """One at a time, in the order in which they came."""

    __slots__ = ("_called", "_is_taken", "_may_begin", "_waiting")

    def __init__(self, may_begin: Callable[[], bool]) -> None:
        self._may_begin = may_begin
        self._is_taken = False
        self._called: _Ticket | None = None
        """Has its turn, and does not know yet."""
        self._waiting: deque[_Ticket] | None = None

    async def take(self, serving: Serving, run: RequestRun | None) -> None:
        """Waits for the turn, which `leave` ends.

        Raises RequestError (-32800) for one that was refused, or whose request was cancelled.
        """
        if not self._is_taken and not self._waiting and self._may_begin():
            self._is_taken = True
            return
        ticket = _Ticket()
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(ticket)
        if run is not None:
            # Where handlers are not cancelled, it is still no prompt to be inserted.
            serving.cancellation(run).add(ticket.refuse)
        try:
            await ticket.event.wait()
        except BaseException:
            self._drop(ticket)
            raise
        if ticket.is_refused:
            self._drop(ticket)
            raise RequestError.request_cancelled()
        self._called = None

    def _drop(self, ticket: _Ticket) -> None:
        if ticket.is_granted:
            self._called = None
            self.leave()
        elif self._waiting and ticket in self._waiting:
            self._waiting.remove(ticket)

    def leave(self) -> None:
        """The turn is over; the next one begins."""
        self._is_taken = False
        self.call_next()

    def call_next(self) -> None:
        """Gives the turn to the next, if it is free and work may begin."""
        while self._waiting and not self._is_taken and self._may_begin():
            ticket = self._waiting.popleft()
            if not ticket.is_refused:
                self._is_taken = ticket.is_granted = True
                self._called = ticket
                ticket.event.set()

    def refuse_all(self) -> None:
        """Nobody of those that wait now gets a turn."""
        for ticket in (self._called, *(self._waiting or ())):
            if ticket is not None:
                ticket.refuse()
