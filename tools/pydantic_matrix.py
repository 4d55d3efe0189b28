"""Runs `tests/pydantic` with the oldest and the newest pydantic that is served, and without any, on
every supported Python that this machine has, against the installed wheel.

Owns the environments, `.venv-pydantic-VERSION-3.x`, which are kept, and how many of them run at a
time. `python -m tools.pydantic_matrix [VERSION...]` takes the Pythons to run instead, such as 3.12.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.pythons import ROOT, fingerprint, interpreters, step

# What is asked of pip; Python 3.13 and newer have no wheel of the oldest.
OLDEST = {"3.13": "2.9.*", "3.14": "2.12.*"}
VERSIONS = {"oldest": "2.7.*", "newest": ">=2.12", "none": None}
AT_A_TIME = 2
MINUTES = 4


def environment(kind: str, version: str) -> Path:
    return ROOT / f".venv-pydantic-{kind}-{version}"


def wanted(kind: str, version: str) -> list[str]:
    asked = OLDEST.get(version, VERSIONS[kind]) if kind == "oldest" else VERSIONS[kind]
    if asked is None:
        return []
    return [f"pydantic{asked if asked.startswith('>') else '==' + asked}"]


def prepare(version: str, python: Path) -> None:
    """Makes the environments of one Python hold the wheel, which is built once for all of them."""
    now = fingerprint()
    stale: list[str] = []
    for kind in VERSIONS:
        stamp = environment(kind, version) / ".installed"
        if not stamp.exists() or stamp.read_text() != now:
            stale.append(kind)
    if not stale:
        return
    with tempfile.TemporaryDirectory() as folder:
        for kind in stale:
            own = environment(kind, version) / "bin" / "python"
            if not own.exists():
                step(python, "-m", "venv", environment(kind, version))
                step(own, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
            packages = ["pytest>=8.2", "pytest-timeout>=2.3", *wanted(kind, version)]
            step(own, "-m", "pip", "install", "--quiet", "--only-binary=:all:", *packages)
            if not list(Path(folder).glob("*.whl")):
                step(
                    *(sys.executable, "-m", "maturin", "build", "--quiet", "--strip"),
                    *("--interpreter", own, "--out", folder),
                    environment={"PYO3_PYTHON": str(own)},
                )
            (wheel,) = Path(folder).glob("*.whl")
            step(own, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", wheel)
            step(own, "-m", "pip", "install", "--quiet", wheel)
            (environment(kind, version) / ".installed").write_text(now)


def run(kind: str, version: str) -> bool:
    """Runs the tests in one environment; what they print is shown when they fail."""
    started = time.monotonic()
    done = subprocess.run(
        [
            *(environment(kind, version) / "bin" / "python", "-m", "pytest", "--quiet"),
            *("-p", "no:cacheprovider", "--confcutdir=tests/pydantic", "tests/pydantic"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=MINUTES * 60,
        check=False,
    )
    verdict = "ok" if done.returncode == 0 else "FAILED\n" + done.stdout + done.stderr
    last = done.stdout.strip().rpartition("\n")[2]
    took = f"{time.monotonic() - started:.0f} s"
    print(f"== Python {version}, pydantic {kind}: {verdict} ({last}, {took})", flush=True)
    return done.returncode == 0


def main(chosen: list[str]) -> int:
    found = interpreters()
    missing = [version for version in chosen if version not in found]
    if missing:
        print("not on this machine: " + ", ".join(missing))
        return 1
    pairs: list[tuple[str, str]] = []
    for version in chosen or found:
        prepare(version, found[version])
        pairs += [(kind, version) for kind in VERSIONS]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        good = list(pool.map(lambda pair: run(*pair), pairs))
    print(f"{sum(good)} of {len(good)} environments hold")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
