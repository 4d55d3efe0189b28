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
    that are no message; `unanswered`: such as got no error, because too much output was unread;
    `malformed_responses`; `swallowed_responses`: answers to requests that were given up;
    `lost_notifications`: over a limit; `refused`: by the rules of initialization;
    `idle_cancellations`: of no running request; `lax_versions`; `cancelled`: requests that the peer
    cancelled; `overtaken`: handlers that messages have gone past.
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


class Counters:
    """The counters of one connection: the core's, and those of dispatch."""

    __slots__ = ("_core", "_hook", "_told", "cancelled", "overtaken")

    def __init__(self, core: _core.Connection, hook: CountHook | None) -> None:
        self._core = core
        self._hook = hook
        self._told: Mapping[str, int] = _NOTHING
        self.cancelled = 0
        """Requests that the peer cancelled."""
        self.overtaken = 0
        """How often patience with a handler has ended."""

    def read(self) -> dict[str, int]:
        """All of them, by name."""
        own = {"cancelled": self.cancelled, "overtaken": self.overtaken}
        return {**self._core.counters(), **own}

    def tell(self) -> None:
        """Tells the hook what has grown since it was told last."""
        if self._hook is None:
            return
        now = self.read()
        for name, value in now.items():
            grown = value - self._told.get(name, 0)
            if grown:
                try:
                    self._hook(name, grown)
                except Exception as exc:  # noqa: BLE001 - a fault of the hook's costs no message
                    _log.warning("The hook for counters failed: %s", type(exc).__name__)
        self._told = now
