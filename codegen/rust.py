"""The tables of the core, as Rust source.

Owns: `rust/acp-core/src/schema/generated/`. Must not know: Python names other than attributes.
The forms that it fills in are the types of `rust/acp-core/src/schema/table.rs`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable

from codegen import rust_root
from codegen.facts import ROOT
from codegen.model import Enum, Expr, FactError, Field, Record, Scalar, Shape, Tag, Union, Version
from codegen.rust_root import HEAD, flag_const, text

FOLDER = "rust/acp-core/src/schema/generated"

INTS = {
    "u16": "U16",
    "u32": "U32",
    "u64": "U64",
    "i32": "I32",
    "i64": "I64",
    "nzu16": "NonZeroU16",
    "nzu32": "NonZeroU32",
}
PLAIN = {
    "null": "Null",
    "bool": "Bool",
    "str": "Str",
    "any": "Any",
    "map": "Object",
    "f64": "Float",
}
RULES = {"first": "First", "exactly_one": "ExactlyOne", "first_present": "FirstPresent"}
DEFAULTS = {
    "false": "Bool(false)",
    "true": "Bool(true)",
    "record": "EmptyRecord",
    "list": "EmptyList",
    "map": "EmptyMap",
    "implied list": "ImpliedList",
    "implied map": "ImpliedMap",
}
META = ("_meta", Expr("plain", "map"), "ne", ("absent", None), None, False)


def static(name: str) -> str:
    """The name of a definition's table."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def rustfmt(files: dict[str, str]) -> dict[str, str]:
    """Each text as rustfmt writes it."""
    command = ["rustfmt", "--edition", "2024", "--emit", "stdout", "--quiet"]
    if (ROOT / "rustfmt.toml").exists():
        command += ["--config-path", str(ROOT / "rustfmt.toml")]
    out = {}
    for name, source in files.items():
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FactError(f"{name}: rustfmt says\n{done.stderr}")
        out[name] = done.stdout
    return out


def files(versions: list[Version]) -> dict[str, str]:
    """Every file of the folder."""
    out = {f"{FOLDER}/mod.rs": rust_root.module(versions)}
    for version in versions:
        out |= Tables(version).files()
    return rustfmt(out)


