"""Puts the programs of `examples/` and the results of `make bench` into the README.

Owns the form of such blocks. `python -m tools.readme` writes the programs, at the lines that link
them, and a test compares; the benchmarks write the results.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ("SHOWN", "put_results", "shown", "with_programs", "with_results")

ROOT = Path(__file__).resolve().parent.parent
# A block of code behind a line that links the file which it shows.
SHOWN = re.compile(
    r"(\]\((examples/[\w.]+)\)[^\n]*\n\n```python\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL
)

RESULTS = ("<!-- results of make bench -->", "<!-- end of results -->")


def shown(text: str) -> dict[str, str]:
    """Name of each file that `text` shows, and the program as shown."""
    return {name: program for _, name, program, _ in SHOWN.findall(text)}


def with_programs(text: str, root: Path = ROOT) -> str:
    """`text` with every program as the file has it now."""

    def block(found: re.Match[str]) -> str:
        return found[1] + (root / found[2]).read_text("utf-8") + found[4]

    return SHOWN.sub(block, text)


def with_results(text: str, table: str) -> str:
    """`text` with `table` between the marks for it. ValueError: there are none."""
    head, begin, rest = text.partition(RESULTS[0])
    _, end, tail = rest.partition(RESULTS[1])
    if not end:
        message = f"no {RESULTS[0]} with {RESULTS[1]} behind it"
        raise ValueError(message)
    return f"{head}{begin}\n{table}\n{end}{tail}"


def put_results(table: str) -> None:
    """Writes the table of results into the README."""
    page = ROOT / "README.md"
    page.write_text(with_results(page.read_text("utf-8"), table), "utf-8")


def main() -> int:
    page = ROOT / "README.md"
    page.write_text(with_programs(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
