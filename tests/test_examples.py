"""The programs of `examples/` that work on files, as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TABS = "def answer():\n\treturn 42\n"


def edited(folder: Path, file: str, answer: str) -> subprocess.CompletedProcess[str]:
    """The editor has the agent work on a file."""
    agent = (sys.executable, str(EXAMPLES / "fixing_agent.py"))
    command = [sys.executable, str(EXAMPLES / "editor.py"), str(folder), file, answer, *agent]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)


def test_the_agent_changes_a_file_that_it_may_change_and_checks_it(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(TABS, "utf-8")
    run = edited(tmp_path, "answer.py", "yes")
    assert run.stdout.splitlines() == [
        "tool: Replace tabs",
        "you: Replace",
        "tool: completed",
        "tool: Compile",
        "tool: completed",
        "agent: The tabs are gone, and it still compiles.",
        "turn: end_turn",
    ], run.stderr
    assert (tmp_path / "answer.py").read_text("utf-8") == TABS.replace("\t", "    ")


def test_the_agent_tells_what_its_command_found(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("def answer(:\n\treturn 42\n", "utf-8")
    run = edited(tmp_path, "answer.py", "yes")
    assert run.stdout.splitlines()[-3:] == [
        "tool: failed",
        "agent: The tabs are gone, but it does not compile.",
        "turn: end_turn",
    ], run.stderr


def test_the_agent_leaves_a_file_alone_that_it_may_not_change(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(TABS, "utf-8")
    run = edited(tmp_path, "answer.py", "no")
    assert "agent: Then I leave it as it is." in run.stdout, run.stderr
    assert (tmp_path / "answer.py").read_text("utf-8") == TABS


@pytest.mark.parametrize("file", ["../outside.py", "absent.py"])
def test_the_editor_reads_nothing_outside_its_folder_and_nothing_that_is_not_there(
    tmp_path: Path, file: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside.py").write_text(TABS, "utf-8")
    run = edited(folder, file, "yes")
    assert run.returncode != 0
    assert "tool:" not in run.stdout
    assert (tmp_path / "outside.py").read_text("utf-8") == TABS
