"""The logger behind the logs of messages that a program has asked for.

Owns the one logger that their handlers hang on. It is none that `logging` knows: a program that
sets up its own logging turns off or empties those that are there already.
"""

from __future__ import annotations

import logging
from typing import Any, Final

__all__ = ("MESSAGES", "TRACE")

TRACE: Final = 5
"""The level of whole messages, below `logging.DEBUG`."""


class MessageLogger(logging.Logger):
    """Gives each message of each connection to its own handlers, while it has any."""

    def __init__(self) -> None:
        super().__init__("acp.messages")
        self.propagate = False
        self._whole: list[logging.Handler] = []

    @property
    def shows_whole(self) -> bool:
        """Whether a handler shows more than heads."""
        return bool(self._whole)

    def add(self, handler: logging.Handler, *, whole: bool) -> None:
        """Gives each message to `handler` from now on: a record with `head`, and its text."""
        if whole:
            self._whole.append(handler)
        self.addHandler(handler)

    def remove(self, handler: logging.Handler) -> None:
        """Gives it none any more."""
        self.removeHandler(handler)
        if handler in self._whole:
            self._whole.remove(handler)

    def tell(self, head: dict[str, Any], text: str) -> None:
        """A message comes or goes."""
        # Not by `log`, whose answer to whether a level is on only loggers that are known forget.
        extra = {"head": head}
        self.handle(self.makeRecord(self.name, TRACE, "", 0, "%s", (text,), None, None, extra))


MESSAGES: Final = MessageLogger()
