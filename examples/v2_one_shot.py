"""Asks an agent of protocol version 2 one thing and prints what it says, once it is done:
`python v2_one_shot.py Hello python v2_agent.py`. What happens meanwhile goes to standard error.
"""

import asyncio
import sys

import acp
from acp import v2
from acp.kit import PermissionPolicy
from acp.v2 import schema


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def said(conversation: v2.SessionProjection) -> str:
    """What the agent has said, of what is text."""
    messages = [each for each in conversation.timeline() if isinstance(each, schema.AgentMessage)]
    blocks = [block for message in messages for block in message.content or ()]
    return "".join(block.text for block in blocks if isinstance(block, schema.TextContentBlock))


async def main(question: str, command: str, *arguments: str) -> None:
    client = v2.Client("one-shot", "1.0.0")
    # Nobody is there to be asked.
    client.handle_with(PermissionPolicy("reject_once"))
    conversations: dict[str, v2.SessionProjection] = {}

    @client.session_update
    def updated(note: schema.UpdateSessionNotification) -> None:
        told(f"update: {note.update.session_update}")
        session_id = note.session_id
        conversation = conversations.setdefault(session_id, v2.SessionProjection(session_id))
        conversation.apply(note)

    async with client.connect(acp.process_transport(command, *arguments)) as connection:
        opened = await connection.initialize()
        told(f"agent: {opened.info.name}")
        async with connection.new_session() as session:
            prompt = session.send_prompt(question)
            done = session.wait_idle(prompt)
            # The answer tells no more than that the agent has taken it.
            accepted = await prompt
            idle = await done
            told(f"accepted as {accepted.message_id}, idle: {idle.stop_reason}")
            print(said(conversations[session.session_id]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
