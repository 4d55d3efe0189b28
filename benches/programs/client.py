"""A client that runs unchanged on every `acp`: it reads a stream of updates, and asks one by one.

`client.py UPDATES ROUND_TRIPS COMMAND…` prints microseconds for each update and each round trip.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import acp

LONGEST_LINE = 1 << 24
SECONDS = 60


class ReadingClient(acp.Client):
    def __init__(self) -> None:
        self.expect(0)

    def expect(self, updates: int) -> None:
        self.target = updates
        self.count = 0
        self.characters = 0
        self.seen = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.count += 1
        # What is not read must not look fast.
        if update.session_update == "agent_message_chunk":
            self.characters += len(update.content.text)
        if self.count == self.target:
            self.seen.set()

    async def request_permission(self, *arguments: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def main(updates: int, round_trips: int, command: list[str]) -> None:
    client = ReadingClient()
    options = {"limit": LONGEST_LINE}
    async with acp.spawn_agent_process(client, *command, transport_kwargs=options) as (conn, _):
        await conn.initialize(protocol_version=1)
        session = (await conn.new_session(cwd="/tmp", mcp_servers=[])).session_id

        async def prompt(text: str) -> None:
            await conn.prompt(session_id=session, prompt=[acp.text_block(text)])

        await prompt("1000")
        client.expect(updates)
        started = time.perf_counter()
        await prompt(str(updates))
        await asyncio.wait_for(client.seen.wait(), SECONDS)
        streamed = time.perf_counter() - started
        # Eight chunks of 42 characters in ten updates.
        assert (client.count, client.characters) == (updates, updates // 10 * 8 * 42)
        started = time.perf_counter()
        for _ in range(round_trips):
            await prompt("0")
        asked = time.perf_counter() - started
    found = {"update": streamed / updates * 1e6, "round_trip": asked / round_trips * 1e6}
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
