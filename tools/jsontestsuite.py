"""Runs JSONTestSuite, the public collection of 318 JSON texts, through the decoder.

283 of them have to be accepted or refused; the 35 that are free have to match
`tests/data/jsontestsuite-free.toml`. What is accepted has to be the value that Python's own json
module reads, and has to come back unchanged when it is written and read.

The files are not part of this project: they are looked for under
`$ACP_SHARED/data/jsontestsuite/test_parsing`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import _core
from tools import tomls

ROOT = Path(__file__).resolve().parent.parent
FREE = ROOT / "tests" / "data" / "jsontestsuite-free.toml"
# A type of the schema that stands for any JSON value.
ANY_VALUE = "ExtRequest"
# No text of the collection is longer than 250 KB: more than this is a decoder that backtracks.
SECONDS_PER_CASE = 1.0


@dataclass
class Tally:
    """How many verdicts were right, and what was wrong."""

    musts: int = 0
    free: int = 0
    faults: list[str] = field(default_factory=list)


def read(data: bytes) -> tuple[bool, Any]:
    """Whether the decoder accepts `data`, and the value."""
    try:
        return True, _core.decode(1, ANY_VALUE, data)
    except _core.ValidationError:
        return False, None


def integer(text: str) -> float:
    """What an integer literal stands for: the sign of `-0` is kept, which an int cannot do."""
    return -0.0 if text == "-0" else int(text)


def fault(path: Path, expected: bool) -> str | None:
    """What is wrong with the decoder's verdict on the file at `path`; None when it is right."""
    data = path.read_bytes()
    started = time.perf_counter()
    accepted, value = read(data)
    seconds = time.perf_counter() - started
    if seconds > SECONDS_PER_CASE:
        return f"took {seconds:.1f} s"
    if accepted != expected:
        return "accepted" if accepted else "refused"
    if not accepted:
        return None
    # repr tells 1 from 1.0 and 0.0 from -0.0, which == does not.
    if repr(value) != repr(json.loads(data, parse_int=integer)):
        return "read as another value than Python's json module reads"
    if repr(read(_core.encode(value))[1]) != repr(value):
        return "did not survive being written and read again"
    return None


def run(folder: Path) -> Tally:
    """Judges every file of `folder`."""
    free = {name: verdict for part in tomls.read(FREE).values() for name, verdict in part.items()}
    tally = Tally()
    seen: set[str] = set()
    for path in sorted(folder.glob("*.json")):
        kind = path.name[:2]
        if kind == "i_":
            seen.add(path.name)
            if path.name not in free:
                tally.faults.append(f"{path.name}: not in {FREE.name}")
                continue
        expected = kind == "y_" or (kind == "i_" and free[path.name] == "accept")
        wrong = fault(path, expected)
        if wrong:
            tally.faults.append(f"{path.name}: {wrong}")
        elif kind == "i_":
            tally.free += 1
        else:
            tally.musts += 1
    tally.faults += [f"{name}: in {FREE.name} only" for name in sorted(set(free) - seen)]
    return tally


def main() -> int:
    shared = Path(os.environ.get("ACP_SHARED", ROOT.parent / "shared"))
    folder = shared / "data" / "jsontestsuite" / "test_parsing"
    if not folder.is_dir():
        print(f"JSONTestSuite is not at {folder}; set ACP_SHARED")
        return 1
    tally = run(folder)
    print(*tally.faults, sep="\n", end="\n" if tally.faults else "")
    print(f"JSONTestSuite: {tally.musts}/283 must-verdicts, {tally.free}/35 free ones as committed")
    return 0 if (tally.musts, tally.free, tally.faults) == (283, 35, []) else 1


if __name__ == "__main__":
    sys.exit(main())
