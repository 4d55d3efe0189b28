"""Bytes as lines, for a function of the user's that looks at them.

Owns cutting bytes into lines, and that the function's failures harm nobody. It knows neither where
the bytes come from nor what a line means.
"""

from __future__ import annotations

import codecs
import inspect
import logging
import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Lines", "line_taker")

_log = logging.getLogger("acp")

_LONGEST = 64 * 1024
"""Bytes of a line that has no end yet; more of it comes as another piece."""


def line_taker(
    given: Callable[[str], object] | Literal["forward"] | None,
) -> Callable[[str], object] | None:
    """The function that gets each line. Raises TypeError for what is none, or has to be awaited."""
    if given == "forward":
        return _forward
    if given is None or (callable(given) and not inspect.iscoroutinefunction(given)):
        return given
    message = 'on_stderr= takes "forward", or a plain function that gets each line as a str'
    raise TypeError(message)


def _forward(line: str) -> None:
    # One call, so that lines of several processes do not mix. There is no stderr in a windowed
    # program.
    if sys.stderr is not None:
        sys.stderr.write(line + "\n")


class Lines:
    """Gives each line to `take`, without its end (`\\n` or `\\r\\n`).

    Bytes that are no UTF-8 are replaced. A line of more than 64 KiB comes in pieces. When `take`
    fails, that is logged once, with `name`.
    """

    def __init__(self, take: Callable[[str], object], name: str) -> None:
        self._take = take
        self._name = name
        self._rest = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._has_failed = False

    def add(self, data: bytes) -> None:
        """Adds the next bytes."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._rest += part
            self._give(final=True)
        self._rest += rest
        if len(self._rest) > _LONGEST:
            self._give(final=False)

    def end(self) -> None:
        """Nothing more comes."""
        if self._rest:
            self._give(final=True)

    def _give(self, *, final: bool) -> None:
        while len(self._rest) > _LONGEST:
            self._give_piece(self._rest[:_LONGEST], final=False)
            del self._rest[:_LONGEST]
        if final:
            self._give_piece(self._rest.removesuffix(b"\r"), final=True)
            self._rest.clear()

    def _give_piece(self, data: bytearray, *, final: bool) -> None:
        line = self._decoder.decode(data, final)
        try:
            self._take(line)
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            if self._has_failed:
                return
            self._has_failed = True
            _log.warning("%s failed with %s; this is told once", self._name, type(exc).__name__)
            if _log.isEnabledFor(logging.DEBUG):
                from acp._wire_log import log_failure

                log_failure(self._name, exc)
