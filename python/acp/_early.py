"""Notifications that wait for the answer of the request whose handler has sent them.

Owns what is held back, and how much of it may be. A client that is told of a session before it has
its id may not know what to do with that; so an agent can have such messages wait.
"""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from acp._core import encode
from acp._lanes import RequestRun
from acp._router import NAMING_RESPONSES
from acp._stepping import current_run

if TYPE_CHECKING:
    from acp._core import Connection as Core
    from acp._limits import Limits
    from acp._outbox import Outbox

__all__ = ("EarlyMessages", "hold_back")

_log = logging.getLogger("acp")


class EarlyMessages:
    """What waits for one answer."""

    __slots__ = ("_core", "_held", "_limits", "_outbox", "_size")

    def __init__(self, core: Core, outbox: Outbox, limits: Limits) -> None:
        self._core = core
        self._outbox = outbox
        self._limits = limits
        self._held: list[tuple[str, Any]] | None = []
        """In their order; None once nothing is held any more."""
        self._size = 0

    def hold(self, method: str, params: Any) -> bool:
        """Keeps a notification as it is now. False when it is to be sent: too much is held, and
        goes out before it, or this is nothing that can be sent.

        Raises ValidationError for what JSON has no form for.
        """
        if self._held is None:
            return False
        text = encode(params)
        if text[:1] not in b"{[n":
            return False
        size, limits = self._size + len(text), self._limits
        if len(self._held) >= limits.early_messages or size > limits.early_bytes:
            self.release()
            return False
        self._held.append((method, deepcopy(params)))
        self._size = size
        return True

    def release(self) -> None:
        """Queues what is held. Nothing is held from now on."""
        held, self._held = self._held, None
        for method, params in held or ():
            self._send(method, params)
        self._outbox.schedule()

    def _send(self, method: str, params: Any) -> None:
        try:
            self._core.notify(method, params)
        except (RuntimeError, TypeError, ValueError) as exc:
            # Who sent it was told that all is well: the answer must not pay for it.
            name = type(exc).__name__
            _log.warning("The notification %.200r could not be sent: %s", method, name)


def hold_back(
    owner: object, core: Core, outbox: Outbox, limits: Limits, method: str, params: Any
) -> bool:
    """Whether a notification waits for the answer of the request that its sender handles, which is
    one of the connection of `owner` that opens a session.
    """
    run = current_run.get()
    if (
        type(run) is not RequestRun
        or run.owner is not owner
        or run.answered
        or run.event.method not in NAMING_RESPONSES
    ):
        return False
    if run.early is None:
        run.early = EarlyMessages(core, outbox, limits)
    return run.early.hold(method, params)
