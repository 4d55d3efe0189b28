"""Runs the commands of `docs/switching.md` in new environments.

Owns the state that each section of the page begins with and what has to hold behind it. The
commands are the page's own. It needs an index of packages: the official SDK comes from there, and
uv when it is not on this machine. `python -m tools.switching [SECTION…]` takes the sections to run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools import bounded, dependent
from tools.guide import Block, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ("COURSES", "PAGE", "sections")

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "switching.md"
OFFICIAL = "agent-client-protocol==0.12.1"
SECONDS = 180.0
"""For the commands of one block."""

# Whose `acp` is there; a folder that only one of the two has tells it.
IS_OURS = "import acp, acp._core, sys; sys.exit('site-packages' not in acp.__file__)"
IS_OFFICIAL = """
import importlib.metadata, importlib.util, pathlib, sys
found = importlib.metadata.distribution("agent-client-protocol")
recorded = {str(file.locate()) for file in found.files}
folder = pathlib.Path(found.locate_file("acp"))
strange = [str(f) for f in folder.rglob("*.*") if f.suffix != ".pyc" and str(f) not in recorded]
sys.exit(f"{found.version} {strange}" if found.version != "0.12.1" or strange else 0)
"""


class Failure(Exception):
    """A command has failed, or what it should have led to does not hold."""


def sections(text: str) -> dict[str, list[Block]]:
    """The blocks of a page under each of its headings."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines, 1) if line.startswith("## ")]
    found = {lines[start - 1][3:]: [] for start in starts}
    for block in blocks(text):
        start = max(number for number in starts if number < block.line)
        found[lines[start - 1][3:]].append(block)
    return {title: inside for title, inside in found.items() if inside}


class Wheels(NamedTuple):
    """What the environments are made of besides the index."""

    folder: Path
    """Holds the wheels of this library and of the dependent."""
    uv: Path


class Environment:
    """A folder to work in, with a virtual environment."""

    def __init__(self, folder: Path, wheels: Wheels, *, pip: bool = True) -> None:
        folder.mkdir()
        self.folder = folder
        self.venv = folder / ".venv"
        self.pip = pip
        links = [os.environ.get("PIP_FIND_LINKS", ""), str(wheels.folder)]
        self.env = {
            "PATH": os.pathsep.join([str(self.venv / "bin"), str(wheels.uv.parent), _path()]),
            "PIP_FIND_LINKS": " ".join(filter(None, links)),
            "UV_FIND_LINKS": str(wheels.folder),
            "UV_CACHE_DIR": str(wheels.folder / "cache"),
            "PYTHONPATH": "",
            "VIRTUAL_ENV": str(self.venv),
            **_index(),
        }
        make = (
            f"'{sys.executable}' -m venv" if pip else f"uv venv --quiet --python '{sys.executable}'"
        )
        self.run(f"{make} .venv")

    def run(self, script: str) -> str:
        """Runs lines of shell and returns what they print. Failure: one has failed."""
        command = ["sh", "-euc", script]
        ended = bounded.run(command, SECONDS, cwd=self.folder, env=self.env)
        if ended.code != 0:
            reason = "no end in time" if ended.code is None else f"exit code {ended.code}"
            message = f"{script}\n{reason}\n{ended.out}{ended.err}"
            raise Failure(message)
        return ended.out

    def python(self, program: str) -> None:
        """Runs a program. Failure: it has failed."""
        (self.folder / "check.py").write_text(program, "utf-8")
        self.run("python check.py")

    def follow(self, page: Sequence[Block]) -> None:
        """Does what a section says: runs its commands, writes its files."""
        for block in page:
            text = "".join(f"{line}\n" for line in block.lines)
            if block.kind == "sh":
                self.run(text)
            elif block.kind == "text":
                (self.folder / "requirements.txt").write_text(text, "utf-8")
            else:
                with (self.folder / "pyproject.toml").open("a", encoding="utf-8") as file:
                    file.write(f"\n{text}")

    def holds(self, whose: str) -> None:
        """Looks whose package is there, and that all are content. Failure: it is not so."""
        self.python(whose)
        self.run("python -m pip check" if self.pip else "uv pip check")
        said = self.run(f"python -m {dependent.NAME}").strip()
        if said != dependent.SAYS:
            message = f"the dependent said {said!r}"
            raise Failure(message)
        if whose == IS_OURS:
            self.run("acp doctor")


def _path() -> str:
    return os.environ.get("PATH", os.defpath)


