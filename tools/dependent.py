"""A small package that requires the official SDK at one version, as a wheel.

Owns the program in it: a client that starts an agent, both written against the names of that SDK,
and prints what the agent says.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

__all__ = ("NAME", "SAYS", "write")

NAME = "greeter"
SAYS = "hello (end_turn)"
"""What `python -m greeter` prints."""
PIN = "agent-client-protocol==0.12.1"

PROGRAM = """\
import asyncio
import sys

import acp


class Echo(acp.Agent):
    def on_connect(self, conn):
        self.conn = conn

    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **kwargs):
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, session_id, prompt, **kwargs):
        for block in prompt:
            await self.conn.session_update(session_id, acp.update_agent_message(block))
        return acp.PromptResponse(stop_reason="end_turn")


class Printing(acp.Client):
    async def session_update(self, session_id, update, **kwargs):
        print(update.content.text, end=" ")


async def main():
    agent = (sys.executable, "-m", "greeter", "agent")
    async with acp.spawn_agent_process(Printing(), *agent) as (conn, _):
        await conn.initialize(acp.PROTOCOL_VERSION)
        session = await conn.new_session("/")
        turn = await conn.prompt(session.session_id, [acp.text_block("hello")])
        print(f"({turn.stop_reason})")


asyncio.run(acp.run_agent(Echo()) if sys.argv[1:] else main())
"""


def write(folder: Path) -> Path:
    """Writes the wheel into `folder` and returns its path."""
    records = f"{NAME}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\nRequires-Dist: {PIN}\n"
    files = {
        f"{NAME}/__init__.py": "",
        f"{NAME}/__main__.py": PROGRAM,
        f"{records}/METADATA": metadata,
        f"{records}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{name},{_digest(text)},{len(text)}" for name, text in files.items()]
    files[f"{records}/RECORD"] = "\n".join([*rows, f"{records}/RECORD,,", ""])
    wheel = folder / f"{NAME}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
