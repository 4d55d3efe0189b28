"""The list of what differs from the official Python SDK, and the page that shows it."""

from __future__ import annotations

import re

import pytest

from tools import bounded, differences, official_suite
from tools.differences import Row


def test_the_page_shows_the_list() -> None:
    parts = differences.rows()
    assert differences.PAGE.read_text("utf-8") == differences.page(parts)
    rows = [row for part in parts.values() for row in part]
    assert all(row.what and row.official and row.ours and row.why for row in rows)
    for row in rows:
        for name in row.names:
            re.compile(name)


def parts_of(row: Row) -> dict[str, list[Row]]:
    return {"Part": [row]}


ROW = Row("what", "there", "here | there", "why")


def test_a_row_that_is_not_whole_is_refused() -> None:
    with pytest.raises(TypeError):
        differences.rows({"Part": [{"what": "something"}]})


def test_a_fact_that_differs_has_to_be_listed_and_a_listed_one_to_differ() -> None:
    official, ours = {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5, "d": 4}
    parts = parts_of(ROW._replace(facts=("a", "b")))
    wrong = differences.unlisted_facts(official, ours, parts)
    assert sorted(line.splitlines()[0] for line in wrong) == [
        "listed, and the same: a",
        "not listed: c",
        "not listed: d",
    ]
    assert not differences.unlisted_facts(official, official, parts_of(ROW))


def test_a_name_that_differs_has_to_be_listed_and_a_pattern_to_fit() -> None:
    lines = ["acp.x.one: missing", "acp.y.two: missing"]
    parts = parts_of(ROW._replace(names=(r"acp\.x", r"acp\.z")))
    assert differences.unlisted_names(lines, parts) == [
        "not listed: acp.y.two: missing",
        "listed, and not there: acp\\.z",
    ]


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert "| what | there | here \\| there | why |" in differences.page(parts_of(ROW))


COUNTS = {"connections": 2, "requests": 3, "notifications": 0, "responses": 1, "without_core": 0}


@pytest.mark.parametrize(
    ("code", "out", "counts", "wrong"),
    [
        (0, "124 passed, 5 deselected in 3.00s", {}, 0),
        (0, "123 passed, 1 skipped in 3.00s", {}, 1),
        (1, "FAILED tests/a.py::b\n1 failed, 123 passed", {}, 2),
        (2, "ERROR tests/a.py\n1 error in 1.00s", {}, 2),
        (None, "", {}, 1),
        (0, "124 passed in 3.00s", {"without_core": 1}, 1),
        (0, "124 passed in 3.00s", {"connections": 0, "requests": 0}, 2),
    ],
)
def test_a_run_of_the_official_suite_is_judged(
    code: int | None, out: str, counts: dict[str, int], wrong: int
) -> None:
    ended = bounded.Ended(code, out, "", 1.0)
    assert len(official_suite.faults(ended, {**COUNTS, **counts})) == wrong


def test_a_run_in_which_nothing_was_counted_is_a_fault() -> None:
    ended = bounded.Ended(0, "124 passed in 3.00s", "", 1.0)
    assert official_suite.faults(ended, {}) == ["nothing was counted"]
