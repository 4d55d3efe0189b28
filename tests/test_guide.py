"""Every block of the pages runs, and prints what the page says."""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acp
from tools import links
from tools.bounded import run
from tools.guide import GUIDE, PAGES, ROOT, blocks, output, program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from tools.bounded import Ended

TEXTS = {page.stem: page.read_text("utf-8") for page in PAGES}
GUIDES = [page.stem for page in GUIDE]
TUTORIALS = [name for name, text in TEXTS.items() if program(text)]
SECONDS = 45.0


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Ended]]]:
    """Every page's program, each in a process and a folder of its own, some at a time."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))

    def ended(name: str) -> Ended:
        folder: Path = tmp_path_factory.mktemp(name)
        # Not by its own name, which a module of the standard library may have.
        file = folder / f"{name}_page.py"
        file.write_text(program(TEXTS[name]), "utf-8")
        command = [sys.executable, "-W", "error", str(file)]
        return run(command, SECONDS, cwd=folder, env={"PYTHONPATH": path})

    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        yield {name: pool.submit(ended, name) for name in TUTORIALS}


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_page_prints_what_it_says_and_nothing_goes_wrong(
    name: str, runs: dict[str, Future[Ended]]
) -> None:
    """Standard error is empty as well: warnings, also those of finalizers, are errors."""
    ended = runs[name].result(timeout=50)
    assert (ended.err, ended.code) == ("", 0)
    assert ended.out == output(TEXTS[name])


@pytest.mark.parametrize("name", GUIDES)
def test_every_block_of_a_page_is_part_of_its_program_or_of_its_output(name: str) -> None:
    found = blocks(TEXTS[name])
    assert {block.kind for block in found} <= {"python", "text"}
    assert all(any(line.strip() for line in block.lines) for block in found)


def test_every_page_but_the_index_has_a_program_and_is_in_the_index() -> None:
    assert {*GUIDES} - {*TUTORIALS} == {"index"}
    missing = [
        name for name in TUTORIALS if name in GUIDES and f"]({name}.md)" not in TEXTS["index"]
    ]
    assert missing == []


def test_every_python_block_of_the_project_is_run() -> None:
    """Those of the README are files of `examples`, see `test_readme`."""
    with_blocks = {
        page
        for page in links.pages(ROOT)
        if any(block.kind == "python" for block in blocks(page.read_text("utf-8")))
    }
    assert with_blocks - {*PAGES} == {ROOT / "README.md"}


LIMIT = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \|", re.MULTILINE)
UNITS = {"": 1, "s": 1, "KiB": 1024, "MiB": 1024 * 1024}


def test_the_defaults_that_the_page_of_limits_tells_are_those_of_the_library() -> None:
    rows = LIMIT.findall(TEXTS["limits"])
    assert len(rows) > 5
    for names, defaults in rows:
        told = dict(zip(re.findall(r"`(\w+)`", names), defaults.split(", "), strict=True))
        for name, default in told.items():
            number, _, unit = default.replace(",", "").partition(" ")
            assert getattr(acp.Limits(), name) == int(number) * UNITS[unit], name


def test_the_lines_of_a_program_have_the_numbers_of_the_page() -> None:
    page = "# A page\n\n```python\na = 1\n```\n\n```text\n2\n```\n\nText.\n\n```python\nb = a\n```"
    lines = program(page).splitlines()
    assert [(number, line) for number, line in enumerate(lines, 1) if line] == [
        (4, "a = 1"),
        (14, "b = a"),
    ]
    assert output(page) == "2\n"


def test_a_block_that_does_not_end_is_no_block() -> None:
    with pytest.raises(ValueError, match="line 3"):
        program("# A page\n```python\na = 1\n")
