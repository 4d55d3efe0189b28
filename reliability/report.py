"""Turns what was measured into verdicts and tables.

Owns when a promise is kept. What was not measured is missed: nothing passes because it did not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from benches.report import machine
from reliability.figures import Figure, Form, Promise
from reliability.runs import Measured

__all__ = ("Row", "document", "markdown", "missed", "rows")

GROUPS = {
    "codec": "Reading and writing",
    "protocol": "JSON-RPC: hostile peers, order, cancellation",
    "resources": "Memory, tasks, descriptors",
    "faults": "Processes that die",
    "privacy": "Secrets",
}
SIGNS = {"exactly": "=", "at_most": "≤", "at_least": "≥"}
KEPT, MISSED = "🟢", "🔴"


@dataclass(frozen=True)
class Row:
    """One promise, and what was found."""

    promise: Promise
    target: float
    value: float | None
    """None when it was not measured."""

    @property
    def kept(self) -> bool:
        if self.value is None:
            return False
        match self.promise.relation:
            case "exactly":
                return self.value == self.target
            case "at_most":
                return self.value <= self.target
            case _:
                return self.value >= self.target

    @property
    def text(self) -> str:
        found = "not measured" if self.value is None else number(self.value)
        wanted = f"{SIGNS[self.promise.relation]} {number(self.target)}"
        return f"{self.promise.name}: {found} of {wanted} {self.promise.unit}".rstrip()


def number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"


def rows(measured: Measured, form: Form) -> list[Row]:
    """The promises of a figure. Those without a value, or without a number, are missed."""
    return [
        Row(promise, promise.target_in(form), finite(measured.values.get(promise.name)))
        for promise in measured.figure.promises
    ]


def finite(value: Any) -> float | None:
    """`value` if it is a number that compares."""
    usable = isinstance(value, (int, float)) and value == value and abs(value) != float("inf")
    return value if usable else None


def missed(found: Iterable[Measured], form: Form) -> list[tuple[Figure, Row]]:
    return [(each.figure, row) for each in found for row in rows(each, form) if not row.kept]


def document(found: list[Measured], form: Form) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "machine": machine(),
        "form": "short" if form.short else "full",
        "seed": form.seed,
        "figures": [
            {
                "id": each.figure.id,
                "says": each.figure.says,
                "seconds": round(each.seconds, 1),
                "failure": each.failure,
                "values": [
                    {**asdict(row.promise), "target": row.target, "value": row.value}
                    | {"kept": row.kept}
                    for row in rows(each, form)
                ],
            }
            for each in found
        ],
    }


def markdown(found: list[Measured], form: Form) -> str:
    """The tables for people."""
    on = machine()
    bad = missed(found, form)
    kept = f"{len(bad)} values are missed" if bad else "every value holds"
    lines = [
        "# Reliability",
        "",
        f"{len(found)} figures, {'short' if form.short else 'full'} form: {kept}. "
        f"{on['cpus']} × {on['cpu']}, {on['system']}, Python {on['python']}. What each figure is, "
        "and how it is measured: [docs/reliability.md](../../docs/reliability.md). Written by "
        "`make reliability`.",
        "",
    ]
    for group, title in GROUPS.items():
        chosen = [each for each in found if each.figure.group == group]
        if not chosen:
            continue
        lines += [f"## {title}", "", "| id | figure | found | s |", "|---|---|---|--:|"]
        for each in chosen:
            marked = [f"{KEPT if row.kept else MISSED} {row.text}" for row in rows(each, form)]
            cells = [each.figure.id, each.figure.says, "<br>".join(marked), f"{each.seconds:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)
