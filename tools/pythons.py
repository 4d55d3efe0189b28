"""Runs the tests on every supported Python that this machine has, against the installed wheel.

Owns finding the interpreters, one environment each (`.venv-3.x`), and the order of steps; what is
tested is pytest's business. The interpreter of `.venv` is left out, since `make test` runs on it.
`python -m tools.pythons [VERSION...]` takes the versions to run instead, such as 3.12.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINORS = range(10, 15)
# What the wheel is built from: when none of it changed, the installed one is kept.
WHEEL_SOURCES = (
    "pyproject.toml",
    "Cargo.toml",
    "Cargo.lock",
    "rust/acp-core",
    "rust/acp-python",
    "python",
)
PROBE = "import sys; print(sys.implementation.name, *sys.version_info[:2])"


def works(candidate: Path, minor: int) -> bool:
    """Whether `candidate` starts and is CPython 3.`minor`; a version manager's shim may not."""
    try:
        done = subprocess.run(
            [candidate, "-c", PROBE], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.split() == ["cpython", "3", str(minor)]


def interpreters() -> dict[str, Path]:
    """Version to interpreter, for each supported version found on PATH or with pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, Path] = {}
    for minor in MINORS:
        candidates = [
            *sorted(pyenv.glob(f"3.{minor}.*/bin/python"), reverse=True),
            *(Path(name) for name in [shutil.which(f"python3.{minor}")] if name),
        ]
        for candidate in candidates:
            if works(candidate, minor):
                found[f"3.{minor}"] = candidate
                break
    return found


def fingerprint() -> str:
    """Digest of everything that the wheel is built from."""
    digest = hashlib.sha256()
    for name in WHEEL_SOURCES:
        place = ROOT / name
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and file.suffix not in {".so", ".pyd", ".pyc"}:
                digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def step(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **(environment or {})})


def install(python: Path, venv: Path) -> None:
    """Makes `venv` hold the tools of the tests and the wheel as it would be published."""
    own = venv / "bin" / "python"
    if not own.exists():
        step(python, "-m", "venv", venv)
    step(own, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    step(own, "-m", "pip", "install", "--quiet", "--group", "tests")
    with tempfile.TemporaryDirectory() as folder:
        step(
            *(sys.executable, "-m", "maturin", "build", "--quiet", "--strip"),
            *("--interpreter", own, "--out", folder),
            environment={"PYO3_PYTHON": str(own)},
        )
        (wheel,) = Path(folder).glob("*.whl")
        step(own, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", wheel)
        step(own, "-m", "pip", "install", "--quiet", wheel)


def run(version: str, python: Path) -> bool:
    """Installs into `.venv-VERSION` when needed, then runs the tests there."""
    venv = ROOT / f".venv-{version}"
    stamp = venv / ".installed"
    now = fingerprint()
    try:
        if not stamp.exists() or stamp.read_text() != now:
            install(python, venv)
            stamp.write_text(now)
    except subprocess.CalledProcessError as failure:
        print(f"Python {version}: a step of the installation failed ({failure.returncode})")
        return False
    done = subprocess.run(
        [venv / "bin" / "python", "-m", "pytest", "--quiet"], cwd=ROOT, check=False
    )
    return done.returncode == 0


def main(wanted: list[str]) -> int:
    found = interpreters()
    own = f"3.{sys.version_info.minor}"
    chosen = wanted or [version for version in found if version != own]
    missing = [version for version in chosen if version not in found]
    if missing:
        print("not on this machine: " + ", ".join(missing))
        return 1
    print("Pythons found: " + ", ".join(found) + f" ({own} is the one of .venv)", flush=True)
    failed: list[str] = []
    for version in chosen:
        started = time.monotonic()
        print(f"== Python {version}: {found[version]}", flush=True)
        good = run(version, found[version])
        verdict = "ok" if good else "FAILED"
        print(f"== Python {version}: {verdict} ({time.monotonic() - started:.0f} s)", flush=True)
        if not good:
            failed.append(version)
    if failed:
        print("failed on Python " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
