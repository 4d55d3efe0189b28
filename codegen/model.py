"""What a protocol version consists of: records, unions, enums, shapes, scalars, methods.

Owns the types that every generator reads.
Must not know: the files in `schema/`, Rust, Python source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

#: Type expressions that are no definition.
PLAIN = frozenset(
    "null bool str any map f64 u16 u32 u64 i32 i64 nzu16 nzu32".split()  # noqa: SIM905
)

#: How several scopes of one variant are told apart.
RULES = ("first", "exactly_one", "first_present")


class FactError(Exception):
    """The facts contradict each other or a name is missing."""


@dataclass(frozen=True)
class Expr:
    """A type expression: a plain type, a definition, or a list or map of one."""

    kind: str
    """`plain`, `named`, `list` or `map`."""
    name: str = ""
    item: Expr | None = None


def parse_expr(text: str) -> Expr:
    if text[0] == "[":
        return Expr("list", item=parse_expr(text[1:-1]))
    if text[0] == "{":
        return Expr("map", item=parse_expr(text[1:-1]))
    return Expr("plain" if text in PLAIN else "named", text)


def attribute(wire: str) -> str:
    """The Python name of a member."""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", wire).lower()
    return "field" + snake if snake.startswith("_") else snake


@dataclass(frozen=True)
class Field:
    """One member of a record; `owner` is the record that declares it."""

    owner: str
    wire: str
    expr: Expr
    flags: str
    default: tuple[str, Any]
    """`absent`, `false`, `true`, `record`, `list`, `map`, or with a text `text`; with `implied` (a
    text), `implied list` and `implied map` the attribute is None and peers read the value."""
    alias: str | None = None
    tolerated: bool = False

    @property
    def name(self) -> str:
        return attribute(self.wire)

    @property
    def required(self) -> bool:
        return "r" in self.flags

    @property
    def three_state(self) -> bool:
        return "t" in self.flags

    @property
    def absent(self) -> bool:
        """Whether the attribute has no value of its own while the member is absent."""
        return self.default[0].split()[0] in ("absent", "implied")


@dataclass(frozen=True)
class Tag:
    """The discriminator that selects a record in a union."""

    union: str
    wire: str
    value: str

    @property
    def name(self) -> str:
        return attribute(self.wire)


@dataclass
class Record:
    """A class."""

    name: str
    parent: str | None
    own: list[Field]
    raw: dict[str, Any]
    fields: list[Field] = field(default_factory=list)
    index: int = -1
    tag: Tag | None = None
    outer: Tag | None = None
    """The discriminator of a union around the record's own union."""
    unions: list[str] = field(default_factory=list)
    """Unions that select this record, also as catch-all or by absence."""

    @property
    def catch_all(self) -> str | None:
        """The wire name of the free discriminator."""
        return self.raw.get("tag")

    @property
    def tags(self) -> list[Tag]:
        return [t for t in (self.outer, self.tag) if t]


@dataclass(frozen=True)
class Union:
    """An object told apart by a discriminator."""

    name: str
    tag: str
    variants: list[tuple[str, Any]]
    """Value, and a name or a list of (key, record)."""
    other: str | None
    untagged: str | None
    guard: list[str]
    when_absent: bool
    rule: str
    fresh: list[str] = field(default_factory=list)
    """Discriminators of the unstable schema."""


@dataclass(frozen=True)
class Enum:
    """A set of strings. `unknown`: None when others are refused, True when kept, else a value."""

    name: str
    values: list[str]
    unknown: Any


@dataclass(frozen=True)
class Shape:
    """The first of several types that fits."""

    name: str
    members: list[Expr]


@dataclass(frozen=True)
class Scalar:
    """A definition without members: `str`, `int`, `any`, `ienum`, or an `alias` of another."""

    name: str
    kind: str
    range: str | None = None
    length: tuple[int, int] | None = None
    target: str | None = None
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Method:
    """One method as one side handles it."""

    side: str
    kind: str
    wire: str
    name: str
    params: str
    result: str | None
    stable: bool


@dataclass
class Version:
    """Everything that one protocol version knows."""

    number: int
    types: dict[str, Any]
    methods: list[Method]
    unstable: set[str]
    hints: dict[str, dict[str, Any]]
    domains: dict[str, str]
    domain_order: list[str]
    former: frozenset[str] = frozenset()
    """Types that only former releases have; their records have the last indexes."""

    @property
    def records(self) -> list[Record]:
        """In the order of their index."""
        found = [t for _, t in sorted(self.types.items()) if isinstance(t, Record)]
        return sorted(found, key=lambda t: t.name in self.former)

    @property
    def former_domains(self) -> list[str]:
        """Domains of nothing but what former releases have; no other domain has any of it."""
        kinds: dict[str, set[bool]] = {}
        for name in self.types:
            kinds.setdefault(self.domain(name), set()).add(name in self.former)
        if mixed := [d for d, found in kinds.items() if len(found) > 1]:
            raise FactError(f"names.toml: what only former releases have is with others in {mixed}")
        return [d for d in self.domain_order if kinds.get(d) == {True}]

    def domain(self, name: str) -> str:
        if name not in self.domains:
            raise FactError(f"names.toml places {name} in no domain")
        return self.domains[name]

    def of_domain(self, domain: str, kind: type) -> list[Any]:
        """The definitions of one kind in a domain, sorted by name; records parents first."""
        found = [
            t
            for n, t in sorted(self.types.items())
            if isinstance(t, kind) and self.domain(n) == domain
        ]
        if kind is not Record:
            return found
        out: list[Record] = []

        def place(record: Record) -> None:
            if record.parent and self.domain(record.parent) == domain:
                place(self.types[record.parent])
            if record not in out:
                out.append(record)

        for record in found:
            place(record)
        return out

    def resolve(self, name: str) -> Any:
        """The definition of a name, through aliases."""
        found = self.types[name]
        return self.resolve(found.target) if isinstance(found, Scalar) and found.target else found
