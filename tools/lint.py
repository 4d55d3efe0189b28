"""Runs every static check and reports all that fail, not only the first.

Owns the list of checks. Knows nothing of what they find: each is a command whose exit code decides.
`python -m tools.lint [NAME...]` runs all, or those whose name starts with one of the arguments.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
PYTHON_SOURCES = (
    *("python", "tests", "benches", "reliability", "examples", "tools", "codegen"),
    "docs/conf.py",
)
PLATFORMS = ("Linux", "Windows", "Darwin")
# Their own lock files and heavy dependencies: only the formatting is checked on every run.
OUTSIDE_THE_WORKSPACE = ("rust/acp-schema-dump/Cargo.toml", "rust/fuzz/Cargo.toml")


def checks() -> list[tuple[str, list[str]]]:
    """Every check as (name, command), cheap ones first."""
    cargo = os.environ.get("CARGO", "cargo")
    sources = [name for name in PYTHON_SOURCES if (ROOT / name).exists()]
    # What it writes is of no use here, but for the next run.
    site = str(ROOT / "target" / "site")
    found = [
        ("rustfmt", [cargo, "fmt", "--all", "--check"]),
        *(
            (f"rustfmt {manifest}", [cargo, "fmt", "--check", "--manifest-path", manifest])
            for manifest in OUTSIDE_THE_WORKSPACE
            if (ROOT / manifest).exists()
        ),
        ("ruff check", [PYTHON, "-m", "ruff", "check", *sources]),
        ("ruff format", [PYTHON, "-m", "ruff", "format", "--check", *sources]),
        ("generated files", [PYTHON, "-m", "codegen", "--check"]),
        ("links", [PYTHON, "-m", "tools.links"]),
        ("guide", [PYTHON, "-m", "tools.guide"]),
        (
            "site",
            [PYTHON, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", site],
        ),
        (
            "stub",
            [
                PYTHON,
                "-m",
                "mypy.stubtest",
                "acp._core",
                "--mypy-config-file=pyproject.toml",
                "--allowlist=tools/stub_allowlist.txt",
            ],
        ),
    ]
    found += [
        (
            f"pyright {platform}",
            [PYTHON, "-m", "pyright", "--pythonpath", PYTHON, "--pythonplatform", platform],
        )
        for platform in PLATFORMS
    ]
    found.append(
        (
            "clippy",
            [cargo, "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        )
    )
    return found


def main(wanted: list[str]) -> int:
    failed: list[str] = []
    for name, command in checks():
        if wanted and not name.startswith(tuple(wanted)):
            continue
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print(
            f"{'ok  ' if done.returncode == 0 else 'FAIL'} {name} "
            f"({time.monotonic() - started:.1f} s)",
            flush=True,
        )
        if done.returncode != 0:
            failed.append(name)
            print(done.stdout, done.stderr, sep="", flush=True)
    if failed:
        print("lint failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
