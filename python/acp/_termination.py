"""How a connection ended.

Owns the public value. What comes to it is `acp._ending`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ("EndKind", "Termination")

EndKind = Literal[
    "incoming_closed",
    "local_shutdown",
    "foreground_error",
    "transport_error",
    "handler_error",
    "dropped",
]


@dataclass(frozen=True, slots=True)
class Termination:
    """How a connection ended. It is of this side: no peer can send one."""

    kind: EndKind
    """What came first: `incoming_closed`, the peer's output ended; `local_shutdown`, this side
    closed it, or its block ended; `foreground_error`, its block raised; `transport_error`, reading
    or writing failed; `handler_error`, a task, a callback or a function of `on_close` raised;
    `dropped`, what ran it was cancelled.
    """
    error: BaseException | None = None
    """What it ended with, where it was an error."""

    @property
    def is_clean(self) -> bool:
        """Whether it ended without an error."""
        return self.kind in ("incoming_closed", "local_shutdown")
