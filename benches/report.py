"""Turns numbers into verdicts and a table.

Owns the meaning of `floors.toml`: which value is compared with which, and what holds.
"""

from __future__ import annotations

import math
import platform
import statistics
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benches.runs import Numbers
from tools import tomls

__all__ = ("Row", "document", "markdown", "rows")

FLOORS = Path(__file__).with_name("floors.toml")
OURS, PEER = "native", "official"


@dataclass(frozen=True)
class Row:
    """One line of the table. Values are medians; None is "not measured" or "nothing promised"."""

    name: str
    title: str
    unit: str
    values: dict[str, float]
    ratio: float | None
    floor: float | None
    floor_met: bool | None
    goal: str | None
    goal_met: bool | None


def medians(numbers: Numbers) -> dict[str, dict[str, float]]:
    return {
        work: {side: statistics.median(values) for side, values in sides.items()}
        for work, sides in numbers.values.items()
    }


def growth(values: dict[str, float]) -> float:
    """How time grows with size: the exponent of the power that fits best. 1 is linear.

    `values` holds size to time for each byte.
    """
    points = [(math.log(int(size)), math.log(int(size) * each)) for size, each in values.items()]
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def growth_row(work: dict[str, Any], found: dict[str, dict[str, float]]) -> Row:
    """A row whose value is the growth over several sizes."""
    prefix = f"{work['name']} "
    values = {
        name.removeprefix(prefix): sides[OURS]
        for name, sides in found.items()
        if name.startswith(prefix)
    }
    ratio = growth(values)
    limit = float(work["growth"])
    return Row(
        work["name"], work["title"], work["unit"], values, ratio, limit, ratio <= limit, None, None
    )


def ratio_row(work: dict[str, Any], values: dict[str, float]) -> Row:
    """A row that compares this library with the official SDK, and perhaps with a yardstick."""
    ratio = values[PEER] / values[OURS]
    floor, goal = work.get("floor"), work.get("goal")
    text, met = None, None
    if "goal_side" in work:
        beside = values[OURS] / values[work["goal_side"]]
        text, met = f"{beside:.2f}x {work['goal_side']}, ≤ {goal}x", beside <= goal
    elif goal is not None:
        text, met = f"≥ {goal}x", ratio >= goal
    floor_met = None if floor is None else ratio >= floor
    return Row(
        work["name"], work["title"], work["unit"], values, ratio, floor, floor_met, text, met
    )


def rows(numbers: Numbers) -> list[Row]:
    """A row for each work of `floors.toml`, in its order. KeyError: one was not measured."""
    found = medians(numbers)
    return [
        growth_row(work, found) if "growth" in work else ratio_row(work, found[work["name"]])
        for work in tomls.read(FLOORS)["work"]
    ]


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


def document(table: list[Row], numbers: Numbers, runs: int, peer: str) -> dict[str, Any]:
    """Everything, for programs."""
    versions = {name: metadata.version(name) for name in ("acp-native", "msgspec", "orjson")}
    return {
        "machine": machine(),
        "versions": {**versions, "official": peer},
        "runs": runs,
        "rows": [asdict(row) for row in table],
        "values": {work: dict(sides) for work, sides in numbers.values.items()},
    }


def shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def mark(met: bool | None) -> str:
    return {True: "🟢", False: "🔴", None: ""}[met]


def markdown(table: list[Row], document: dict[str, Any]) -> str:
    """The table for people."""
    about, versions = document["machine"], document["versions"]
    libraries = [f"{name} {versions[name]}" for name in ("acp-native", PEER, "msgspec", "orjson")]
    heads = ["work", "unit", *libraries, "ratio", "floor", "", "goal", ""]
    lines = [
        "# Benchmark results",
        "",
        f"{about['cpus']} × {about['cpu']}, {about['system']}, Python {about['python']}; "
        f"median of {document['runs']} interleaved runs. Written by `make bench`.",
        "",
        "| " + " | ".join(heads) + " |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|---|---|",
    ]
    for row in table:
        if row.name == "linear":
            sizes = ", ".join(
                f"{int(size) // 10**6}: {value:.2f}" for size, value in row.values.items()
            )
            cells = [f"{row.title} ({sizes})", row.unit, "", "", "", ""]
            bounds = [f"size^{row.ratio:.2f}", f"≤ size^{row.floor}"]
        else:
            sides = [shown(row.values.get(side)) for side in (OURS, PEER, "msgspec", "orjson")]
            cells = [row.title, row.unit, *sides]
            bounds = [f"{row.ratio:.1f}x", "" if row.floor is None else f"≥ {row.floor}x"]
        cells += [*bounds, mark(row.floor_met), row.goal or "", mark(row.goal_met)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
