"""A transport of the user's that moves whole messages, as one that moves bytes.

Owns the contract of such a transport and the way from dicts to lines and back. What a message means
it does not know.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol, runtime_checkable

from anyio import BrokenResourceError, CancelScope, ClosedResourceError, move_on_after

from acp import _core
from acp._runtime import Runtime, Slot, fill
from acp._transports.base import Transport
from acp.exceptions import ConnectionClosed

__all__ = ("LineTransport", "MessageTransport")

_log = logging.getLogger("acp")

_PATIENCE = 5.0
"""Seconds that the user's `close` may take, and before it what is cancelled."""
_NEWLINE = b"\n"
_PART = 64 * 1024
"""Bytes of a frame that are taken in one go."""


@runtime_checkable
class MessageTransport(Protocol):
    """Anything that moves JSON-RPC messages as dicts; a connection takes it in place of streams.

    One task receives and one sends. An error of `send` or `receive` ends the connection, and is in
    the chain of causes of the `ConnectionClosed` that callers get.
    """

    async def send(self, message: dict[str, Any]) -> None:
        """Sends one message, and waits while the other end takes none.

        The answers to a batch, which is a list, are sent as one list.
        """
        ...

    async def receive(self) -> dict[str, Any] | None:
        """The next message, waiting for it; None at the end of input.

        It is cancelled before `close` is called, as is `send`. A list of messages is a batch.
        """
        ...

    async def close(self) -> None:
        """Gives back what the transport holds. A connection calls it once, and waits 5 seconds for
        it.
        """
        ...


class LineTransport(Transport):
    """The lines of a connection over a transport of messages."""

    def __init__(self, messages: MessageTransport) -> None:
        self._messages = messages
        self._runtime = Runtime()
        self._calls: set[CancelScope] = set()
        """Of what is awaited of the user's, save `close`."""
        self._idle: Slot[None] | None = None
        self._partial = bytearray()
        """The beginning of a line that is on its way to us."""
        self._ended = False
        self._closed = False
        self._failed = ""
        """What the user's transport did when the connection broke."""

    async def receive(self) -> bytes:
        message = None if self._ended else await self._call("receive")
        if message is None:
            self._ended = True
            return b""
        try:
            if not isinstance(message, (dict, list)):
                # What it is may tell what it holds; a type does not.
                kind = type(message).__name__
                fault = f"receive() has to return a dict, or None at the end, and not {kind}"
                raise TypeError(fault)
            return _core.encode(message) + _NEWLINE
        except (TypeError, ValueError, RecursionError) as exc:
            raise self._broken("receive() returned what is no message") from exc

    def part_of(self, data: memoryview) -> memoryview:
        # One message at a time: each has its own time to be taken.
        part = data[:_PART]
        return part[: bytes(part).find(_NEWLINE) + 1] or part

    async def send(self, data: bytes | memoryview) -> None:
        self._partial += data
        if _NEWLINE not in bytes(data):
            return
        *lines, self._partial = self._partial.split(_NEWLINE)
        for line in lines:
            # Any type of open values reads as the connection itself does.
            await self._call("send", _core.decode(1, "ExtRequest", bytes(line)))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with move_on_after(_PATIENCE, shield=True):
            for scope in self._calls:
                scope.cancel()
            while self._calls:
                self._idle = self._runtime.slot()
                await self._idle
        with move_on_after(_PATIENCE, shield=True) as closing:
            try:
                await self._await("close")
            except BrokenResourceError as exc:
                _log.warning("A transport failed to close with %s", type(exc.__cause__).__name__)
        if closing.cancelled_caught:
            _log.warning("A transport did not close within %g s", _PATIENCE)

    def closed_error(self) -> ConnectionClosed:
        if not self._failed:
            return ConnectionClosed()
        message = f"Connection closed: the transport's {self._failed}; open a new connection"
        return ConnectionClosed(f"{message} to go on")

    async def _call(self, name: str, *args: Any) -> Any:
        """Calls a method of the user's, and gives up when this is closed."""
        if self._closed:
            raise ClosedResourceError
        with CancelScope() as scope:
            self._calls.add(scope)
            try:
                return await self._await(name, *args)
            finally:
                self._calls.discard(scope)
                if self._idle is not None:
                    fill(self._idle, None)
        raise ClosedResourceError

    async def _await(self, name: str, *args: Any) -> Any:
        """Calls a method of the user's. Raises BrokenResourceError from what that raises."""
        try:
            return await getattr(self._messages, name)(*args)
        except Exception as exc:  # noqa: BLE001 - the boundary of user code
            failure: BaseException = exc
        except BaseException as exc:  # noqa: BLE001 - raised again where it is not the user's
            failure = self._runtime.failure_of(exc)
        raise self._broken(f"{name}() failed with {type(failure).__name__}") from failure

    def _broken(self, what: str) -> BrokenResourceError:
        self._failed = self._failed or what
        return BrokenResourceError()
