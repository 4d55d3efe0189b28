"""What is wrong with the package `acp` of an environment.

Owns the findings. How files were recorded, and which commands mend it, other modules know.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from acp_doctor._installed import OFFICIAL, OURS, Installed, installed, is_home, matches, place_of
from acp_doctor._mending import Plan, commands_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ("Finding", "Report", "examine", "listed")

_FEW = 5
"""So many files are named, and the others counted."""

_Writers = dict[Path, "Installed | None"]


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
    files: dict[str, int]
    """How many files of the package are there, by the distribution that wrote them; of those that
    none wrote as they are, by `nobody`.
    """
    notes: list[str]
    findings: list[Finding]
    commands: dict[str, list[str]]
    """What mends it, for `pip` and for `uv`; nothing when it is healthy, or cannot be mended so."""

    @property
    def healthy(self) -> bool:
        return not self.findings


def examine(path: Sequence[str]) -> Report:
    """Looks at every distribution on `path`, a list like `sys.path`, and imports none.

    Raises OSError when files cannot be read.
    """
    everything = installed(path)
    ours = [found for found in everything if found.name == OURS]
    others = [found for found in everything if found.claims and found.name != OURS]
    claiming = [found for found in ours if found.claims] + others
    writers = _written(claiming)
    leftover = _unclaimed(claiming)
    place = place_of(path)
    findings = [
        *_of_names(everything, ours, others),
        *_of_files(ours, writers),
        *_of_leftovers([name for _, name in leftover]),
        *_of_place(place, ours, claiming),
    ]
    stands_in = [found for found in everything if found.name == OFFICIAL and not found.claims]
    wanting = [found.name for found in everything if found.wants_official]
    if ours and wanting and not any(found.name == OFFICIAL for found in everything):
        text = f"{listed(wanting)} requires {OFFICIAL}, and nothing stands in for it."
        findings.append(Finding("unmet", text, []))
    kinds = {finding.kind for finding in findings}
    plan = Plan(
        # What comes first on the path, or is missing beside it, is no fault of what is installed.
        [*ours, *others] if kinds - {"shadowed", "unmet"} else [],
        not ours,
        sorted({root / "acp" for root, _ in leftover}),
        bool(wanting and not stands_in),
    )
    return Report(
        _owner(place, ours, writers),
        None if place is None else str(place),
        _counted(writers, leftover),
        [f"{found.label} stands in for the official SDK, and has no files." for found in stands_in],
        findings,
        {} if "foreign" in kinds else commands_for(plan),
    )


def _of_names(
    everything: list[Installed], ours: list[Installed], others: list[Installed]
) -> Iterable[Finding]:
    """Which distributions are there."""
    if not ours:
        yield Finding("absent", f"{OURS} is not installed.", [])
    seen: dict[tuple[str, Path], Installed] = {}
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


def _of_files(ours: list[Installed], writers: _Writers) -> Iterable[Finding]:
    """What has become of the files that were installed."""
    for found in ours:
        missing: list[str] = []
        changed: list[str] = []
        overwritten: dict[str, list[str]] = {}
        for name in found.claims:
            file = found.root / name
            writer = writers.get(file)
            if file not in writers:
                missing.append(name)
            elif writer is None:
                changed.append(name)
            elif writer.name != OURS:
                overwritten.setdefault(writer.label, []).append(name)
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


def _written(claiming: Iterable[Installed]) -> _Writers:
    """Every recorded file that is there, and the first distribution whose bytes it has."""
    writers: _Writers = {}
    for found in claiming:
        for name, recorded in found.claims.items():
            file = found.root / name
            if writers.get(file) is None and file.is_file():
                writers[file] = found if matches(file, recorded) else None
    return writers


def _counted(writers: _Writers, leftover: list[tuple[Path, str]]) -> dict[str, int]:
    wrote = [writer.label if writer else "nobody" for writer in writers.values()]
    return dict(Counter([*wrote, *["nobody"] * len(leftover)]))


def _unclaimed(claiming: list[Installed]) -> list[tuple[Path, str]]:
    """Files of installed packages `acp` that no distribution has recorded."""
    found: list[tuple[Path, str]] = []
    for root in dict.fromkeys(found.root for found in claiming):
        known = {name for other in claiming if other.root == root for name in other.claims}
        for file in sorted((root / "acp").rglob("*")):
            name = file.relative_to(root).as_posix()
            if file.is_file() and "__pycache__" not in name and name not in known:
                found.append((root, name))
    return found


def _of_leftovers(names: list[str]) -> Iterable[Finding]:
    if names:
        text = f"{len(names)} files in acp/ were installed by nothing that is recorded."
        yield Finding("leftover", text, names)


def _of_place(
    place: Path | None, ours: list[Installed], claiming: list[Installed]
) -> Iterable[Finding]:
    """Whether `import acp` loads what is installed."""
    if place is None:
        if ours:
            yield Finding("shadowed", "`import acp` finds nothing.", [])
    elif ours and not any(is_home(place, found) for found in ours):
        by = next((found.label for found in claiming if is_home(place, found)), None)
        reason = f"of {by}" if by else "which no distribution has recorded"
        text = f"`import acp` loads {place}, {reason}, and not {ours[0].label}"
        advice = "" if by else "; rename that, or take its folder out of sys.path and PYTHONPATH"
        yield Finding("shadowed", f"{text}{advice}.", [])


def _owner(place: Path | None, ours: list[Installed], writers: _Writers) -> str | None:
    """Whose the file is that is run by `import acp`."""
    if place is None:
        return None
    sources = next((found for found in ours if found.editable and is_home(place, found)), None)
    writer = sources or writers.get(place / "__init__.py" if place.is_dir() else place)
    return None if writer is None else writer.label


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
