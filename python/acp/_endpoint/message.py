"""What a low-level handler gets: a request or a notification, whatever its method.

Owns the public object. It reads nothing before it is asked to, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._errors import blame_params

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp._core import NotificationReceived, RequestReceived
    from acp._endpoint.handlers import Kind

__all__ = ("Message",)

_UNREAD: Any = object()


class Message:
    """A request or a notification on its way through the handlers of a connection."""

    __slots__ = ("_event", "_params", "_unread", "is_replaced", "kind", "method")

    kind: Kind
    """`request` or `notification`."""
    method: str
    """The method, by its name on the wire."""

    is_replaced: bool
    """Whether the params are not those that were received."""

    def __init__(
        self,
        event: RequestReceived | NotificationReceived,
        kind: Kind,
        unread: Callable[[Any, Exception], object],
    ) -> None:
        self._event = event
        self._unread = unread
        """Told when the params do not fit."""
        self._params = _UNREAD
        self.kind = kind
        self.method = event.method
        self.is_replaced = False

    @property
    def params(self) -> Any:
        """The params: an object of the schema, or JSON data where the method is not the protocol's.

        Read when they are first asked for. Raises ValidationError when they do not fit the method
        that was received, which, let through, is the answer.
        """
        if self._params is _UNREAD:
            try:
                self._params = self._event.params()
            except Exception as exc:
                self._unread(self._event, exc)
                blame_params(exc)
                raise
        return self._params

    @property
    def raw_params(self) -> bytes | None:
        """The JSON text of the params as received; None when there are none, or others now."""
        return None if self.is_replaced else self._event.raw_params()

    @property
    def event(self) -> Any:
        """The request or notification as the core gave it."""
        return self._event

    @property
    def received_method(self) -> str:
        """The method that was received, which the answer of a request belongs to."""
        return self._event.method

    @property
    def session_id(self) -> str | None:
        """The session that the message names as received, if any."""
        return self._event.lane

    @property
    def request_id(self) -> int | str | None:
        """The id of a request; None for a notification, too."""
        return getattr(self._event, "id", None)

    @property
    def size(self) -> int:
        """Bytes of its frame, or of its part of one."""
        return self._event.size

    def was_read(self, params: Any) -> None:
        """Tells that the params were read elsewhere."""
        self._params = params

    def replace(self, *, method: str | None = None, params: Any = _UNREAD) -> Message:
        """The message with another method or other params, for `acp.unhandled`.

        Params are an object of the schema, or JSON data. The answer of a request goes where it
        would have gone.
        """
        other = Message(self._event, self.kind, self._unread)
        other.method = self.method if method is None else method
        other._params = self._params if params is _UNREAD else params
        other.is_replaced = self.is_replaced or params is not _UNREAD
        return other

    def __repr__(self) -> str:
        return f"<{self.kind} {self.method!r}>"
