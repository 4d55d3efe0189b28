"""Compares what this package and the official Python SDK write on the wire.

Owns running the same program in both environments and comparing the outcome with
`docs/differences.toml`. The program is not part of this project: `$ACP_SHARED/bench/wire_facts.py`.
`python -m tools.wire_facts OFFICIAL OURS` takes the two interpreters.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tools import bounded, differences

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60.0


def facts(program: Path, python: str) -> dict[str, Any]:
    """What the program tells in one environment. Raises RuntimeError when it fails."""
    ended = bounded.run([str(Path(python).absolute()), str(program)], SECONDS, cwd=ROOT)
    if ended.code != 0:
        message = f"{program.name} failed in {python}\n{ended.err[-2000:]}"
        raise RuntimeError(message)
    lines = map(json.loads, ended.out.splitlines())
    return {line["fact"]: line["value"] for line in lines}


def run(program: Path, official: str, ours: str) -> int:
    """Runs both, prints what is not listed and returns the exit code."""
    try:
        both = facts(program, official), facts(program, ours)
    except (OSError, RuntimeError) as exc:
        print(f"FAIL wire facts: {exc}")
        return 1
    wrong = differences.unlisted_facts(*both, differences.rows())
    print(f"{'FAIL' if wrong else 'ok  '} wire facts: {len(both[1])}", *wrong, sep="\n")
    return 1 if wrong else 0


def main(arguments: list[str]) -> int:
    shared = Path(os.environ.get("ACP_SHARED", ROOT.parent / "shared"))
    program = shared / "bench" / "wire_facts.py"
    if not program.is_file() or len(arguments) != 2:
        print(f"{program} is not there; set ACP_SHARED" if arguments else __doc__)
        return 1
    return run(program, *arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
