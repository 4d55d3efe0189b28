"""Runs the official Python SDK's own tests on this package.

Owns what has to come of them, and that every connection in them ran on the core. The tests are not
part of this project: `$ACP_SHARED/tools/official_suite.sh` fetches and runs them.
`python -m tools.official_suite PYTHON` takes the interpreter of an environment that has this
package and what they need.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from tools import bounded

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "tools" / "suite_plugin"
PASSED = 124
"""All but those of HTTP, and those of the private parts of the SDK's own `Connection`."""
SECONDS = 300.0


def faults(ended: bounded.Ended, counts: dict[str, int]) -> list[str]:
    """What is wrong with a run of the tests."""
    if ended.code is None:
        return ["no end in time"]
    found = [line for line in ended.out.splitlines() if line.startswith(("FAILED", "ERROR"))]
    summary = dict.fromkeys(("passed", "failed", "error", "skipped"), 0)
    for number, word in re.findall(r"(\d+) (passed|failed|error|skipped)", ended.out):
        summary[word] = int(number)
    if summary != {"passed": PASSED, "failed": 0, "error": 0, "skipped": 0} or ended.code:
        found.append(f"exit code {ended.code}, {summary}, expected {PASSED} passed")
    if not counts:
        return [*found, "nothing was counted"]
    if counts["without_core"]:
        found.append(f"{counts['without_core']} connections did not run on the core")
    found += [f"the core saw no {kind}" for kind in ("connections", "requests") if not counts[kind]]
    return found


def run(script: Path, python: str) -> int:
    """Runs them, prints what came of it and returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        counted = Path(folder) / "counts.json"
        env = {
            "SUITE_HTTP": "0",
            "SUITE_INTERNALS": "0",
            "PYTHONPATH": str(PLUGIN),
            "CORE_COUNTS": str(counted),
        }
        command = [str(script), str(Path(python).absolute()), "-p", "core_counting"]
        ended = bounded.run(command, SECONDS, cwd=ROOT, env=env)
        counts: dict[str, int] = json.loads(counted.read_text("utf-8")) if counted.exists() else {}
    wrong = faults(ended, counts)
    if wrong and not counts:
        print(ended.out[-4000:], ended.err[-2000:], sep="\n")
    print(f"{'FAIL' if wrong else 'ok  '} official suite, {ended.seconds:.1f} s: {counts}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def main(arguments: list[str]) -> int:
    shared = Path(os.environ.get("ACP_SHARED", ROOT.parent / "shared"))
    script = shared / "tools" / "official_suite.sh"
    if not script.is_file() or len(arguments) != 1:
        print(f"{script} is not there; set ACP_SHARED" if arguments else __doc__)
        return 1
    return run(script, arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
