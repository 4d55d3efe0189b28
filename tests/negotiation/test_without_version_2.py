"""Version 1 does not need version 2: a program without `acp.v2` negotiates and talks as before."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tools.bounded import run

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys

for name in ("acp.v2", "acp._schema.v2"):
    # An import of it raises ImportError from here on.
    sys.modules[name] = None

import anyio

import acp
from acp import v1
from acp.negotiation import AgentRouter, ClientConnector

agent = v1.Agent("old")
agent.new_session(lambda request: v1.schema.NewSessionResponse(session_id="s"))
agent.prompt(lambda request: v1.schema.PromptResponse(stop_reason="end_turn"))


async def main():
    async with anyio.create_task_group() as group:

        def open_transport():
            here, there = acp.memory_pair()
            group.start_soon(AgentRouter(v1=agent).serve, there)
            return here

        connector = ClientConnector(v1=lambda: v1.Client("old"))
        async with connector.connect(open_transport) as connection:
            session = await connection.new_session("/")
            print((await session.prompt("x")).stop_reason)
        async with v1.Client("later").connect(open_transport()) as connection:
            request = v1.schema.InitializeRequest(protocol_version=2)
            print((await connection.initialize(request)).protocol_version)


anyio.run(main, backend="BACKEND")
assert not [name for name, module in sys.modules.items() if "v2" in name and module is not None]
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_version_1_negotiates_where_version_2_cannot_be_imported(
    backend: str, tmp_path: Path
) -> None:
    """C-194, C-211."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    command = [sys.executable, "-c", PROGRAM.replace("BACKEND", backend)]
    ended = run(command, 45.0, cwd=tmp_path, env={"PYTHONPATH": path})
    assert (ended.err, ended.out, ended.code) == ("", "end_turn\n1\n", 0)
