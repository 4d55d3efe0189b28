"""Generated files as a set: writing, comparing, and removing the ones no longer made.

Must not know: what is in a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from codegen.facts import ROOT

#: Folders that hold generated files only.
OWNED = (
    "rust/acp-core/src/schema/generated",
    "python/acp/_schema/v1",
    "python/acp/_schema/v2",
)


def strays(files: dict[str, str], owned: Sequence[str]) -> list[str]:
    """Files in a generated folder that the generator does not make."""
    found = []
    for folder in owned:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and path.suffix in (".rs", ".py", ".pyi") and name not in files:
                found.append(name)
    return found


def write(files: dict[str, str], owned: Sequence[str]) -> list[str]:
    """Writes what differs and removes strays; returns the names of the files that changed."""
    changed = []
    for name, text in files.items():
        path = ROOT / name
        if path.exists() and path.read_text() == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        changed.append(name)
    for name in strays(files, owned):
        (ROOT / name).unlink()
        changed.append(name)
    return changed


def compare(files: dict[str, str], owned: Sequence[str]) -> list[str]:
    """A line for each file that is missing, stale or stray, with the first lines that differ."""
    out = []
    for name, text in files.items():
        path = ROOT / name
        if not path.exists():
            out.append(f"{name}: missing")
            continue
        old = path.read_text()
        if old != text:
            diff = list(
                difflib.unified_diff(
                    old.splitlines(), text.splitlines(), "there", "made", n=0, lineterm=""
                )
            )
            plus = sum(line.startswith("+") for line in diff[2:])
            minus = sum(line.startswith("-") for line in diff[2:])
            out.append(f"{name}: stale (+{plus} -{minus})")
            out.extend(f"    {line[:140]}" for line in diff[2:8])
    return out + [f"{name}: no longer made" for name in strays(files, owned)]
