"""Permissions and elicitations that a session has asked for.

Owns which are unanswered, and their withdrawal. It decides no withdrawal and knows no work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from acp.exceptions import RequestError

if TYPE_CHECKING:
    from acp._endpoint.sent import CancelHandle, SentRequest

__all__ = ("Questions",)


class _Question:
    __slots__ = ("_handle", "is_withdrawn", "scope", "with_work")

    def __init__(self, handle: CancelHandle, *, with_work: bool) -> None:
        self._handle = handle
        self.with_work = with_work
        """It means nothing any more once the foreground work is cancelled."""
        self.is_withdrawn = False
        self.scope = CancelScope()

    def withdraw(self) -> None:
        self.is_withdrawn = True
        # Told here, and not by who waits: that would depend on an option.
        self._handle.cancel()
        self.scope.cancel()


class Questions:
    """The questions of one session that are not answered."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[_Question, None] | None = None

    async def ask(self, sent: SentRequest[Any], withdrawn: Any, *, with_work: bool) -> Any:
        """What a question was answered with; `withdrawn` once it was withdrawn, whatever the
        client may answer still: what crosses with a withdrawal decides nothing.
        """
        question = _Question(sent.cancel_handle(), with_work=with_work)
        if self._pending is None:
            self._pending = {}
        self._pending[question] = None
        try:
            with question.scope:
                answer = await sent
                return withdrawn if question.is_withdrawn else answer
        except RequestError:
            if not question.is_withdrawn:
                raise
        finally:
            del self._pending[question]
        return withdrawn

    def withdraw(self, *, everything: bool) -> None:
        """Withdraws those that end with the foreground work, or all."""
        for question in tuple(self._pending or ()):
            if everything or question.with_work:
                question.withdraw()
