"""What the two connection classes of the public surface have in common.

Owns what handlers and other code can do with a connection besides the methods of the protocol, of
which it knows none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from acp._cancellation import Cancellation
from acp._given import as_transport, require_asyncio
from acp._responder import Responder
from acp._router import Router
from acp._stepping import current_run
from acp.connection import Connection as RawConnection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from typing_extensions import Self

    from acp._stats import ConnectionStats, HandlerInfo

__all__ = ("SideConnection",)


class SideConnection:
    """A connection whose handlers are the methods of one object.

    With `listening` it runs from the start in a task of its own, asyncio's, which `close()` ends
    and awaits. Without, whoever awaits `listen()` runs it, on asyncio or trio.
    """

    def __init__(
        self,
        side: Literal["agent", "client"],
        target: Any,
        input_stream: Any,
        output_stream: Any,
        *,
        use_unstable_protocol: bool,
        **options: Any,
    ) -> None:
        name = type(self).__name__
        if options.get("listening", True):
            require_asyncio(name)
        transport = as_transport(name, input_stream, output_stream)
        handlers = target(self) if callable(target) else target
        router = Router(handlers, side, unstable=use_unstable_protocol)
        self._conn = RawConnection.of(side, router, transport, **options)
        self._connection = self._conn.inner
        on_connect = getattr(handlers, "on_connect", None)
        if on_connect is not None:
            on_connect(self)

    async def listen(self) -> None:
        """Serves the connection, when it was made with `listening=False`, until its input ends or
        it is closed. Raises RequestError (-32603) when the peer was silent for `receive_timeout`.
        """
        await self._conn.main_loop()

    async def close(self) -> None:
        """Ends the connection: calls fail, handlers are cancelled, queued output is sent.

        Returns when the transport is closed. Called in a handler, it neither cancels that handler
        nor waits for it.
        """
        await self._conn.close()

    async def request(
        self, method: str, params: Any = None, *, timeout: float | None = None
    ) -> Any:
        """Sends a request of any method and returns its result, typed where the method is known.

        `params` is an object of the schema, a dict or a list. Raises RequestTimeout when there is
        no answer after `timeout` seconds; the peer is then told that it is cancelled.
        """
        return await self._connection.request(method, params, timeout=timeout)

    async def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification of any method."""
        await self._connection.notify(method, params)

    def in_turn(self, session_id: str) -> bool:
        """Whether a prompt of this side is unanswered in a session.

        Updates after the end of a turn are delivered like all others; asked at the beginning of
        their handler, this tells them apart.
        """
        return self._connection.in_turn(session_id)

    @property
    def cancellation(self) -> Cancellation:
        """Whether the peer has cancelled the request that is being handled.

        For code of the handler of a request, and tasks that it has made; raises RuntimeError
        elsewhere.
        """
        serving = self._connection.serving
        return Cancellation(serving, serving.own(current_run.get()))

    def defer(self) -> Responder:
        """Leaves the answer of the request that is being handled to a responder, which may answer
        after the handler has ended: a dialog, say, that a person closes some time.

        The handler then returns None. For code of the handler of a request, and tasks that it has
        made; raises RuntimeError elsewhere, and when the request is answered already or has a
        responder.
        """
        return Responder(self._connection.serving, current_run.get())

    def after_answer(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs `function(*args)`, sync or async, once the request that is being handled is
        answered: what it sends comes after the answer.

        An update about a session that the answer tells of goes that way. Functions that are given
        one after another begin in that order. For code of the handler of a request, and tasks that
        it has made; raises RuntimeError elsewhere, and when the request is answered already.
        """
        self._connection.serving.after_answer(current_run.get(), function, args)

    def from_thread(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Runs `await function(*args)` in the loop of this connection, for another thread, and
        returns what it returns.

        All other methods are for the thread of the loop. Raises ConnectionClosed when the
        connection does not run or ends meanwhile, and RuntimeError in the thread of the loop.
        """
        return self._connection.from_thread(function, *args)

    def stats(self) -> ConnectionStats:
        """The connection in numbers, at this moment."""
        return self._connection.stats()

    def handlers(self) -> list[HandlerInfo]:
        """The handlers that have suspended and not ended, oldest first."""
        return self._connection.handlers()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Sends a request outside the protocol; its name on the wire is `method` with an underscore
        before it.
        """
        return await self._connection.request(f"_{method}", params)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Sends a notification outside the protocol; its name on the wire is `method` with an
        underscore before it.
        """
        await self._connection.notify(f"_{method}", params)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.close()
