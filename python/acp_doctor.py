"""Tells whose package `acp` is in an environment, and how to mend it: `acp doctor`.

Owns what the two distributions that offer `acp` are called, the way into the command `acp`, and
reading what installers have recorded. Beside `acp` and of the standard library alone, since it has
to work when `acp` was overwritten or half removed; it never imports `acp`, save for the other
subcommands, when that is whole.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
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
    "Finding",
    "Report",
    "add_options",
    "command",
    "examine",
    "main",
    "run",
)

OURS = "acp-native"
OFFICIAL = "agent-client-protocol"
SHIM_VERSION = "0.12.1+native"
SHIM_WHEEL = f"agent_client_protocol-{SHIM_VERSION}-py3-none-any.whl"

_FEW = 5
"""So many files are named, and the others counted."""


class Finding(NamedTuple):
    """Something that is wrong."""

    kind: str
    """`absent`, `both`, `foreign`, `twice`, `changed`, `missing`, `leftover`, `shadowed` or
    `unmet`.
    """
    text: str
    """What it is, in a sentence or two."""
    files: list[str]
    """The files that it is about, as paths below the folder of the installed packages."""


class Report(NamedTuple):
    """What `examine` found."""

    owner: str | None
    """The distribution whose files `import acp` loads, with its version."""
    place: str | None
    """The file or folder that `import acp` loads."""
    notes: list[str]
    findings: list[Finding]
    commands: dict[str, list[str]]
    """What mends it, for `pip` and for `uv`; nothing when it is healthy, or cannot be mended so."""

    @property
    def healthy(self) -> bool:
        return not self.findings


class _Installed(NamedTuple):
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


# What is installed.


def _read(folder: Path) -> _Installed:
    found = Distribution.at(folder)
    name, _, version = folder.stem.partition("-")
    claims: dict[str, str] = {}
    for row in csv.reader((found.read_text("RECORD") or "").splitlines()):
        if row and re.match(r"acp[/.]", row[0]) and "__pycache__" not in row[0]:
            claims[row[0]] = row[1] if len(row) > 1 else ""
    return _Installed(
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


def _installed(path: Iterable[str], pattern: str = "*") -> list[_Installed]:
    """The distributions on `path`. What pip has set aside while it worked begins with `~`."""
    roots = dict.fromkeys(Path(entry or ".") for entry in path)
    return [
        _read(folder)
        for root in roots
        for folder in sorted(root.glob(f"{pattern}.dist-info"))
        if folder.name[0] != "~" and (folder / "METADATA").is_file()
    ]


def _matches(file: Path, recorded: str) -> bool:
    """Whether a file has the bytes that were recorded."""
    algorithm, _, expected = recorded.partition("=")
    if not expected or algorithm not in hashlib.algorithms_available:
        return True
    digest = hashlib.new(algorithm, file.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == expected


# What `import acp` loads.


def _place(path: Sequence[str]) -> Path | None:
    """What `import acp` would load: the file of a module, else the folder of a package."""
    spec = PathFinder.find_spec("acp", list(path))
    if spec is None:
        return None
    if spec.submodule_search_locations is None:
        return Path(spec.origin or "")
    return Path(next(iter(spec.submodule_search_locations)))


def _whole() -> bool:
    """Whether `import acp` loads what this library has installed, as far as one file can tell."""
    place = _place(sys.path)
    if place is None:
        return False
    beside = _installed([str(place.parent)], "a*c*p*")
    claiming = [found for found in beside if "acp/__init__.py" in found.claims]
    file = place / "__init__.py"
    return file.is_file() and (
        not claiming
        or any(
            found.name == OURS and _matches(file, found.claims["acp/__init__.py"])
            for found in claiming
        )
    )


# What is wrong.


def examine(path: Sequence[str]) -> Report:
    """Looks at every distribution on `path`, a list like `sys.path`, and imports none.

    Raises OSError when files cannot be read.
    """
    everything = _installed(path)
    ours = [found for found in everything if found.name == OURS]
    claiming = [found for found in everything if found.claims]
    others = [found for found in claiming if found.name != OURS]
    place = _place(path)
    findings = [
        *_of_names(everything, ours, others),
        *_of_files(claiming, ours, others),
        *_of_leftovers(claiming),
        *_of_place(place, ours, claiming),
    ]
    wanting = [found.name for found in everything if found.wants_official]
    stands_in = [found for found in everything if found.name == OFFICIAL and not found.claims]
    notes = [
        f"{found.label} stands in for the official SDK, and has no files." for found in stands_in
    ]
    if ours and wanting and not any(found.name == OFFICIAL for found in everything):
        text = f"{_listed(wanting)} requires {OFFICIAL}, and nothing stands in for it."
        findings.append(Finding("unmet", text, []))
    leftover = {root for root, _ in _unclaimed(claiming)}
    repairable = findings and not any(found.kind == "foreign" for found in findings)
    commands = _commands(ours, others, bool(wanting and not stands_in), leftover)
    return Report(
        _owner(place, ours, claiming),
        None if place is None else str(place),
        notes,
        findings,
        commands if repairable else {},
    )


def _of_names(
    everything: list[_Installed], ours: list[_Installed], others: list[_Installed]
) -> Iterable[Finding]:
    """Which distributions are there."""
    if not ours:
        yield Finding("absent", f"{OURS} is not installed.", [])
    seen: dict[tuple[str, Path], _Installed] = {}
    for found in everything:
        before = seen.setdefault((found.name, found.root), found)
        if found.name in (OURS, OFFICIAL) and before is not found:
            text = f"{before.label} and {found.label} are both recorded in {found.root}."
            yield Finding("twice", text, [])
    for found in others:
        if found.name == OFFICIAL:
            text = f"{found.label} puts files into acp/, which are to be those of {OURS}."
            yield Finding("both", text, [])
        else:
            text = (
                f"{found.label} has a package `acp` of its own. It cannot be in one environment "
                f"with {OURS}: give each an environment."
            )
            yield Finding("foreign", text, [])


def _of_files(
    claiming: list[_Installed], ours: list[_Installed], others: list[_Installed]
) -> Iterable[Finding]:
    """What has become of the files that were installed."""
    for found in ours:
        missing: list[str] = []
        changed: list[str] = []
        overwritten: dict[str, list[str]] = {}
        for name, recorded in found.claims.items():
            file = found.root / name
            if not file.is_file():
                missing.append(name)
            elif not _matches(file, recorded):
                writer = next((other for other in others if _is_of(other, found, name)), None)
                into = changed if writer is None else overwritten.setdefault(writer.label, [])
                into.append(name)
        count = len(found.claims)
        for label, names in overwritten.items():
            text = f"{label} has overwritten {len(names)} of {count} files of {found.label}."
            yield Finding("changed", text, names)
        if changed:
            text = f"{len(changed)} of {count} files are not as {found.label} installed them."
            yield Finding("changed", text, changed)
        if missing:
            text = f"{len(missing)} of {count} files of {found.label} are missing."
            yield Finding("missing", text, missing)


def _is_of(other: _Installed, ours: _Installed, name: str) -> bool:
    """Whether a file of ours is the one that another distribution has installed."""
    return (
        other.root == ours.root
        and bool(other.claims.get(name))
        and _matches(other.root / name, other.claims[name])
    )


def _unclaimed(claiming: list[_Installed]) -> list[tuple[Path, str]]:
    """Files of installed packages `acp` that no distribution has recorded."""
    found: list[tuple[Path, str]] = []
    for root in dict.fromkeys(found.root for found in claiming):
        known = {name for other in claiming if other.root == root for name in other.claims}
        for file in sorted((root / "acp").rglob("*")):
            name = file.relative_to(root).as_posix()
            if file.is_file() and "__pycache__" not in name and name not in known:
                found.append((root, name))
    return found


def _of_leftovers(claiming: list[_Installed]) -> Iterable[Finding]:
    names = [name for _, name in _unclaimed(claiming)]
    if names:
        text = f"{len(names)} files in acp/ were installed by nothing that is recorded."
        yield Finding("leftover", text, names)


def _of_place(
    place: Path | None, ours: list[_Installed], claiming: list[_Installed]
) -> Iterable[Finding]:
    """Whether `import acp` loads what is installed."""
    if place is None:
        if ours:
            yield Finding("shadowed", "`import acp` finds nothing.", [])
    elif ours and not any(_is_home(place, found) for found in ours):
        by = next((found.label for found in claiming if _is_home(place, found)), None)
        reason = f"of {by}" if by else "which no distribution has recorded"
        text = f"`import acp` loads {place}, {reason}, and not {ours[0].label}"
        advice = "" if by else "; rename that, or take its folder out of sys.path and PYTHONPATH"
        yield Finding("shadowed", f"{text}{advice}.", [])


def _is_home(place: Path, found: _Installed) -> bool:
    """Whether a distribution has put its package `acp` at `place`."""
    if found.editable:
        # The installer has recorded a folder of sources, and not what is in it.
        return Path(__file__).resolve().parent == place.resolve().parent
    return place.parent == found.root and bool(found.claims)


def _owner(place: Path | None, ours: list[_Installed], claiming: list[_Installed]) -> str | None:
    """Whose the file is that is run by `import acp`."""
    if place is None:
        return None
    file = place / "__init__.py" if place.is_dir() else place
    for found in [*ours, *claiming]:
        recorded = found.claims.get(f"acp/{file.name}")
        if _is_home(place, found) and (
            found.editable or (recorded and file.is_file() and _matches(file, recorded))
        ):
            return found.label
    return None


# What mends it.


def _commands(
    ours: list[_Installed], others: list[_Installed], shim: bool, leftover: set[Path]
) -> dict[str, list[str]]:
    """Everything that claims files goes, and what is wanted comes back. Sources stay in place."""
    installed = [found for found in ours if not found.editable]
    away = Counter(found.name for found in [*installed, *others])
    # What is recorded twice goes once at a time.
    times = max(away.values(), default=0)
    back = [found.requirement for found in installed[:1]] or ([] if ours else [OURS])
    python = sys.executable
    clean = [
        _line(python, "-c", f"import shutil; shutil.rmtree({str(root / 'acp')!r})")
        for root in sorted(leftover)
    ]
    tools = {
        "pip": ((python, "-m", "pip", "uninstall", "-y"), (python, "-m", "pip", "install")),
        "uv": (
            ("uv", "pip", "uninstall", "--python", python),
            ("uv", "pip", "install", "--python", python),
        ),
    }
    found: dict[str, list[str]] = {}
    for tool, (uninstall, install) in tools.items():
        found[tool] = [
            *[_line(*uninstall, *away)] * times,
            *clean,
            *([_line(*install, *back)] if back else []),
        ]
        if shim:
            found[tool] += [
                _line(python, "-m", "acp", "shim", "--out", "wheels"),
                _line(*install, f"wheels/{SHIM_WHEEL}"),
            ]
    return found


def _line(*words: str) -> str:
    """A command as it is typed."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


