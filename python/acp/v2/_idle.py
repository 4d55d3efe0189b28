"""Waiting until a session of protocol version 2 has nothing more to do.

Owns which states complete such a wait. It keeps nothing of a session but what that takes, and sends
nothing.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from acp._calls import outcome
from acp._core import UNSET
from acp._runtime.flag import Flag
from acp.exceptions import RequestError
from acp.v2 import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from acp._core import UnsetType
    from acp._endpoint.sent import SentRequest
    from acp._endpoint.sessions import Message
    from acp._runtime import Runtime

__all__ = ("IdleWait",)

_ACTIVE = (schema.RunningStateUpdate, schema.RequiresActionStateUpdate)
_OF_THE_USER = (schema.UserMessage, schema.UserMessageChunk)
_MOST_MESSAGES = 1024
"""Messages of the user that may come while the answer of a prompt is still to tell which is its."""


class IdleWait:
    """A wait for `idle` that has begun: awaited, it returns the update. See `Session.wait_idle`."""

    __slots__ = (
        "__weakref__",
        "_accepted",
        "_failure",
        "_flag",
        "_idle",
        "_is_armed",
        "_message_id",
        "_prompt",
        "_said",
    )

    def __init__(self, runtime: Runtime) -> None:
        self._flag = Flag(runtime)
        self._idle: schema.IdleStateUpdate | None = None
        self._failure: Callable[[], Exception] | None = None
        self._is_armed = False
        """The next idle is the one."""
        self._accepted = True
        """Nothing is to be known any more before an active state counts."""
        self._message_id: str | UnsetType = UNSET
        self._prompt: SentRequest[schema.PromptResponse] | None = None
        """Held while it is unanswered: whoever waits here wants it."""
        self._said: dict[str, schema.IdleStateUpdate | None] = {}
        """While it is not known which message of the user counts: each, with the idle behind it."""

    def for_message(self, message_id: str | UnsetType) -> None:
        """Has it wait for the idle behind a message of the user."""
        self._message_id = message_id

    def for_prompt(self, prompt: SentRequest[schema.PromptResponse]) -> None:
        """Has it wait for the idle behind a prompt that was sent."""
        self._prompt = prompt
        self._accepted = False
        # The prompt does not hold what waits for it, which holds the prompt.
        found = weakref.ref(self)
        prompt.watch(lambda answer: _answered(found(), answer), lambda: _taken(found()))

    def answered(self, answer: Any) -> None:
        """The prompt is answered: now it is known which message of the user it was."""
        if self._accepted:
            return
        self._accepted = True
        self._prompt = None
        try:
            response: schema.PromptResponse = outcome(answer)
        except Exception as exc:  # noqa: BLE001 - whoever waits is told
            failure = exc
            self.end(lambda: failure)
            return
        self._message_id = named = response.message_id
        said, self._said = self._said, {}
        if isinstance(named, str) and named in said:
            self._is_armed = True
            idle = said[named]
            if idle is not None:
                self._complete(idle)

    def taken(self) -> None:
        """The prompt is answered or given up."""
        if not self._accepted:
            self.end(RequestError.request_cancelled)

    # A reader of the session.

    @property
    def has_ended(self) -> bool:
        """Whether it waits for nothing any more."""
        return self._flag.is_set()

    def take(self, message: Message) -> None:
        """Looks at an update."""
        update = message.params.update
        if isinstance(update, schema.IdleStateUpdate):
            for message_id, idle in self._said.items():
                if idle is None:
                    self._said[message_id] = update
            if self._is_armed:
                self._complete(update)
        elif isinstance(update, _ACTIVE):
            self._is_armed |= self._accepted
        elif isinstance(update, _OF_THE_USER):
            if not self._accepted:
                self._said.setdefault(update.message_id, None)
                if len(self._said) > _MOST_MESSAGES:
                    del self._said[next(iter(self._said))]
            elif update.message_id == self._message_id:
                self._is_armed = True

    take_kept = take

    def end(self, failure: Callable[[], Exception]) -> None:
        """No idle will come."""
        if not self._flag.is_set():
            self._failure = failure
            self._flag.set()

    def _complete(self, idle: schema.IdleStateUpdate) -> None:
        if not self._flag.is_set():
            self._idle = idle
            self._flag.set()

    def __await__(self) -> Generator[Any, Any, schema.IdleStateUpdate]:
        return self._wait().__await__()

    async def _wait(self) -> schema.IdleStateUpdate:
        await self._flag.wait()
        if self._failure is not None:
            raise self._failure()
        assert self._idle is not None
        return self._idle


def _answered(wait: IdleWait | None, answer: Any) -> None:
    if wait is not None:
        wait.answered(answer)


def _taken(wait: IdleWait | None) -> None:
    if wait is not None:
        wait.taken()
