"""A client on `acp.v1` or `acp.v2` that reads a stream of updates.

`endpoint_client.py VERSION UPDATES COMMAND…` prints microseconds for each update.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import anyio

import acp

SECONDS = 60
WARMING = 1000


class Reading:
    """Counts the updates and reads their text: what is not read must not look fast."""

    def __init__(self, updates: int) -> None:
        self.target = updates
        self.count = 0
        self.characters = 0
        self.seen = anyio.Event()

    def session_update(self, notification: Any) -> None:
        update = notification.update
        self.count += 1
        if update.session_update == "agent_message_chunk":
            self.characters += len(update.content.text)
        if self.count == self.target:
            self.seen.set()


async def main(version: str, updates: int, command: list[str]) -> None:
    module = importlib.import_module(f"acp.v{version}")
    schema = module.schema
    client = module.Client("bench", "1")
    reading = Reading(WARMING)

    @client.session_update
    async def _(notification: Any) -> None:
        reading.session_update(notification)

    async with client.connect(acp.process_transport(*command)) as connection:
        await connection.initialize()
        request = schema.NewSessionRequest(cwd="/tmp", mcp_servers=[])
        session = (await connection.request(request)).session_id

        async def stream(count: int) -> float:
            blocks = [schema.TextContentBlock(text=str(count))]
            started = time.perf_counter()
            await connection.request(schema.PromptRequest(session_id=session, prompt=blocks))
            with anyio.fail_after(SECONDS):
                await reading.seen.wait()
            return time.perf_counter() - started

        await stream(WARMING)
        reading = Reading(updates)
        seconds = await stream(updates)
        # Eight chunks of 42 characters in ten updates.
        assert (reading.count, reading.characters) == (updates, updates // 10 * 8 * 42)
    print(json.dumps({"update": seconds / updates * 1e6}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), sys.argv[3:])
