"""The checks of the Makefile find what they are for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benches import report
from benches.runs import Numbers
from tools import links, lint, tomls


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    return tmp_path


def test_a_link_to_a_file_or_heading_that_is_not_there_is_found(tree: Path) -> None:
    page = tree / "page.md"
    page.write_text(
        "# A page\n[other](other.md) [heading](other.md#two-words) [gone](gone.md)\n"
        "[no heading](other.md#three) [here](#a-page) [away](https://example.org)\n"
        "```\n[in code](nowhere.md)\n```\n",
        "utf-8",
    )
    (tree / "other.md").write_text("## Two words\n", "utf-8")
    assert links.broken(tree, page) == [
        "page.md: gone.md: no such file",
        "page.md: other.md#three: no such heading",
    ]


def test_pages_that_are_ignored_are_not_looked_at(tree: Path) -> None:
    (tree / ".gitignore").write_text("ignored/\n", "utf-8")
    (tree / "ignored").mkdir()
    (tree / "ignored" / "page.md").write_text("x", "utf-8")
    (tree / "page.md").write_text("x", "utf-8")
    assert links.pages(tree) == [tree / "page.md"]


def numbers(ours: float, growth: float = 0.0) -> Numbers:
    """Every work measured three times on every side; the official SDK takes 100 of each unit.

    Time per byte grows with the power `growth` of the size.
    """
    found = Numbers()
    for work in tomls.read(report.FLOORS)["work"]:
        if "growth" in work:
            for size in (1_000_000, 8_000_000, 64_000_000):
                found.add(f"{work['name']} {size}", report.OURS, size**growth)
            continue
        for noise in (0.0, 0.1, 1000.0):
            found.add(work["name"], report.OURS, ours + noise)
            found.add(work["name"], report.PEER, 100 + noise)
            found.add(work["name"], "msgspec", 10 + noise)
    return found


def test_a_floor_is_met_or_missed_by_the_medians() -> None:
    good, bad = report.rows(numbers(5)), report.rows(numbers(60))
    with_floor = [row.name for row in good if row.floor is not None and row.name != "linear"]
    assert "decode chunk" in with_floor
    assert "import acp" in with_floor
    assert all(row.floor_met for row in good if row.name in with_floor)
    assert not any(row.floor_met for row in bad if row.name in with_floor)


def test_time_per_byte_that_grows_with_the_frame_misses_the_floor() -> None:
    quadratic, linear = (
        next(row for row in report.rows(numbers(5, growth)) if row.name == "linear")
        for growth in (1.0, 0.0)
    )
    assert quadratic.floor_met is False
    assert linear.floor_met is True


def test_a_goal_beside_another_library_is_a_share_of_its_time() -> None:
    rows = {row.name: row for row in report.rows(numbers(12))}
    assert rows["decode chunk"].goal_met is False
    assert rows["encode chunk"].goal_met is True


def test_a_work_that_was_not_measured_is_no_pass() -> None:
    found = numbers(5)
    del found.values["start"]
    with pytest.raises(KeyError):
        report.rows(found)


def test_types_are_checked_for_every_platform() -> None:
    names = [name for name, _ in lint.checks()]
    assert [name for name in names if name.startswith("pyright")] == [
        "pyright Linux",
        "pyright Windows",
        "pyright Darwin",
    ]
