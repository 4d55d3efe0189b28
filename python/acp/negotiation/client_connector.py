"""One client for agents of more than one protocol version.

Owns asking for the highest version and falling back to a lower one, on the same transport where
that is safe. Each version has a client of its own; nothing is converted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from anyio import BrokenResourceError, Event

from acp import _core
from acp._core import RequestReceived, ResponseReceived, ResponseRejected
from acp._transports.base import Transport
from acp.exceptions import VersionMismatch
from acp.negotiation.frames import FrameReader, Resumed

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from acp._endpoint.endpoint import Endpoint
    from acp.exceptions import ConnectionClosed

__all__ = ("ClientConnector",)

_MOST_KEPT = 1024 * 1024
"""Bytes of what an agent sends up to its answer of `initialize` that another client can read."""


class ClientConnector:
    """Connects with the client of the highest version that the agent speaks, too.

    `async with connector.connect(open_transport) as connection`: the connection is initialized, and
    of `acp.v1` or of `acp.v2`; its `protocol_version` tells which.

    When the agent answers version 2's `initialize` with version 1, the client of version 1 goes on
    with the same connection, if its own `initialize` would have asked for the very same and what
    came up to the answer is not more than 1 MiB; otherwise that connection is closed and a new one
    opened. An agent that refuses `initialize` is not asked again.

    Args:
        v1: Makes the client of `acp.v1`, or None.
        v2: Makes the client of `acp.v2`, or None. They are called as often as one is needed.
    """

    def __init__(
        self,
        v1: Callable[[], Endpoint[Any]] | None = None,
        v2: Callable[[], Endpoint[Any]] | None = None,
    ) -> None:
        self._makers = {number: make for number, make in ((1, v1), (2, v2)) if make is not None}

    def connect(self, open_transport: Callable[[], Transport]) -> Connecting:
        """Opens a connection, with a transport that `open_transport` makes; it may be called twice.

        Entering raises ValueError when there is no client, VersionMismatch when the agent speaks
        no version that there is a client for, and what `initialize` raises.
        """
        if not self._makers:
            message = "client protocol connector has no configured ACP protocol implementations"
            raise ValueError(message)
        return Connecting(self._makers, open_transport)


class Connecting:
    """`async with`: the connection that a connector has found."""

    def __init__(
        self,
        makers: dict[int, Callable[[], Endpoint[Any]]],
        open_transport: Callable[[], Transport],
    ) -> None:
        self._makers = makers
        self._open = open_transport
        self._hosted: Any = None

    async def __aenter__(self) -> Any:
        highest = max(self._makers)
        if highest == 1:
            return await self._enter(1, self._open())
        return await self._enter_highest(highest)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self._hosted.__aexit__(exc_type, exc, tb)

    async def _enter(self, version: int, transport: Transport) -> Any:
        """Connects with the client of one version, which has to be the agent's."""
        hosted = self._makers[version]().connect(transport)
        connection = await hosted.__aenter__()
        try:
            await connection.initialize()
        except BaseException as exc:
            await hosted.__aexit__(type(exc), exc, exc.__traceback__)
            raise
        self._hosted = hosted
        return connection

    async def _enter_highest(self, version: int) -> Any:
        watched = Watched(self._open())
        try:
            connection = await self._enter(version, watched)
        except VersionMismatch as mismatch:
            if mismatch.selected not in self._makers:
                await watched.give_up()
                raise
            return await self._fall_back(mismatch.selected, watched)
        except BaseException:
            await watched.give_up()
            raise
        watched.release()
        return connection

    async def _fall_back(self, version: int, watched: Watched) -> Any:
        maker = self._makers[version]
        transport: Transport = watched.take_over()
        if not watched.is_kept or not _asks_for_the_same(maker(), watched.asked):
            await transport.close()
            transport = self._open()
        return await self._enter(version, transport)


def _asks_for_the_same(client: Endpoint[Any], asked: bytes) -> bool:
    """Whether a client would have sent these params of `initialize`, put in its version's form.

    False, too, when they hold what the other version's objects do not keep: the agent has seen it.
    """
    version = client.facts.version
    try:
        lossless = _through_objects(2, asked) == json.loads(asked)
        normal = _through_objects(version, _core.initialize_params(version, asked))
    except ValueError:
        return False
    own = json.loads(_core.encode(client.facts.opening(client), version=version))
    # Where an object of one version is a flag of the other, what was in it is lost.
    lossless = lossless and _metadata(normal) == _metadata(json.loads(asked))
    return lossless and normal == {**own, "protocolVersion": version}


