"""How long a process that was started may take to say anything.

Owns the time from the first bytes sent to the first bytes received. What they mean it does not
know.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anyio import BrokenResourceError, CancelScope

from acp._runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ("FirstBytes",)


class FirstBytes:
    """Ends a wait for the first bytes `patience` seconds after something was first sent.

    No task watches it: the one that receives waits with a deadline.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.overdue = False
        self._now = Runtime().now
        self._deadline = math.inf
        self._scope: CancelScope | None = None

    def asked(self) -> None:
        """Something was sent."""
        if self._deadline == math.inf:
            self._deadline = self._now() + self.patience
            if self._scope is not None:
                self._scope.deadline = self._deadline

    def came(self) -> None:
        """Something was received by another way than `receive`, which now waits without end."""
        if self._scope is not None:
            self._scope.deadline = math.inf

    async def receive(self, receive: Callable[[], Awaitable[bytes]]) -> bytes:
        """What `receive` returns, also the end of input. Raises BrokenResourceError when it does
        not come in time.
        """
        if not self.overdue:
            try:
                with CancelScope(deadline=self._deadline) as self._scope:
                    return await receive()
            finally:
                self._scope = None
            self.overdue = True
        raise BrokenResourceError from TimeoutError(self.message)

    @property
    def message(self) -> str:
        """What to tell, and what to do."""
        return (
            f"the process has written nothing within {self.patience:g} s of the first message to "
            f"it; look at `stderr_tail`, or give it more time with `start_timeout`"
        )
