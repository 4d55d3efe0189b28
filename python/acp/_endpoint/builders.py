"""Session requests that are put together and not sent yet.

Owns what the builders of both protocol versions have in common: that each is sent once, what of it
the peer has to be able to do, and the short forms of what people pass. What becomes of the answer
is the versions' own.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from acp._calls import session_of
from acp._endpoint.setups import Setup
from acp._router import NAMING_RESPONSES
from acp.exceptions import RequestError, UnsupportedByPeer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from acp._endpoint.connection import Connection
    from acp._endpoint.sent import SentRequest
    from acp._endpoint.sessions import Reader

__all__ = ("Builder", "as_blocks", "working_directory")

S_co = TypeVar("S_co", covariant=True)


class Builder(Generic[S_co]):
    """A request that opens a session, complete and not sent. Unused, it sends nothing."""

    gates: ClassVar[str]
    """Where the peer's capabilities tell what such a request may hold."""
    reads_at_once: ClassVar[bool]
    """Whether readers get what comes before the answer when it comes, where the id is known."""

    def __init__(self, connection: Any, wire: str, request: Any) -> None:
        self._connection: Connection = connection
        self._wire = wire
        self._is_started = False
        self.request: Any = request
        """The request, as it will be sent."""

    def start_session(
        self, *, timeout: float | None = None, unchecked: bool = False
    ) -> SentRequest[S_co]:
        """Sends the request.

        Args:
            timeout: Seconds after which awaiting raises RequestTimeout.
            unchecked: Sends also what the peer's capabilities do not allow.

        Raises UnsupportedByPeer, and RuntimeError when it was sent before or is an unstable method
        that is not on; nothing is sent then. All other failures are the handle's.
        """
        self._check_unstarted()
        if not unchecked:
            self._check()
        is_naming = self._wire in NAMING_RESPONSES
        readers, opened = self._result()
        setup = Setup(
            self._connection.sessions,
            None if is_naming else session_of(self.request),
            readers,
            at_once=self.reads_at_once,
        )
        sent = self._connection.begin_setup(
            self.request,
            setup,
            functools.partial(opened, setup),
            timeout=timeout,
            unchecked=unchecked,
        )
        self._is_started = True
        return sent

    def __await__(self) -> Generator[Any, Any, S_co]:
        return self.start_session().__await__()

    def _check_unstarted(self) -> None:
        if self._is_started:
            message = "This session was started already: make another builder"
            raise RuntimeError(message)

    def _result(self) -> tuple[Sequence[Reader], Callable[[Setup, Any], S_co]]:
        """Who reads the session from its first message on, and what makes the result of a setup
        that has succeeded and of its answer.
        """
        raise NotImplementedError

    def _check(self) -> None:
        """Raises UnsupportedByPeer for what the peer would not read, and act as if it had."""
        if self._connection.peer_capabilities is None:
            return
        needed: list[str] = []
        if getattr(self.request, "additional_directories", None):
            needed.append("additional_directories")
        prompt = getattr(self.request, "system_prompt", None)
        if prompt is not None:
            needed.append("system_prompt")
            if prompt.mode == "override":
                needed.append("system_prompt.mode.override")
        for name in needed:
            path = f"{self.gates}.{name}"
            if not self._connection.peer_supports(path):
                raise UnsupportedByPeer(self._wire, path)


def working_directory(given: str | os.PathLike[str] | None) -> str:
    """The directory of a session: text as it is, which may be one of another machine, a path made
    absolute, and None for the directory of this process.

    Raises RequestError with -32603 when that cannot be read.
    """
    if isinstance(given, str):
        return given
    try:
        return os.getcwd() if given is None else str(Path(given).absolute())
    except OSError as exc:
        raise RequestError.internal_error({"type": type(exc).__name__}) from exc


def as_blocks(schema: Any, prompt: Any) -> list[Any]:
    """What is said in a prompt: a text, one block of content, or several."""
    if isinstance(prompt, str):
        return [schema.TextContentBlock(text=prompt)]
    if isinstance(prompt, (list, tuple)):
        return list(cast("Sequence[Any]", prompt))
    return [prompt]
