"""An agent that answers everything, and can be made to ask: the other process of several figures.

`agent.py LONGEST` serves its standard streams and reads no line longer than that; `agent.py LONGEST
LAYER VERSION` does so as an agent of a place of `reliability.places`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import acp


class Answering(acp.Agent, acp.Client):
    """Answers extension methods. `_ask` has it ask `_ours`, and is answered with the answer."""

    conn: Any

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="s")

    async def request_permission(self, **kwargs: Any) -> acp.RequestPermissionResponse:
        return acp.RequestPermissionResponse(outcome=acp.schema.DeniedOutcome())

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self.conn.ext_method("ours", {}) if method == "ask" else {}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        pass


def serve(longest: int, layer: str, version: int) -> None:
    """Serves an agent's place."""
    from reliability.places import Place, served

    transport = acp.stdio_transport()
    asyncio.run(served(Place(layer, version, "agent"), longest).serve(transport))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    else:
        limits = acp.Limits(max_message_bytes=int(sys.argv[1]))
        asyncio.run(acp.run_agent(Answering(), limits=limits))
