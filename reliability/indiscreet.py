"""Endpoints of every layer whose handlers all do one thing, and the hand at their other end.

Owns how each layer is given such handlers. What they do, and what is said to them, is
`reliability.indiscretions`'.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import acp
from acp._schema.v1.methods import METHODS as METHODS_V1
from acp._schema.v2.methods import METHODS as METHODS_V2
from reliability.opened import opened
from reliability.places import VERSIONS
from tests.raw_peer import RawPeer, agent_under_test, client_under_test, within
from tests.sides import Nothing, Silent

__all__ = ("LAYERS", "SMALL", "Scenario", "ends", "facing", "methods_of")

Scenario = Callable[[str], Awaitable[list[BaseException]]]
"""A conversation with a secret in it: the exceptions that a user got."""

LAYERS = {"drop-in": 1, "v1": 1, "v2": 2}
"""Each layer, and the protocol version that it speaks."""

SMALL = acp.Limits(
    max_message_bytes=4096,
    waiting_messages=2,
    waiting_messages_hard=4,
    running_handlers=2,
    lane_patience=0.01,
    write_stall=0.05,
    closing=0.05,
    draining=0.05,
)


class Failing(acp.Agent, acp.Client):
    """Every handler does what it was made with."""

    def __init__(self, behave: Callable[[], Any]) -> None:
        self.behave = behave

    def __getattribute__(self, name: str) -> Any:
        if name in _HANDLERS:
            return lambda **_: _behaving(object.__getattribute__(self, "behave"))
        return object.__getattribute__(self, name)


_HANDLERS = {
    name
    for kind in (acp.Agent, acp.Client)
    for name in dir(kind)
    if not name.startswith("_") and name != "on_connect"
} - {"ext_method", "ext_notification"}


class Extending(acp.Agent, acp.Client):
    """The same for what is outside the protocol."""

    def __init__(self, behave: Callable[[], Any]) -> None:
        self.behave = behave

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await _behaving(self.behave)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        await _behaving(self.behave)


async def _behaving(behave: Callable[[], Any]) -> Any:
    return behave()


async def ends(*awaitables: Awaitable[Any]) -> list[BaseException]:
    """The exceptions that these end with."""
    found = await within(asyncio.gather(*awaitables, return_exceptions=True))
    return [each for each in found if isinstance(each, BaseException)]


def methods_of(layer: str, side: str) -> list[Any]:
    """What a side of a layer handles."""
    methods = METHODS_V2 if layer == "v2" else METHODS_V1
    return [method for method in methods if method.side == side]


def endpoint(layer: str, side: str, behave: Callable[[], Any], only: str, **options: Any) -> Any:
    """An endpoint whose handlers of `only`, or all of them, behave so. The handshake of one that
    is to be opened is its own.
    """
    module = VERSIONS[LAYERS[layer]]
    made = (module.Agent if side == "agent" else module.Client)(features={"all"}, **options)

    async def handler(message: Any) -> Any:
        return behave()

    made.on_request("_m")(handler)
    made.on_notification("_m")(handler)
    for method in methods_of(layer, side):
        if method.wire == only or (not only and method.wire != "initialize"):
            made.handle(method.kind, method.wire, handler)
    return made


@asynccontextmanager
async def facing(
    layer: str, side: str, behave: Callable[[], Any] | None = None, only: str = "", **options: Any
) -> AsyncGenerator[tuple[Any, RawPeer], None]:
    """A connection of a side of a layer whose handlers behave so, and its peer. Without behaviour
    it has no handlers; with `only` the handler of that method behaves so, and the connection is
    not opened where that is the one of `initialize`.
    """
    if layer != "drop-in":
        made = endpoint(layer, side, behave or dict, only or "_m" * (behave is None), **options)
        async with opened(made, handshake=only != "initialize") as (connection, peer):
            yield connection, peer
        return
    # It shows the texts of exceptions, as the official SDK does, unless it is told not to.
    options.setdefault("expose_internal_errors", False)
    if behave is None:
        handlers: Any = Nothing() if side == "agent" else Silent()
    else:
        handlers = (Extending if only == "_m" else Failing)(behave)
        options["use_unstable_protocol"] = True
    if side == "agent":
        async with agent_under_test(handlers, **options) as (peer, connection):
            yield connection, peer
    else:
        async with client_under_test(handlers, **options) as (connection, peer):
            yield connection, peer
