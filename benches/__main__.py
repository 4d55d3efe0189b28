"""`make bench`: measures, writes the files of `results/` and the README's table, and judges.

Exit code 1 when a floor is missed or could not be measured. `--runs N` (default 5) is the number of
interleaved runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from benches import chart, peers, report, whole_path
from benches.runs import Side, measure
from tools import readme

RESULTS = Path(__file__).with_name("results")
VERSION = "from importlib.metadata import version; print(version('agent-client-protocol'))"


def tell(text: str) -> None:
    print(text, flush=True)


def verdict(table: list[report.Row]) -> int:
    """Prints what is missed; the exit code."""
    for row in table:
        for goal in row.goals:
            if goal.met is not True:
                print(f"goal not reached: {row.title}: {goal.text}")
    missed = [(row, floor) for row in table for floor in row.floors if floor.met is not True]
    for row, floor in missed:
        print(f"floor missed: {row.title}: {floor.text}")
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument("--peer", type=Path, required=True, help="Python with the official SDK")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    options = parser.parse_args()
    # Not resolved: a link in a virtual environment is what makes it one.
    official = Side(report.PEER, options.peer.absolute())
    version = subprocess.run(
        [official.python, "-c", VERSION], capture_output=True, text=True, check=True
    ).stdout.strip()
    ours = Side(report.OURS, Path(sys.executable))

    others = peers.set_up()
    missing = {each.name: each.reason for each in others if isinstance(each, peers.Missing)}
    for name, reason in missing.items():
        tell(f"not measured: {name}: {reason}")
    here = [each for each in others if isinstance(each, peers.Peer)]

    numbers = measure(ours, official, options.runs, tell)
    whole_path.measure([ours, official, *here], options.runs, numbers, tell)

    table = report.rows(numbers)
    versions = {report.OURS: metadata.version("acp-native"), report.PEER: version}
    versions |= {each.name: each.version for each in here}
    versions |= {name: metadata.version(name) for name in ("msgspec", "orjson")}
    document = report.document(table, numbers, options.runs, versions, missing)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "latest.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    text = report.markdown(table, document)
    (options.out / "latest.md").write_text(text, "utf-8")
    (options.out / "latest.svg").write_text(chart.drawing(table, document), "utf-8")
    if options.out == RESULTS:
        readme.put_results("\n".join(report.group_table("path", table, judged=False)))
    print("\n" + text)
    return verdict(table)


if __name__ == "__main__":
    sys.exit(main())
