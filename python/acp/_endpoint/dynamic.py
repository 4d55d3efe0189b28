"""Handlers that are added to a connection while it runs, and the messages that wait for them.

Owns when such a handler is called and when no more, and that it is first offered what waits, oldest
first. What waits is bounded by `Limits`. It knows no method.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from acp._core import HandlerRun
from acp._dropped import Dropped
from acp._endpoint.handlers import Unhandled, make_low_level
from acp._endpoint.parked import Parked, ParkedMessage
from acp._runtime.flag import Flag
from acp._stepping import Suspended, current_run, finish
from acp.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from acp._endpoint.chain import Chain
    from acp._endpoint.connection import Connection
    from acp._endpoint.handlers import Handler
    from acp._endpoint.message import Message

__all__ = ("DynamicHandlers", "HandlerGuard")


class HandlerGuard:
    """Holds a handler of one connection: while it is held, the handler is called.

    `with` removes it at the end of the block; so does `remove()`, and dropping the guard.
    `detach()` keeps the handler until the connection ends.
    """

    __slots__ = ("__weakref__", "_dynamic", "_entry")

    def __init__(self, dynamic: DynamicHandlers, entry: Entry) -> None:
        self._dynamic = dynamic
        self._entry: Entry | None = entry

    @property
    def is_active(self) -> bool:
        """Whether the handler is called, as far as this guard decides it."""
        return self._entry is not None and self._entry.active

    def deactivate(self) -> None:
        """From now on the handler is called no more.

        On a client of version 1, requests of sessions that nobody else wants wait from now on: for
        a handler to take over, or for `remove()`, which refuses them.
        """
        if self._entry is not None:
            self._dynamic.deactivate(self._entry)

    def remove(self) -> None:
        """Deactivates the handler and, in the next turn of the loop, takes it away."""
        entry, self._entry = self._entry, None
        if entry is not None:
            self._dynamic.deactivate(entry)
            self._dynamic.remove_soon(entry)

    def detach(self) -> None:
        """Keeps the handler until the connection ends. What was deactivated stays so."""
        self._entry = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.remove()

    def __del__(self) -> None:
        if self._entry is not None:
            self._entry.active = False
            self._dynamic.dropped.add(self._entry)


class Entry:
    """One handler of a connection."""

    __slots__ = ("active", "handler", "progress", "ready", "serial")

    def __init__(self, handler: Handler, serial: int) -> None:
        self.handler = handler
        self.serial = serial
        """Counts up in the order in which handlers are added."""
        self.active = True
        self.progress = 0
        """Serial of the message that it was offered last, of those that waited for it."""
        self.ready: Flag | None = None
        """Set once it was offered what waited; None: it was."""

    async def is_ready(self) -> bool:
        """Whether it may be called, once it was offered what came before."""
        if self.ready is not None:
            await self.ready.wait()
        return self.active


class DynamicHandlers:
    """The handlers of one connection that are no handlers of its endpoint."""

    __slots__ = (
        "_catching_up",
        "_chain",
        "_connection",
        "_entries",
        "_last",
        "_offering",
        "_runtime",
        "dropped",
        "parked",
    )

    def __init__(self, chain: Chain, connection: Connection) -> None:
        self._chain = chain
        self._connection = connection
        self._runtime = connection.raw.caller.runtime
        self._entries: list[Entry] = []
        self._last = 0
        self._catching_up: deque[Entry] = deque()
        """Those that have not been offered yet all that waits."""
        self._offering = False
        self.dropped = Dropped(self._runtime, self)
        """The entries whose guard nobody has any more."""
        self.parked = Parked(connection, chain)
        """What waits for handlers to come."""

    # Entries.

    @property
    def has_entries(self) -> bool:
        """Whether there are any, be it some that are on their way out."""
        return bool(self._entries)

    @property
    def is_leaving(self) -> bool:
        """Whether one is called no more and is not gone."""
        return any(not entry.active for entry in self._entries)

    def add(self, target: object) -> HandlerGuard:
        """Adds a handler behind all others. Raises TypeError for what is none."""
        self._last += 1
        entry = Entry(make_low_level(target), self._last)
        self.dropped.expect()
        self._entries.append(entry)
        self._connection.handlers_changed()
        if self.parked:
            entry.ready = Flag(self._runtime)
            self._catching_up.append(entry)
            if not self._offering:
                self._offering = True
                self._go_on()
        return HandlerGuard(self, entry)

    def after(self, serial: int) -> Entry | None:
        """The first one behind another that is active and handles messages."""
        for entry in self._entries:
            if entry.serial > serial and entry.active and entry.handler.low_level:
                return entry
        return None

    def answering(self) -> Iterator[Callable[[Any], Any]]:
        """What sees answers, in order."""
        for entry in tuple(self._entries):
            if entry.active and entry.handler.answers is not None:
                yield entry.handler.answers

    def deactivate(self, entry: Entry) -> None:
        """It is called no more."""
        entry.active = False
        self._connection.handlers_changed()

    def remove_soon(self, entry: Entry) -> None:
        """Takes it away in the next turn."""
        self._runtime.soon(lambda: self._remove(entry))

    def was_dropped(self, entry: Entry) -> None:
        """Nobody has the guard of an entry any more."""
        self.deactivate(entry)
        self._remove(entry)

    def _remove(self, entry: Entry) -> None:
        if entry in self._entries:
            self._entries.remove(entry)
            self._connection.handlers_changed()
            self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        """Requests that waited for another handler to take over have waited in vain."""
        if not self.is_leaving and not self._catching_up:
            self.parked.refuse(lambda item: not item.asked)

    # What waits.

    def park(self, message: Message, run: Any, *, asked: bool, offered: int) -> None:
        """Keeps a message for handlers to come. `run` is that of its handlers so far."""
        self.parked.add(ParkedMessage(message, run, asked=asked, offered=offered))

    def closing(self) -> None:
        """The connection is about to end: requests that wait are refused."""
        self.parked.refuse(lambda _: True)
        self.parked.clear()

    def _go_on(self) -> None:
        # Where the connection ends, nothing is offered any more.
        with suppress(ConnectionClosed):
            self._connection.spawn(self._offer())

    async def _offer(self) -> None:
        """Offers what waits to those that came since."""
        while self._catching_up:
            entry = self._catching_up[0]
            item = self.parked.after(entry.progress) if entry.active else None
            if item is None:
                self._catching_up.popleft()
                ready, entry.ready = entry.ready, None
                if ready is not None:
                    ready.set()
                continue
            entry.progress = item.serial
            if not await self._offer_to(entry, item):
                return
        self._offering = False
        self._refuse_waiting()

    async def _offer_to(self, first: Entry, item: ParkedMessage) -> bool:
        """Has a handler look at what waits, and, when it does not want that, those behind it.

        They are those that need not be offered it by their turn. False when the handler of a
        request has suspended and another task has gone on with what is left to offer.
        """
        goes_on = True
        entry = first
        while True:
            item.offered = entry.serial
            failure: Exception | None = None
            result: Any = None
            with CancelScope() as scope:
                item.begin(scope)
                try:
                    result = self._step(entry, item)
                    if type(result) is Suspended:
                        if item.is_request and goes_on:
                            goes_on = False
                            self._go_on()
                        result = await result
                    if type(result) is not Unhandled and item.is_request:
                        result = self._chain.result(item.message.received_method, result, item.run)
                except Exception as exc:  # noqa: BLE001 - the boundary of user code
                    failure = exc
                finally:
                    item.end()
            if scope.cancelled_caught:
                self.parked.cancelled(item)
            elif failure is not None:
                self.parked.fail(item, failure)
            elif type(result) is not Unhandled:
                self.parked.respond(item, result)
            else:
                self.parked.back(item)
                following = self.after(item.offered)
                if following is not None and following.ready is None:
                    entry = following
                    continue
            return goes_on

    def _step(self, entry: Entry, item: ParkedMessage) -> Any:
        """What a handler makes of a message, or, when it has suspended, what drives it on.

        Its code sees the message as its own, as it would if it were called by the dispatcher.
        """
        run = item.run
        context = copy_context()
        context.run(
            current_run.set, run if item.is_request else HandlerRun(run.owner, run.event, run.route)
        )
        result = context.run(entry.handler.call, item.message, self._connection.context)
        if not hasattr(result, "__await__"):
            return result
        body: Any = finish(result)
        try:
            return Suspended(body, context, context.run(body.send, None))
        except StopIteration as stop:
            return stop.value
