"""What differs from the official Python SDK: the list, and the page that shows it.

Owns `docs/differences.toml`, in which every difference has its reason, and the page made of it.
`python -m tools.differences` writes `docs/differences.md`, and a test compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tools import tomls

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "differences.toml"
PAGE = ROOT / "docs" / "differences.md"

HEAD = """# Differences from the official Python SDK

`acp` is meant to take the place of `agent-client-protocol` 0.12.1 in programs that stay as they
are. What is not the same is listed here, each with its reason.

This page is made of [differences.toml](differences.toml) by `make docs`; `make compat` compares it
with both packages, and fails for a difference that is not listed and for a row that tells of none.
"""


class Row(NamedTuple):
    """One difference."""

    what: str
    official: str
    ours: str
    why: str
    facts: tuple[str, ...] = ()
    """The facts of `wire_facts.py` that it explains."""
    names: tuple[str, ...] = ()
    """Regular expressions for the lines of `api_diff.py` that it explains."""


def rows(data: dict[str, Any] | None = None) -> dict[str, list[Row]]:
    """The rows of each part. Raises TypeError for one that is not whole."""
    found = tomls.read(DATA) if data is None else data
    return {
        title: [
            Row(
                **{
                    key: tuple(value) if isinstance(value, list) else value
                    for key, value in row.items()
                }
            )
            for row in part
        ]
        for title, part in found.items()
    }


def page(parts: dict[str, list[Row]]) -> str:
    """The page that shows them."""
    out = [HEAD]
    for title, part in parts.items():
        out.append(f"## {title}\n\n| what | official | here | why |\n|---|---|---|---|\n")
        for row in part:
            cells = (row.what, row.official, row.ours, row.why)
            out[-1] += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    return "\n".join(out)


def unlisted_facts(
    official: dict[str, Any], ours: dict[str, Any], parts: dict[str, list[Row]]
) -> list[str]:
    """Facts that differ and are not listed, and listed ones that do not differ."""
    differ = {name for name in official | ours if official.get(name) != ours.get(name)}
    listed = {fact for part in parts.values() for row in part for fact in row.facts}
    return [
        *(
            f"not listed: {name}\n  {official.get(name)}\n  {ours.get(name)}"
            for name in differ - listed
        ),
        *(f"listed, and the same: {name}" for name in listed - differ),
    ]


def unlisted_names(lines: list[str], parts: dict[str, list[Row]]) -> list[str]:
    """Differences of the surface that are not listed, and patterns that fit none."""
    patterns = [name for part in parts.values() for row in part for name in row.names]
    fits = {line: [p for p in patterns if re.match(p, line)] for line in lines}
    used = {pattern for found in fits.values() for pattern in found}
    return [
        *(f"not listed: {line}" for line, found in fits.items() if not found),
        *(f"listed, and not there: {pattern}" for pattern in patterns if pattern not in used),
    ]


def main() -> int:
    PAGE.write_text(page(rows()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
