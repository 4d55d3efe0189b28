"""What the reliability figures are judged by: nothing passes that was missed or not measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import reliability.__main__ as command
from reliability import figures, report, runs
from reliability.figures import Figure, Form, Promise
from reliability.runs import Measured

FULL, SHORT = Form(), Form(short=True)
PROMISES = (
    Promise("kinds", "", "exactly", 3, 3),
    Promise("growth", "MiB", "at_most", 2, 2),
    Promise("inputs", "", "at_least", 100, 10),
)
GOOD: dict[str, float] = {"kinds": 3, "growth": -0.5, "inputs": 100}


def figure(at: str = "texts:twice", seconds: float = 30) -> Figure:
    return Figure("X1", "A figure", "codec", at, seconds, PROMISES)


def is_kept(values: dict[str, Any], form: Form = FULL) -> bool:
    return not report.missed([Measured(figure(), 1.0, values)], form)


def test_a_figure_whose_values_all_hold_is_kept() -> None:
    assert is_kept(GOOD)


@pytest.mark.parametrize(
    "values",
    [
        {"kinds": 2},
        {"kinds": 4},
        {"growth": 2.01},
        {"inputs": 99},
        {"growth": math.nan},
        {"growth": -math.inf},
        {"growth": None},
        {"growth": "little"},
    ],
)
def test_a_value_off_its_target_or_without_a_number_is_missed(values: dict[str, Any]) -> None:
    assert not is_kept({**GOOD, **values})


@pytest.mark.parametrize("name", GOOD)
def test_a_value_that_was_not_measured_is_missed(name: str) -> None:
    assert not is_kept({other: value for other, value in GOOD.items() if other != name})


def test_the_short_form_has_targets_of_its_own() -> None:
    assert not is_kept({**GOOD, "inputs": 10})
    assert is_kept({**GOOD, "inputs": 10}, SHORT)


def run(monkeypatch: pytest.MonkeyPatch, out: Path, measured: Measured) -> int:
    monkeypatch.setattr(command, "measure", lambda *_: measured)
    return command.run([measured.figure], FULL, out)


def test_a_missed_figure_exits_1_and_is_marked_in_both_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, tmp_path, Measured(figure(), 1.0, {**GOOD, "growth": 7})) == 1
    assert "missed: X1: growth: 7 of ≤ 2 MiB" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "latest.json").read_text("utf-8"))["figures"]
    assert [value["kept"] for value in row["values"]] == [True, False, True]
    assert "🔴 growth: 7 of ≤ 2 MiB" in (tmp_path / "latest.md").read_text("utf-8")


def test_figures_that_are_kept_exit_0(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, tmp_path, Measured(figure(), 1.0, GOOD)) == 0
    assert "🔴" not in (tmp_path / "latest.md").read_text("utf-8")


def test_a_figure_that_raises_is_missed_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without this variable the collection is looked for where it is not.
    monkeypatch.setenv("ACP_SHARED", str(tmp_path))
    (suite,) = (each for each in figures.table() if each.id == "A1")
    measured = runs.measure(suite, SHORT)
    assert measured.values == {}
    assert run(monkeypatch, tmp_path, measured) == 1
    assert "JSONTestSuite is not at" in capsys.readouterr().out


def test_a_figure_that_takes_too_long_is_missed(tmp_path: Path) -> None:
    (suite,) = (each for each in figures.table() if each.id == "A9")
    late = Figure(suite.id, suite.says, suite.group, suite.at, 0.05, suite.promises)
    measured = runs.measure(late, SHORT)
    assert "not done in" in measured.failure
    assert len(report.missed([measured], SHORT)) == len(suite.promises)


def test_a_figure_is_measured_in_a_process_of_its_own() -> None:
    (envelopes,) = (each for each in figures.table() if each.id == "A8")
    measured = runs.measure(envelopes, SHORT)
    assert measured.failure == ""
    assert set(measured.values) == {promise.name for promise in envelopes.promises}


def test_every_figure_of_the_table_has_a_function_a_group_and_an_explanation() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "reliability.md").read_text("utf-8")
    table = figures.table()
    assert len({each.id for each in table}) == len(table)
    for each in table:
        assert callable(each.load()), each.id
        assert each.group in report.GROUPS
        assert each.promises
        assert f"| {each.id} |" in page


def test_only_figures_that_exist_can_be_asked_for() -> None:
    table = figures.table()
    assert [each.id for each in command.chosen("B1, A6", table)] == ["A6", "B1"]
    assert command.chosen("", table) == table
    with pytest.raises(SystemExit, match="no such figure: Z9"):
        command.chosen("A6,Z9", table)
