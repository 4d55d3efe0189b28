"""Everything that happens, in one order: `python ordered_dispatch.py python v2_agent.py`.

Handlers and answers only put into an inbox, and one loop applies what comes out of it: no lock is
needed, and what an answer refers to has been applied before it. The loop may be as slow as it likes
without holding up the connection.
"""

import asyncio
import sys
from typing import Any

import acp
from acp import v2
from acp.v2 import schema


async def main(command: str, *arguments: str) -> None:
    client, inbox = v2.Client("ordered", "1.0.0"), acp.OrderedInbox()
    inbox.attach(client)
    async with client.connect(acp.process_transport(command, *arguments)) as connection:
        await connection.initialize()
        session, _ = await connection.new_session()
        inbox.expect(session.send_prompt("Hello"), "prompt")
        event: acp.InboxUpdate | acp.InboxFinished[Any] | acp.InboxClosed
        async for event in inbox:
            if isinstance(event, acp.InboxUpdate):
                update = event.params.update
                print("update:", update.session_update)
                if isinstance(update, schema.IdleStateUpdate) and update.stop_reason:
                    # All that was said once more. Its answer comes behind the last of it.
                    start = schema.ReplayFromStart()
                    again = connection.resume_session(session.session_id, replay_from=start)
                    inbox.expect(again.start_session(), "resume")
            elif isinstance(event, acp.InboxFinished):
                event.outcome.result()
                print("answered:", event.key)
                if event.key == "resume":
                    await connection.close()
            else:
                print("closed")
                break


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
