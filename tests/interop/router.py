"""The interop agents of both versions behind a router.

`python -m tests.interop.router` serves both on the standard streams, `… router 1|2` one of them
alone, which the router then says to those who ask for another. Owns the router; the agents are
`tests.interop.on_v1`'s and `tests.interop.agent_v2`'s.
"""

from __future__ import annotations

import asyncio
import sys

import acp
from acp.negotiation import AgentRouter
from tests.interop import on_v1
from tests.interop.agent_v2 import InteropAgent

__all__ = ("router_of",)


def router_of(*versions: int) -> AgentRouter:
    """A router for these versions; a client that cannot be served may try again."""
    router = AgentRouter(close_on_rejection=False)
    if 1 in versions:
        router.add(on_v1.agent_endpoint())
    if 2 in versions:
        router.add(InteropAgent().endpoint)
    return router


if __name__ == "__main__":
    wanted = [int(number) for number in sys.argv[1:]] or [1, 2]
    asyncio.run(router_of(*wanted).serve(acp.stdio_transport()))
