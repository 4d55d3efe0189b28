"""The schema objects, as Python source.

Owns: the modules of objects in `python/acp/_schema/v1` and `python/acp/_schema/v2`.
Must not know: how objects are read, written or compared; that is the base class and the core.
"""

from __future__ import annotations

from codegen import packages
from codegen.facts import load_toml
from codegen.layout import MARK, WIDTH, bracketed, doc, from_line, piped, wrap
from codegen.model import Enum, Expr, FactError, Field, Record, Scalar, Shape, Union, Version
from codegen.prose import Prose

PLAIN = {
    "null": "None",
    "bool": "bool",
    "str": "str",
    "any": "Any",
    "map": "dict[str, Any]",
    "f64": "float",
}


def files(versions: list[Version]) -> dict[str, str]:
    """Every module of objects, and the modules that export them."""
    out = {f"{packages.FOLDER}/__init__.py": packages.root()}
    for version in versions:
        objects = Objects(version)
        out |= objects.files()
        out |= packages.files(version, objects.home)
    return out


class Objects:
    """The modules of one version."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.prose = Prose(version)
        names = load_toml("names.toml")
        self.groups = {n: [c for c in g if c in version.types] for n, g in names["aliases"].items()}
        self.groups = {n: g for n, g in self.groups.items() if g}
        self.home: dict[str, str] = {}
        self.checked: set[str] = set()
        self.typing: set[str] = set()
        self.bases: set[str] = set()

    def files(self) -> dict[str, str]:
        out = {}
        for domain in self.version.domain_order:
            if made := self.domain(domain):
                out[packages.path(packages.module(self.version, domain))] = made
        return out

    # -- modules ----------------------------------------------------------

    def domain(self, domain: str) -> str:
        enums = self.version.of_domain(domain, Enum)
        records = self.version.of_domain(domain, Record)
        joined = [*self.version.of_domain(domain, Union), *self.version.of_domain(domain, Shape)]
        groups = {n: g for n, g in self.groups.items() if self.version.domain(g[0]) == domain}
        if not (enums or records or joined):
            return ""
        self.checked, self.typing, self.bases = set(), {"TYPE_CHECKING"}, set()
        early = [self.enum(e) for e in enums]
        classes = [self.record(r) for r in records]
        runtime = {r.parent for r in records if r.parent}
        late: list[str] = []
        for found in self.ordered(joined):
            members = self.members(found)
            runtime |= set(self.mentioned(members))
            self.typing.add("TypeAlias")
            late.append(
                self.alias(found.name, [self.expr(m) for m in members], self.prose.alias(found))
            )
        for name, group in groups.items():
            self.typing.add("TypeAlias")
            late.append(self.alias(name, group, "One of these objects."))
        own = [n.name for n in (*enums, *records, *joined)] + list(groups)
        for name in own:
            self.home[name] = domain
        head = [
            f'"""Objects of protocol version {self.version.number}: {domain}.',
            "",
            MARK,
            '"""',
            "",
            "from __future__ import annotations",
            "",
        ]
        imports = self.imports(domain, runtime, bool(records))
        exported = bracketed("__all__ = [", [f'"{n}"' for n in sorted(own)], "]")
        body = "\n".join([*head, *imports, "", exported])
        if early:
            body += "\n\n" + "\n\n".join(early)
        if classes:
            body += "\n\n\n" + "\n\n\n".join(classes)
        if late:
            body += "\n\n\n" + "\n\n".join(late) if classes else "\n\n" + "\n\n".join(late)
        return body + "\n"

    def imports(self, domain: str, runtime: set[str], base: bool) -> list[str]:
        """What classes and aliases are made of, then what only annotations name."""
        needed = self.grouped(runtime, domain)
        checked = self.grouped(self.checked - runtime, domain)
        out = [from_line("typing", self.typing)]
        bases = sorted(self.bases & {"BaseModel", "RootModel"})
        first = [from_line("acp._schema.base", bases)] if base and bases else []
        first += [from_line(packages.module(self.version, d), n) for d, n in needed.items()]
        if first:
            out += ["", *first]
        block = []
        if abstract := self.checked & {"Mapping", "Sequence"}:
            block += [from_line("collections.abc", abstract, "    "), ""]
        if core := self.checked & {"UNSET", "UnsetType"}:
            block.append(from_line("acp._core", core, "    "))
        block += [
            from_line(packages.module(self.version, d), n, "    ") for d, n in checked.items()
        ]
        if block:
            out += ["", "if TYPE_CHECKING:", *"\n".join(block).rstrip().split("\n")]
        return out

    def grouped(self, names: set[str], domain: str) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for name in sorted(names):
            if name in self.version.types and self.version.domain(name) != domain:
                groups.setdefault(self.version.domain(name), []).append(name)
        return dict(sorted(groups.items(), key=lambda i: packages.module(self.version, i[0])))

    # -- aliases ----------------------------------------------------------

    def ordered(self, found: list[Union | Shape]) -> list[Union | Shape]:
        """Aliases after those that they mention."""
        out: list[Union | Shape] = []

        def place(one: Union | Shape) -> None:
            for name in self.mentioned(self.members(one)):
                if (inner := next((f for f in found if f.name == name), None)) and inner is not one:
                    place(inner)
            if one not in out:
                out.append(one)

        for one in found:
            place(one)
        return out

    def members(self, found: Union | Shape) -> list[Expr]:
        if isinstance(found, Shape):
            order = {"null": 1}
            return sorted(found.members, key=lambda e: order.get(e.name, 0))
        names: list[str] = []
        for _, target in found.variants:
            names += [target] if isinstance(target, str) else [n for _, n in target]
        return [Expr("named", n) for n in (*names, found.other, found.untagged) if n]

    def mentioned(self, exprs: list[Expr]) -> list[str]:
        """Names of definitions with a Python name of their own."""
        out = []
        for expr in exprs:
            while expr.item:
                expr = expr.item
            if expr.kind == "named" and not isinstance(self.version.resolve(expr.name), Scalar):
                out.append(self.version.resolve(expr.name).name)
        return out

    def alias(self, name: str, members: list[str], said: str) -> str:
        return "\n".join([piped(f"{name}: TypeAlias", list(dict.fromkeys(members))), doc(said)])

    def enum(self, enum: Enum) -> str:
        self.typing.add("TypeAlias")
        said = doc(self.prose.alias(enum))
        if enum.unknown is True:
            return f"{enum.name}: TypeAlias = str\n{said}"
        self.typing.add("Literal")
        values = [f'"{v}"' for v in enum.values]
        return bracketed(f"{enum.name}: TypeAlias = Literal[", values, "]") + f"\n{said}"

    # -- classes ----------------------------------------------------------

    def record(self, record: Record) -> str:
        parent = record.parent or ("RootModel" if self.is_root(record) else "BaseModel")
        self.bases.add(parent)
        slots = [f'"{f.name}"' for f in record.own]
        lines = [
            f"class {record.name}({parent}):",
            *self.docstring(record),
            "",
            bracketed("__slots__ = (", slots, ",)" if len(slots) == 1 else ")", "    "),
            "",
        ]
        for tag in record.tags:
            self.typing.add("Literal")
            lines.append(f'    {tag.name}: Literal["{tag.value}"] = "{tag.value}"')
        lines += [f"    {f.name}: {self.annotation(f)}" for f in record.own]
        if lines[-1]:
            lines.append("")
        lines += self.constructor(record)
        self.shadowing(record)
        return "\n".join(lines)

    def is_root(self, record: Record) -> bool:
        """Whether another name stands for the record, which the official SDK has as a class."""
        return self.version.number == 1 and any(
            isinstance(t, Shape) and [m.name for m in t.members] == [record.name]
            for t in self.version.types.values()
        )

    def constructor(self, record: Record) -> list[str]:
        self.typing.add("Any")
        lines = ["    if TYPE_CHECKING:", "", "        def __init__("]
        params = ["self", "*"]
        params += [f'{tag.name}: Literal["{tag.value}"] = "{tag.value}"' for tag in record.tags]
        params += [self.parameter(f) for f in record.fields]
        if len(params) == 2:
            params.remove("*")
        if self.is_root(record):
            # The members are the root's, which may be given instead of them.
            params = [p if "=" in p or ":" not in p else f"{p} = ..." for p in params]
            params.insert(1, f"root: {record.name} | dict[str, Any] | None = None")
        params.append("**extra: Any")
        one = f"        def __init__({', '.join(params)}) -> None: ..."
        if len(one) <= WIDTH:
            return [*lines[:-1], one]
        return [*lines, *(f"            {p}," for p in params), "        ) -> None: ..."]

    def annotation(self, field: Field) -> str:
        """The type of the attribute."""
        said = self.expr(field.expr)
        if said == "Any":
            self.typing.add("Any")
            return said
        if field.tolerated:
            self.checked.add("UnsetType")
            return f"{said} | UnsetType"
        if field.required or not field.absent:
            return said
        if field.three_state and self.version.number > 1:
            self.checked.add("UnsetType")
            return f"{said} | UnsetType | None"
        return f"{said} | None"

    def parameter(self, field: Field) -> str:
        """The keyword of the constructor; looser than the attribute, since values are converted."""
        said = self.expr(field.expr, loose=True)
        if field.required:
            return f"{field.name}: {said}"
        if said == "Any":
            three = field.three_state and self.version.number > 1
            if three:
                self.checked.add("UNSET")
            return f"{field.name}: Any = {'UNSET' if three else 'None'}"
        if field.three_state and self.version.number > 1:
            self.checked |= {"UNSET", "UnsetType"}
            return f"{field.name}: {said} | UnsetType | None = UNSET"
        value = {"false": "False", "true": "True"}.get(field.default[0], "None")
        return f"{field.name}: {said} | None = {value}"

    def expr(self, e: Expr, loose: bool = False) -> str:
        if e.kind == "list" and e.item:
            if loose:
                self.checked.add("Sequence")
            return f"{'Sequence' if loose else 'list'}[{self.expr(e.item, loose)}]"
        if e.kind == "map" and e.item:
            if loose:
                self.checked.add("Mapping")
            return f"{'Mapping' if loose else 'dict'}[str, {self.expr(e.item, loose)}]"
        if e.kind == "plain":
            said = PLAIN.get(e.name, "int")
            if "Any" in said:
                self.typing.add("Any")
            return said
        found = self.version.resolve(e.name)
        if isinstance(found, Scalar):
            return self.expr(Expr("plain", found.kind if found.kind in PLAIN else "i64"))
        self.checked.add(found.name)
        return found.name

    def shadowing(self, record: Record) -> None:
        """Stops when an attribute hides a name that an annotation of the class uses."""
        attributes = {f.name for f in record.fields} | {t.name for t in record.tags}
        used = " ".join(self.annotation(f) + " " + self.parameter(f) for f in record.own)
        for builtin in ("list", "dict", "str", "int", "bool", "float"):
            if builtin in attributes and f"{builtin}[" in used:
                raise FactError(f"{record.name}: the attribute {builtin} hides the type")

    def docstring(self, record: Record) -> list[str]:
        summary = self.prose.summary(record)
        lines = wrap(f'"""{summary}', "    ")
        paragraph = " ".join(self.prose.details(record))
        lines += ["", *wrap(paragraph, "    ")]
        if record.fields:
            lines += ["", "    Members:"]
            for field in record.fields:
                lines += wrap(f"{field.name}: {self.prose.member(field)}", " " * 8, "    ")
        return [*lines, '    """']
