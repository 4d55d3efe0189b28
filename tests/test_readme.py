"""The programs that the README shows are files of `examples/`, letter by letter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.readme import shown, with_programs

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PROGRAMS = ["examples/echo_agent.py", "examples/client.py"]


def test_the_readme_shows_an_agent_and_a_client() -> None:
    assert list(shown(README)) == PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_in_the_readme_is_the_file_it_names(name: str) -> None:
    assert shown(README)[name] == (ROOT / name).read_text("utf-8")


def test_every_python_block_of_the_readme_names_its_file() -> None:
    assert README.count("```python") == len(shown(README))


def test_the_client_of_the_readme_talks_to_its_agent() -> None:
    agent, client = PROGRAMS
    done = subprocess.run(
        [sys.executable, client, sys.executable, agent],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, agent! (end_turn)\n", "")


def test_a_program_that_changed_is_put_in_place_and_the_text_around_it_stays(
    tmp_path: Path,
) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "one.py").write_text("print(2)\n", "utf-8")
    text = "# Title\n\n[one](examples/one.py) prints:\n\n```python\nprint(1)\n```\n\nEnd.\n"
    assert with_programs(text, tmp_path) == text.replace("print(1)", "print(2)")
