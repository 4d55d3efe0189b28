"""The answer of a request that is given after its handler has ended.

Owns the public one-shot object. That each request is answered once is `acp._serving`'s to see to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._cancellation import Cancellation
from acp._core import ResponseReceived

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._lanes import RequestRun
    from acp._serving import Serving

__all__ = ("Responder",)


class Responder:
    """Answers one request, from anywhere in the loop, once.

    A handler gets it from `defer()` and may give it to whoever will know the answer. When nobody
    has it any more and the request is not answered, it is answered with -32603, or as a cancelled
    one (-32800, or the method's own result) when the peer had cancelled it; before that, with what
    the handler itself raises. What it does is refused with RuntimeError in other threads: there,
    `connection.from_thread` runs it in the loop.
    """

    __slots__ = ("__weakref__", "_convert", "_run", "_serving")

    def __init__(
        self,
        serving: Serving,
        run: RequestRun | None,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        self._serving = serving
        self._convert = convert
        self._run = serving.defer(run)

    def respond(self, result: Any) -> bool:
        """Answers with a result. False when the request was answered before, or cannot be any more.

        Raises RuntimeError when the result has no form on the wire; the request stays open.
        """
        if self._convert is not None:
            result = self._convert(result)
        return self._serving.answer_late(self._run, result)

    def error(self, error: Exception) -> bool:
        """Answers with an error: a RequestError as it is, any other as a handler's own.

        False when the request was answered before, or cannot be any more.
        """
        return self._serving.fail_late(self._run, error)

    def forward(self, answer: Any) -> bool:
        """Answers with what a request of this side was answered with, as it was received.

        `answer` is `Outcome.event`. False when the request was answered before, or `answer` is no
        readable one.
        """
        return isinstance(answer, ResponseReceived) and self._serving.forward_late(
            self._run, answer
        )

    def cancelled(self) -> bool:
        """Answers as what was cancelled: -32800, or the result that the method has for that."""
        return self._serving.cancel_late(self._run)

    @property
    def is_answered(self) -> bool:
        """Whether the request is answered."""
        return self._run.answered

    @property
    def method(self) -> str:
        """The method of the request."""
        return self._run.event.method

    @property
    def request_id(self) -> int | str | None:
        """The id that the peer gave to the request."""
        return self._run.event.id

    @property
    def session_id(self) -> str | None:
        """The session of the request, if it names one."""
        return self._run.event.lane

    @property
    def cancellation(self) -> Cancellation:
        """Whether the peer has cancelled the request."""
        return Cancellation(self._serving, self._run)

    def __repr__(self) -> str:
        state = "answered" if self.is_answered else "open"
        return f"<Responder of {self.method} ({state})>"

    def __del__(self) -> None:
        # It has no run when it could not be made.
        run = getattr(self, "_run", None)
        if run is not None and not run.answered:
            self._serving.dropped.add(run)
