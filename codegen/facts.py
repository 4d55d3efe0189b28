"""Reading of the facts in `schema/`.

Owns: IR, names and additions as objects; flattening of records; which record stands for which
discriminator; what an absent member reads as. Must not know: Rust, Python source, documentation.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen.model import (
    Enum,
    Expr,
    FactError,
    Field,
    Method,
    Record,
    Scalar,
    Shape,
    Tag,
    Union,
    Version,
    parse_expr,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema"

#: Files that generated code depends on; their digest is compared when the library is imported.
HASHED = ("ir-v1.json", "ir-v2.json", "names.toml", "additions.toml", "former.toml")


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
            raw[add["name"]] = {"k": "rec", "f": add["fields"], "reason": add["reason"]}
        former = load_toml("former.toml") if self.number == 1 else {"types": {}}
        if known := raw.keys() & former["types"].keys():
            raise FactError(f"former.toml: {sorted(known)} exist already")
        for name, t in former["types"].items():
            raw[name] = {**t, "reason": former["reason"]}
        for name, t in raw.items():
            self.types[name] = self.definition(name, t)
        for add in self.additions.get("variant", []):
            self.retarget(add)
        for name in sorted(n for n, t in self.types.items() if isinstance(t, Record)):
            self.types[name].fields = self.flatten(name)
        self.tag_records()
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
            former=frozenset(former["types"]),
        )
        for index, record in enumerate(version.records):
            record.index = index
        for name in self.types:
            version.domain(name)
        return version

    def definition(self, name: str, t: dict[str, Any]) -> Any:
        match t["k"]:
            case "rec":
                own = [self.field(name, f) for f in t["f"]]
                if "tag" in t:
                    own.insert(0, self.field(name, [t["tag"], "str", "r"]))
                made = Record(name, t.get("x"), own, t)
                if "constant" in t:
                    made.tag = Tag("", *t["constant"])
                return made
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
                flags += "l" if add.get("forgiven") else ""
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
                case True:
                    return "true", None
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
                record.unions.insert(0, union.name)

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
