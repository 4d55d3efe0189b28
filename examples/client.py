"""Starts an agent, asks it something and prints what it says: `python client.py python
echo_agent.py`.
"""

import asyncio
import sys
from typing import Any

import acp


class PrintingClient(acp.Client):
    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        if update.session_update == "agent_message_chunk":
            print(update.content.text, end="", flush=True)


async def main(command: str, *arguments: str) -> None:
    async with acp.spawn_agent_process(PrintingClient(), command, *arguments) as (agent, _):
        await agent.initialize(acp.PROTOCOL_VERSION)
        session = await agent.new_session("/")
        turn = await agent.prompt(session.session_id, [acp.text_block("Hello, agent!")])
        print(f" ({turn.stop_reason})")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
