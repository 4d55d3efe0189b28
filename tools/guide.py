"""The programs of the pages in `docs`: the blocks of a page, in their order, are one.

Owns taking programs and their output out of pages. `python -m tools.guide` checks the form and the
types of all; `tests/test_guide.py` runs them. The README shows files of `examples`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

__all__ = ("GUIDE", "PAGES", "Block", "blocks", "output", "program")

ROOT = Path(__file__).resolve().parent.parent
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
"""The pages that are programs as a whole."""

FENCE = "```"


class Block(NamedTuple):
    """What stands between two fences of a page."""

    kind: str
    """What the first fence names: `python` is part of the program, `text` of its output."""
    line: int
    """The line of the page that it begins on, counted from 1."""
    lines: list[str]


def blocks(page: str) -> list[Block]:
    """The blocks of a page. ValueError: one that does not end."""
    found: list[Block] = []
    is_open = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith(FENCE):
            is_open = not is_open
            if is_open:
                found.append(Block(line[len(FENCE) :].strip(), number + 1, []))
        elif is_open:
            found[-1].lines.append(line)
    if is_open:
        message = f"the block of line {found[-1].line} does not end"
        raise ValueError(message)
    return found


def program(page: str) -> str:
    """The program of a page, whose lines have the numbers that they have there; empty when there is
    none.
    """
    lines: list[str] = []
    for block in blocks(page):
        if block.kind == "python":
            lines += [""] * (block.line - 1 - len(lines)) + block.lines
    return "\n".join([*lines, ""]) if lines else ""


PAGES = [
    *GUIDE,
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if program(page.read_text("utf-8"))),
]
"""Those whose blocks are run: also the others that have any."""


def output(page: str) -> str:
    """What the page says that its program prints."""
    return "".join(
        f"{line}\n" for block in blocks(page) if block.kind == "text" for line in block.lines
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        config = str(ROOT / "pyproject.toml")
        form = ["ruff", "format", "--check", "--diff", "--config", config, str(folder / "blocks")]
        types = ["pyright", "--pythonpath", sys.executable, "--project", name]
        done = [
            subprocess.run([sys.executable, "-m", *each], cwd=ROOT, check=False)
            for each in (form, types)
        ]
    return max(each.returncode for each in done)


def write(folder: Path) -> None:
    """Writes the blocks and the programs of all pages into a folder, with what a type checker has
    to know of them.
    """
    for part in ("blocks", "programs"):
        (folder / part).mkdir()
    for page in PAGES:
        text = page.read_text("utf-8")
        (folder / "programs" / f"{page.stem}.py").write_text(program(text), "utf-8")
        for block in blocks(text):
            if block.kind == "python":
                file = folder / "blocks" / f"{page.stem}-{block.line}.py"
                file.write_text("\n".join([*block.lines, ""]), "utf-8")
    settings = {
        "include": ["programs"],
        "extraPaths": [str(ROOT / "python")],
        "pythonVersion": "3.10",
        "typeCheckingMode": "standard",
        # As in `examples`: a handler names the parameters that it uses.
        "reportIncompatibleMethodOverride": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
