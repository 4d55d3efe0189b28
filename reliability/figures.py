"""The table of figures, `figures.toml`, in types, and what a figure is given and gives.

Owns the meaning of the table's members. It measures nothing and judges nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import tomls

__all__ = ("Figure", "Form", "Measure", "Promise", "Values", "table")

TABLE = Path(__file__).with_name("figures.toml")
RELATIONS = ("exactly", "at_most", "at_least")

Values = dict[str, float]
"""What a figure found: the name of each value to the value."""


@dataclass(frozen=True)
class Form:
    """How much is done: the full form, or the short one for every change."""

    short: bool = False
    seed: int = 1
    """What random choices begin with, so that a run can be repeated."""

    def count(self, full: int, short: int) -> int:
        """How often something is done."""
        return short if self.short else full


Measure = Callable[[Form], Values]


@dataclass(frozen=True)
class Promise:
    """One value of a figure, and what it has to be."""

    name: str
    unit: str
    relation: str
    target: float
    target_short: float
    """The target of the short form, which does less of everything."""

    def target_in(self, form: Form) -> float:
        return self.target_short if form.short else self.target


@dataclass(frozen=True)
class Figure:
    """One row of the table."""

    id: str
    says: str
    group: str
    at: str
    """`module:function` of this package, which measures it."""
    seconds: float
    """What it may take; more is a miss."""
    promises: tuple[Promise, ...]

    def load(self) -> Measure:
        """The function that measures it."""
        module, name = self.at.split(":")
        return getattr(importlib.import_module(f"reliability.{module}"), name)


def table(path: Path = TABLE) -> list[Figure]:
    """Every figure, in the order of the file."""
    return [
        Figure(
            id=row["id"],
            says=row["says"],
            group=row["group"],
            at=row["at"],
            seconds=row["seconds"],
            promises=tuple(_promise(value) for value in row["values"]),
        )
        for row in tomls.read(path)["figure"]
    ]


def _promise(row: dict[str, Any]) -> Promise:
    (relation,) = (name for name in RELATIONS if name in row)
    target = row[relation]
    return Promise(row["name"], row["unit"], relation, target, row.get("short", target))
