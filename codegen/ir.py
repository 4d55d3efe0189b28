"""The IR of a schema release, out of its JSON Schema.

Owns `schema/ir-v1.json` and `schema/ir-v2.json`, whose form is described in `docs/schema.md`. Two
files are read beside the JSON Schema: `rules.json`, facts that it does not carry, and `names.toml`,
the class names of union variants. Must not know: what is made of the IR.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codegen.facts import SCHEMA, load_toml
from codegen.model import FactError
from codegen.tagged import Node, is_union, members, ref, tag_key, variants

INTS = {"uint16": "u16", "uint32": "u32", "uint64": "u64", "int32": "i32", "int64": "i64"}
PLAIN = {"string": "str", "boolean": "bool", "number": "f64"}
#: Who sends the messages that a side handles.
SENDERS = {"agent": "Client", "client": "Agent", "proxy": "Proxy"}
#: A discriminator that is flattened into a record and may be absent.
IDLE = "IdleStateUpdate"


def files(schemas: Path) -> dict[str, str]:
    """Both IR files, from a folder with `schema.json` and `schema.unstable.json` in v1 and v2."""
    rules = json.loads((SCHEMA / "rules.json").read_text())
    names = load_toml("names.toml")
    out = {}
    for version in ("v1", "v2"):
        stable, unstable = (
            json.loads((schemas / version / f"{name}.json").read_text())
            for name in ("schema", "schema.unstable")
        )
        made = Release(version, stable, unstable, rules[version], names[version]["unions"]).ir()
        text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
        out[f"schema/ir-{version}.json"] = text + "\n"
    return out


class Release:
    """One protocol version of a schema release."""

    def __init__(
        self, version: str, stable: Node, unstable: Node, rules: Node, unions: dict[str, Any]
    ) -> None:
        self.version = version
        self.root = unstable
        self.defs: dict[str, Node] = unstable["$defs"]
        self.stable: dict[str, Node] = stable["$defs"]
        self.rules = rules
        self.names = unions
        self.types: dict[str, Node] = {}
        self.unstable: list[str] = []
        self.hints: dict[str, Node] = {}

    def ir(self) -> Node:
        for name, node in self.defs.items():
            made = None if node.get("x-docs-ignore") else self.definition(name, node)
            if made is None:
                continue
            if name not in self.stable:
                self.unstable.append(name)
            self.put(name, made)
        return {
            "ir": 1,
            "protocol": int(self.version[1:]),
            "types": dict(sorted(self.types.items())),
            "methods": self.methods(),
            "unstable": sorted(self.unstable),
            "hints": dict(sorted(self.hints.items())),
        }

    def put(self, name: str, made: Node) -> None:
        if self.types.get(name, made) != made:
            raise FactError(f"{self.version}: two meanings of {name}: {self.types[name]}, {made}")
        self.types[name] = made

    # -- members ----------------------------------------------------------

    def expr(self, node: Node) -> tuple[str, bool]:
        """The type expression of a member, and whether it may be null."""
        if name := ref(node):
            return name, False
        if "anyOf" in node:
            rest = [m for m in node["anyOf"] if m != {"type": "null"}]
            if len(rest) == 1 and len(rest) < len(node["anyOf"]):
                return self.expr(rest[0])[0], True
            raise FactError(f"{self.version}: unread alternatives {node}")
        kinds = node.get("type")
        if kinds is None:
            return "any", False
        kinds = kinds if isinstance(kinds, list) else [kinds]
        kind = next(k for k in kinds if k != "null")
        return self.single(kind, node), "null" in kinds

    def single(self, kind: str, node: Node) -> str:
        if kind in PLAIN:
            return PLAIN[kind]
        if kind == "integer":
            return ("nz" if node.get("minimum") == 1 else "") + INTS[node["format"]]
        if kind == "array":
            return f"[{self.expr(node['items'])[0]}]"
        if kind == "object":
            values = node.get("additionalProperties")
            return "{" + self.expr(values)[0] + "}" if isinstance(values, dict) else "map"
        raise FactError(f"{self.version}: unread type {node}")

    def field(self, owner: str, wire: str, node: Node, required: bool) -> list[Any]:
        """One member: wire name, type expression, flags, default if there is one."""
        key = f"{owner}.{wire}"
        expr, null = ("any", True) if key in self.rules["any"] else self.expr(node)
        if expr == "any" and not required:
            null = True
        three_state = not required and wire in self.rules["three_state"].get(owner, [])
        marks = (
            ("r", required),
            ("t" if three_state else "n", null),
            ("e", node.get("x-deserialize-default-on-error")),
            ("s", node.get("x-deserialize-skip-invalid-items")),
            ("z", node.get("x-deserialize-default-on-null")),
            ("a", "default" in node),
            ("m", key in self.rules["min_items"]),
            ("k", key in self.rules["sorted_maps"]),
        )
        out = [wire, expr, "".join(letter for letter, given in marks if given)]
        default = node.get("default", self.rules["defaults"].get(owner, {}).get(wire))
        if default is not None:
            # The default of an object is what an object without members decodes to.
            out.append({} if isinstance(default, dict) else default)
        if hint := self.hint(expr, node):
            self.hints[key] = hint
        return out

    def hint(self, expr: str, node: Node) -> Node:
        """What the release says about a value without checking it."""
        kept = ("format", "contentEncoding", "minItems", "minLength", "maxLength")
        out = {k: node[k] for k in kept if k in node}
        if out.get("format") in INTS or out.get("format") == "double":
            del out["format"]
        if expr == "f64" and "minimum" in node:
            out |= {"minimum": node["minimum"], "maximum": node["maximum"]}
        return out

    def fields(self, owner: str, node: Node, skip: str | None = None) -> list[list[Any]]:
        required = node.get("required", [])
        # Members of one variant only are as stable as the variant.
        whole = node is self.defs.get(owner)
        stable = self.stable.get(owner, {}).get("properties") if whole else None
        out = []
        for wire, value in node.get("properties", {}).items():
            if wire == skip:
                continue
            made = self.field(owner, wire, value, wire in required)
            if stable is not None and wire not in stable:
                made[2] += "u"
            out.append(made)
        return out

    # -- definitions ------------------------------------------------------

    def definition(self, name: str, node: Node) -> Node | None:
        """The IR of a definition; None for one that is spread into others."""
        if name == IDLE:
            return self.idle(name, node)
        if is_union(node):
            return self.union(name, node)
        alternatives = members(node)
        if node.get("type") == "object":
            return None if alternatives else self.record(name, node)
        if target := ref(node):
            return {"k": "alias", "t": target}
        if alternatives:
            return self.alternatives(name, alternatives)
        if node.get("type") == "string":
            if name in self.rules.get("length_checked", []):
                return {"k": "str", "len": [node["minLength"], node["maxLength"]]}
            return {"k": "str"}
        if node.get("type") == "integer":
            return {"k": "int", "r": INTS[node["format"]]}
        return {"k": "any"}

    def alternatives(self, name: str, nodes: list[Node]) -> Node:
        """A set of strings, a set of integers, or the first type that fits."""
        known = [n for n in nodes if "const" in n]
        if all("const" in n or n.get("type") == "string" for n in nodes):
            out: Node = {"k": "enum", "v": [n["const"] for n in known]}
            if name in self.rules["enum_fallback"]:
                out["o"] = self.rules["enum_fallback"][name]
            elif len(known) < len(nodes):
                out["o"] = True
            if name in self.stable:
                had = [n.get("const") for n in members(self.stable[name])]
                if fresh := [v for v in out["v"] if v not in had]:
                    out["u"] = fresh
            return out
        if known:
            values = [[n["const"], n.get("title")] for n in known]
            return {"k": "ienum", "v": values, "r": INTS[nodes[0]["format"]]}
        shapes = []
        for node in nodes:
            if node.get("type") == "object":
                made = self.names[name][node["title"]]
                self.put(made, {"k": "rec", "f": self.fields(name, node)})
                shapes.append(made)
            else:
                shapes.append("null" if node.get("type") == "null" else self.expr(node)[0])
        return {"k": "shape", "v": shapes}

    def record(self, name: str, node: Node) -> Node:
        out = {"k": "rec", "f": self.fields(name, node)}
        if node.get("additionalProperties") is True:
            out["open"] = True
        if name in self.rules["null_payload"]:
            out["null"] = True
        return out

    def idle(self, name: str, node: Node) -> Node:
        """A record into which a discriminator is flattened that may be absent."""
        key, known, only, fields = tag_key(node), [], {}, self.fields(name, node)
        for role, tag, member in variants(node):
            if role != "tag":
                continue
            known.append(tag)
            if target := ref(member):
                for field in self.fields(target, self.defs[target]):
                    fields.append(field)
                    only[field[0]] = [key, tag]
        return {"k": "rec", "f": fields, "only": only, "keep": [key, known]}

    # -- unions -----------------------------------------------------------

    def union(self, name: str, node: Node) -> Node:
        key, names, base = tag_key(node), self.names[name], self.fields(name, node)
        out: Node = {"k": "union", "tag": key, "v": []}
        stable = {tag for role, tag, _ in variants(self.stable.get(name, {})) if role == "tag"}
        fresh = []
        for role, tag, member in variants(node):
            target, own = ref(member), self.fields(name, member, skip=key)
            if role == "tag":
                if name in self.stable and tag not in stable:
                    fresh.append(tag)
                out["v"].append([tag, self.target(names.get(tag), target, base, own)])
            elif role == "other":
                out["other"] = names["*"]
                self.put(names["*"], self.catch_all(names["*"], key, member, base + own))
            elif role == "else":
                out["else"] = names["-"]
                self.variant(names["-"], target, base + own)
                if name in self.rules["else_guard"]:
                    out["guard"] = self.rules["else_guard"][name]
                if self.rules["else_when"].get(name) == "absent":
                    out["absent"] = True
        if any(isinstance(t, dict) for _, t in out["v"]):
            out["rule"] = self.rules["scope"]
        if fresh:
            out["u"] = fresh
        return out

    def target(self, named: Any, struct: str | None, base: list[Any], own: list[Any]) -> Any:
        """What a discriminator selects: a record, another union, or a record for each scope."""
        if struct and struct != IDLE and is_union(self.defs[struct]):
            return struct
        if isinstance(named, list):
            return {"scope": self.scopes(named, struct or "", base)}
        self.variant(named, struct, base + own)
        return named

    def variant(self, made: str, struct: str | None, fields: list[Any]) -> None:
        """The record of one variant; its class may be that of the struct itself."""
        if struct == made:
            if fields:
                raise FactError(f"{made}: the name is taken by its own struct")
            return
        out: Node = {"k": "rec", "f": fields}
        if struct:
            out["x"] = struct
        self.put(made, out)

    def scopes(self, names: list[str], struct: str, base: list[Any]) -> list[Any]:
        node = self.defs[struct]
        own, out = self.fields(struct, node), []
        for made, member in zip(names, members(node), strict=True):
            scope = ref(member) or ""
            self.put(made, {"k": "rec", "x": scope, "f": own + base})
            out.append([self.defs[scope]["required"][0], made])
        return out

    def catch_all(self, made: str, key: str | None, node: Node, fields: list[Any]) -> Node:
        out: Node = {"k": "rec", "f": fields, "open": True, "tag": key}
        if members(node):
            scopes = [ref(m) or "" for m in members(node)]
            groups = [self.fields(s, self.defs[s]) for s in scopes]
            out["scope"] = [[f[0] for f in group] for group in groups]
            out["f"] = fields + [[f[0], f[1], f[2].replace("r", "c")] for g in groups for f in g]
            out["rule"] = self.rules["scope"]
        if made in self.rules["sorted_extras"]:
            out["sorted"] = True
        return out

    # -- methods ----------------------------------------------------------

    def methods(self) -> list[list[Any]]:
        """Rows of side, kind, method, params, result, and `u` for an unstable one."""
        groups = {n: self.payloads(d) for n, d in self.defs.items() if d.get("x-docs-ignore")}
        for member in self.root["anyOf"]:
            if member.get("title") == "ProtocolLevel":
                groups["ProtocolNotification"] = self.payloads(member)
        wire = {n: d.get("x-method") for n, d in self.defs.items()}
        out: list[list[Any]] = []
        for side, sender in SENDERS.items():
            receiver = "Proxy" if side == "proxy" else side.capitalize()
            results = {wire[t]: t for t in groups.get(f"{receiver}Response", [])}
            asked = [t for t in groups.get(f"{sender}Request", []) if wire[t]]
            told = [t for t in groups.get(f"{sender}Notification", []) if wire[t]]
            out += [[side, "request", wire[t], t, results[wire[t]]] for t in asked]
            out += [[side, "notification", wire[t], t, None] for t in told]
        told = groups["ProtocolNotification"]
        out += [["protocol", "notification", wire[t], t, None] for t in told]
        for row in out:
            if row[3] not in self.stable:
                row.append("u")
        return out

    def payloads(self, node: Node) -> list[str]:
        """The definitions with a method that an envelope points at, in order."""
        found: dict[str, None] = {}

        def walk(part: Any) -> None:
            if isinstance(part, dict):
                name = ref(part)
                if name and (self.defs[name].get("x-method") or name.startswith("Ext")):
                    found[name] = None
                for value in part.values():
                    walk(value)
            elif isinstance(part, list):
                for value in part:
                    walk(value)

        walk(node)
        return list(found)
