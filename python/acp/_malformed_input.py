"""What the peer sent that is no message, or does not fit: who is told of it, and how much.

Owns the warnings, of which a peer must not be able to cause many, and the calls of the user's hook.
It decides nothing about a message and keeps none.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from acp._errors import misfit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp import _core
    from acp._core import ValidationError
    from acp._malformed import MalformedHook
    from acp._stats import Counters

__all__ = ("MalformedInput",)

_log = logging.getLogger("acp")

_SHOWN = 4096
"""Most bytes of what was received that a hook is given."""

_SILENCE = 60.0
"""Seconds after a warning in which what is of its kind is only counted."""

_NEVER: Mapping[str, tuple[float, int]] = {}


class MalformedInput:
    """Tells of the malformed input of one connection: the log, the counters, and the user's hook.

    What the hook raises costs no message.
    """

    __slots__ = ("__weakref__", "_counters", "_failed", "_hook", "_told")

    def __init__(self, hook: MalformedHook | None) -> None:
        self._hook = hook
        self._failed = False
        self._counters: Counters | None = None
        self._told = _NEVER
        """For each kind of warning when there was one, and what has come since without one.

        Replaced and never changed: nearly every connection needs none.
        """

    @property
    def shown_bytes(self) -> int:
        """How many bytes of what was received are of use."""
        return 0 if self._hook is None else _SHOWN

    def count_in(self, counters: Counters) -> None:
        """Has what does not fit counted there."""
        self._counters = counters

    def frame(self, event: _core.FrameRejected) -> None:
        """A frame, or an entry of a batch, that is no message."""
        reason, code, kind = event.reason, event.code, "frame"
        if reason == "error":
            kind = "error"
            self._warn(kind, "The peer reports error %s of no request of ours", code)
        elif reason == "cancel":
            self._warn(reason, "Received a cancellation that names no request (%s)", reason)
        else:
            self._warn(kind, "Received what is no message (%s)", reason)
        answered, data = event.answered, event.head
        self._tell(kind, reason, event.size, answered=answered, code=code, data=data)

    def response(self, event: _core.ResponseRejected) -> None:
        """An answer to a request of ours that could not be read. Its caller is told, too."""
        self._tell("response", event.reason, event.size, method=event.method, data=event.head)

    def params(
        self,
        event: _core.NotificationReceived | _core.RequestReceived,
        failure: BaseException,
        *,
        answered: bool,
    ) -> None:
        """Params that could not be decoded. Whoever handles the message tells the log."""
        self._count("malformed_params")
        if self._hook is not None:
            self._does_not_fit("params", event.method, event.raw_params(), failure, answered)

    def result(self, event: _core.ResponseReceived, failure: BaseException) -> None:
        """A result that could not be decoded. Its caller is told, too."""
        self._count("malformed_results")
        if self._hook is not None:
            self._does_not_fit("result", event.method, event.raw_result(), failure, False)

    def skipped(
        self,
        method: str,
        part: Literal["params", "result"],
        count: int,
        places: ValidationError,
        size: int,
        head: bytes,
    ) -> None:
        """What was left out of params or a result; called by the core while it decodes them."""
        self._warn("skipped", "Parts of the %s of %.200r do not fit and are left out", part, method)
        if _log.isEnabledFor(logging.DEBUG):
            from acp._wire_log import log_skipped

            log_skipped(method, places)
        self._count("skipped_items", count)
        if self._hook is not None:
            errors = tuple(places.errors())
            reason = errors[0]["type"]
            self._tell("skipped", reason, size, method=method, errors=errors, data=head)

    def _does_not_fit(
        self, kind: str, method: str, raw: bytes | None, failure: BaseException, answered: bool
    ) -> None:
        raw = raw or b""
        unfit = misfit(failure)
        errors = () if unfit is None else tuple(unfit.errors())
        reason = errors[0]["type"] if errors else "value"
        told = {"answered": answered, "method": method, "errors": errors, "data": raw[:_SHOWN]}
        self._tell(kind, reason, len(raw), **told)

    def _count(self, name: str, number: int = 1) -> None:
        if self._counters is not None:
            self._counters.add(name, number)

    def _warn(self, kind: str, message: str, *arguments: object) -> None:
        now = monotonic()
        before, silent = self._told.get(kind, (None, 0))
        if before is not None and now - before < _SILENCE:
            self._told = {**self._told, kind: (before, silent + 1)}
            return
        self._told = {**self._told, kind: (now, 0)}
        since = f", and {silent} more since the last warning" if silent else ""
        _log.warning(message + "%s; for a minute more is only counted", *arguments, since)

    def _tell(self, kind: Any, reason: str, size: int, **more: Any) -> None:
        if self._hook is None:
            return
        from acp._malformed import Malformed

        try:
            self._hook(Malformed(kind, reason, size, **more))
        except Exception as exc:  # noqa: BLE001 - a fault of the hook's costs no message
            if not self._failed:
                self._failed = True
                _log.warning("The hook for malformed input failed: %s", type(exc).__name__)
