"""Messages that nobody wanted, and that wait for handlers which a connection is given later.

Owns how many wait (the bounds are those of `Limits`), which has to go when there are too many, and
the answers of requests among them. It calls no handler and knows no method.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from acp._lanes import RequestRun
from acp._seldom import told

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio import CancelScope

    from acp._endpoint.chain import Chain
    from acp._endpoint.connection import Connection
    from acp._endpoint.message import Message

__all__ = ("Parked", "ParkedMessage")

_log = logging.getLogger("acp")


class ParkedMessage:
    """One message that waits."""

    __slots__ = ("asked", "busy", "message", "offered", "run", "serial")

    def __init__(self, message: Message, run: Any, *, asked: bool, offered: int) -> None:
        self.message = message
        self.run = run
        """That of its handlers so far; it is unanswered where it is a request's."""
        self.asked = asked
        """A handler said that it is to wait; otherwise it is of a session that may get one."""
        self.offered = offered
        """Serial of the handler of the connection that was asked last."""
        self.serial = 0
        self.busy = False
        """A handler has it at the moment."""

    @property
    def is_request(self) -> bool:
        """Whether it has to be answered."""
        return type(self.run) is RequestRun

    def begin(self, scope: CancelScope) -> None:
        """A handler gets it, and is cancelled by its cancellation."""
        self.busy = True
        if self.is_request:
            self.run.deferred = False
            self.run.scope = scope

    def end(self) -> None:
        """The handler has ended."""
        if self.is_request:
            self.run.scope = None


class Parked:
    """What waits on one connection, oldest first."""

    __slots__ = ("_chain", "_connection", "_items", "_serial", "_size", "expelled")

    def __init__(self, connection: Connection, chain: Chain) -> None:
        self._connection = connection
        self._chain = chain
        self._items: list[ParkedMessage] = []
        self._serial = 0
        self._size = 0
        self.expelled = 0
        """Those that had to go because there were too many."""

    def __len__(self) -> int:
        return len(self._items)

    def after(self, serial: int) -> ParkedMessage | None:
        """The oldest one that came behind another, and that no handler has."""
        for item in self._items:
            if item.serial > serial and not item.busy:
                return item
        return None

    def add(self, item: ParkedMessage) -> None:
        """Keeps a message. The oldest ones go when there are too many."""
        self._serial += 1
        item.serial = self._serial
        self._items.append(item)
        self._size += item.message.size
        if item.is_request:
            # Its handlers have ended, and the answer is still to come.
            item.run.deferred = True
            flag = self._connection.raw.serving.cancellation(item.run)
            flag.add(lambda: self._cancelled(item))
        limits = self._connection.limits
        while len(self._items) > limits.parked_messages or self._size > limits.parked_bytes:
            self._expel(next((each for each in self._items if not each.busy), self._items[0]))

    def back(self, item: ParkedMessage) -> None:
        """No handler wanted it: it goes on waiting, in its place."""
        item.busy = False
        if item.is_request:
            item.run.deferred = True

    def take(self, item: ParkedMessage) -> None:
        """It waits no more."""
        if item in self._items:
            self._items.remove(item)
            self._size -= item.message.size

    def refuse(self, chosen: Callable[[ParkedMessage], bool]) -> None:
        """Answers those of the requests as requests that nobody wants."""
        for item in tuple(self._items):
            if item.is_request and not item.busy and chosen(item):
                self.take(item)
                self._refuse(item)

    def clear(self) -> None:
        """Nothing waits any more."""
        self._items.clear()
        self._size = 0

    # Answers.

    def respond(self, item: ParkedMessage, result: Any) -> None:
        """A handler has taken it; a request is answered, unless that is deferred."""
        self.take(item)
        if not item.is_request or (result is None and item.run.deferred):
            return
        try:
            self._connection.raw.serving.answer_late(item.run, result)
        except RuntimeError as exc:
            self.fail(item, exc)

    def fail(self, item: ParkedMessage, failure: Exception) -> None:
        """A handler has raised: that is the answer of a request, and a line in the log."""
        self.take(item)
        name = type(failure).__name__
        _log.warning("The handler of %.200r failed with %s", item.message.method, name)
        if item.is_request:
            self._connection.raw.serving.fail_late(item.run, failure)

    def cancelled(self, item: ParkedMessage) -> None:
        """The handler of a request was cancelled by the peer."""
        self.take(item)
        self._connection.raw.serving.cancel_late(item.run)

    def _cancelled(self, item: ParkedMessage) -> None:
        if not item.busy and item in self._items:
            self.cancelled(item)

    def _expel(self, item: ParkedMessage) -> None:
        self.take(item)
        self.expelled += 1
        if item.is_request:
            self._refuse(item)
            return
        # A peer that sends what nobody wants goes on doing so.
        by_now = told(self.expelled)
        if by_now is not None:
            message = "Too many messages wait for a handler: the oldest is dropped, %.200r%s"
            _log.warning(message, item.message.method, by_now)

    def _refuse(self, item: ParkedMessage) -> None:
        refusal = self._chain.refusal(item.message)
        self._connection.raw.serving.fail_late(item.run, refusal)
