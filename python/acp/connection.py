"""A connection with one handler for everything, under the name of the official Python SDK.

Owns the asyncio task in which a connection of the drop-in surface runs. How messages travel is
`acp._connection`'s.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import TYPE_CHECKING, Any, Literal

from acp._calls import plain_outcome
from acp._connection import Connection as _Connection
from acp._given import as_transport, require_asyncio
from acp._lazy import passing_on
from acp._one_handler import JsonValue, MethodHandler, OneHandler
from acp._options import ConnectionOptions
from acp._profile import DROP_IN, RAW, Profile
from acp._stepping import current_run
from acp._transports.timed import TimedTransport

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from acp._router import Routes
    from acp._stream_events import StreamDirection, StreamEvent, StreamObserver
    from acp._transports.base import Transport

__all__ = [
    "Connection",
    "JsonValue",
    "MethodHandler",
    "StreamDirection",
    "StreamEvent",
    "StreamObserver",
]

if not TYPE_CHECKING:
    __getattr__ = passing_on(
        __name__, "acp._stream_events", "acp.exceptions", "acp.task", "acp._transport"
    )

_log = logging.getLogger("acp")

_LAST_WAIT = 0.25
"""Seconds for the tasks of a connection to end after all else of it has."""


@functools.cache
def _defaults() -> ConnectionOptions:
    return ConnectionOptions()


class Connection:
    """A connection whose messages all go to one function, as plain JSON data.

    Args:
        handler: `async handler(method, params, is_notification)`; what it returns answers a
            request, and an `acp.RequestError` that it raises, too.
        writer: The peer's input: a StreamWriter, or one transport for both directions.
        reader: The peer's output: a StreamReader.
        observers: Functions that get a `StreamEvent` for each message that comes or goes.
        listening: Whether to serve at once, in a task of its own; otherwise `main_loop()` does.
        receive_timeout: Seconds that the peer may be silent before the connection ends.
        **options: The fields of `ConnectionOptions`.

    `acp.agent.connection` and `acp.client.connection` have the ones for agents and clients.
    """

    def __init__(
        self,
        handler: MethodHandler,
        writer: asyncio.StreamWriter | Transport,
        reader: asyncio.StreamReader | None = None,
        *,
        observers: list[StreamObserver] | None = None,
        listening: bool = True,
        receive_timeout: float | None = None,
        **options: Any,
    ) -> None:
        # A client, which as a reader of what is no message keeps silent.
        self._serve(
            "client",
            OneHandler(handler),
            as_transport("Connection", writer, reader),
            RAW,
            listening=listening,
            observers=observers,
            receive_timeout=receive_timeout,
            **options,
        )

    @classmethod
    def of(
        cls,
        side: Literal["agent", "client"],
        routes: Routes,
        transport: Transport,
        **options: Any,
    ) -> Self:
        """One with the handlers of an agent or a client. Part of this library alone."""
        made = cls.__new__(cls)
        made._serve(side, routes, transport, DROP_IN, **options)
        return made

    def _serve(
        self,
        side: Literal["agent", "client"],
        routes: Routes,
        transport: Transport,
        profile: Profile,
        *,
        listening: bool = True,
        observers: list[StreamObserver] | None = None,
        receive_timeout: float | None = None,
        **options: Any,
    ) -> None:
        if listening:
            require_asyncio("A connection of this kind")
        self._timed: TimedTransport | None = None
        if receive_timeout is not None:
            transport = self._timed = TimedTransport(transport, receive_timeout)
        # These two names are looked at from outside, also by the official SDK's own tests.
        self._transport = transport
        chosen = ConnectionOptions(**options) if options else _defaults()
        self.inner = _Connection(side, routes, transport, chosen, profile)
        """What does the work; part of this library alone."""
        for observer in observers or ():
            self.inner.observe(observer)
        self._host: asyncio.Task[None] | None = None
        if listening:
            self._host = asyncio.create_task(self.inner.run(), name=f"acp {side}")
            self._host.add_done_callback(self.inner.ended)

    @property
    def _disconnected(self) -> bool:
        return self.inner.is_closing

    async def main_loop(self) -> None:
        """Serves the connection, when it was made with `listening=False`, until its input ends or
        it is closed. Raises RequestError (-32603) when the peer was silent for too long.
        """
        await self.inner.run()
        if self._timed is not None and self._timed.failure is not None:
            raise self._timed.failure

    async def close(self) -> None:
        """Ends the connection: calls fail, handlers are cancelled, queued output is sent.

        Returns when the transport is closed. Called in a handler, it neither cancels that handler
        nor waits for it.
        """
        await self.inner.close()
        host = self._host
        if host is None or current_run.get() is not None or host is asyncio.current_task():
            return
        # It is over but for handlers that do not end whatever is done.
        await asyncio.wait([host], timeout=_LAST_WAIT)
        if host.done() and not host.cancelled() and (failure := host.exception()) is not None:
            _log.error("The connection failed with %s", type(failure).__name__)
            if _log.isEnabledFor(logging.DEBUG):
                from acp._wire_log import log_failure

                log_failure("The connection", failure)

    async def send_request(self, method: str, params: JsonValue | None = None) -> Any:
        """Sends a request and returns its result as plain JSON data.

        Raises RequestError when the peer answers with an error, ConnectionClosed when no answer can
        come.
        """
        self.inner.check_open()
        caller = self.inner.caller
        return plain_outcome(await caller.answer(caller.begin(method, params)))

    async def send_notification(self, method: str, params: JsonValue | None = None) -> None:
        """Sends a notification. Raises ConnectionClosed when nothing can be sent any more."""
        await self.inner.notify(method, params)

    def add_observer(self, observer: StreamObserver) -> None:
        """Has a function see each message that comes or goes from now on.

        It gets a `StreamEvent` of its own. What it returns is awaited beside the connection, up to
        1,024 at once. What it raises is logged once, and costs no message.
        """
        self.inner.observe(observer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.close()