# What is shown.


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


def _show(report: Report) -> None:
    print(f"import acp: {report.place or 'nothing'}")
    print(f"of: {report.owner or 'no distribution as it was installed'}")
    for note in report.notes:
        print(note)
    for finding in report.findings:
        print(f"- {finding.text}")
        if finding.files:
            print(f"    {_listed(finding.files)}")
    for tool, commands in report.commands.items():
        print(f"\nTo mend it with {tool}:\n")
        for line in commands:
            print(f"    {line}")
    if report.healthy:
        print("healthy")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `acp doctor` to a parser."""
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(options: argparse.Namespace) -> int:
    """Examines this environment, prints what it found, and returns the exit code: 0 for healthy,
    1 when something is wrong.
    """
    report = examine(sys.path)
    if options.json:
        findings = [finding._asdict() for finding in report.findings]
        members = {"healthy": report.healthy, **report._asdict(), "findings": findings}
        print(json.dumps(members, ensure_ascii=False))
    else:
        _show(report)
    return 0 if report.healthy else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the doctor with `arguments`, those of the process by default."""
    parser = argparse.ArgumentParser(
        prog="acp doctor", description="Tells whose package `acp` is, and how to mend it."
    )
    add_options(parser)
    return run(parser.parse_args(arguments))


def command() -> int:
    """Runs the command `acp`. What of it needs the package runs only when that is this library's;
    else the exit code is 1.
    """
    if sys.argv[1:2] == ["doctor"]:
        return main(sys.argv[2:])
    if not _whole():
        print(f"acp: the package acp is not that of {OURS}; see `acp doctor`", file=sys.stderr)
        return 1
    from acp.__main__ import main as whole

    return whole()


if __name__ == "__main__":
    sys.exit(main())
