"""The command line of the generator.

python -m codegen                      writes every generated file
python -m codegen --check              compares them; ends with 1 when one is stale
python -m codegen ir --schemas DIR     makes the IR out of a release's JSON Schemas
python -m codegen rules --crate DIR    compares rules.json with the source of a release
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from codegen import crate_rules, endpoints, facts, ir, methods, output, python, release, rust


def generated() -> dict[str, str]:
    """Every generated file, by its name in the project."""
    versions = facts.load()
    return {
        **rust.files(versions),
        **python.files(versions),
        **methods.files(versions),
        **endpoints.files(versions),
    }


def settle(files: dict[str, str], check: bool, owned: Sequence[str] = ()) -> int:
    """Writes or compares; `owned` are folders in which nothing else may be."""
    if check:
        stale = output.compare(files, owned)
        print("\n".join(stale) if stale else f"{len(files)} generated files are up to date")
        return int(bool(stale))
    changed = output.write(files, owned)
    print("\n".join(changed) if changed else "nothing changed")
    return 0


def main(arguments: list[str]) -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description="The generator.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parts = parser.add_subparsers(dest="part")
    made = parts.add_parser("ir", help="make schema/ir-v1.json and schema/ir-v2.json")
    made.add_argument("--schemas", type=Path, help="JSON Schemas printed before, instead of now")
    made.add_argument("--check", action="store_true", help="compare instead of writing")
    rules = parts.add_parser("rules", help="compare schema/rules.json with the official crate")
    rules.add_argument("--crate", type=Path, required=True, help="the crate's source folder")
    options = parser.parse_args(arguments)
    if options.part == "rules":
        differences = crate_rules.differences(options.crate)
        print("\n".join(differences) or "the rules agree")
        return int(bool(differences))
    if options.part == "ir":
        with tempfile.TemporaryDirectory() as folder:
            schemas = options.schemas or release.schemas(Path(folder))
            return settle(ir.files(schemas), options.check)
    return settle(generated(), options.check, output.OWNED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
