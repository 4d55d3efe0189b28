"""The commands that mend an environment, with pip and with uv.

Owns their form and order. Whether anything is wrong, it does not know.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from acp_doctor._installed import OURS, SHIM_WHEEL, Installed

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("commands_for",)


class Plan(NamedTuple):
    """What has to be done."""

    again: list[Installed]
    """Distributions that have put files into `acp/`. All go, and ours comes back."""
    absent: bool
    """Whether ours is not there."""
    folders: list[Path]
    """Folders that go besides, since they have files that nobody uninstalls."""
    shim: bool
    """Whether something has to stand in for the official SDK."""


def commands_for(plan: Plan) -> dict[str, list[str]]:
    """The commands for `pip` and for `uv`; nothing when there is nothing to do."""
    # A package that is used from its sources has no files here.
    there = [found for found in plan.again if not found.editable]
    away = Counter(found.name for found in there)
    back = [found.requirement for found in there if found.name == OURS][:1]
    if plan.absent:
        back = [OURS]
    python = sys.executable
    clean = [
        _line(python, "-c", f"import shutil; shutil.rmtree({str(folder)!r})")
        for folder in plan.folders
    ]
    tools = {
        "pip": ((python, "-m", "pip", "uninstall", "-y"), (python, "-m", "pip", "install")),
        "uv": (
            ("uv", "pip", "uninstall", "--python", python),
            ("uv", "pip", "install", "--python", python),
        ),
    }
    commands: dict[str, list[str]] = {}
    for tool, (uninstall, install) in tools.items():
        # What is recorded twice goes once at a time.
        lines = [_line(*uninstall, *away)] * max(away.values(), default=0) + clean
        if back:
            lines.append(_line(*install, *back))
        if plan.shim:
            lines.append(_line(python, "-m", "acp", "shim", "--out", "wheels"))
            lines.append(_line(*install, f"wheels/{SHIM_WHEEL}"))
        if lines:
            commands[tool] = lines
    return commands


def _line(*words: str) -> str:
    """A command as it is typed."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
