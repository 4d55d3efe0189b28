"""Rows of the corpus, and what is decided about them.

Owns the reading of `tests/data/corpus` and of `schema/decisions.toml`, and when two JSON values
count as the same. Must not know how values are decoded.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from acp._schema.v1.methods import METHODS as V1_METHODS
from acp._schema.v2.methods import METHODS as V2_METHODS
from tools import tomls

ROOT = Path(__file__).resolve().parent.parent.parent
METHODS = {1: V1_METHODS, 2: V2_METHODS}


@dataclass(frozen=True)
class Row:
    """One case: JSON text as one type, and what the reference implementation makes of it."""

    file: str
    version: int
    type: str
    case: str
    text: str
    accepted: bool
    written: str | None
    quirk: str

    def __str__(self) -> str:
        return f"{self.file} v{self.version} {self.type} {self.case!r} {self.text}"

    def schema_type(self) -> str | None:
        """The type to decode as; None for a method that nobody knows."""
        if not self.type.startswith("@"):
            return self.type
        kind, side, method = self.type[1:].split(":", 2)
        if method.startswith("_"):
            return {"req": "ExtRequest", "res": "ExtResponse", "note": "ExtNotification"}[kind]
        wanted = "notification" if kind == "note" else "request"
        for known in METHODS[self.version]:
            if (known.side, known.kind, known.wire) == (side, wanted, method):
                return known.result if kind == "res" else known.params
        return None


@dataclass
class Decision:
    """Rows that are judged otherwise than labelled: those that the patterns fit."""

    name: str
    verdict: str
    patterns: dict[str, re.Pattern[str]]
    used: int = field(default=0)

    def covers(self, row: Row) -> bool:
        texts = {
            "v": f"v{row.version}",
            "type": row.type,
            "case": row.case,
            "quirk": row.quirk,
            "file": row.file,
            "json": row.text,
        }
        return all(pattern.fullmatch(texts[key]) for key, pattern in self.patterns.items())


@cache
def rows() -> tuple[Row, ...]:
    return tuple(read())


def read() -> Iterator[Row]:
    for path in sorted((ROOT / "tests" / "data" / "corpus").glob("*.jsonl")):
        for line in path.read_text("utf-8").rstrip("\n").split("\n"):
            row = json.loads(line)
            yield Row(
                file=path.name,
                version=int(row["v"][1:]),
                type=row["type"],
                case=row["case"],
                text=row["json"],
                accepted=row["ok"],
                written=row.get("out"),
                quirk=row.get("quirk", ""),
            )


def decisions() -> list[Decision]:
    found = tomls.read(ROOT / "schema" / "decisions.toml")["decision"]
    return [
        Decision(
            name=row["name"],
            verdict=row["verdict"],
            patterns={
                key: re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)
                for key, text in row.items()
                if key not in {"name", "verdict", "reason"}
            },
        )
        for row in found
    ]


def same(a: Any, b: Any) -> bool:
    """JSON equality: 1 and 1.0 apart, doubles within one unit in the last place."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return abs(bits(a) - bits(b)) <= 1
    return bool(a == b)


def bits(number: float) -> int:
    return int.from_bytes(struct.pack(">d", number), "big")
