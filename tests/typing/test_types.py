"""The types of the public surface, as pyright sees them.

Owns the comparison of what it reports with what `endpoints.py` expects, line by line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = Path(__file__).with_name("endpoints.py")
MARK = re.compile(r"# error: (report\w+(?:, report\w+)*)$")


def expected() -> dict[int, set[str]]:
    """The rules that are broken on each line, as the file says."""
    lines = enumerate(FILE.read_text("utf-8").splitlines(), 1)
    marks = ((number, MARK.search(line)) for number, line in lines)
    return {number: set(mark[1].split(", ")) for number, mark in marks if mark}


def reported() -> dict[int, set[str]]:
    """The same as pyright says."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, str(FILE)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=55
    )
    found: dict[int, set[str]] = defaultdict(set)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    for each in report["generalDiagnostics"]:
        assert each["severity"] == "error", each
        found[each["range"]["start"]["line"] + 1].add(each["rule"])
    return dict(found)


def test_a_type_checker_finds_exactly_the_errors_that_are_there() -> None:
    """C-288"""
    marks = expected()
    assert len(marks) >= 15
    assert reported() == marks
