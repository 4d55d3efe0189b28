"""What a handler gets beside its message.

Owns the public context object. It is a view of the message being handled and holds nothing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._cancellation import Cancellation
from acp._endpoint.user_types import to_wire
from acp._lanes import RequestRun
from acp._responder import Responder
from acp._stepping import current_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._core import HandlerRun
    from acp._endpoint.connection import Connection

__all__ = ("Context",)


class Context:
    """The message that a handler handles, seen from inside.

    A handler of a request returns the result or raises the error; `defer()` leaves that to somebody
    else. The context may be kept as long as one likes.
    """

    __slots__ = ("_connection", "_run")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._run: HandlerRun = current_run.get()

    @property
    def connection(self) -> Any:
        """The connection that the message came on."""
        return self._connection

    @property
    def method(self) -> str:
        """The method of the message."""
        return self._run.event.method

    @property
    def request_id(self) -> int | str | None:
        """The id that the peer gave to the request; None for a notification, too."""
        return getattr(self._run.event, "id", None)

    def raw_params(self) -> bytes | None:
        """The JSON text of the params as received, unknown members included; None when absent."""
        return self._run.event.raw_params()

    @property
    def session_id(self) -> str | None:
        """The session of the message, if it names one."""
        return self._run.event.lane

    @property
    def state(self) -> Any:
        """What the `state` of the endpoint has made for this connection."""
        return self._connection.state

    @property
    def in_turn(self) -> bool:
        """Whether a prompt of this side is unanswered in the session of the message.

        Updates after the end of a turn are delivered like all others; this tells them apart. Of
        version 1 only: in version 2 a prompt's answer is no end.
        """
        return self._connection.raw.in_turn(self.session_id)

    @property
    def cancellation(self) -> Cancellation:
        """Whether the peer has cancelled the request.

        Raises RuntimeError for a notification.
        """
        return Cancellation(self._connection.raw.serving, self._request())

    def defer(self) -> Responder:
        """Leaves the answer to a responder, which may answer after the handler has ended.

        The handler then returns None. Raises RuntimeError for a notification, or when the request
        is answered already or has a responder.
        """
        return Responder(self._connection.raw.serving, self._request(), to_wire)

    def after_answer(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs `function(*args)`, sync or async, once the request is answered: what it sends comes
        after the answer.

        An update about a session that the answer tells of goes that way. Functions that are given
        one after another begin in that order. Raises RuntimeError for a notification, or when the
        request is answered already.
        """
        self._connection.raw.serving.after_answer(self._request(), function, args)

    def _request(self) -> RequestRun:
        if type(self._run) is not RequestRun:
            message = "This is a notification, which has no answer"
            raise RuntimeError(message)
        return self._run
