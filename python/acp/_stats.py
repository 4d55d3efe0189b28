"""What can be seen of a connection from outside: numbers, and the handlers that run.

Owns the shape of what users get, and telling a hook what was counted. It changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp import _core
    from acp._core import HandlerRun

__all__ = ("ConnectionStats", "CountHook", "Counters", "HandlerInfo", "running")

_log = logging.getLogger("acp")

CountHook = Callable[[str, int], None]
"""Called with the name of a counter and by how much it has grown."""


@dataclass(frozen=True, slots=True)
class HandlerInfo:
    """A handler that has started and not ended."""

    method: str
    """The method that it handles."""
    session: str | None
    """The session of its message, if that names one."""
    seconds: float
    """How long ago it first suspended."""
    awaits_peer: bool
    """Whether a request of its own, or a send, waits for the peer."""


@dataclass(frozen=True, slots=True)
class ConnectionStats:
    """A connection in numbers, at one moment."""

    lanes: int
    """Sessions whose next message waits for a handler that has suspended."""
    handlers: int
    """Handlers that have suspended and not ended."""
    unanswered: int
    """Requests of the peer that are not answered."""
    deferred: int
    """Those of them whose handler has ended and left the answer to a responder."""
    calls: int
    """Requests of ours that are not answered."""
    waiting_messages: int
    """Received messages that no handler has been started for."""
    waiting_bytes: int
    """The same, as bytes of their frames."""
    unsent_bytes: int
    """Output that the transport has not taken."""
    counters: Mapping[str, int]
    """What was seen so far.

    `frames`, `requests`, `notifications`, `responses`; `rejected_…` by reason: frames and entries
    that are no message, among them `rejected_error`: errors with a null id, and `rejected_cancel`:
    cancellations that name no id; `unanswered`: such as got no error, because too much output was
    unread; `malformed_responses`; `swallowed_responses`: answers to requests that were given up;
    `malformed_params`, `malformed_results`: those that do not fit their method; `skipped_items`:
    items of lists, and members that may be absent, that do not fit and were left out;
    `lost_notifications`: over a limit; `refused`: by the rules of initialization;
    `idle_cancellations`: of no running request; `lax_versions`; `cancelled`: requests that the peer
    cancelled; `overtaken`: handlers that messages have gone past; `unread`: messages of sessions
    that were kept for a reader and dropped before they were read.
    """


def running(runs: Iterable[HandlerRun]) -> list[HandlerInfo]:
    """Of handlers that have suspended, what users are told; oldest first."""
    now = monotonic()
    found = [
        HandlerInfo(run.event.method, run.event.lane, now - run.suspended.since, run.calls > 0)
        for run in runs
        if run.suspended is not None
    ]
    return sorted(found, key=lambda each: -each.seconds)


_NOTHING: Mapping[str, int] = {}
_OF_DISPATCH = (
    "cancelled",
    "overtaken",
    "malformed_params",
    "malformed_results",
    "skipped_items",
    "unread",
)


class Counters:
    """The counters of one connection: the core's, and those of dispatch."""

    __slots__ = ("_core", "_hook", "_own", "_told")

    def __init__(self, core: _core.Connection, hook: CountHook | None) -> None:
        self._core = core
        self._hook = hook
        self._told: Mapping[str, int] = _NOTHING
        # Replaced and never changed: nearly every connection needs none.
        self._own: Mapping[str, int] = _NOTHING

    def add(self, name: str, number: int = 1) -> None:
        """Counts something that the core does not, and tells the hook."""
        self._own = {**self._own, name: self._own.get(name, 0) + number}
        self.tell()

    def read(self) -> dict[str, int]:
        """All of them, by name."""
        own = {name: self._own.get(name, 0) for name in _OF_DISPATCH}
        return {**self._core.counters(), **own}

    def lose_unread(self) -> None:
        """A message of a session is dropped before it was read."""
        self.add("unread")

    def tell(self) -> None:
        """Tells the hook what has grown since it was told last."""
        if self._hook is None:
            return
        now = self.read()
        # Before the hook is called, in which something may be counted.
        told, self._told = self._told, now
        for name, value in now.items():
            grown = value - told.get(name, 0)
            if grown:
                try:
                    self._hook(name, grown)
                except Exception as exc:  # noqa: BLE001 - a fault of the hook's costs no message
                    _log.warning("The hook for counters failed: %s", type(exc).__name__)
