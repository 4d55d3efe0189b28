"""Checks that every relative link of the Markdown pages leads to a file or heading that exists.

Owns nothing but that check; links to other sites are not followed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def pages(root: Path) -> list[Path]:
    """The Markdown files of the project: tracked ones and new ones, none that is ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [path for name in sorted(set(listed.splitlines())) if (path := root / name).exists()]


def anchors(text: str) -> set[str]:
    """The anchors that a renderer makes of the headings."""
    found: set[str] = set()
    for title in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def broken(root: Path, page: Path) -> list[str]:
    """The links of `page` that lead nowhere."""
    text = page.read_text(encoding="utf-8")
    faults: list[str] = []
    for target in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            faults.append(f"{page.relative_to(root)}: {target}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text("utf-8")):
            faults.append(f"{page.relative_to(root)}: {target}: no such heading")
    return faults


def main() -> int:
    found = pages(ROOT)
    faults = [fault for page in found for fault in broken(ROOT, page)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(found)} pages, {len(faults)} broken links")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
