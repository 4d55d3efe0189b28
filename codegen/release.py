"""Getting the JSON Schemas of the pinned schema release.

Owns the run of `rust/acp-schema-dump`. Must not know: what is in a schema.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from codegen.facts import ROOT
from codegen.model import FactError

#: File name and the features that print it.
BUILDS = (("schema.unstable.json", ()), ("schema.json", ("--no-default-features",)))


def schemas(folder: Path) -> Path:
    """Prints the four schemas into v1 and v2 of `folder`; two builds, which take minutes."""
    for name, features in BUILDS:
        for version in ("v1", "v2"):
            command = ["cargo", "run", "--quiet", "--locked", *features, "--", "schema", version]
            done = subprocess.run(
                command,
                cwd=ROOT / "rust" / "acp-schema-dump",
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            if done.returncode:
                raise FactError(f"{' '.join(command)} ended with {done.returncode}")
            (folder / version).mkdir(parents=True, exist_ok=True)
            (folder / version / name).write_text(done.stdout)
    return folder
