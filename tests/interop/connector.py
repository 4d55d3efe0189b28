"""The interop clients of both versions behind a connector.

`python -m tests.interop.connector 1|2 COMMAND [ARGUMENT...]` starts the agent, which has to be
spoken to in that version, prints one JSON object per check and exits with 0 only when all held.
Owns the connector and what is checked of it; the scenarios are those of each version.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import acp
from acp import v1, v2
from acp.client.connection import ClientSideConnection
from acp.negotiation import ClientConnector
from tests.interop import client_v1, client_v2, on_v1, scenarios_v1, scenarios_v2
from tests.interop.checks import Checks, within

__all__ = ("Programs", "run")

OF_EVERY_V2_CLIENT: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}}}
"""What a client of version 2 can do without saying so, in the words of version 1."""


class Programs:
    """Starts a command as often as a transport is wanted."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self.started: list[Any] = []

    def __call__(self) -> acp.Transport:
        self.started.append(acp.process_transport(*self._command, stderr=None))
        return self.started[-1]

    def end(self, checks: Checks, name: str, count: int) -> None:
        """Checks that so many were started, and that all have left by themselves."""
        codes = [transport.process.returncode for transport in self.started]
        checks.equal(f"{name}: the agent was started and has left", codes, [0] * count)
        self.started.clear()


async def run(checks: Checks, version: int, command: tuple[str, ...]) -> None:
    """Checks what the connector makes of an agent, and all scenarios of that version."""
    programs = Programs(*command)

    # Clients that say the same in both versions: the process that has answered is kept.
    capabilities = v1.schema.ClientCapabilities.model_validate(OF_EVERY_V2_CLIENT)
    bare = ClientConnector(
        lambda: v1.Client("bare", "1", capabilities=capabilities), lambda: v2.Client("bare", "1")
    )
    async with bare.connect(programs) as connection:
        checks.equal("bare clients: the version", connection.protocol_version, version)
        opened = await within(connection.request("session/new", {"cwd": "/", "mcpServers": []}))
        checks.ok("bare clients: a session", opened.session_id)
    programs.end(checks, "bare clients", 1)

    # Of these the one of version 1 says more, which is told to a new process.
    of_v1, of_v2 = client_v1.InteropClient(), client_v2.InteropClient()
    connector = ClientConnector(lambda: on_v1.client_endpoint(of_v1), lambda: of_v2.endpoint)
    async with connector.connect(programs) as connection:
        checks.equal("the version", connection.protocol_version, version)
        if version == 1:
            agent = on_v1.with_calls(ClientSideConnection, connection)
            await scenarios_v1.Scenarios(checks, agent, of_v1).run(initialized=True)
        else:
            await scenarios_v2.Scenarios(checks, connection, of_v2).run()
    programs.end(checks, "clients with handlers", 2 if version == 1 else 1)


async def main(version: str, *command: str) -> int:
    checks = Checks()
    await run(checks, int(version), command)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
