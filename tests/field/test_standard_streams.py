"""The standard streams of an agent, which are the protocol, and whatever else wants them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.field.children import lifeline

AGENT = """
import ctypes, logging, os, subprocess, sys, warnings
import anyio, acp
from acp.agent.connection import AgentSideConnection

logging.basicConfig(stream=sys.stdout, level=logging.INFO)

class Agent(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def prompt(self, session_id, prompt, **kwargs):
        for number in range(3):
            text = acp.update_agent_message_text(str(number))
            await self.client.session_update(session_id, text)
            act()
        return acp.PromptResponse(stop_reason="end_turn")

def act():
    {act}

async def main():
    if sys.argv[1] == "run_agent":
        await acp.run_agent(Agent())
    else:
        await AgentSideConnection(Agent(), acp.stdio_transport(), listening=False).listen()

anyio.run(main, backend="trio" if sys.argv[1] == "trio" else "asyncio")
"""

SHELL = "subprocess.run(['sh', '-c', {script!r}], timeout=9)"
ACTS = {
    "prints": "print('debug'); print('{\"jsonrpc\": \"2.0\"}', flush=True)",
    "prints without a newline": "print('deb', end=''); sys.stdout.flush()",
    "writes to the descriptor": "os.write(1, b'native noise\\n')",
    "writes from C": "libc = ctypes.CDLL(None); libc.puts(b'from C'); libc.fflush(None)",
    "logs": "logging.getLogger('x').warning('to stdout')",
    "runs what reads all input": "subprocess.run(['cat'], timeout=9)",
    "runs what writes": SHELL.format(script="echo noise; echo more >&1"),
    "runs what has every descriptor": "subprocess.run(['cat'], timeout=9, close_fds=False)",
    "reads a line": "assert sys.stdin.readline() == ''",
    "reads a byte": "assert os.read(0, 1) == b''",
    "asks": "import builtins\n    try: builtins.input('? ')\n    except EOFError: pass",
    "closes what it prints to": "os.close(1); os.open(os.devnull, os.O_WRONLY)",
    "writes more than a pipe holds": "os.write(1, b'x' * 50_000 + b'\\n')",
}
WAYS = ["run_agent", "asyncio", "trio"]
REQUESTS = [
    {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}},
    {
        "id": 1,
        "method": "session/prompt",
        "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]},
    },
]
LINES = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in REQUESTS).encode()


def agent(way: str, act: str) -> list[str]:
    return [sys.executable, "-c", AGENT.replace("{act}", act), way]


def check(output: bytes) -> None:
    """The wire has the messages of one turn and nothing else."""
    assert output.endswith(b"\n")
    messages: list[Any] = [json.loads(line) for line in output.splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    updates = [m["params"]["update"]["content"]["text"] for m in messages if "method" in m]
    assert updates == ["0", "1", "2"]
    assert [message["id"] for message in messages if "id" in message] == [0, 1]
    assert messages[-1]["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("act", list(ACTS))
@pytest.mark.parametrize("way", WAYS[:1])
def test_the_wire_is_clean_and_the_turn_ends_whatever_the_agent_does(way: str, act: str) -> None:
    """C29."""
    done = subprocess.run(
        agent(way, ACTS[act]), input=LINES, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    check(done.stdout)


@pytest.mark.parametrize("way", WAYS[1:])
def test_the_wire_is_clean_on_every_loop(way: str) -> None:
    """C29: all of it in one turn."""
    acts = [ACTS[name] for name in ACTS if name not in ("closes what it prints to", "asks")]
    done = subprocess.run(
        agent(way, "\n    ".join(acts)), input=LINES, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    check(done.stdout)
    # What was printed is not lost: it is where people look for it.
    assert b"native noise" in done.stderr
    assert b"debug" in done.stderr


@pytest.mark.parametrize("kind", ["file", "null"])
def test_the_wire_is_clean_wherever_the_agents_stderr_goes(kind: str, tmp_path: Path) -> None:
    """C29."""
    command = agent("run_agent", "print('debug', flush=True)")
    with (tmp_path / "errors").open("wb") as sink:
        done = subprocess.run(
            command,
            input=LINES,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if kind == "null" else sink,
            timeout=30,
            check=False,
        )
    check(done.stdout)


def test_what_an_agent_leaves_running_does_not_hold_the_protocol(tmp_path: Path) -> None:
    """C29: a tool that outlives the agent has none of the pipes, whatever it was given."""
    with lifeline(tmp_path) as alive:
        script = f"exec 9> {alive.path}; echo $$ >&9; exec 2>/dev/null 1>&2; exec sleep 300"
        start = f"len(sys.argv) > 2 or subprocess.Popen(['sh', '-c', {script!r}], close_fds=False)"
        done = subprocess.run(
            agent("run_agent", f"{start}; sys.argv.append('')"),
            input=LINES,
            capture_output=True,
            timeout=30,
            check=True,
        )
        # The output has ended, the tool has not.
        check(done.stdout)
        (tool,) = anyio.run(alive.held_by, 1)
        os.kill(tool, 9)
        anyio.run(alive.ended)
