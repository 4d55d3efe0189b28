"""The interop agent and client of version 1, served by the endpoints of `acp.v1`.

`python -m tests.interop.on_v1 agent` serves the agent on the standard streams,
`python -m tests.interop.on_v1 client COMMAND [ARGUMENT...]` drives an agent. Owns putting the
handlers and calls of the one form in the other; what they do is `tests.interop.agent_v1`'s and
`tests.interop.client_v1`'s.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Literal

import acp
from acp import v1
from acp._router import Router
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.interop.agent_v1 import InteropAgent
from tests.interop.checks import Checks
from tests.interop.client_v1 import InteropClient
from tests.interop.scenarios_v1 import Scenarios

__all__ = ("agent_endpoint", "client_endpoint")


class Calls:
    """What the connection classes of the official names call, as calls of an endpoint's."""

    def __init__(self, connection: v1.Connection) -> None:
        self.connection = connection
        self.core = connection.raw.core

    async def request(self, method: str, params: Any = None) -> Any:
        # By name where the params are JSON data, by type where they tell the method.
        named = isinstance(params, dict) or params is None
        message = (method, params) if named else (params,)
        return await self.connection.request(*message)

    async def notify(self, method: str, params: Any = None) -> None:
        if isinstance(params, dict):
            await self.connection.notify(method, params)
        else:
            await self.connection.notify(params)

    cancel_turn = notify

    def post(self, method: str, params: Any = None) -> bool:
        return self.connection.raw.post(method, params)

    async def pause(self) -> None:
        await self.connection.raw.pause()


def with_calls(kind: Any, connection: v1.Connection) -> Any:
    """A connection with the official names, over one of an endpoint."""
    made = object.__new__(kind)
    made._connection = Calls(connection)
    return made


def add_handlers(endpoint: Any, make: Any) -> None:
    """Serves what the object of each connection, made by `make`, has handlers for."""
    side: Literal["agent", "client"] = endpoint.side
    routers: dict[int, Router] = {}

    def router(ctx: Any) -> Router:
        key = id(ctx.connection)
        if key not in routers:
            routers[key] = Router(make(ctx.connection), side, unstable=True)
        return routers[key]

    def requested(params: Any, ctx: Any) -> Any:
        route = router(ctx).request(ctx.method)
        return acp.UNHANDLED if route is None else route.call(params)

    def notified(params: Any, ctx: Any) -> Any:
        route = router(ctx).notification(ctx.method)
        return acp.UNHANDLED if route is None else route.call(params)

    for method in endpoint.facts.methods.values():
        if method.side == side:
            handler = requested if method.kind == "request" else notified
            endpoint.handle(method.kind, method.wire, handler)
    endpoint.fallback_request(requested)
    endpoint.fallback_notification(notified)


def agent_endpoint() -> v1.Agent:
    """The agent."""
    agent = v1.Agent(features=["all"])

    def make(connection: v1.Connection) -> InteropAgent:
        made = InteropAgent()
        made.on_connect(with_calls(AgentSideConnection, connection))
        return made

    add_handlers(agent, make)
    return agent


def client_endpoint(client: InteropClient) -> v1.Client:
    """The client."""
    endpoint = v1.Client(features=["all"])
    add_handlers(endpoint, lambda connection: client)
    return endpoint


async def drive(command: str, *arguments: str) -> int:
    checks = Checks()
    client = InteropClient()
    transport = acp.process_transport(command, *arguments, stderr=None)
    async with client_endpoint(client).connect(transport) as connection:
        agent = with_calls(ClientSideConnection, connection)
        await Scenarios(checks, agent, client).run()
    checks.equal("agent leaves when its input ends", transport.process.returncode, 0)
    return checks.finish()


async def serve() -> None:
    await agent_endpoint().serve(acp.stdio_transport())


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    sys.exit(asyncio.run(drive(*rest) if what == "client" else serve()))
