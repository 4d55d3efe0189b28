"""What a run of the tests of another package has to come to."""

from __future__ import annotations

import pytest

from tools import bounded, downstream, tomls

SUITES = tomls.read(downstream.SUITES)["suite"]


def ended(code: int | None, *lines: str) -> bounded.Ended:
    return bounded.Ended(code, "\n".join([*lines, ""]), "", 1.0)


def test_as_many_tests_as_with_the_official_sdk_have_to_pass() -> None:
    suite = {"passed": 12}
    assert downstream.faults_of(suite, ended(0, "....", "12 passed, 1 warning in 3.1s")) == []
    assert downstream.faults_of(suite, ended(0, "11 passed in 3.1s"))
    assert downstream.faults_of(suite, ended(None, "12 passed in 3.1s"))
    assert downstream.faults_of(suite, ended(2, "!!! Interrupted"))


def test_the_tests_that_failed_are_named() -> None:
    lines = ("FAILED tests/a.py::b - X", "ERROR tests/c.py", "1 failed, 12 passed, 1 error in 1s")
    faults = downstream.faults_of({"passed": 12}, ended(1, *lines))
    assert faults == ["exit code 1", "FAILED tests/a.py::b - X", "ERROR tests/c.py"]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite["name"])
def test_a_suite_pins_its_package_and_says_why_a_test_cannot_pass(suite: downstream.Suite) -> None:
    assert "==" in suite["install"][0]
    assert suite["passed"] > 0
    assert ("tests" in suite) is not ("package" in suite)
    assert all(len(reason.split()) > 5 for reason in suite.get("differs", {}).values())


def test_a_package_that_is_not_listed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert downstream.main(["nothing"]) == 1
    assert "nothing" in capsys.readouterr().out
