"""The sessions of one connection, as the client that opened them knows them.

Owns which sessions are open and which handles are stale, who reads what of a session, and what is
kept for those who wait for a session to open. It knows no method but that of updates, and nothing
of what they say; the requests that open and end a session are `acp._endpoint.setups`'s.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from acp._endpoint.handlers import UNHANDLED, Handler
from acp._lanes import RequestRun
from acp._responder import Responder
from acp._stepping import current_run
from acp.exceptions import RequestError, SessionClosed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp._endpoint.connection import Connection
    from acp._endpoint.setups import Setup
    from acp._runtime import Slot

__all__ = ("Message", "Opening", "Reader", "Sessions")


class Message(NamedTuple):
    """A message of a session, for who reads the session."""

    method: str
    params: Any
    size: int
    responder: Responder | None
    """Answers it, when it is a request."""

    def refuse(self) -> None:
        """Nobody will read it: a request is answered like one that nobody serves."""
        if self.responder is not None:
            self.responder.error(RequestError.method_not_found(self.method))


class Reader(Protocol):
    """What takes the messages of a session. Whoever uses it holds it; the registry does not."""

    @property
    def has_ended(self) -> bool:
        """Whether it takes nothing any more."""
        ...

    def take(self, message: Message) -> Slot[None] | None:
        """Takes a message. What is returned is to be awaited before the next one."""
        ...

    def take_kept(self, message: Message) -> None:
        """Takes a message that came before the session was open."""
        ...

    def end(self, failure: Callable[[], Exception]) -> None:
        """Nothing more will come; `failure()` is why."""
        ...


class Opening:
    """One opening of a session: what its handles refer to. The id may come back, this does not."""

    __slots__ = ("is_closed", "is_deleted", "session_id")

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.is_closed = False
        self.is_deleted = False
        """The agent has forgotten it: who opens the id again gets another session."""

    def check(self) -> None:
        """Raises SessionClosed for a handle of a session that is closed."""
        if self.is_closed:
            raise SessionClosed(self.session_id)

    def closed_error(self) -> Exception:
        """What a handle of it raises once it is closed."""
        return SessionClosed(self.session_id)


class _Inlet:
    """A reader, as the registry knows it."""

    __slots__ = ("opening", "reader")

    def __init__(self, reader: weakref.ref[Any], opening: Opening | None) -> None:
        self.reader = reader
        self.opening = opening
        """What it reads; None while the session is only asked for."""


class Sessions:
    """The sessions of one connection.

    With `unclaimed_only` readers get what no handler of the connection wanted, requests included;
    otherwise they see the updates that the handlers see.
    """

    __slots__ = (
        "_connection",
        "_dead",
        "_expecting",
        "_has_ended",
        "_inlets",
        "_is_told_of_the_end",
        "_kept",
        "_kept_bytes",
        "_open",
        "is_read",
        "last",
        "unclaimed_only",
    )

    def __init__(self, connection: Connection, *, unclaimed_only: bool) -> None:
        self._connection = connection
        connection.router.chain.sessions = self
        self.last = Handler(
            "request", None, lambda params, _: self.unclaimed(params), self.unclaimed
        )
        """The handler behind all others, of requests and notifications."""
        self.unclaimed_only = unclaimed_only
        self.is_read = False
        """Whether anybody reads or waits for a session: only then messages come here."""
        self._open: dict[str, Opening] = {}
        self._inlets: dict[str, list[_Inlet]] = {}
        self._expecting: list[Setup] = []
        """Those that have readers, and whose messages are kept."""
        self._kept: deque[tuple[str, Message]] = deque()
        self._kept_bytes = 0
        self._dead: deque[Any] = deque()
        """References to readers that nobody holds any more; a finalizer only appends to it."""
        self._is_told_of_the_end = False
        self._has_ended = False

    # What is open.

    def is_open(self, session: str) -> bool:
        """Whether a session is open."""
        return session in self._open

    def opened(self, session: str, *, is_new: bool) -> Opening:
        """A session was opened: one that is new, or the one that is open already."""
        known = self._open.get(session)
        if known is not None and not is_new and not known.is_deleted:
            return known
        if known is not None:
            known.is_closed = True
        for inlet in tuple(self._inlets.get(session, ())):
            if inlet.opening is not None:
                self.release(inlet.opening)
        self._open[session] = found = Opening(session)
        return found

    def ended(self, session: str, *, is_deletion: bool) -> Opening | None:
        """A session was closed, or deleted: its handles hold until the id is opened again then.

        What was closed now, and may have readers yet.
        """
        if is_deletion:
            if session in self._open:
                self._open[session].is_deleted = True
            return None
        opening = self._open.pop(session, None)
        if opening is not None:
            opening.is_closed = True
        return opening

    # Who reads.

    def attach(self, session: str, reader: Reader, opening: Opening | None) -> None:
        """Gives a reader what comes for a session from now on; None: that is not open yet."""
        if self._has_ended:
            reader.end(self._connection.raw.closed_error)
            return
        inlets = self._inlets.setdefault(session, [])
        for inlet in inlets:
            if inlet.reader() is reader:
                inlet.opening = opening
                return
        inlets.append(_Inlet(weakref.ref(reader, self._dead.append), opening))
        self._look()

    def detach(self, reader: Reader) -> None:
        """A reader reads no more."""
        self._prune(lambda inlet: inlet.reader() is reader)

    def release(self, opening: Opening) -> None:
        """A session is closed, and what came before that is handled: its readers end."""
        for inlet in tuple(self._inlets.get(opening.session_id, ())):
            reader = inlet.reader()
            if inlet.opening is opening and reader is not None:
                reader.end(opening.closed_error)
        self._prune(lambda inlet: inlet.opening is opening)

    def expect(self, setup: Setup) -> None:
        """Keeps what may be of the session that a setup opens."""
        self._expecting.append(setup)
        self._look()

    def settle(self, setup: Setup, session: str | None) -> list[Message]:
        """A setup is answered, or given up: what was kept for its session.

        What nobody waits for any more is dropped.
        """
        if setup not in self._expecting:
            return []
        self._expecting.remove(setup)
        found = [message for name, message in self._kept if name == session]
        kept, self._kept = self._kept, deque()
        for item in kept:
            if any(other.wants(item[0]) for other in self._expecting):
                self._kept.append(item)
            elif item[0] != session:
                item[1].refuse()
        self._kept_bytes = sum(message.size for _, message in self._kept)
        self._prune(_is_nobodys)
        return found

    def _look(self) -> None:
        """Has messages come here exactly while somebody wants them."""
        is_read = bool(self._inlets or self._expecting)
        if is_read and not self._is_told_of_the_end:
            self._is_told_of_the_end = True
            self._connection.raw.when_closed(self._closed)
        if is_read is not self.is_read:
            self.is_read = is_read
            self._connection.router.forget()

    def _prune(self, is_over: Callable[[_Inlet], bool]) -> None:
        self._dead.clear()
        for session, inlets in tuple(self._inlets.items()):
            inlets[:] = [
                inlet
                for inlet in inlets
                if (reader := inlet.reader()) is not None
                and not reader.has_ended
                and not is_over(inlet)
            ]
            if not inlets:
                del self._inlets[session]
        self._look()

    def _closed(self) -> None:
        """The connection has ended."""
        self._has_ended = True
        for inlets in tuple(self._inlets.values()):
            for inlet in tuple(inlets):
                reader = inlet.reader()
                if reader is not None:
                    reader.end(self._connection.raw.closed_error)
        self._prune(lambda inlet: True)

    # What comes.

    def read_by(self, wire: str) -> Sessions | None:
        """This, when somebody reads sessions of which a message of this method may be; or None."""
        is_seen = self.unclaimed_only or wire == "session/update"
        return self if self.is_read and is_seen else None

    def unclaimed(self, params: Any) -> Any:
        """Takes a message that no handler wanted, when its session is read."""
        run = current_run.get()
        event, session = run.event, run.event.lane
        if session is None:
            return UNHANDLED
        if type(run) is not RequestRun:
            return self._give(session, Message(event.method, params, event.size, None))
        reader = next(reversed(self._readers(session)), None)
        is_kept = any(setup.session_id == session for setup in self._expecting)
        if reader is None and not is_kept:
            return UNHANDLED
        message = Message(
            event.method, params, event.size, Responder(self._connection.raw.serving, run)
        )
        if reader is not None:
            return reader.take(message)
        self._keep(session, message)
        return None

    def beside(self, call: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
        """What calls the handler of updates and gives each to the readers once it is handled."""
        if call is None:
            return self._seen

        def handled(params: Any) -> Any:
            try:
                result = call(params)
            except Exception as exc:  # noqa: BLE001 - it is raised again behind the readers
                return _raise_behind(self._seen(params), exc)
            if hasattr(result, "__await__"):
                return self._seen_behind(result, params)
            return self._seen(params)

        return handled

    async def _seen_behind(self, handled: Awaitable[Any], params: Any) -> None:
        try:
            await handled
        finally:
            wait = self._seen(params)
            if wait is not None:
                await wait

    def _seen(self, params: Any) -> Awaitable[None] | None:
        event = current_run.get().event
        if event.lane is None:
            return None
        wait = self._give(event.lane, Message(event.method, params, event.size, None))
        return None if wait is UNHANDLED else wait

    def _give(self, session: str, message: Message) -> Any:
        """Gives a message to the readers of its session: UNHANDLED when nobody wants it.

        What else is returned is to be awaited before the next one.
        """
        readers = self._readers(session)
        waits: list[Awaitable[None]] = []
        has_ended = False
        for reader in readers:
            wait = reader.take(message)
            if wait is not None:
                waits.append(wait)
            has_ended |= reader.has_ended
        if has_ended:
            self._prune(_is_nobodys)
        is_kept = bool(self._expecting) and self._keep(session, message)
        if waits:
            return waits[0] if len(waits) == 1 else _all(waits)
        return None if readers or is_kept else UNHANDLED

    def _readers(self, session: str) -> list[Any]:
        if self._dead:
            self._prune(_is_nobodys)
        found: list[Any] = []
        for inlet in self._inlets.get(session, ()):
            reader = inlet.reader()
            # The collector may have come since.
            if reader is not None and not reader.has_ended:
                found.append(reader)
        return found

    def _keep(self, session: str, message: Message) -> bool:
        if not any(setup.wants(session) for setup in self._expecting):
            return False
        self._kept.append((session, message))
        self._kept_bytes += message.size
        limits = self._connection.limits
        while self._kept and (
            len(self._kept) > limits.kept_messages or self._kept_bytes > limits.kept_bytes
        ):
            _, oldest = self._kept.popleft()
            self._kept_bytes -= oldest.size
            oldest.refuse()
            self._connection.raw.counters.lose_unread()
        return True


def _is_nobodys(inlet: _Inlet) -> bool:
    """No more than what is pruned anyway."""
    return False


async def _raise_behind(wait: Awaitable[None] | None, failure: Exception) -> None:
    if wait is not None:
        await wait
    raise failure


async def _all(waits: list[Awaitable[None]]) -> None:
    for wait in waits:
        await wait
