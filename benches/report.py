"""Turns numbers into verdicts and tables.

Owns the meaning of `floors.toml`: which value is compared with which, and what holds.
"""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.runs import Numbers
from tools import tomls

__all__ = ("OURS", "PEER", "Promise", "Row", "document", "markdown", "rows")

FLOORS = Path(__file__).with_name("floors.toml")
OURS, PEER = "native", "official"
NAMES = {
    "native": "acp-native",
    "official": "official Python SDK",
    "typescript": "TypeScript SDK",
    "rust": "Rust SDK",
    "plain": "no SDK",
    "acp.v1": "acp.v1",
    "msgspec": "msgspec",
    "orjson": "orjson",
}
GROUPS = {
    "path": "The whole path",
    "host": "Many sessions, idle connections, import and start",
    "codec": "Decoding, encoding, building",
}


@dataclass(frozen=True)
class Promise:
    """One comparison: what it says, and whether it holds; None when a side was not measured."""

    text: str
    met: bool | None


@dataclass(frozen=True)
class Row:
    """One line of a table. Values are medians."""

    name: str
    title: str
    group: str
    unit: str
    values: dict[str, float]
    floors: tuple[Promise, ...]
    goals: tuple[Promise, ...]

    @property
    def ratio(self) -> float | None:
        """How many times better than the official SDK."""
        ours, peer = self.values.get(OURS), self.values.get(PEER)
        return None if peer is None or ours is None or ours <= 0 else peer / ours


def medians(numbers: Numbers) -> dict[str, dict[str, float]]:
    return {
        work: {side: statistics.median(values) for side, values in sides.items()}
        for work, sides in numbers.values.items()
    }


def growth(values: Mapping[str, float]) -> float:
    """How time grows with size: the exponent of the power that fits best. 1 is linear.

    `values` holds size to time for each byte.
    """
    points = [(math.log(int(size)), math.log(int(size) * each)) for size, each in values.items()]
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def times_better(promised: Mapping[str, float], values: Mapping[str, float]) -> list[Promise]:
    """So many times better than another side."""
    found: list[Promise] = []
    for side, least in promised.items():
        other = values.get(side)
        ratio = None if other is None else other / max(values[OURS], 1e-9)
        shown_ratio = "not measured" if ratio is None else f"{ratio:.1f}x"
        text = f"{shown_ratio} of ≥ {least:g}x {NAMES[side]}"
        found.append(Promise(text, None if ratio is None else ratio >= least))
    return found


def within(promised: Mapping[str, float], values: Mapping[str, float]) -> list[Promise]:
    """At most so many times the value of another side."""
    found: list[Promise] = []
    for side, most in promised.items():
        share = values[OURS] / values[side]
        found.append(Promise(f"{share:.2f}x of ≤ {most:g}x {NAMES[side]}", share <= most))
    return found


def at_most(promised: float, value: float, unit: str) -> Promise:
    return Promise(f"{shown(value)} of ≤ {promised:g} {unit}".rstrip(), value <= promised)


def row(work: dict[str, Any], found: dict[str, dict[str, float]]) -> Row:
    """The row of a work of `floors.toml`. KeyError: it was not measured."""
    name, unit = work["name"], work["unit"]
    if "growth" in work:
        prefix = f"{name} "
        values = {
            work.removeprefix(prefix): sides[OURS]
            for work, sides in found.items()
            if work.startswith(prefix)
        }
        power = growth(values)
        floors = [Promise(f"size^{power:.2f} of ≤ size^{work['growth']}", power <= work["growth"])]
        goals: list[Promise] = []
    else:
        values = found[name]
        floors = times_better(work.get("floor", {}), values)
        if "at_most" in work:
            floors.append(at_most(work["at_most"], values[OURS], unit))
        goals = [
            *times_better(work.get("goal", {}), values),
            *within(work.get("goal_within", {}), values),
        ]
    return Row(name, work["title"], work["group"], unit, values, tuple(floors), tuple(goals))


def rows(numbers: Numbers) -> list[Row]:
    """A row for each work of `floors.toml`, in its order. KeyError: one was not measured."""
    found = medians(numbers)
    return [row(work, found) for work in tomls.read(FLOORS)["work"]]


def machine() -> dict[str, str | int]:
    """What the numbers were taken on."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cpus": len(models) or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def document(
    table: list[Row],
    numbers: Numbers,
    runs: int,
    versions: dict[str, str],
    missing: dict[str, str],
) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "machine": machine(),
        "versions": versions,
        "missing": missing,
        "runs": runs,
        "rows": [asdict(row) for row in table],
        "values": {work: dict(sides) for work, sides in numbers.values.items()},
    }


def shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def promises(found: tuple[Promise, ...]) -> str:
    marks = {True: "🟢", False: "🔴", None: "⚪"}
    return "<br>".join(f"{marks[each.met]} {each.text}" for each in found)


def group_table(group: str, table: list[Row], *, judged: bool = True) -> list[str]:
    """The rows of one group, with a column for each side that was measured in it.

    With `judged`, also what was promised and whether it holds.
    """
    verdicts = ["floor", "goal"] if judged else []
    chosen = [row for row in table if row.group == group]
    sides = [
        side for side in NAMES if any(side in row.values for row in chosen if row.name != "linear")
    ]
    heads = ["work", "unit", *(NAMES[side] for side in sides), "ratio", *verdicts]
    ruler = "|---|---|" + "--:|" * (len(sides) + 1) + "---|" * len(verdicts)
    lines = ["| " + " | ".join(heads) + " |", ruler]
    for row in chosen:
        if row.name == "linear":
            sizes = ", ".join(
                f"{int(size) // 10**6}: {value:.2f}" for size, value in row.values.items()
            )
            cells = [f"{row.title} ({sizes})", row.unit, *([""] * (len(sides) + 1))]
        else:
            ratio = "" if row.ratio is None else f"{row.ratio:.1f}x"
            values = [shown(row.values.get(side)) for side in sides]
            cells = [row.title, row.unit, *values, ratio]
        if judged:
            cells += [promises(row.floors), promises(row.goals)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def about(document: dict[str, Any]) -> str:
    """Where and how the numbers were taken."""
    on, versions = document["machine"], document["versions"]
    libraries = ", ".join(f"{NAMES[side]} {version}" for side, version in versions.items())
    return (
        f"{on['cpus']} × {on['cpu']}, {on['system']}, Python {on['python']}; {libraries}; "
        f"median of {document['runs']} interleaved runs. Less is better; *ratio* is to the "
        "official Python SDK."
    )


def markdown(table: list[Row], document: dict[str, Any]) -> str:
    """The tables for people."""
    lines = ["# Benchmark results", "", f"{about(document)} Written by `make bench`.", ""]
    lines += [f"Not measured: {NAMES[side]}: {why}" for side, why in document["missing"].items()]
    for group, title in GROUPS.items():
        lines += [f"## {title}", "", *group_table(group, table), ""]
    return "\n".join(lines)
