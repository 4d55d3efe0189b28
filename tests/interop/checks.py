"""What an interop run found: one line of JSON for each check.

Owns the form of the lines and the count. It knows no protocol.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import acp

__all__ = ("BOUND", "Checks", "within")

BOUND = 20.0
"""Seconds that any single wait may take."""


class Checks:
    """Prints each check and remembers those that failed."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def ok(self, name: str, holds: object, **detail: Any) -> None:
        """One check: whether `holds` is true. `detail` is printed when it is not."""
        if holds:
            self.passed += 1
        else:
            self.failed.append(name)
        self._print("check", name=name, ok=bool(holds), **({} if holds else detail))

    def equal(self, name: str, actual: Any, expected: Any) -> None:
        """One check: whether two values are equal."""
        self.ok(name, actual == expected, actual=repr(actual)[:400], expected=repr(expected)[:400])

    async def rejects(self, name: str, call: Awaitable[Any], code: int, data: Any = None) -> None:
        """One check: whether a call is answered with an error of this code, and these data."""
        try:
            value = await within(call)
        except acp.RequestError as error:
            fits = error.code == code and data in (None, error.data)
            self.ok(name, fits, code=error.code, data=repr(error.data)[:400])
        else:
            self.ok(name, False, resolved=repr(value)[:400])

    def finish(self) -> int:
        """Prints the sum, and returns the exit code of the run."""
        self._print("done", passed=self.passed, failed=self.failed)
        return 0 if self.passed and not self.failed else 1

    def _print(self, kind: str, **fields: Any) -> None:
        print(json.dumps({"kind": kind, **fields}), flush=True)


async def within(awaitable: Awaitable[Any]) -> Any:
    """The value of `awaitable`, which has to come in time."""
    return await asyncio.wait_for(awaitable, BOUND)
