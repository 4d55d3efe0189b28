"""`make bench`: measures, writes `results/latest.json` and `results/latest.md`, and judges.

Exit code 1 when a floor is missed. `--runs N` (default 5) is the number of interleaved runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benches import report
from benches.runs import Side, measure

RESULTS = Path(__file__).with_name("results")
VERSION = "from importlib.metadata import version; print(version('agent-client-protocol'))"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument("--peer", type=Path, required=True, help="Python with the official SDK")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    options = parser.parse_args()
    # Not resolved: a link in a virtual environment is what makes it one.
    peer = Side("official", options.peer.absolute())
    version = subprocess.run(
        [peer.python, "-c", VERSION], capture_output=True, text=True, check=True
    ).stdout.strip()

    ours = Side("native", Path(sys.executable))
    numbers = measure(ours, peer, options.runs, lambda text: print(text, flush=True))
    table = report.rows(numbers)
    document = report.document(table, numbers, options.runs, version)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "latest.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    text = report.markdown(table, document)
    (options.out / "latest.md").write_text(text, "utf-8")
    print("\n" + text)

    missed = [row.title for row in table if row.floor_met is False]
    behind = [row.title for row in table if row.goal_met is False]
    print(*(f"goal not reached: {title}" for title in behind), sep="\n")
    print(*(f"floor missed: {title}" for title in missed), sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
