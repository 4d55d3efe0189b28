"""The checks of the Makefile find what they are for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benches import chart, report
from benches.runs import Numbers
from tools import links, lint, readme, tomls


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


SIDES = {report.PEER: 100.0, "typescript": 60.0, "rust": 50.0, "msgspec": 10.0, "acp.v1": 50.0}


def numbers(ours: float, growth: float = 0.0) -> Numbers:
    """Every work measured three times on every side, which take what `SIDES` says.

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
            for side, value in SIDES.items():
                found.add(work["name"], side, value + noise)
    return found


def rows(found: Numbers) -> dict[str, report.Row]:
    return {row.name: row for row in report.rows(found)}


def test_a_floor_is_met_or_missed_by_the_medians() -> None:
    good, bad = rows(numbers(0.5)), rows(numbers(90))
    with_floor = [name for name, row in good.items() if row.floors and name != "linear"]
    assert {"decode chunk", "import acp", "client update", "idle connection"} <= {*with_floor}
    assert all(floor.met for name in with_floor for floor in good[name].floors)
    assert not any(floor.met for name in with_floor for floor in bad[name].floors)


def test_a_floor_beside_a_side_that_is_missing_is_not_met() -> None:
    found = numbers(0.5)
    del found.values["client update"]["rust"]
    official, rust = rows(found)["client update"].floors
    assert official.met is True
    assert rust.met is None


def test_time_per_byte_that_grows_with_the_frame_misses_the_floor() -> None:
    (quadratic,), (linear,) = (rows(numbers(5, growth))["linear"].floors for growth in (1.0, 0.0))
    assert quadratic.met is False
    assert linear.met is True


def test_a_goal_beside_another_library_is_a_share_of_its_time() -> None:
    found = rows(numbers(12))
    assert [goal.met for goal in found["decode chunk"].goals] == [False]
    assert [goal.met for goal in found["encode chunk"].goals] == [True]


def test_the_tables_and_the_drawing_show_every_side() -> None:
    found = numbers(5)
    versions = {"native": "1", "official": "2", "typescript": "3", "rust": "4"}
    table = report.rows(found)
    document = report.document(table, found, 5, versions, {})
    text, picture = report.markdown(table, document), chart.drawing(table, document)
    for side in versions:
        assert report.NAMES[side] in text
        assert report.NAMES[side] in picture
    assert all(row.title in text for row in table)
    ET.fromstring(picture)


def test_results_take_the_place_between_their_marks() -> None:
    begin, end = readme.RESULTS
    page = f"a\n{begin}\nold\n{end}\nb\n"
    assert readme.with_results(page, "new") == f"a\n{begin}\nnew\n{end}\nb\n"
    with pytest.raises(ValueError, match="results"):
        readme.with_results("a page without", "new")


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