def _index() -> dict[str, str]:
    """The index that pip is told to use, for uv, which does not read pip's configuration."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    found = (
        os.environ.get("PIP_INDEX_URL")
        or subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    )
    return {"UV_DEFAULT_INDEX": found.strip()} if found.strip() else {}


# The courses. Most begin with the official SDK and a package that pins it.


Page = dict[str, list[Block]]


def with_pip(place: Path, wheels: Wheels, page: Page) -> None:
    here = Environment(place, wheels)
    here.run(f"python -m pip install --quiet '{OFFICIAL}' {dependent.NAME}")
    here.holds(IS_OFFICIAL)
    here.follow(page["With pip"])
    here.holds(IS_OURS)
    # What is installed later finds its requirement met.
    here.run(f"python -m pip install --quiet 'agent-client-protocol[http]==0.12.1' {OFFICIAL}")
    here.run(f"python -m pip install --quiet --upgrade '{OFFICIAL}'")
    here.holds(IS_OURS)
    here.follow(page["Back with pip"])
    here.holds(IS_OFFICIAL)


def with_requirements(place: Path, wheels: Wheels, page: Page) -> None:
    here = Environment(place, wheels)
    # Where this runs `acp` is not in the new environment yet.
    here.run(f"'{sys.executable}' -m acp shim --out wheels")
    here.follow(page["With a requirements file"])
    here.holds(IS_OURS)


def with_uv(place: Path, wheels: Wheels, page: Page) -> None:
    here = Environment(place, wheels, pip=False)
    here.run(f"uv pip install --quiet '{OFFICIAL}' {dependent.NAME}")
    here.holds(IS_OFFICIAL)
    here.follow(page["With uv, in an environment"])
    here.holds(IS_OURS)
    here.run("uv pip install 'agent-client-protocol[http]==0.12.1'")
    here.holds(IS_OURS)
    here.follow(page["Back with uv, in an environment"])
    here.holds(IS_OFFICIAL)


def in_a_project(place: Path, wheels: Wheels, page: Page) -> None:
    here = Environment(place, wheels, pip=False)
    project = place / "pyproject.toml"
    before = (
        '[project]\nname = "project"\nversion = "1.0"\n'
        f'requires-python = ">=3.10"\ndependencies = ["{dependent.NAME}"]\n'
    )
    project.write_text(before, "utf-8")
    here.run("uv sync --quiet")
    here.holds(IS_OFFICIAL)
    here.follow(page["With uv, in a project"])
    here.holds(IS_OURS)
    written = project.read_text("utf-8")
    for block in page["With uv, in a project"]:
        if block.kind == "toml":
            for line in filter(None, block.lines):
                written = written.replace(f"{line}\n", "", 1)
    project.write_text(written, "utf-8")
    here.follow(page["Back with uv, in a project"])
    here.holds(IS_OFFICIAL)


def both_installed(place: Path, wheels: Wheels, tool: str, damage: str) -> None:
    """Follows the commands that the doctor prints."""
    here = Environment(place, wheels)
    here.run(f"python -m pip install --quiet '{OFFICIAL}' {dependent.NAME}\n{damage}")
    (place / "doctor").write_text(here.run("python -m acp_doctor --json || true"), "utf-8")
    told = json.loads((place / "doctor").read_text("utf-8"))
    if told["healthy"]:
        message = "the doctor finds nothing"
        raise Failure(message)
    here.run("\n".join(told["commands"][tool]))
    here.holds(IS_OURS)


OVER_IT = "python -m pip install --quiet acp-native"
UNDER_IT = f"{OVER_IT}\npython -m pip install --quiet --force-reinstall --no-deps '{OFFICIAL}'"
REMOVED = f"{UNDER_IT}\npython -m pip uninstall --quiet -y agent-client-protocol"
# What it takes to make pip remove the official SDK behind the installation of this library.
AT_ONCE = f"""\
'{sys.executable}' -m acp shim --out wheels
python -m pip install --quiet acp-native wheels/*.whl"""

COURSES: dict[str, Callable[[Path, Wheels, Page], None]] = {
    "With pip": with_pip,
    "With a requirements file": with_requirements,
    "With uv, in an environment": with_uv,
    "With uv, in a project": in_a_project,
    "When both are installed: pip": lambda a, b, _: both_installed(a, b, "pip", UNDER_IT),
    "When both are installed: uv": lambda a, b, _: both_installed(a, b, "uv", OVER_IT),
    "When one was removed: pip": lambda a, b, _: both_installed(a, b, "pip", REMOVED),
    "When one was removed: uv": lambda a, b, _: both_installed(a, b, "uv", AT_ONCE),
}
"""What is run for which part of the page. The ways back follow the ways there."""


def prepare(folder: Path) -> Wheels:
    """Builds the wheels, and gets uv where it is not there. Failure: a step has failed."""
    folder.mkdir()
    build = ["-m", "maturin", "build", "--quiet", "--strip", "--interpreter", sys.executable]
    uv = shutil.which("uv")
    steps = [[sys.executable, *build, "--out", str(folder)]]
    if uv is None:
        steps.append([sys.executable, "-m", "venv", str(folder / "tools")])
        uv = str(folder / "tools" / "bin" / "uv")
        steps.append([str(folder / "tools" / "bin" / "python"), "-m", "pip", "install", "uv"])
    for step in steps:
        ended = bounded.run(step, 600, cwd=ROOT, env={"PYO3_PYTHON": sys.executable})
        if ended.code != 0:
            message = f"{' '.join(step)}\n{ended.out}{ended.err}"
            raise Failure(message)
    dependent.write(folder)
    return Wheels(folder, Path(uv))


def main(wanted: list[str]) -> int:
    page = sections(PAGE.read_text("utf-8"))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        try:
            wheels = prepare(Path(name) / "prepared")
        except Failure as failure:
            print(f"FAILED: {failure}")
            return 1
        for number, (title, course) in enumerate(COURSES.items()):
            if wanted and not title.startswith(tuple(wanted)):
                continue
            started = time.monotonic()
            try:
                course(Path(name) / str(number), wheels, page)
            except Failure as failure:
                failed += 1
                print(f"FAILED {title}: {failure}", flush=True)
            else:
                print(f"ok {title} ({time.monotonic() - started:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
