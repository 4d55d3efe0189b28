"""Measurements that need a process of their own: each prints one JSON object.

`python -m benches.probes kept` and `… linear SIZE` run in the environment to be measured. `IMPORT`
is a program for `python -c`, so that nothing is loaded before it looks at the clock.
Memory is the resident set as Linux tells it.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

from benches import wire

__all__ = ("IMPORT", "SIZES", "kept", "linear")

IMPORT = """
import time
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
resident(); before = resident(); started = time.perf_counter()
import {module}
seconds = time.perf_counter() - started; after = resident()
import json
print(json.dumps({{"seconds": seconds, "bytes": (after - before) * 1024}}))
"""

MEGABYTES = (1, 2, 4, 8, 64)
SIZES = tuple(size * 1_000_000 for size in MEGABYTES)
CHUNK_SIZE = 4096
KEPT = 40_000


def resident() -> int:
    """Bytes of this process that are in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024


def kept() -> dict[str, float]:
    """Bytes that one decoded message chunk takes while a program keeps it."""
    from benches.sides import available

    side = next(side for side in available() if side.NAME in {"native", "official"})
    template = wire.FRAMES["chunk"]
    text = wire.TEXT.encode()
    frames = [template.replace(text, b"%08d" % n + text[8:]) for n in range(KEPT)]
    side.notification(frames[0])
    gc.collect()
    before = resident()
    held = [side.notification(frame) for frame in frames]
    gc.collect()
    after = resident()
    assert held[-1].update.content.text == f"{KEPT - 1:08d}" + wire.TEXT[8:]
    return {"bytes": (after - before) / KEPT}


def linear(size: int) -> dict[str, float]:
    """Seconds for one frame of `size` bytes, received in pieces and decoded.

    One frame for each process: in memory that was used before, small frames would look better than
    large ones, which get fresh memory from the system.
    """
    import acp.schema  # noqa: F401 (the classes that params are decoded into)
    from acp import _core

    def receive(pieces: list[bytes]) -> int:
        connection = _core.Connection("client")
        events = []
        for piece in pieces:
            events += connection.receive(piece)
        (event,) = events
        return len(event.params().update.content.text)

    head, tail = wire.FRAMES["chunk"].split(wire.TEXT.encode())
    length = size - len(head) - len(tail)
    frame = head + b"x" * length + tail
    pieces = [frame[at : at + CHUNK_SIZE] for at in range(0, size, CHUNK_SIZE)]
    receive([wire.FRAMES["chunk"]])
    started = time.perf_counter()
    read = receive(pieces)
    seconds = time.perf_counter() - started
    assert read == length
    return {"seconds": seconds}


if __name__ == "__main__":
    probe, *arguments = sys.argv[1:]
    print(json.dumps({"kept": kept, "linear": linear}[probe](*map(int, arguments))))