def _through_objects(version: int, params: bytes) -> Any:
    """Params of `initialize` as their objects would be written."""
    read = _core.decode(version, "InitializeRequest", params)
    return json.loads(_core.encode(read, version=version))


def _metadata(value: Any) -> list[Any]:
    """All `_meta` in a JSON value."""
    found: list[Any] = []
    if not isinstance(value, dict):
        return found
    for name, member in cast("dict[str, Any]", value).items():
        found += [member] if name == "_meta" else _metadata(member)
    return found


class Watched(Transport):
    """A transport on which the first request and its answer can be played again.

    It gives frames up to the answer, and waits there: what follows belongs to whoever goes on.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._reader = FrameReader(transport, 64 * 1024 * 1024)
        # It waits for the answer to the same request as the client, whose first one this is.
        self._probe = _core.Connection("client", version=2)
        self._probe.request("initialize", {"info": {"name": "", "version": ""}})
        self._answered = False
        self._released = Event()
        self._resumed: Resumed | None = None
        self._keeps = True
        self._seen = bytearray()
        self._sent = b""
        self.is_kept = True
        """What was received can be played again; it is not when it was too much."""

    @property
    def asked(self) -> bytes:
        """The JSON text of the params of the first request."""
        for event in _core.Connection("agent", version=2, guard=False).receive(self._sent):
            if isinstance(event, RequestReceived):
                return event.raw_params() or b"null"
        return b"null"

    def release(self) -> None:
        """The connection goes on with what it has."""
        self._keeps = False
        self._seen.clear()
        self._resumed = self._reader.resume(b"")
        self._released.set()

    def take_over(self) -> Transport:
        """The transport for another client, whose first request is not sent again: what answers it
        is what was answered before.
        """
        return Replayed(self._reader.resume(bytes(self._seen)))

    async def give_up(self) -> None:
        """Closes the transport."""
        await self._transport.close()

    async def open(self) -> None:
        await self._transport.open()

    async def receive(self) -> bytes:
        if self._resumed is None and self._answered:
            await self._released.wait()
        if self._resumed is not None:
            return await self._resumed.receive()
        frame = await self._reader.next()
        self._keep(frame)
        self._answered = any(
            isinstance(event, (ResponseReceived, ResponseRejected))
            for event in self._probe.receive(frame)
        )
        # What it says to requests is the client's to say.
        self._probe.take_output()
        if self._answered and frame.lstrip().startswith(b"["):
            message = "The initialize request and its response have to be separate messages"
            raise BrokenResourceError(message)
        return frame

    def _keep(self, frame: bytes) -> None:
        self.is_kept = self.is_kept and len(self._seen) + len(frame) <= _MOST_KEPT
        if self.is_kept:
            self._seen += frame
        else:
            self._seen.clear()

    async def send(self, data: bytes | memoryview) -> None:
        self._note(data)
        await self._transport.send(data)

    def send_nowait(self, data: bytes | memoryview) -> int:
        taken = self._transport.send_nowait(data)
        self._note(data[:taken])
        return taken

    def _note(self, data: bytes | memoryview) -> None:
        if self._keeps and not self._sent.endswith(b"\n"):
            self._sent += bytes(data)

    async def close(self) -> None:
        # Whoever falls back still needs it; `give_up` closes it where nobody does.
        if not self._keeps:
            await self._transport.close()

    def closed_error(self) -> ConnectionClosed:
        return self._transport.closed_error()


class Replayed(Transport):
    """A transport whose first frame out is dropped, since its answer is here already."""

    def __init__(self, transport: Resumed) -> None:
        self._transport = transport
        self._dropped = False
        self._asked = Event()

    async def receive(self) -> bytes:
        # An answer before its question would be nobody's.
        await self._asked.wait()
        return await self._transport.receive()

    async def send(self, data: bytes | memoryview) -> None:
        rest = self._after_first(data)
        if rest:
            await self._transport.send(rest)

    def send_nowait(self, data: bytes | memoryview) -> int:
        rest = self._after_first(data)
        dropped = len(data) - len(rest)
        return dropped + (self._transport.send_nowait(rest) if rest else 0)

    def _after_first(self, data: bytes | memoryview) -> bytes:
        data = bytes(data)
        if self._dropped:
            return data
        _, newline, rest = data.partition(b"\n")
        if newline:
            self._dropped = True
            self._asked.set()
        return rest

    async def close(self) -> None:
        self._asked.set()
        await self._transport.close()

    def closed_error(self) -> ConnectionClosed:
        return self._transport.closed_error()
