"""Where the time of one operation goes: `python -m benches.hot "decode tool_update"`, or `client`
for the client of the whole path.

Owns the running of Linux's `perf` on this library's side, and the table that is made of what it
found. Needs `perf` and an extension with symbols, as every build here has them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benches import wire

SECONDS = 3.0
UPDATES = "2000000"
ROWS = 15
ROOT = Path(__file__).resolve().parent.parent
LINE = re.compile(r"^\s*([\d.]+)%\s+(\S+)\s+\[.\] (.+?)(?: {2,}.*)?$", re.MULTILINE)


def operation(work: str) -> Callable[[], Any]:
    """The operation of a work of `floors.toml`."""
    from benches.sides import native

    verb, kind = work.split(" ", 1)
    if verb == "decode":
        stream = wire.FRAMES[kind] * 100
        return lambda: native.decode_stream(stream)
    if verb == "encode":
        return native.encoder(kind)
    return native.build


def repeat(work: str) -> None:
    """Does the operation for `SECONDS`."""
    once = operation(work)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for _ in range(100):
            once()


def table(work: str) -> str:
    """The hottest functions as a Markdown table."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        program = [sys.executable, "-m", "benches.hot", "--repeat", work]
        if work == "client":
            ends = [
                str(ROOT / "benches" / "programs" / name) for name in ("client.py", "raw_agent.py")
            ]
            program = [sys.executable, ends[0], UPDATES, "100", sys.executable, ends[1]]
        # Of the process itself, and none that it starts.
        recorded = ["perf", "record", "-q", "-i", "-F", "2000", "-o", data, "--", *program]
        subprocess.run(recorded, cwd=ROOT, check=True, capture_output=True)
        reported = [
            "perf",
            "report",
            "-i",
            data,
            "--no-children",
            "--sort",
            "dso,symbol",
            "--stdio",
        ]
        text = subprocess.run(reported, check=True, capture_output=True, text=True).stdout
    found = LINE.findall(text)
    shares: dict[str, float] = {}
    for share, library, _ in found:
        name = library.split(".", 1)[0]
        shares[name] = shares.get(name, 0.0) + float(share)
    rows = [f"| {share} % | {library} | `{symbol}` |" for share, library, symbol in found[:ROWS]]
    whole = ", ".join(
        f"{name} {share:.0f} %"
        for name, share in sorted(shares.items(), key=lambda each: -each[1])
        if share >= 1
    )
    return "\n".join([f"{work}: {whole}", "", "| share | in | function |", "|--:|---|---|", *rows])


def main(arguments: list[str]) -> int:
    if arguments[0] == "--repeat":
        repeat(arguments[1])
    else:
        print("\n\n".join(table(work) for work in arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
