"""Compares the names of this package with those of the official Python SDK.

Owns making an inventory of ours and comparing the difference with `docs/differences.toml`. The
programs that make and compare inventories, and that of the SDK, are not part of this project: they
are under `$ACP_SHARED`. `python -m tools.api_surface PYTHON` takes the interpreter of an
environment that has this package.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tools import bounded, differences

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120.0
LEFT_OUT = ("acp.http", "acp.ws")

# Names that are fetched when they are first used are not there to be found before; and tables of
# ours have keys that are no strings.
_INVENTORY = """
import functools, importlib, json, runpy, sys, warnings
warnings.simplefilter("ignore")
script, official, out, *left_out = sys.argv[1:]
for name, module in json.load(open(official))["modules"].items():
    if name.startswith(tuple(left_out)):
        continue
    try:
        found = importlib.import_module(name)
    except ImportError:
        continue
    for each, entry in module.get("names", {}).items():
        if entry["kind"] != "deprecated alias":
            getattr(found, each, None)
json.dumps = functools.partial(json.dumps, skipkeys=True)
sys.argv = [script, out]
runpy.run_path(script, run_name="__main__")
"""


def lines(shared: Path, python: str) -> list[str]:
    """Every difference. Raises RuntimeError when it cannot be told."""
    official = shared / "spec" / "peer-api.json"
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours.json"
        inventory = shared / "tools" / "api_inventory.py"
        command = [str(Path(python).absolute()), "-c", _INVENTORY, str(inventory), str(official)]
        _run([*command, str(ours), *LEFT_OUT], {0})
        compare = shared / "tools" / "api_diff.py"
        command = [sys.executable, str(compare), str(official), str(ours), "--skip", *LEFT_OUT]
        return _run(command, {0, 1}).out.splitlines()


def _run(command: list[str], codes: set[int]) -> bounded.Ended:
    ended = bounded.run(command, SECONDS, cwd=ROOT)
    if ended.code not in codes:
        message = f"exit code {ended.code}\n{ended.err[-2000:]}"
        raise RuntimeError(message)
    return ended


def main(arguments: list[str]) -> int:
    shared = Path(os.environ.get("ACP_SHARED", ROOT.parent / "shared"))
    if not (shared / "tools" / "api_diff.py").is_file() or len(arguments) != 1:
        print(f"{shared}/tools is not there; set ACP_SHARED" if arguments else __doc__)
        return 1
    try:
        found = lines(shared, arguments[0])
    except (OSError, RuntimeError) as exc:
        print(f"FAIL surface: {exc}")
        return 1
    wrong = differences.unlisted_names(found, differences.rows())
    print(f"{'FAIL' if wrong else 'ok  '} surface: {len(found)} differences", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
