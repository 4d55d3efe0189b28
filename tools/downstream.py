"""Runs the own tests of packages that were written for the official SDK, on this library.

Owns their environments, and what a run has to come to; which packages and how many tests is in
`downstream.toml`. Packages come from the index, which takes minutes the first time. They are kept
in `$DOWNSTREAM_DIR`, by default in the cache of the user. `python -m tools.downstream [--official]
[NAME…]` takes the packages to run, and the official SDK to run them on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from acp._cli.shim import build_shim
from tools import bounded, pythons, tomls

__all__ = ("SUITES", "faults_of")

ROOT = Path(__file__).resolve().parent.parent
SUITES = Path(__file__).with_suffix(".toml")
OFFICIAL = "agent-client-protocol[http]==0.12.1"
SECONDS = 900.0
"""For one step."""

PLAIN = {"PYTHONPATH": ""}
"""What is imported is what was installed."""

Suite = dict[str, Any]


class Failure(Exception):
    """A step has failed: what it was, and what it said."""


def cache() -> Path:
    """Where environments and sources are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("DOWNSTREAM_DIR") or Path(base) / "acp-downstream")


def faults_of(suite: Suite, ended: bounded.Ended) -> list[str]:
    """What is wrong with a run of pytest."""
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", last_line(ended))}
    faults: list[str] = []
    if ended.code != 0:
        faults.append("no end in time" if ended.code is None else f"exit code {ended.code}")
    if counts.get("passed", 0) != suite["passed"]:
        faults.append(f"{counts.get('passed', 0)} passed instead of {suite['passed']}")
    if faults:
        told = re.findall(r"^(?:FAILED|ERROR) .*", ended.out, re.MULTILINE)
        faults += told or ended.out.splitlines()[-20:]
    return faults


def last_line(ended: bounded.Ended) -> str:
    """The line in which pytest counts."""
    return next((line for line in reversed(ended.out.splitlines()) if line.strip()), "")


def step(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Runs a command and returns what it prints. Failure: it has failed."""
    ended = bounded.run(
        [str(word) for word in command], SECONDS, cwd=cwd, env={**PLAIN, **(env or {})}
    )
    if ended.code != 0:
        message = f"{' '.join(map(str, command))}\n{ended.out[-2000:]}{ended.err[-2000:]}"
        raise Failure(message)
    return ended.out


def interpreter(lowest: str) -> tuple[str, Path]:
    """The lowest version of Python on this machine that a package runs on."""
    found = pythons.interpreters()
    for version, python in found.items():
        if int(version.split(".")[1]) >= int(lowest.split(".")[1]):
            return version, python
    message = f"Python {lowest} or newer is not on this machine"
    raise Failure(message)


def environment(suite: Suite) -> Path:
    """The interpreter of an environment with the package and the official SDK."""
    version, python = interpreter(suite["python"])
    venv = cache() / f"{suite['name']}-{version}"
    own = venv / "bin" / "python"
    stamp = venv / ".installed"
    wanted = "\n".join([*suite["install"], OFFICIAL])
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        print(f"{suite['name']}: installing into {venv}", flush=True)
        shutil.rmtree(venv, ignore_errors=True)
        step(python, "-m", "venv", venv)
        pip(own, "install", "--upgrade", "pip")
        pip(own, "install", *suite["install"], "pytest", "pytest-asyncio")
        # Some pin an older release, and pass on this one.
        pip(own, "install", OFFICIAL)
        stamp.write_text(wanted, "utf-8")
    return own


def pip(python: Path, *arguments: str | Path) -> None:
    step(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def put(python: Path, *, official: bool) -> None:
    """Makes an environment hold this library, with what stands in for the official SDK, or that."""
    pip(python, "uninstall", "-y", "agent-client-protocol", "acp-native")
    if official:
        pip(python, "install", OFFICIAL)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        maturin = (sys.executable, "-m", "maturin", "build", "--quiet", "--strip")
        built = {"PYO3_PYTHON": str(python)}
        step(*maturin, "--interpreter", python, "--out", folder, env=built)
        (wheel,) = folder.glob("*.whl")
        pip(python, "install", wheel)
        pip(python, "install", "--no-deps", build_shim(folder))
    step(python, "-m", "acp_doctor")


def sources(suite: Suite, python: Path) -> Path:
    """The folder that the tests run in."""
    package = suite.get("package")
    if package:
        where = f"import importlib.util as u; print(u.find_spec({package!r}).origin)"
        return Path(step(python, "-c", where).strip()).parent
    requirement = suite["install"][0]
    folder = cache() / f"sources-{requirement}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=cache()) as name:
            plain = ("--no-deps", "--no-binary", requirement.split("==")[0])
            pip(python, "download", *plain, "--dest", name, requirement)
            (archive,) = Path(name).glob("*.tar.gz")
            unpacked = Path(name) / "unpacked"
            with tarfile.open(archive) as file:
                file.extractall(unpacked, filter="data")
            (inside,) = unpacked.iterdir()
            inside.rename(folder)
    return folder


def run(suite: Suite, *, official: bool) -> list[str]:
    """Runs one suite, and returns what is wrong."""
    python = environment(suite)
    put(python, official=official)
    plain = ["-p", "no:cacheprovider", "-o", "addopts=", "-q", "-rfE", "--tb=no"]
    loops = ["-o", "asyncio_default_fixture_loop_scope=function"]
    without = [f"--deselect={test}" for test in suite.get("differs", {})]
    command = [str(python), "-m", "pytest", *plain, *loops, *suite.get("options", []), *without]
    ended = bounded.run(
        [*command, *suite.get("tests", ["tests"])],
        SECONDS,
        cwd=sources(suite, python),
        env=PLAIN,
    )
    print(f"{suite['name']}: {last_line(ended)}", flush=True)
    return faults_of(suite, ended)


def main(arguments: list[str]) -> int:
    official = "--official" in arguments
    wanted = [name for name in arguments if name != "--official"]
    suites = tomls.read(SUITES)["suite"]
    unknown = {*wanted} - {suite["name"] for suite in suites}
    if unknown:
        print("not in downstream.toml: " + ", ".join(sorted(unknown)))
        return 1
    cache().mkdir(parents=True, exist_ok=True)
    failed = 0
    for suite in suites:
        if wanted and suite["name"] not in wanted:
            continue
        try:
            faults = run(suite, official=official)
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            faults = [str(failure)]
        for fault in faults:
            print(f"FAILED {suite['name']}: {fault}", flush=True)
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
