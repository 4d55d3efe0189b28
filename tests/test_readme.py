"""The programs that the README shows are files of `examples/`, letter by letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# A block of code, introduced by a line that links the file it shows.
SHOWN = re.compile(
    r"\]\((examples/[\w.]+)\)[^\n]*\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks() -> dict[str, str]:
    return dict(SHOWN.findall((ROOT / "README.md").read_text("utf-8")))


def test_the_readme_shows_an_agent_and_a_client() -> None:
    assert set(blocks()) == {"examples/echo_agent.py", "examples/client.py"}


@pytest.mark.parametrize("name", ["examples/echo_agent.py", "examples/client.py"])
def test_a_program_in_the_readme_is_the_file_it_names(name: str) -> None:
    assert blocks()[name] == (ROOT / name).read_text("utf-8")


def test_every_python_block_of_the_readme_names_its_file() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.count("```python") == len(blocks())
