"""What tests of the log look at: its lines, by level.

Owns what a level must not show: values that begin with `secret-`, which tests put everywhere.
"""

from __future__ import annotations

import logging

import pytest

TRACE = 5
"""The level of whole messages."""
SECRET = "secret-"
"""Begins every value that DEBUG must not show; the name of a variable is one of them."""
BELOW_KEYS = ("secret-env", "secret-header")
"""Those that no level shows."""


class Lines:
    """What was logged, as a handler would write it, with the arguments that it was given."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        write = logging.Formatter("%(levelname)s %(message)s").format
        self.all = [(record, f"{write(record)} {record.args!r}") for record in caplog.records]

    def at(self, least: int, most: int = logging.CRITICAL) -> str:
        return "\n".join(text for r, text in self.all if least <= r.levelno <= most)

    def check(self) -> None:
        """Nothing shows what its level must not show."""
        assert SECRET not in self.at(logging.DEBUG)
        assert all(r.exc_info is None for r, _ in self.all if r.levelno >= logging.DEBUG)
        for value in BELOW_KEYS:
            assert value not in self.at(0)
