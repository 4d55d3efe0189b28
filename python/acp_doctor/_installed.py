"""What installers have recorded, and what `import acp` would load.

Owns what the distributions that offer `acp` are called, and reading records and files. What is
right or wrong, it does not know.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from importlib.machinery import PathFinder
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = (
    "OFFICIAL",
    "OURS",
    "SHIM_VERSION",
    "SHIM_WHEEL",
    "Installed",
    "installed",
    "is_home",
    "matches",
    "place_of",
)

OURS = "acp-native"
OFFICIAL = "agent-client-protocol"
SHIM_VERSION = "0.12.1+native"
SHIM_WHEEL = f"agent_client_protocol-{SHIM_VERSION}-py3-none-any.whl"


class Installed(NamedTuple):
    """One distribution, as its installer has recorded it."""

    name: str
    version: str
    root: Path
    claims: dict[str, str]
    """Its files of the package `acp`, and what their bytes have to hash to; empty: not recorded."""
    wants_official: bool
    origin: dict[str, Any]
    """Where it came from when that was no index."""

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def editable(self) -> bool:
        """Whether the package is used from the folder of its sources."""
        return bool(self.origin.get("dir_info", {}).get("editable"))

    @property
    def requirement(self) -> str:
        """What installs it again."""
        url = self.origin.get("url")
        return self.name if url is None else f"{self.name} @ {url}"


def _read(folder: Path) -> Installed:
    found = Distribution.at(folder)
    name, _, version = folder.stem.partition("-")
    claims: dict[str, str] = {}
    for row in csv.reader((found.read_text("RECORD") or "").splitlines()):
        if row and re.match(r"acp[/.]", row[0]) and "__pycache__" not in row[0]:
            claims[row[0]] = row[1] if len(row) > 1 else ""
    return Installed(
        _normal(name),
        version,
        folder.parent,
        claims,
        any(_is_official(line) for line in found.requires or ()),
        json.loads(found.read_text("direct_url.json") or "{}"),
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_official(requirement: str) -> bool:
    """Whether a requirement is one of the official SDK, and not only of an extra."""
    name, _, marker = requirement.partition(";")
    found = re.match(r"[\w.-]+", name)
    return found is not None and _normal(found[0]) == OFFICIAL and "extra" not in marker


def installed(path: Iterable[str], pattern: str = "*") -> list[Installed]:
    """The distributions on `path`. What pip has set aside while it worked begins with `~`."""
    # One folder may have two names, such as `lib` and `lib64`.
    roots = dict.fromkeys(Path(entry or ".").resolve() for entry in path)
    return [
        _read(folder)
        for root in roots
        for folder in sorted(root.glob(f"{pattern}.dist-info"))
        if folder.name[0] != "~" and (folder / "METADATA").is_file()
    ]


def matches(file: Path, recorded: str) -> bool:
    """Whether a file has the bytes that were recorded."""
    algorithm, _, expected = recorded.partition("=")
    if not expected or algorithm not in hashlib.algorithms_available:
        return True
    digest = hashlib.new(algorithm, file.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == expected


def place_of(path: Sequence[str]) -> Path | None:
    """What `import acp` would load: the file of a module, else the folder of a package."""
    spec = PathFinder.find_spec("acp", list(path))
    if spec is None:
        return None
    if spec.submodule_search_locations is None:
        found = Path(spec.origin or "")
    else:
        found = Path(next(iter(spec.submodule_search_locations)))
    # As the folder of a distribution is told; the package itself may be a link.
    return found.parent.resolve() / found.name


def is_home(place: Path, found: Installed) -> bool:
    """Whether a distribution has put its package `acp` at `place`."""
    if found.editable:
        # The installer has recorded a folder of sources, and not what is in it.
        return Path(__file__).resolve().parents[1] == place.parent
    return place.parent == found.root and bool(found.claims)
