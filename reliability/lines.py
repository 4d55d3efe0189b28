"""A line without end, written to the standard input of an agent's process.

Owns the bytes and the look at the other process's memory.
"""

from __future__ import annotations

import subprocess
import sys
from typing import IO

from reliability import footprint
from reliability.figures import Form, Values
from reliability.footprint import MIB
from reliability.hostile import PROGRAM, request

PING = request("ping", "_ping")
PONG = b'{"jsonrpc":"2.0","id":"ping","result":{}}\n'
REFUSED = b'{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Invalid request"}}\n'
HEAD = b'{"jsonrpc":"2.0","id":7,"method":"_m","params":{"text":"'
TAIL = b'"}}\n'
LIMITS = {"default": 50 * MIB, "1 MiB": MIB}


def asked(stdin: IO[bytes], stdout: IO[bytes], text: bytes) -> bytes:
    stdin.write(text)
    stdin.flush()
    return stdout.readline()


def growth(limit: int, size: int) -> tuple[float, bool]:
    """MiB beyond `limit` that an agent needs at most for a line of `size`, and whether it lives.

    It lives when it answers the line with -32600 and its id, and the ping behind it.
    """
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(limit)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        try:
            assert asked(agent.stdin, agent.stdout, PING) == PONG
            footprint.forget_peak(agent.pid)
            before = footprint.peak(agent.pid)
            agent.stdin.write(HEAD)
            for _ in range(size // MIB):
                agent.stdin.write(b"a" * MIB)
            lives = asked(agent.stdin, agent.stdout, TAIL) == REFUSED
            after = footprint.peak(agent.pid)
            lives = lives and asked(agent.stdin, agent.stdout, PING) == PONG
        finally:
            agent.kill()
    return (after - before - limit) / MIB, lives


def without_end(form: Form) -> Values:
    """C1."""
    size = form.count(1024, 512) * MIB
    found: Values = {"length of the line": size / MIB, "agents harmed": 0}
    for name, limit in LIMITS.items():
        found[f"growth beyond the limit, {name}"], lives = growth(limit, size)
        found["agents harmed"] += not lives
    return found
