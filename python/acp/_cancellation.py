"""What a handler sees of the cancellation of its request.

Owns the public token. Who cancels, and what is answered then, is `acp._serving`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyio import create_task_group

from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp._lanes import RequestRun
    from acp._serving import Serving

__all__ = ("Cancellation",)


class Cancellation:
    """Whether the peer has cancelled one request: with `$/cancel_request`, or, for a turn of
    protocol version 1, with `session/cancel`.

    It is for handlers that end by themselves (`cancel_handlers=False`, or work that a responder
    answers). It stays true to its request, whatever ids the peer uses again.
    """

    __slots__ = ("_run", "_serving")

    def __init__(self, serving: Serving, run: RequestRun) -> None:
        self._serving = serving
        self._run = run

    @property
    def is_cancelled(self) -> bool:
        """Whether it is cancelled now."""
        return self._run.cancelled or self._run.turn_cancelled

    def add(self, function: Callable[[], object]) -> None:
        """Has a function called when it is cancelled, at once when it is already."""
        self._serving.cancellation(self._run).add(function)

    def remove(self, function: Callable[[], object]) -> None:
        """Takes back a function that was added, if it was not called yet."""
        self._serving.cancellation(self._run).remove(function)

    async def wait(self) -> None:
        """Returns when it is cancelled, at once when it was before."""
        await self._serving.cancellation(self._run).wait()

    async def run(self, work: Awaitable[Any]) -> Any:
        """What `work` returns; RequestError with -32800 when the request is cancelled first.

        The work is cancelled then, and not begun when the request is cancelled already.
        """
        if self.is_cancelled:
            close = getattr(work, "close", None)
            if close is not None:
                close()
            raise RequestError.request_cancelled()
        result: list[Any] = []
        failure: list[Exception] = []
        async with create_task_group() as group:

            async def watch() -> None:
                await self.wait()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            try:
                result.append(await work)
            except Exception as exc:  # noqa: BLE001 - raised below, and not in a group
                failure.append(exc)
            group.cancel_scope.cancel()
        if failure:
            raise failure[0]
        if not result:
            raise RequestError.request_cancelled()
        return result[0]
