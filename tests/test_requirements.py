"""The list of requirements against the tests that exist.

Owns the checks of `tests/requirements.toml`, and knows a test by its name alone. Python tests are
those that pytest collected: in this run or, when only a part is run, by asking pytest once for the
files in question. Rust tests are found by reading their sources, since asking Cargo would compile
them first, for every interpreter that the tests run on; `#[test]` before `fn` is all that makes one
there, and an ignored one does not count.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tools import tomls

ROOT = Path(__file__).resolve().parent.parent
RUST_TESTS = ROOT / "rust" / "acp-core" / "tests"
NUMBER = re.compile(r"\bC-\d{3}\b")
COMPLETE = [f"C-{number:03}" for number in range(1, 191)]
"""Framing, batches, calls, cancellation, dispatch, logs, initialization: each has to be listed."""
MOST_NUMBERS_PER_TEST = 4
KEYS = {"tests", "superseded", "rust_only", "later", "missing"}

RUST_TEST = re.compile(
    r"(?P<comment>(?:^[ ]*///[^\n]*\n)*)"
    r"^[ ]*#\[test\]\n"
    r"(?P<attributes>(?:^[ ]*#\[[^\n]*\]\n)*)"
    r"^[ ]*fn (?P<name>\w+)",
    re.MULTILINE,
)

CONTENT = tomls.read(ROOT / "tests" / "requirements.toml")
MILESTONES: dict[str, str] = CONTENT.pop("milestones")
ENTRIES: dict[str, dict[str, Any]] = CONTENT


def listed_tests() -> dict[str, set[str]]:
    """Each test that is listed, with the numbers that it stands for."""
    found: dict[str, set[str]] = defaultdict(set)
    for number, entry in ENTRIES.items():
        for test in entry.get("tests", ()):
            found[test].add(number)
    return found


def rust_tests_in(binary: str, text: str) -> dict[str, set[str]]:
    """Each test of a Rust source that runs, with the numbers in the comment above it."""
    return {
        f"rust:{binary}::{match['name']}": set(NUMBER.findall(match["comment"]))
        for match in RUST_TEST.finditer(text)
        if "#[ignore" not in match["attributes"]
    }


def rust_tests() -> dict[str, set[str]]:
    """Each Rust test of the core."""
    found: dict[str, set[str]] = {}
    for source in RUST_TESTS.glob("*.rs"):
        found |= rust_tests_in(source.stem, source.read_text("utf-8"))
    return found


def python_claims() -> dict[str, set[str]]:
    """Each Python test whose docstring has numbers, with these."""
    found: dict[str, set[str]] = {}
    for source in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.parse(source.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                numbers = set(NUMBER.findall(ast.get_docstring(node) or ""))
                if numbers:
                    found[f"{source.relative_to(ROOT).as_posix()}::{node.name}"] = numbers
    return found


def without_parameters(node_id: str) -> str:
    return node_id.split("[", 1)[0]


def collected_from(files: set[str]) -> set[str]:
    """What pytest collects from these files, in a process of its own."""
    existing = sorted(file for file in files if (ROOT / file).is_file())
    if not existing:
        return set()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "--quiet",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, *existing],
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {without_parameters(line) for line in done.stdout.splitlines() if "::" in line}


def decisions() -> set[str]:
    """The names of the rows of the page of decisions."""
    page = (ROOT / "docs" / "decisions.md").read_text("utf-8")
    return set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))


def test_every_requirement_of_the_parts_that_are_complete_is_listed_once() -> None:
    # That none is listed twice is the reader's: TOML allows no table to be there a second time.
    assert [number for number in COMPLETE if number not in ENTRIES] == []
    assert [name for name in ENTRIES if not NUMBER.fullmatch(name)] == []
    assert list(ENTRIES) == sorted(ENTRIES)


def test_every_entry_names_tests_or_a_reason_for_having_none() -> None:
    for number, entry in ENTRIES.items():
        assert entry.keys() <= KEYS, number
        tests = entry.get("tests", [])
        assert len(tests) == len(set(tests)), number
        assert tests or "rust_only" in entry or "later" in entry, number
        # Only what tests show can be done otherwise, and only a part can be missing.
        assert "superseded" not in entry or tests, number
        assert ("missing" in entry) == ("later" in entry and bool(tests)), number
        if "rust_only" in entry:
            assert entry.keys() == {"rust_only"}, number
            assert len(entry["rust_only"].split()) >= 5, number


def test_every_reason_leads_somewhere() -> None:
    rows = decisions()
    assert rows
    for number, entry in ENTRIES.items():
        assert entry.get("superseded") in {None, *rows}, number
        assert str(entry.get("later", next(iter(MILESTONES)))) in MILESTONES, number
    used = {str(entry["later"]) for entry in ENTRIES.values() if "later" in entry}
    assert used == set(MILESTONES), "a milestone that nothing waits for"


def test_no_test_stands_for_more_than_four_requirements() -> None:
    stretched = {
        test: sorted(numbers)
        for test, numbers in listed_tests().items()
        if len(numbers) > MOST_NUMBERS_PER_TEST
    }
    assert stretched == {}


def test_every_rust_test_that_is_listed_exists() -> None:
    listed = {test for test in listed_tests() if test.startswith("rust:")}
    assert listed
    assert sorted(listed - rust_tests().keys()) == []


def test_every_python_test_that_is_listed_is_collected(request: pytest.FixtureRequest) -> None:
    listed = {test for test in listed_tests() if not test.startswith("rust:")}
    assert listed
    missing = listed - {without_parameters(item.nodeid) for item in request.session.items}
    missing -= collected_from({test.split("::")[0] for test in missing})
    assert sorted(missing) == []


def test_every_number_that_a_test_names_is_listed_with_that_test() -> None:
    listed = listed_tests()
    unlisted = [
        f"{number}: {test}"
        for test, numbers in sorted({**rust_tests(), **python_claims()}.items())
        for number in sorted(numbers - listed.get(test, set()))
    ]
    assert unlisted == [], "to be added to tests/requirements.toml"


def test_rust_tests_are_found_in_macros_too_and_ignored_ones_are_not() -> None:
    text = (
        "    /// C-001, C-002: words.\n    #[test]\n    fn inside(x in 0..2) {}\n"
        '/// C-003\n#[test]\n#[ignore = "slow"]\nfn skipped() {}\n'
        "/// C-004\nfn plain() {}\n#[test]\nfn bare() {}\n"
    )
    assert rust_tests_in("t", text) == {"rust:t::inside": {"C-001", "C-002"}, "rust:t::bare": set()}
