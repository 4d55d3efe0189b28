"""Where hostile input arrives: the endpoints under test, and how far their connection is.

Owns the endpoints and the list of places. What is sent to them, and what has to come back, is said
elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import acp
from acp import v1, v2
from acp.negotiation import AgentRouter
from reliability.hostile_frames import LONGEST

__all__ = ("PLACES", "Place", "answering", "initialize", "initialized", "served")

VERSIONS: dict[int, Any] = {1: v1, 2: v2}
INFO = {"name": "hand", "version": "1"}


class Place(NamedTuple):
    """What a frame is received by, and when."""

    layer: str
    """`drop-in`, `endpoint`, or `router`: an agent behind one."""
    version: int
    """The protocol version that is spoken; where a router has not chosen, its lowest."""
    side: str
    opened: bool = True
    """The handshake is done; of a router that it has chosen, by the handshake."""

    def __str__(self) -> str:
        when = "" if self.opened else " before the handshake"
        return f"{self.layer} v{self.version} {self.side}{when}"

    @property
    def words(self) -> frozenset[str]:
        """What rows of the table may name it by."""
        strict = self.layer != "drop-in" and (self.side == "agent" or self.version == 2)
        found = {self.layer, f"v{self.version}", self.side}
        if self.layer == "router" and self.opened:
            found.remove("router")
        return frozenset(found | {"early"} if strict and not self.opened else found)

    @property
    def chooses(self) -> bool:
        """Whether a router is still to choose there."""
        return self.layer == "router" and not self.opened

    @property
    def waiting(self) -> int | None:
        """The id of the request of its own that waits for an answer; None where none can."""
        if self.side == "client" and self.layer != "drop-in":
            # Of one that opens its connection, `initialize`.
            return int(self.opened)
        return 0 if self.opened else None


PLACES: list[Place] = [
    *(Place("drop-in", 1, side) for side in ("agent", "client")),
    *(
        Place("endpoint", version, side, opened)
        for version in (1, 2)
        for side in ("agent", "client")
        for opened in (True, False)
    ),
    *(Place("router", version, "agent", opened) for version in (1, 2) for opened in (True, False)),
]


def answering(version: int, side: str, **options: Any) -> Any:
    """An endpoint that answers what the table of hostile input has for it, and `_ping`. `_ask` has
    it ask `_ours`, and is answered with the answer.
    """
    module = VERSIONS[version]
    schema = module.schema
    endpoint = (module.Agent if side == "agent" else module.Client)(**options)

    @endpoint.on_request("_ping")
    def ping(params: Any) -> Any:
        return {}

    @endpoint.on_request("_ask")
    async def ask(params: Any, ctx: Any) -> Any:
        return await ctx.connection.request("_ours", {})

    if side == "agent":
        endpoint.new_session(lambda request: schema.NewSessionResponse(session_id="s"))
    else:
        cancelled = schema.RequestPermissionResponse(outcome={"outcome": "cancelled"})
        endpoint.request_permission(lambda request: cancelled)
    return endpoint


def served(place: Place, longest: int = LONGEST) -> Any:
    """What serves an agent's place, and reads no line longer than that."""
    limits = acp.Limits(max_message_bytes=longest)
    agents = {version: answering(version, "agent", limits=limits) for version in VERSIONS}
    if place.layer == "endpoint":
        return agents[place.version]
    if place.version == 2 and not place.opened:
        del agents[1]
    router = AgentRouter(close_on_rejection=False, limits=limits)
    for agent in agents.values():
        router.add(agent)
    return router


def initialize(version: int) -> dict[str, Any]:
    """The params of an `initialize` for a version."""
    if version == 1:
        return {"protocolVersion": 1, "clientInfo": INFO}
    return {"protocolVersion": 2, "info": INFO, "capabilities": {}}


def initialized(version: int) -> dict[str, Any]:
    """The result of such a request."""
    name = "agentInfo" if version == 1 else "info"
    return {"protocolVersion": version, name: INFO}
