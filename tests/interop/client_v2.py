"""A client of version 2 that drives an agent through the scenarios of the interop tests.

`python -m tests.interop.client_v2 COMMAND [ARGUMENT...]` starts the agent, prints one JSON object
per check and exits with 0 only when all held. Owns the handlers of the client; what is checked is
`tests.interop.scenarios_v2`'s. It is written as users write clients.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import acp
from acp import v2
from acp.v2 import schema
from tests.interop.checks import Checks, within
from tests.interop.scenarios_v2 import Scenarios

__all__ = ("InteropClient",)


async def select_yes(request: Any, ctx: v2.Context) -> Any:
    """Answers a permission request as most users do."""
    del request, ctx
    return schema.AllowedOutcome(option_id="yes")


class InteropClient:
    """Serves permissions and forms, and keeps what it is told."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.permissions: list[Any] = []
        self.told: list[dict[str, Any]] = []
        self.answer_permission: Callable[[Any, v2.Context], Awaitable[Any]] = select_yes
        self._arrived = asyncio.Event()
        self.endpoint = v2.Client(
            "interop-client-v2",
            "1.0.0",
            title="Interop client",
            capabilities=schema.ClientCapabilities(
                elicitation=schema.ElicitationCapabilities(
                    form=schema.ElicitationFormCapabilities()
                )
            ),
        )
        self.endpoint.handle_with(self)
        self.endpoint.on_request("_interop.test/ask")(self.ask)
        self.endpoint.on_notification("_interop.test/told")(self.be_told)

    async def until(self, holds: Callable[[Any], Any], start: int) -> int:
        """The place of the first update, from `start` on, of which `holds` is true."""
        at = start
        while True:
            while at < len(self.updates):
                if holds(self.updates[at]):
                    return at
                at += 1
            await self.arrival()

    async def arrival(self) -> None:
        """Returns when something has arrived."""
        self._arrived.clear()
        await within(self._arrived.wait())

    def session_update(self, update: schema.UpdateSessionNotification) -> None:
        self.updates.append(update)
        self._arrived.set()

    async def request_permission(
        self, request: schema.RequestPermissionRequest, ctx: v2.Context
    ) -> schema.RequestPermissionResponse:
        self.permissions.append(request)
        outcome = await self.answer_permission(request, ctx)
        return schema.RequestPermissionResponse(outcome=outcome)

    def create_elicitation(self, request: Any) -> Any:
        return {"action": "accept", "content": {"name": "Ada"}}

    def ask(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"n": params["n"] + 1}

    def be_told(self, params: dict[str, Any]) -> None:
        self.told.append(params)
        self._arrived.set()


async def main(command: str, *arguments: str) -> int:
    checks = Checks()
    client = InteropClient()
    transport = acp.process_transport(command, *arguments, stderr=None)
    async with client.endpoint.connect(transport) as connection:
        await Scenarios(checks, connection, client).run()
    checks.equal("agent leaves when its input ends", transport.process.returncode, 0)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
