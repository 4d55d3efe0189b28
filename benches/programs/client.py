"""A client that runs unchanged on every `acp`: it reads a stream of updates, and asks.

`client.py UPDATES ROUND_TRIPS COMMAND…` prints microseconds for each update, for each round trip
one at a time, for each with 64 on the way at once, and of those how long this process worked.
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
AT_ONCE = 64


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
            answer = await conn.prompt(session_id=session, prompt=[acp.text_block(text)])
            assert answer.stop_reason == "end_turn"

        async def prompts(count: int) -> None:
            for _ in range(count):
                await prompt("0")

        await prompt("1000")
        client.expect(updates)
        started = time.perf_counter()
        await prompt(str(updates))
        await asyncio.wait_for(client.seen.wait(), SECONDS)
        streamed = time.perf_counter() - started
        # Eight chunks of 42 characters in ten updates.
        assert (client.count, client.characters) == (updates, updates // 10 * 8 * 42)
        started = time.perf_counter()
        await prompts(round_trips)
        asked = time.perf_counter() - started
        each = 2 * round_trips // AT_ONCE
        started, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(prompts(each) for _ in range(AT_ONCE)))
        together, worked = time.perf_counter() - started, time.process_time() - worked
    found = {
        "update": streamed / updates * 1e6,
        "round_trip": asked / round_trips * 1e6,
        "together": together / (each * AT_ONCE) * 1e6,
        "together_work": worked / (each * AT_ONCE) * 1e6,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