class Tables:
    """The tables of one version."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.folder = f"{FOLDER}/v{version.number}"
        self.here = ""
        self.refs: set[str] = set()
        self.words: set[str] = set()
        self.forms: set[str] = set()

    def files(self) -> dict[str, str]:
        out = {f"{self.folder}/mod.rs": self.root()}
        out[f"{self.folder}/types.rs"] = self.module(
            "Every type by its name in the schema.", [self.names()], ""
        )
        out[f"{self.folder}/methods.rs"] = self.module("Every method.", [self.methods()], "")
        for domain in self.domains():
            out[f"{self.folder}/{domain}.rs"] = self.domain(domain)
        return out

    def domains(self) -> list[str]:
        tabled = (Record, Union, Enum, Shape)
        used = {
            self.version.domain(n) for n, t in self.version.types.items() if isinstance(t, tabled)
        }
        return [d for d in self.version.domain_order if d in used]

    # -- modules ----------------------------------------------------------

    def root(self) -> str:
        number, records = self.version.number, self.version.records
        refs = [self.ref(r.name) for r in records]
        lines = [
            HEAD,
            f"//! Protocol version {number}.",
            "",
            *(f"mod {m};" for m in sorted([*self.domains(), "types", "methods"])),
            "",
            *self.uses(),
            "use crate::schema::table::{Record, Schema};",
            "",
            f"/// The schema of protocol version {number}.",
            f"pub static V{number}: Schema = Schema {{ version: {number}, records: RECORDS, "
            f"former: {sum(r.name not in self.version.former for r in records)}, "
            "types: types::TYPES, methods: methods::METHODS };",
            "",
            f"static RECORDS: &[&Record] = &[{', '.join(refs)}];",
        ]
        return "\n".join(lines) + "\n"

    def names(self) -> str:
        self.form("Type")
        rows = [f"({text(n)}, {self.named(n)})," for n in sorted(self.version.types)]
        return f"pub static TYPES: &[(&str, Type)] = &[\n{''.join(rows)}\n];"

    def methods(self) -> str:
        self.form("Method", "Side", "Type")
        rows = []
        for m in self.version.methods:
            side, params, stable = (
                f"Side::{m.side.capitalize()}",
                self.named(m.params),
                str(m.stable).lower(),
            )
            if m.result is None:
                self.words.add("notification")
                rows.append(f"notification({side}, {text(m.wire)}, {params}, {stable}),")
            else:
                self.words.add("request")
                rows.append(
                    f"request({side}, {text(m.wire)}, {params}, {self.named(m.result)}, {stable}),"
                )
        return f"pub static METHODS: &[Method] = &[\n{''.join(rows)}\n];"

    def domain(self, domain: str) -> str:
        self.here = domain
        forms = (Union, self.union), (Shape, self.shape), (Enum, self.enum), (Record, self.record)
        parts = [write(t) for form, write in forms for t in self.version.of_domain(domain, form)]
        title = f"Tables of version {self.version.number}: {domain}."
        return self.module(title, parts, domain)

    def module(self, title: str, parts: Iterable[str], here: str) -> str:
        parts = list(parts)
        uses = self.uses(here)
        if self.words:
            uses.insert(0, f"use crate::schema::generated::{{{', '.join(sorted(self.words))}}};")
        uses.insert(0, f"use crate::schema::table::{{{', '.join(sorted(self.forms))}}};")
        self.words, self.forms, self.here = set(), set(), ""
        return "\n".join([HEAD, f"//! {title}", "", *uses, "", "\n\n".join(parts), ""])

    def uses(self, here: str = "") -> list[str]:
        """Imports of the tables that were referred to since the last call."""
        groups: dict[str, list[str]] = {}
        for name in sorted(self.refs):
            groups.setdefault(self.version.domain(name), []).append(static(name))
        self.refs = set()
        root = "super" if here or self.forms else "self"
        return [
            f"use {root}::{d}::{{{', '.join(sorted(n))}}};"
            for d, n in sorted(groups.items())
            if d != here
        ]

    # -- references -------------------------------------------------------

    def ref(self, name: str) -> str:
        self.refs.add(name)
        return f"&{static(name)}"

    def form(self, *names: str) -> None:
        self.forms.update(names)

    def expr(self, e: Expr) -> str:
        self.form("Type")
        if e.kind == "list" and e.item:
            return f"Type::List(&{self.expr(e.item)})"
        if e.kind == "map" and e.item:
            return f"Type::Map(&{self.expr(e.item)})"
        if e.kind == "named":
            return self.named(e.name)
        if e.name in INTS:
            self.form("Int")
            return f"Type::Int(Int::{INTS[e.name]})"
        return f"Type::{PLAIN[e.name]}"

    def named(self, name: str) -> str:
        self.form("Type")
        match self.version.resolve(name):
            case Scalar(length=(low, high)):
                return f"Type::Text {{ min: {low}, max: {high} }}"
            case Scalar(kind="str" | "any" as kind):
                return self.expr(Expr("plain", kind))
            case Scalar(range=str(bounds)):
                return self.expr(Expr("plain", bounds))
            case found:
                return f"Type::{type(found).__name__}({self.ref(found.name)})"

    # -- definitions ------------------------------------------------------

    def union(self, union: Union) -> str:
        self.form("Union", "ScopeRule")
        variants = []
        for value, target in union.variants:
            self.form("Variant", "Target")
            if isinstance(target, list):
                rows = ", ".join(f"({text(k)}, {self.ref(n)})" for k, n in target)
                picked = f"Target::Scoped(&[{rows}])"
            else:
                picked = f"Target::{type(self.version.types[target]).__name__}({self.ref(target)})"
            variants.append(f"Variant {{ value: {text(value)}, target: {picked} }},")
        return (
            f"pub static {static(union.name)}: Union = Union {{\n"
            f"name: {text(union.name)},\ntag: {text(union.tag)},\n"
            f"variants: &[{''.join(variants)}],\n"
            f"other: {self.option(union.other)},\nuntagged: {self.option(union.untagged)},\n"
            f"guard: &[{', '.join(map(text, union.guard))}],\n"
            f"untagged_when_absent: {str(union.when_absent).lower()},\n"
            f"scope: ScopeRule::{RULES[union.rule]},\n}};"
        )

    def option(self, name: str | None) -> str:
        return f"Some({self.ref(name)})" if name else "None"

    def enum(self, enum: Enum) -> str:
        self.form("Enum", "Unknown")
        unknown = (
            "Keep"
            if enum.unknown is True
            else f"Become({text(enum.unknown)})"
            if enum.unknown
            else "Reject"
        )
        return (
            f"pub static {static(enum.name)}: Enum = Enum {{\nname: {text(enum.name)},\n"
            f"values: &[{', '.join(map(text, enum.values))}],\nunknown: Unknown::{unknown},\n}};"
        )

    def shape(self, shape: Shape) -> str:
        self.form("Shape")
        members = ", ".join(self.expr(e) for e in shape.members)
        return (
            f"pub static {static(shape.name)}: Shape = Shape {{\n"
            f"name: {text(shape.name)},\nmembers: &[{members}],\n}};"
        )

    def record(self, record: Record) -> str:
        self.form("Record", "Extra")
        wires = [f.wire for f in record.fields]
        only = []
        for wire, (decider, value) in record.raw.get("only", {}).items():
            self.form("Only")
            at, by = wires.index(wire), wires.index(decider)
            only.append(f"Only {{ field: {at}, decider: {by}, value: {text(value)} }}")
        return (
            f"pub static {static(record.name)}: Record = Record {{\n"
            f"name: {text(record.name)},\nindex: {record.index},\n"
            f"fields: &[{''.join(self.field(f) + ',' for f in record.fields)}],\n"
            f"tag: {self.tag(record.tag)},\nextra: {self.extra(record, wires)},\n"
            f"null_is_empty: {str(bool(record.raw.get('null'))).lower()},\n"
            f"scope: {self.scope(record, wires)},\nonly: &[{', '.join(only)}],\n}};"
        )

    def field(self, f: Field) -> str:
        if (f.wire, f.expr, f.flags, f.default, f.alias, f.tolerated) == META:
            self.words.add("META")
            return "META"
        flags = flag_const(f.flags)
        self.words.add(flags)
        if f.tolerated:
            self.form("Flags")
            flags += ".and(Flags::TOLERATED)"
        kind, value = f.default
        wire, name, ty = text(f.wire), text(f.name), self.expr(f.expr)
        if f.alias:
            if kind != "absent":
                raise FactError(f"{f.owner}.{f.wire}: no form for a second name and a default")
            self.words.add("aliased")
            return f"aliased({wire}, {text(f.alias)}, {name}, {ty}, {flags})"
        if kind == "absent":
            self.words.add("field")
            return f"field({wire}, {name}, {ty}, {flags})"
        self.words.add("defaulted")
        self.form("Default")
        form = DEFAULTS.get(kind) or f"{kind.capitalize()}({text(value)})"
        return f"defaulted({wire}, {name}, {ty}, {flags}, Default::{form})"

    def tag(self, tag: Tag | None) -> str:
        if not tag:
            return "None"
        self.form("Tag")
        return (
            f"Some(&Tag {{ union: {text(tag.union)}, wire: {text(tag.wire)}, "
            f"name: {text(tag.name)}, value: {text(tag.value)} }})"
        )

    def extra(self, record: Record, wires: list[str]) -> str:
        if record.raw.get("open"):
            return "Extra::Keep"
        if "keep" in record.raw:
            wire, known = record.raw["keep"]
            values = ", ".join(map(text, known))
            return f"Extra::KeepUnless {{ field: {wires.index(wire)}, known: &[{values}] }}"
        return "Extra::Drop"

    def scope(self, record: Record, wires: list[str]) -> str:
        if "scope" not in record.raw:
            return "None"
        self.form("Scope", "ScopeRule")
        groups = [f"&[{', '.join(str(wires.index(w)) for w in g)}]" for g in record.raw["scope"]]
        rule = RULES[record.raw["rule"]]
        return f"Some(&Scope {{ groups: &[{', '.join(groups)}], rule: ScopeRule::{rule} }})"
