"""The command: `python -m codegen [--check]`, or `python -m codegen ir --schemas DIR`."""

from __future__ import annotations

import sys

from codegen import facts, output, python, rust


def generated() -> dict[str, str]:
    """Every generated file, by its name in the project."""
    versions = facts.load()
    return {**rust.files(versions), **python.files(versions)}


def main(arguments: list[str]) -> int:
    files = generated()
    if "--check" in arguments:
        stale = output.compare(files)
        print("\n".join(stale) if stale else f"{len(files)} generated files are up to date")
        return bool(stale)
    changed = output.write(files)
    print("\n".join(changed) if changed else "nothing changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
