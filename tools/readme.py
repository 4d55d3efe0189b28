"""Puts the programs of `examples/` into the README, at the lines that link them.

Owns the form of such a block. `python -m tools.readme` writes; a test compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ("SHOWN", "shown", "with_programs")

ROOT = Path(__file__).resolve().parent.parent
# A block of code behind a line that links the file which it shows.
SHOWN = re.compile(
    r"(\]\((examples/[\w.]+)\)[^\n]*\n\n```python\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL
)


def shown(text: str) -> dict[str, str]:
    """Name of each file that `text` shows, and the program as shown."""
    return {name: program for _, name, program, _ in SHOWN.findall(text)}


def with_programs(text: str, root: Path = ROOT) -> str:
    """`text` with every program as the file has it now."""

    def block(found: re.Match[str]) -> str:
        return found[1] + (root / found[2]).read_text("utf-8") + found[4]

    return SHOWN.sub(block, text)


def main() -> int:
    page = ROOT / "README.md"
    page.write_text(with_programs(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
