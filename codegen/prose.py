"""Sentences about the schema, made from facts: docstrings and the cells of reference tables.

Owns: wording. Must not know: the form of a Python class or of a page.
"""

from __future__ import annotations

import functools
from typing import Any

from codegen.facts import load_toml
from codegen.model import Enum, Expr, Field, Method, Record, Scalar, Shape, Tag, Union, Version

RANGES = {
    "u16": "0 to 65,535",
    "u32": "0 to 4,294,967,295",
    "u64": "0 to 18,446,744,073,709,551,615",
    "i32": "signed 32 bits",
    "i64": "signed 64 bits",
    "nzu16": "1 to 65,535",
    "nzu32": "1 to 4,294,967,295",
}
SIDES = {
    "agent": "the agent",
    "client": "the client",
    "proxy": "a proxy",
    "protocol": "every endpoint",
}


@functools.cache
def words() -> dict[str, dict[str, str]]:
    return load_toml("words.toml")


def join(parts: list[str], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def code(names: list[str]) -> list[str]:
    return [f"`{n}`" for n in names]


class Prose:
    """What can be said about the definitions of one version."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.uses: dict[str, list[str]] = {}
        self.children: dict[str, list[str]] = {}
        for record in version.records:
            if record.parent:
                self.children.setdefault(record.parent, []).append(record.name)
            for member in record.own:
                for name in self.named(member.expr):
                    self.uses.setdefault(name, []).append(f"{record.name}.{member.name}")
        for shape in (t for t in version.types.values() if isinstance(t, Shape)):
            for expr in shape.members:
                for name in self.named(expr):
                    self.uses.setdefault(name, []).append(shape.name)

    def named(self, expr: Expr) -> list[str]:
        while expr.item:
            expr = expr.item
        return [expr.name] if expr.kind == "named" else []

    # -- objects ----------------------------------------------------------

    def summary(self, record: Record) -> str:
        """The first sentence: what the object is for, in words if there are some."""
        return self.purpose(record) or self.role(record)

    def purpose(self, record: Record) -> str:
        """The sentence that `words.toml` has for the object, or for the one that it extends."""
        said = words()["objects"].get(record.name, "")
        if not said and record.parent and record.tags:
            return self.purpose(self.version.types[record.parent])
        return said

    def role(self, record: Record) -> str:
        """Where the object stands, as far as the facts tell."""
        if record.catch_all:
            free = self.wired(record, record.catch_all)
            article = "an" if free[0] in "aeiou" else "a"
            return f"`{record.unions[0]}` of {article} `{free}` not known here; keeps every member."
        if record.tag and record.tag.union:
            tag = record.tag
            said = f"`{tag.union}` whose `{tag.name}` is `{tag.value}`"
            if isinstance(targets := dict(self.version.types[tag.union].variants)[tag.value], list):
                key = next(k for k, n in targets if n == record.name)
                said += f" and that has `{self.wired(record, key)}`"
            return f"{said}."
        if record.unions:
            union = self.version.types[record.unions[0]]
            return f"`{union.name}` without a `{union.tag}`."
        if said := self.message([record.name]):
            return said
        if record.name in self.uses:
            return f"Value of {self.places(self.uses[record.name])}."
        if record.name in self.children:
            children = code(self.children[record.name])
            if len(children) == 1:
                return f"{children[0]} without its discriminator."
            unions = {u for n in self.children[record.name] for u in self.version.types[n].unions}
            if len(unions) == 1:
                return f"Members that {len(children)} variants of `{unions.pop()}` have in common."
            return f"Members that {join(children)} have in common."
        return f"The object `{record.name}`."

    def message(self, names: list[str]) -> str:
        """Which method has one of these as params or result."""
        for method in self.version.methods:
            for role, name in (("Params", method.params), ("Result", method.result)):
                if name and self.version.resolve(name).name in names:
                    return f"{role} of {self.method(method)}."
        return ""

    def nested(self, tag: Tag | None) -> str:
        return f"In a `{tag.union}` its `{tag.name}` is `{tag.value}`." if tag else ""

    def places(self, uses: list[str]) -> str:
        shown = code(uses[:4])
        return join([*shown, f"{len(uses) - 4} more places"] if len(uses) > 4 else shown)

    def method(self, method: Method) -> str:
        return f"`{method.wire}`, a {method.kind} that {SIDES[method.side]} handles"

    def details(self, record: Record) -> list[str]:
        """Further sentences about the whole object."""
        out = [self.role(record)] if self.purpose(record) else []
        out += [s for s in (self.nested(record.outer), self.message(record.unions)) if s]
        if reason := record.raw.get("reason"):
            out.append(f"Not in the schema release: {reason}.")
        else:
            state = "Unstable" if self.unstable(record) else "Stable"
            out.append(f"{state} part of protocol version {self.version.number}.")
        if record.raw.get("null"):
            out.append("A JSON null in its place reads as the object without members.")
        if record.raw.get("open") and not record.catch_all:
            out.append("Members that are not listed are kept in `model_extra`.")
        if "keep" in record.raw:
            wire, known = record.raw["keep"]
            out.append(
                f"For a `{self.wired(record, wire)}` other than {join(code(known), 'or')}, "
                "members that are not listed are kept in `model_extra`."
            )
        for wire, (decider, value) in record.raw.get("only", {}).items():
            field, other = self.wired(record, wire), self.wired(record, decider)
            out.append(f"`{field}` is read only when `{other}` is `{value}`.")
        if "scope" in record.raw:
            keys = [f"`{self.wired(record, g[0])}`" for g in record.raw["scope"]]
            out.append(f"Exactly one of {join(keys)} is set.")
        return out

    def wired(self, record: Record, wire: str) -> str:
        return next(f.name for f in record.fields if f.wire == wire)

    def unstable(self, record: Record) -> bool:
        tag = record.tag
        if tag and tag.union and tag.value in self.version.types[tag.union].fresh:
            return True
        seen: Record | None = record
        while seen:
            if seen.name in self.version.unstable or set(seen.unions) & self.version.unstable:
                return True
            seen = self.version.types[seen.parent] if seen.parent else None
        return False

    # -- members ----------------------------------------------------------

    def member(self, field: Field) -> str:
        """One line about a member: wire name, presence, what malformed reads as, kind, default."""
        parts = [f"`{field.wire}`"] if field.wire != field.name else []
        if field.alias:
            parts.append(f"`{field.alias}` is read as well")
        parts += self.presence(field)
        parts += self.kind(field)
        if "u" in field.flags:
            parts.append("unstable")
        return "; ".join(parts) + "."

    def presence(self, field: Field) -> list[str]:
        flags, out = field.flags, []
        absent = "unchanged" if field.three_state else self.default(field) or "absent"
        if field.tolerated:
            out.append("required, though UNSET when a peer left it out")
        elif field.required:
            out.append("required")
        elif "c" in flags:
            out.append("required in its scope")
        elif field.three_state:
            out.append("absent (unchanged), null (cleared) or a value")
        else:
            out.append("optional")
        reads = [w for c, w in (("n", "null"), ("e", "malformed")) if c in flags]
        if "n" not in flags and "e" in flags and not field.three_state:
            reads.insert(0, "null")
        empty = "empty" if field.required else absent
        if reads:
            out.append(f"{join(reads, 'or')} reads as {empty}")
        if "z" in flags:
            out.append("null reads as empty")
        if "s" in flags:
            out.append("malformed items are dropped")
        if not field.required and field.default[0] != "absent":
            kind, value = field.default
            said = f"{absent} by default"
            if kind.startswith("implied"):
                empty = "an empty list" if kind.endswith("list") else "an empty dict"
                said = f"None by default; peers read absence as {f'`{value}`' if value else empty}"
            out.append(said)
        if "a" in flags:
            out.append("always written")
        return out

    def default(self, field: Field) -> str:
        kind, value = field.default
        return {
            "false": "False",
            "true": "True",
            "record": "an object of defaults",
            "list": "an empty list",
            "map": "an empty dict",
            "text": f"`{value}`",
        }.get(kind, "")

    def kind(self, field: Field) -> list[str]:
        out, plural = [], ""
        expr = field.expr
        if expr.item:
            plural, expr = ("items: " if expr.kind == "list" else "values: "), expr.item
        phrase = self.phrase(expr)
        if phrase:
            out.append(plural + phrase)
        for owner in self.owners(field):
            if note := words()["members"].get(f"{owner}.{field.wire}"):
                out.append(note)
                break
        else:
            out += self.hints(field)
        if "m" in field.flags:
            out.append("not empty")
        return out

    def owners(self, field: Field) -> list[str]:
        return [field.owner, *self.children.get(field.owner, [])]

    def hints(self, field: Field) -> list[str]:
        hint: dict[str, Any] = self.version.hints.get(f"{field.owner}.{field.wire}", {})
        said = {
            "uri": "URI, not checked",
            "date-time": "RFC 3339 time, not checked",
            "base64": "base64, not checked",
        }
        out = [said[hint[k]] for k in ("format", "contentEncoding") if hint.get(k) in said]
        if ("minItems" in hint or "minLength" in hint) and "m" not in field.flags:
            out.append("should not be empty, not checked")
        return out

    def phrase(self, expr: Expr) -> str:
        """What a value is, when its Python type does not tell."""
        if expr.kind == "plain":
            return RANGES.get(expr.name, "")
        found = self.version.resolve(expr.name)
        if isinstance(found, Enum):
            unknown = {None: "others are malformed", True: "others are kept"}.get(
                found.unknown, f"others read as `{found.unknown}`"
            )
            return f"{join(code(found.values), 'or')} ({unknown})"
        if isinstance(found, Scalar):
            said = words()["scalars"].get(found.name, "")
            if found.length:
                said += f", {found.length[0]} to {found.length[1]} characters"
            if found.range:
                said += f", {RANGES[found.range]}"
            return said
        return ""

    # -- aliases ----------------------------------------------------------

    def alias(self, found: Union | Enum | Shape) -> str:
        """One line about a name for several types."""
        match found:
            case Union():
                rest = f" Others are `{found.other}`." if found.other else " Others are malformed."
                if found.untagged and not found.other:
                    rest = f" Without one of these it is `{found.untagged}`."
                return f"One of several objects, told apart by `{found.tag}`.{rest}"
            case Enum():
                return f"{self.phrase(Expr('named', found.name))}.".replace(" (", "; ").replace(
                    ")", ""
                )
            case Shape():
                return "The first of these that fits."
