"""What an editor does for an agent: files, terminals, permission.

`python editor.py FOLDER FILE yes|no COMMAND…` has the agent work on the file, answers its question
with yes or no, and prints what it does.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import acp
from acp import v1
from acp.kit import FileAccess, PermissionPolicy, Terminals
from acp.v1 import schema


def show(note: schema.SessionNotification) -> None:
    update = note.update
    if isinstance(update, schema.AgentMessageChunk):
        if isinstance(update.content, schema.TextContentBlock):
            print("agent:", update.content.text)
    elif isinstance(update, schema.ToolCallStart):
        print("tool:", update.title)
    elif isinstance(update, schema.ToolCallProgress):
        print("tool:", update.status)


async def main(folder: str, file: str, answer: str, command: str, *arguments: str) -> None:
    wanted = "allow_once" if answer == "yes" else "reject_once"

    async def ask(request: schema.RequestPermissionRequest) -> Sequence[str]:
        print("you:", next(option.name for option in request.options if option.kind == wanted))
        return [wanted]

    async with Terminals() as terminals:
        editor = v1.Client("editor", "1.0.0")
        # No path leads out of the folder, and no command outlives this block.
        for part in (FileAccess(folder), terminals, PermissionPolicy(ask=ask)):
            editor.handle_with(part)
        editor.session_update(show)
        transport = acp.process_transport(command, *arguments)
        async with editor.connect(transport) as connection:
            await connection.initialize()
            async with connection.new_session(Path(folder)) as session:
                turn = await session.prompt(file)
                print("turn:", turn.stop_reason)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
