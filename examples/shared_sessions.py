"""Two parts of a program in one session: `python shared_sessions.py python v2_agent.py`.

Both load the session; the agent is asked for it once, and both look at one projection of it. When
the last of them leaves, the session is closed, and whoever comes later opens it with its history.
"""

import asyncio
import sys

import acp
from acp import v2
from acp.v2 import schema


async def log(view: v2.SessionView) -> None:
    """Tells what changes until the agent has done what it was asked for."""
    async for change in view.changes():
        assert isinstance(change, schema.UpdateSessionNotification)
        print("log:", change.update.session_update)
        if isinstance(change.update, schema.IdleStateUpdate) and change.update.stop_reason:
            break


def shown(view: v2.SessionView) -> list[str]:
    """What a window would draw."""
    return [type(entry).__name__ for entry in view.projection.timeline()]


async def main(command: str, *arguments: str) -> None:
    client = v2.Client("sharing", "1.0.0")
    async with v2.SharedSessions(client, acp.process_transport(command, *arguments)) as shared:
        session, _ = await shared.connection.new_session()
        async with (
            shared.load(session.session_id) as window,
            shared.load(session.session_id) as other,
        ):
            logging = asyncio.create_task(log(other))
            await window.session.wait_idle(window.session.send_prompt("Hello"))
            await logging
            print("window:", *shown(window))
        async with shared.load(session.session_id) as later:
            print("later:", *shown(later))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
