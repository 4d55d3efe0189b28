"""The facts in `schema/` as objects: what every generator reads.

Owns: reading the IR, names and additions; flattening of records; which record stands for which
discriminator; what an absent member reads as. Must not know: Rust, Python source, documentation.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema"

#: Files that generated code depends on; their digest is compared when the library is imported.
HASHED = ("ir-v1.json", "ir-v2.json", "names.toml", "additions.toml")

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
    """`absent`, `false`, `record`, `list`, `map`, or with a text `text`; with `implied` (a text),
    `implied list` and `implied map` the attribute is None and peers read the value."""
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

    @property
    def records(self) -> list[Record]:
        """In the order of their index."""
        return [t for _, t in sorted(self.types.items()) if isinstance(t, Record)]

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


def load_toml(name: str) -> dict[str, Any]:
    return tomllib.loads((SCHEMA / name).read_text())


def schema_hash() -> str:
    """Digest of the facts that generated code depends on."""
    digest = hashlib.sha256()
    for name in HASHED:
        data = (SCHEMA / name).read_bytes()
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def load() -> list[Version]:
    """Both versions."""
    names, additions = load_toml("names.toml"), load_toml("additions.toml")
    return [Reader(number, names, additions).read() for number in (1, 2)]


class Reader:
    """Makes one version out of its IR."""

    def __init__(self, number: int, names: dict[str, Any], additions: dict[str, Any]) -> None:
        self.number = number
        self.names = names
        self.ir = json.loads((SCHEMA / f"ir-v{number}.json").read_text())
        self.additions = {k: [a for a in v if a["version"] == number] for k, v in additions.items()}
        self.used: set[int] = set()
        self.types: dict[str, Any] = {}

    def read(self) -> Version:
        raw = dict(self.ir["types"])
        for add in self.additions.get("record", []):
            if add["name"] in raw:
                raise FactError(f"additions.toml: {add['name']} exists already")
            raw[add["name"]] = {"k": "rec", "f": add["fields"]}
        for name, t in raw.items():
            self.types[name] = self.definition(name, t)
        for add in self.additions.get("variant", []):
            self.retarget(add)
        for name in sorted(n for n, t in self.types.items() if isinstance(t, Record)):
            self.types[name].fields = self.flatten(name)
        self.tag_records()
        for index, name in enumerate(
            sorted(n for n, t in self.types.items() if isinstance(t, Record))
        ):
            self.types[name].index = index
        for add in self.additions.get("field", []):
            if id(add) not in self.used:
                raise FactError(f"additions.toml: no member fits {add}")
        version = Version(
            number=self.number,
            types=self.types,
            methods=[self.method(row) for row in self.ir["methods"]],
            unstable=set(self.ir["unstable"]),
            hints=self.ir["hints"],
            domains={n: d for d, group in self.names["domains"].items() for n in group},
            domain_order=list(self.names["domains"]),
        )
        for name in self.types:
            version.domain(name)
        return version

    def definition(self, name: str, t: dict[str, Any]) -> Any:
        match t["k"]:
            case "rec":
                own = [self.field(name, f) for f in t["f"]]
                if "tag" in t:
                    own.insert(0, self.field(name, [t["tag"], "str", "r"]))
                return Record(name, t.get("x"), own, t)
            case "union":
                variants = [(v, x["scope"] if isinstance(x, dict) else x) for v, x in t["v"]]
                return Union(
                    name, t["tag"], variants, t.get("other"), t.get("else"), t.get("guard", []),
                    t.get("absent", False), t.get("rule", "first"), t.get("u", []),
                )  # fmt: skip
            case "enum":
                return Enum(name, t["v"], t.get("o"))
            case "shape":
                return Shape(name, [parse_expr(e) for e in t["v"]])
            case "alias":
                return Scalar(name, "alias", target=t["t"])
            case kind:
                length = tuple(t["len"]) if "len" in t else None
                return Scalar(name, kind, range=t.get("r"), length=length, values=t.get("v", []))

    def field(self, owner: str, row: list[Any]) -> Field:
        wire, text, flags, *explicit = row
        expr, alias, tolerated = parse_expr(text), None, False
        default = self.default(expr, flags, explicit)
        for add in self.additions.get("field", []):
            if add["wire"] == wire and owner in add["records"]:
                self.used.add(id(add))
                alias, tolerated = add.get("alias", alias), add.get("tolerated", tolerated)
                if "implied" in add:
                    default, flags = ("implied", add["implied"]), "n" + flags
        return Field(owner, wire, expr, flags, default, alias, tolerated)

    def default(self, expr: Expr, flags: str, explicit: list[Any]) -> tuple[str, Any]:
        """What the attribute is while the member is absent, or reads as absent.

        Version 1 has None wherever the release names no default, as programs written for the
        official package expect (`implied`); version 2 has an empty list or map instead.
        """
        if "r" in flags:
            return ("list" if set(flags) & set("ze") and expr.kind == "list" else "absent"), None
        if set(flags) & set("ntc"):
            return "absent", None
        if explicit:
            match explicit[0]:
                case False:
                    return "false", None
                case str(text):
                    return "text", text
                case []:
                    return "list", None
                case {}:
                    return ("map" if expr.kind == "map" else "record"), None
        elif expr.kind in ("list", "map"):
            return ("implied " if self.number == 1 else "") + expr.kind, None
        raise FactError(f"no default for {expr} {flags} {explicit}")

    def flatten(self, name: str) -> list[Field]:
        record = self.types[name]
        return (self.flatten(record.parent) if record.parent else []) + record.own

    def retarget(self, add: dict[str, Any]) -> None:
        old = self.types[add["union"]]
        variants = [
            (v, [tuple(t) for t in add["targets"]] if v == add["value"] else x)
            for v, x in old.variants
        ]
        if variants == old.variants:
            raise FactError(f"additions.toml: {add['union']} has no {add['value']}")
        self.types[add["union"]] = replace(old, variants=variants, rule="first_present")

    def tag_records(self) -> None:
        for union in [t for t in self.types.values() if isinstance(t, Union)]:
            for value, target in union.variants:
                tag = Tag(union.name, union.tag, value)
                for name in [target] if isinstance(target, str) else [n for _, n in target]:
                    found = self.types[name]
                    if isinstance(found, Union):
                        for inner in self.members(found):
                            inner.outer = tag
                            inner.unions.append(union.name)
                        continue
                    if found.tag:
                        raise FactError(f"{name} stands for two discriminators")
                    found.tag = tag
            for record in self.members(union):
                record.unions.append(union.name)

    def members(self, union: Union) -> list[Record]:
        names: list[str] = []
        for _, target in union.variants:
            names += [target] if isinstance(target, str) else [n for _, n in target]
        names += [n for n in (union.other, union.untagged) if n]
        return [self.types[n] for n in names if isinstance(self.types[n], Record)]

    def method(self, row: list[Any]) -> Method:
        side, kind, wire, params, result, *rest = row
        if wire not in self.names["methods"]:
            raise FactError(f"names.toml has no name for the method {wire}")
        return Method(side, kind, wire, self.names["methods"][wire], params, result, not rest)
