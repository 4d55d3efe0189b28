"""Programs that tests start as processes, and how a test learns that none of them is left.

Owns small agents that need nothing but the standard library. It knows no case.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

import acp
from tests.raw_peer import within

ANSWERING = """
import json, os, signal, subprocess, sys, time

def answer(request, **result):
    text = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()

def update(text):
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": "s", "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

RESULTS = {
    "initialize": {"protocolVersion": 1},
    "session/new": {"sessionId": "s"},
    "session/prompt": {"stopReason": "end_turn"},
}

def requests():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            yield message

def serve():
    for request in requests():
        answer(request, **RESULTS.get(request["method"], {}))
"""
"""What a raw agent in Python begins with."""


def python(program: str, **options: Any) -> Any:
    """A transport to a raw agent: `program` behind `ANSWERING`."""
    command = (sys.executable, "-I", "-S", "-c", ANSWERING + program)
    return acp.process_transport(*command, **options)


class Lifeline:
    """A FIFO that processes hold open as long as they live.

    Each writes a line when it has opened it. The end of the FIFO is the end of the last of them,
    whoever is their parent by then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._text = b""

    async def held_by(self, count: int) -> list[int]:
        """The process ids that were written, once there are that many."""
        while self._text.count(b"\n") < count:
            await within(anyio.wait_readable(self._fd))
            self._text += os.read(self._fd, 4096)
        return [int(line) for line in self._text.split()]

    async def ended(self) -> None:
        """Returns when no process holds it any more."""
        while True:
            await within(anyio.wait_readable(self._fd))
            if not os.read(self._fd, 4096):
                return

    def close(self) -> None:
        os.close(self._fd)


@contextmanager
def lifeline(directory: Path) -> Generator[Lifeline, None, None]:
    """A lifeline for one test."""
    line = Lifeline(directory / "alive")
    try:
        yield line
    finally:
        line.close()
