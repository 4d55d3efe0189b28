"""An agent that answers everything, and can be made to ask: the other process of several figures.

`agent.py LONGEST` serves its standard streams and reads no line longer than that.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import acp


class Answering(acp.Agent):
    """Answers extension methods. `_ask` has it ask `_ours`; `_asked` tells how that ended."""

    conn: Any

    def __init__(self) -> None:
        self.asked: asyncio.Future[Any] | None = None

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "ask":
            self.asked = asyncio.ensure_future(self.conn.ext_method("ours", {}))
        elif method == "asked":
            assert self.asked is not None
            return {"done": self.asked.done(), "value": await self.asked}
        return {}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        pass


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Answering(), stdio_buffer_limit_bytes=int(sys.argv[1])))
