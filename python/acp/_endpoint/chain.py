"""A message and the handlers that it is offered to, one after the other.

Owns the order (the endpoint's handlers, those that were added to the connection, the last ones),
declining with another message, and what it means that nobody wants a message. Which messages come
here is `acp._endpoint.routing`'s; it starts no handler and sends nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from acp._core import Model, decode, encode
from acp._endpoint.handlers import Unhandled
from acp._endpoint.message import Message
from acp._endpoint.user_types import to_wire
from acp._errors import blame_params
from acp._stepping import current_run
from acp.exceptions import RequestError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from acp._endpoint.connection import Connection
    from acp._endpoint.dynamic import DynamicHandlers
    from acp._endpoint.endpoint import Endpoint
    from acp._endpoint.facts import Side
    from acp._endpoint.handlers import Handler, Kind
    from acp._endpoint.sessions import Sessions

__all__ = ("Chain",)


class Chain:
    """The handlers of one connection, in their order."""

    __slots__ = ("_endpoint", "_facts", "_side", "connection", "dynamic", "sessions")

    def __init__(self, endpoint: Endpoint[Any], connection: Connection) -> None:
        self._endpoint = endpoint
        self.connection = connection
        self._facts = endpoint.facts
        self._side: Side = endpoint.side
        self.sessions: Sessions | None = None
        """Those that are read, on the connection of a client; None when there never was one."""
        self.dynamic: DynamicHandlers | None = None
        """The handlers that were added to the connection; None when there never was one."""

    # Which handlers there are.

    def first(self, kind: Kind, wire: str) -> list[tuple[int, Handler]]:
        """The endpoint's handlers that a message is for, each with its place among all of them."""
        is_off = self._endpoint.is_off(self._facts.method(self._side, kind, wire))
        return [
            (place, handler)
            for place, handler in enumerate(self._endpoint.handlers())
            if handler.wants(kind, wire) and (handler.low_level or not is_off)
        ]

    def last(self, kind: Kind, wire: str) -> list[Handler]:
        """The handlers of a message that no other one has taken: what the endpoint itself does with
        it, and those of the user's that are for any.
        """
        found = [handler for handler in self._endpoint.handlers() if handler.is_fallback(kind)]
        own = self._endpoint.own_handler(kind, wire, self.connection)
        if own is not None:
            found.insert(0, own)
        is_off = self._endpoint.is_off(self._facts.method(self._side, kind, wire))
        sessions = None if is_off or self.sessions is None else self.sessions.read_by(wire)
        if sessions is not None and sessions.unclaimed_only:
            found.append(sessions.last)
        return found

    @property
    def is_extended(self) -> bool:
        """Whether the connection has handlers of its own, or had some that are not gone yet."""
        return self.dynamic is not None and self.dynamic.has_entries

    def answering(self) -> Iterator[Callable[[Any], Any]]:
        """What sees the answers to requests of this side, in the order of the handlers."""
        for handler in self._endpoint.handlers():
            if handler.answers is not None:
                yield handler.answers
        if self.dynamic is not None:
            yield from self.dynamic.answering()

    def keeps(self, kind: Kind, session: str | None) -> bool:
        """Whether a message that nobody wants waits for handlers to come, though none said so."""
        if session is None or self._side not in self._facts.keeping_sides:
            return False
        # Such a request is refused at once, unless another handler is about to take over.
        return kind == "notification" or (self.dynamic is not None and self.dynamic.is_leaving)

    # Offering.

    async def offer(
        self, event: Any, kind: Kind, first: list[tuple[int, Handler]], last: list[Handler]
    ) -> Any:
        """What the first handler that wants a message makes of it."""
        return await _Walk(self, Message(event, kind, self.connection.raw.unread)).run(first, last)

    async def offer_on(
        self,
        declined: Unhandled,
        params: Any,
        kind: Kind,
        first: list[tuple[int, Handler]],
        last: list[Handler],
    ) -> Any:
        """The same for a message that a handler has declined, which was given the params."""
        message = Message(current_run.get().event, kind, self.connection.raw.unread)
        message.was_read(params)
        walk = _Walk(self, message)
        walk.decline(declined)
        return await walk.run(first, last)

    def argument(self, handler: Handler, message: Message) -> Any:
        """What a handler is called with. Raises ValidationError for params that do not fit."""
        if handler.low_level:
            return message
        received = message.method == message.received_method
        if received and not message.is_replaced:
            return message.params
        method = self._facts.method(self._side, message.kind, message.method)
        raw = message.raw_params
        if method is None:
            return message.params if message.is_replaced else json.loads(raw or b"null")
        if message.is_replaced:
            params = message.params
            if isinstance(params, Model) and self._facts.fits(type(params), method.params):
                return params
            raw = encode(params, version=self._facts.version)
        try:
            return decode(self._facts.version, method.params, raw or b"null")
        except ValidationError as exc:
            if not message.is_replaced:
                blame_params(exc)
            raise

    def result(self, wire: str, value: Any, run: Any = None) -> Any:
        """The result of a request, as it is written.

        `run` is that of its handlers; None: the one that is running.

        Raises TypeError for an object that is no result of the method in this version.
        """
        method = self._facts.method(self._side, "request", wire)
        if value is None:
            run = run or current_run.get()
            if method is None or run.deferred or run.answered or self._facts.may_be_empty(method):
                return None
            message = f"The handler of {method.wire} returned nothing, and has not deferred"
            raise TypeError(message)
        if not isinstance(value, Model):
            return to_wire(value)
        kind = type(value)
        expected = None if method is None else method.result
        if not (self._facts.owns(kind) if expected is None else self._facts.fits(kind, expected)):
            message = (
                f"{kind.__name__} of {kind.__module__} is no result of a {self._side} in protocol "
                f"version {self._facts.version}"
            )
            raise TypeError(message)
        return value

    def nobody(self, message: Message, *, retry: bool, offered: int) -> None:
        """Nobody wants a message.

        Raises the error that a request is answered with, unless it waits for handlers to come.
        """
        asked = retry and self._facts.may_retry
        waits = asked or self.keeps(message.kind, message.session_id)
        if waits and not self.connection.raw.is_closing:
            self.opened().park(message, current_run.get(), asked=asked, offered=offered)
        elif message.kind == "request":
            raise self.refusal(message)

    def refusal(self, message: Message) -> RequestError:
        """The answer to a request that nobody wants."""
        wire = message.received_method
        method = self._facts.method(self._side, "request", wire)
        if method is None or self._endpoint.is_off(method):
            return RequestError.method_not_found(wire)
        # Some methods have an answer of their own where nobody handles them.
        return RequestError(*self.connection.raw.core.unhandled(message.event))

    def opened(self) -> DynamicHandlers:
        """The handlers that are added to the connection."""
        if self.dynamic is None:
            from acp._endpoint.dynamic import DynamicHandlers

            self.dynamic = DynamicHandlers(self, self.connection)
        return self.dynamic


