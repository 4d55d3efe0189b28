"""Tells whose package `acp` is in an environment, and how to mend it: `acp doctor`.

Owns the way into the command `acp`, and what the doctor prints. Beside `acp` and of the standard
library alone, since it has to work when `acp` was overwritten or half removed; it never imports
`acp`, save for the other subcommands, when that is whole.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from acp_doctor._examination import Finding, Report, examine, listed
from acp_doctor._installed import (
    OFFICIAL,
    OURS,
    SHIM_VERSION,
    SHIM_WHEEL,
    installed,
    matches,
    place_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = (
    "OFFICIAL",
    "OURS",
    "SHIM_VERSION",
    "SHIM_WHEEL",
    "Finding",
    "Report",
    "add_options",
    "command",
    "examine",
    "main",
    "run",
)


def _show(report: Report) -> None:
    print(f"import acp: {report.place or 'nothing'}")
    print(f"of: {report.owner or 'no distribution as it was installed'}")
    if report.files:
        counts = (f"{count} of {writer}" for writer, count in report.files.items())
        print(f"files: {', '.join(counts)}")
    for note in report.notes:
        print(note)
    for finding in report.findings:
        print(f"- {finding.text}")
        if finding.files:
            print(f"    {listed(finding.files)}")
    for tool, commands in report.commands.items():
        print(f"\nTo mend it with {tool}:\n")
        for line in commands:
            print(f"    {line}")
    if report.healthy:
        print("healthy")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `acp doctor` to a parser."""
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(options: argparse.Namespace) -> int:
    """Examines this environment, prints what it found, and returns the exit code: 0 for healthy,
    1 when something is wrong.
    """
    report = examine(sys.path)
    if options.json:
        findings = [finding._asdict() for finding in report.findings]
        members = {"healthy": report.healthy, **report._asdict(), "findings": findings}
        print(json.dumps(members, ensure_ascii=False))
    else:
        _show(report)
    return 0 if report.healthy else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the doctor with `arguments`, those of the process by default."""
    parser = argparse.ArgumentParser(
        prog="acp doctor", description="Tells whose package `acp` is, and how to mend it."
    )
    add_options(parser)
    return run(parser.parse_args(arguments))


def command() -> int:
    """Runs the command `acp`. What of it needs the package runs only when that is this library's;
    else the exit code is 1.
    """
    if sys.argv[1:2] == ["doctor"]:
        return main(sys.argv[2:])
    if not _whole():
        print(f"acp: the package acp is not that of {OURS}; see `acp doctor`", file=sys.stderr)
        return 1
    from acp.__main__ import main as whole

    return whole()


def _whole() -> bool:
    """Whether `import acp` loads what this library has installed, as far as one file can tell."""
    place = place_of(sys.path)
    if place is None:
        return False
    beside = installed([str(place.parent)], "a*c*p*")
    claiming = [found for found in beside if "acp/__init__.py" in found.claims]
    file = place / "__init__.py"
    return file.is_file() and (
        not claiming
        or any(
            found.name == OURS and matches(file, found.claims["acp/__init__.py"])
            for found in claiming
        )
    )
