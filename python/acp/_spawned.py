"""Coroutines of the user's that run beside the handlers of a connection.

Owns that each is run or closed, and that what it raises ends the connection. It knows no message.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from acp._workers import Worker

__all__ = ("Spawned",)

_log = logging.getLogger("acp")


class Spawned:
    """A duty: one coroutine. It is closed, and not begun, when the connection ends before."""

    __slots__ = ("_dropped", "_failed", "_failure_of", "_is_over", "_work")

    def __init__(
        self,
        work: Coroutine[Any, Any, Any],
        is_over: Callable[[], bool],
        failed: Callable[[BaseException], None],
        failure_of: Callable[[BaseException], BaseException],
        dropped: Callable[[], object] | None = None,
    ) -> None:
        self._work = work
        self._failure_of = failure_of
        self._is_over = is_over
        self._failed = failed
        self._dropped = dropped

    async def __call__(self, worker: Worker) -> None:
        del worker
        if self._is_over():
            self.drop()
            return
        try:
            await self._work
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            failure: BaseException = exc
        except BaseException as exc:  # noqa: BLE001 - raised again where it is not the coroutine's
            failure = self._failure_of(exc)
        else:
            return
        _log.warning("A task of the connection failed: %s", type(failure).__name__)
        self._failed(failure)

    def drop(self) -> None:
        """It is not begun any more."""
        self._work.close()
        if self._dropped is not None:
            self._dropped()

    def __del__(self) -> None:
        self._work.close()
