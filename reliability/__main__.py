"""`make reliability`: measures every figure, prints and writes them, and judges.

Exit code 1 when a figure is missed or could not be measured. `--short` does less of everything,
`--only A6,B1` measures these alone, `--out DIR` says where the results go: by default into
`reliability/results/` when everything was measured in full, else into `target/reliability/`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import acp
from reliability import report
from reliability.figures import Figure, Form, table
from reliability.runs import Measured, measure

RESULTS = Path(__file__).with_name("results")
UNFINISHED = Path(__file__).resolve().parent.parent / "target" / "reliability"
RED, PLAIN = "\033[31m", "\033[0m"


def chosen(only: str, figures: list[Figure]) -> list[Figure]:
    """The figures named in `only`, separated by commas; all when it is empty."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = set(names) - {figure.id for figure in figures}
    if unknown:
        raise SystemExit(f"no such figure: {', '.join(sorted(unknown))}")
    return [figure for figure in figures if not names or figure.id in names]


def tell(measured: Measured, form: Form, *, colour: bool) -> None:
    """Prints one figure; what is missed in red."""
    red, plain = (RED, PLAIN) if colour else ("", "")
    figure = measured.figure
    print(f"{figure.id:4} {figure.says} ({measured.seconds:.1f} s)")
    for row in report.rows(measured, form):
        print(f"     {row.text}" if row.kept else f"     {red}missed: {row.text}{plain}")
    is_missed = bool(report.missed([measured], form))
    for line in (measured.failure or measured.remarks * is_missed).splitlines():
        print(f"     {red}{line}{plain}")
    sys.stdout.flush()


def run(figures: list[Figure], form: Form, out: Path) -> int:
    """Measures, tells, writes; the exit code."""
    print(f"acp {acp.__version__} in {Path(acp.__file__).parent}")
    found: list[Measured] = []
    for figure in figures:
        found.append(measure(figure, form))
        tell(found[-1], form, colour=sys.stdout.isatty())
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report.document(found, form), indent=1, ensure_ascii=False)
    (out / "latest.json").write_text(text + "\n", "utf-8")
    (out / "latest.md").write_text(report.markdown(found, form), "utf-8")
    bad = report.missed(found, form)
    seconds = sum(each.seconds for each in found)
    print(f"{len(found)} figures in {seconds:.0f} s, {len(bad)} values missed")
    for figure, row in bad:
        print(f"missed: {figure.id}: {row.text}")
    return 1 if bad else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reliability", description=__doc__)
    parser.add_argument("--short", action="store_true", help="less of everything")
    parser.add_argument("--only", default="", metavar="IDS", help="these figures, as in A6,B1")
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--seed", type=int, default=Form.seed, help="of the random choices")
    options = parser.parse_args(arguments)
    whole = not options.short and not options.only
    out = options.out or (RESULTS if whole else UNFINISHED)
    form = Form(options.short, options.seed)
    return run(chosen(options.only, table()), form, out)


if __name__ == "__main__":
    sys.exit(main())
