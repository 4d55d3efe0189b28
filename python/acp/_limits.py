"""The bounds of one connection.

Owns numbers and their reasons, and reading them from the environment. It enforces nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("Limits",)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one connection.

    Sizes are bytes, times are seconds; None as a time means without end. Connections that are given
    none take those of the environment: see `from_environment`.
    """

    max_message_bytes: int = 64 * 1024 * 1024
    """Longest frame that is read."""
    max_batch_entries: int = 1024
    """Most entries of one JSON-RPC batch."""
    running_handlers: int = 1024
    """Handlers that run at one time; further requests wait unstarted."""
    waiting_messages: int = 1024
    """Received messages not yet given to a handler, above which reading pauses."""
    waiting_bytes: int = 8 * 1024 * 1024
    """The same, as bytes of their frames."""
    waiting_messages_hard: int = 65_536
    """Up to here reading goes on all the same while a handler waits for the peer, or when
    `reading_patience` is over; beyond, the connection ends.
    """
    waiting_bytes_hard: int = 64 * 1024 * 1024
    """The same, as bytes of their frames."""
    reading_patience: float | None = 1.0
    """How long reading pauses above the first marks while nothing moves and a request of ours is
    unanswered: what the handlers wait for may be its answer, which only reading brings.
    """
    kept_messages: int = 1024
    """Messages of sessions that are not open yet, kept for those who wait for the session and want
    to read it; beyond, the oldest are dropped and counted.
    """
    kept_bytes: int = 1024 * 1024
    """The same, as bytes of their frames."""
    unsent_bytes: int = 1024 * 1024
    """Output not yet taken by the transport, above which awaited sends wait."""
    unsent_bytes_hard: int = 64 * 1024 * 1024
    """Answers are accepted also above that; the connection ends when there is so much already and
    the peer takes nothing, or when so much is held by batches of which other requests are not
    answered.
    """
    early_messages: int = 1024
    """With `hold_early_updates`: notifications that wait for the answer of one request; of more,
    none waits.
    """
    early_bytes: int = 1024 * 1024
    """The same, as bytes of their params."""
    sends_per_turn: int = 64
    """Sends in a row before the sender lets other tasks run."""
    bytes_per_turn: int = 64 * 1024
    """Output in a row before the sender lets other tasks run."""
    steps_per_turn: int = 64
    """Handlers started in a row before other tasks run."""
    seconds_per_turn: float = 0.001
    """Time in which handlers are started in a row before other tasks run."""
    lane_patience: float | None = 10.0
    """How long a notification handler may keep the answer behind it from a caller."""
    write_stall: float | None = 30.0
    """How long the peer may take no output before the connection ends."""
    closing: float | None = 1.0
    """How long running handlers may go on once the input has ended."""
    close_callbacks: float | None = 5.0
    """How long the functions of `on_close` may take together."""
    draining: float | None = 5.0
    """How long the last output may take."""
    parked_messages: int = 1024
    """Messages that no handler wanted and that wait for handlers to come; beyond, the oldest goes.
    """
    parked_bytes: int = 1024 * 1024
    """The same, as bytes of their frames."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Limits:
        """The defaults, changed by variables such as `ACP_LIMIT_WAITING_MESSAGES=4096`.

        Each field has a variable of its name in capitals; `none` stands for None. Connections read
        them once, when the first one is made. Raises ValueError that names a variable which is no
        number, or none of these.
        """
        given = os.environ if environment is None else environment
        kinds = {_PREFIX + field.name.upper(): field for field in fields(cls)}
        changed: dict[str, float | None] = {}
        for variable, text in given.items():
            if not variable.startswith(_PREFIX):
                continue
            field = kinds.get(variable)
            if field is None:
                message = f"{variable} is no limit; there are {', '.join(sorted(kinds))}"
                raise ValueError(message)
            kind = str(field.type)
            try:
                if text.lower() == "none" and "None" in kind:
                    changed[field.name] = None
                else:
                    changed[field.name] = (int if kind == "int" else float)(text)
            except ValueError:
                message = f"{variable} has to be a number"
                raise ValueError(message) from None
            value = changed[field.name]
            if value is not None and not 0 <= value < float("inf"):
                message = f"{variable} has to be at least 0"
                raise ValueError(message)
        return cls(**changed)  # pyright: ignore[reportArgumentType] (the kinds were looked at)


_PREFIX = "ACP_LIMIT_"