class _Walk:
    """The way of one message."""

    __slots__ = ("_chain", "_message", "_result", "_retry", "_serial")

    def __init__(self, chain: Chain, message: Message) -> None:
        self._chain = chain
        self._message = message
        self._retry = False
        self._serial = 0
        """Of the handler of the connection that was asked last."""
        self._result: Any = None

    def decline(self, answer: Unhandled) -> None:
        """A handler does not want the message: the next one gets what it says."""
        self._retry |= answer.retry
        altered = answer.message
        if altered is not None:
            is_message = isinstance(altered, Message)
            self._message = altered if is_message else self._message.replace(params=altered)

    async def run(self, first: list[tuple[int, Handler]], last: list[Handler]) -> Any:
        """Asks one handler after the other."""
        taken = (
            await self._ask_first(first)
            or await self._ask_added()
            or await self._ask_last(last)
            # Such as were added while others were asked.
            or await self._ask_added()
        )
        message = self._message
        if not taken:
            self._chain.nobody(message, retry=self._retry, offered=self._serial)
        elif message.kind == "request":
            return self._chain.result(message.received_method, self._result)
        return None

    async def _ask_first(self, handlers: list[tuple[int, Handler]]) -> bool:
        at = 0
        while at < len(handlers):
            place, handler = handlers[at]
            at += 1
            method = self._message.method
            if await self._is_taken(handler):
                return True
            if self._message.method != method:
                found = self._chain.first(self._message.kind, self._message.method)
                handlers, at = [each for each in found if each[0] > place], 0
        return False

    async def _ask_added(self) -> bool:
        while (dynamic := self._chain.dynamic) is not None:
            entry = dynamic.after(self._serial)
            if entry is None:
                break
            self._serial = entry.serial
            if await entry.is_ready() and await self._is_taken(entry.handler):
                return True
        return False

    async def _ask_last(self, handlers: list[Handler]) -> bool:
        message = self._message
        if message.method != message.received_method:
            handlers = self._chain.last(message.kind, message.method)
        for handler in handlers:
            if await self._is_taken(handler):
                return True
        return False

    async def _is_taken(self, handler: Handler) -> bool:
        argument = self._chain.argument(handler, self._message)
        result = handler.call(argument, self._chain.connection.context)
        if hasattr(result, "__await__"):
            result = await result
        if type(result) is Unhandled:
            self.decline(result)
            return False
        self._result = result
        return True
