"""Reads TOML on every supported Python: the standard library has a reader from 3.11 on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(path: Path) -> dict[str, Any]:
    """The content of the TOML file at `path`."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
