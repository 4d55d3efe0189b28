"""Random JSON instances of schema types, made from the IR alone.

Owns what a well-formed instance is: every member valid, written as it would be written back. Knows
the facts in `schema/`, not the decoder.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parent.parent.parent
TYPES: dict[int, dict[str, dict[str, Any]]] = {
    version: json.loads((ROOT / "schema" / f"ir-v{version}.json").read_text("utf-8"))["types"]
    for version in (1, 2)
}
RANGES = {
    "u16": (0, 2**16 - 1),
    "u32": (0, 2**32 - 1),
    "u64": (0, 2**64 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "nzu16": (1, 2**16 - 1),
    "nzu32": (1, 2**32 - 1),
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | floats | texts
open_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
open_objects = st.dictionaries(texts, open_values, max_size=2)


def record_types(version: int) -> list[str]:
    return [name for name, fact in TYPES[version].items() if fact["k"] == "rec"]


def union_types(version: int) -> list[str]:
    return [name for name, fact in TYPES[version].items() if fact["k"] == "union"]


@cache
def instances(version: int, expression: str) -> st.SearchStrategy[Any]:
    """Instances of a type expression of the IR."""
    if expression.startswith("["):
        return st.lists(instances(version, expression[1:-1]), max_size=2)
    if expression.startswith("{"):
        return st.dictionaries(texts, instances(version, expression[1:-1]), max_size=2)
    if expression in RANGES:
        low, high = RANGES[expression]
        return st.integers(low, high) | st.sampled_from([low, high])
    named = {
        "str": texts,
        "bool": st.booleans(),
        "f64": floats,
        "any": open_values,
        "map": open_objects,
        "null": st.none(),
    }
    if expression in named:
        return named[expression]
    fact = TYPES[version][expression]
    return st.deferred(lambda: KINDS[fact["k"]](version, expression, fact))


def strings(version: int, name: str, fact: dict[str, Any]) -> st.SearchStrategy[Any]:
    low, high = fact.get("len", (0, 6))
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=low, max_size=min(high, 6))


def enums(version: int, name: str, fact: dict[str, Any]) -> st.SearchStrategy[Any]:
    known = st.sampled_from(fact["v"])
    return known | texts if fact.get("o") is True else known


def integer_enums(version: int, name: str, fact: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from([value for value, _ in fact["v"]]) | instances(version, fact["r"])


def shapes(version: int, name: str, fact: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.one_of([instances(version, member) for member in fact["v"]])


def unions(version: int, name: str, fact: dict[str, Any]) -> st.SearchStrategy[Any]:
    branches: list[st.SearchStrategy[Any]] = []
    for tag, target in fact["v"]:
        if isinstance(target, str):
            names = [target]
        else:
            names = [record for _, record in target["scope"]]
        branches += [tagged(fact["tag"], tag, instances(version, name)) for name in names]
    if other := fact.get("other"):
        heard = {tag for tag, _ in fact["v"]}
        branches.append(
            st.builds(
                lambda tag, members: {fact["tag"]: tag, **members},
                texts.filter(lambda tag: tag not in heard),
                members_of(version, other),
            )
        )
    if bare := fact.get("else"):
        branches.append(instances(version, bare))
    return st.one_of(branches)


def tagged(key: str, tag: str, members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return members.map(lambda members: {key: tag, **members})


def fields_of(version: int, name: str) -> list[list[Any]]:
    fact = TYPES[version][name]
    parent = fields_of(version, fact["x"]) if "x" in fact else []
    return parent + fact["f"]


def rule_of(version: int, name: str, key: str) -> Any:
    """A rule of a record, its own or inherited."""
    fact = TYPES[version][name]
    if key in fact:
        return fact[key]
    return rule_of(version, fact["x"], key) if "x" in fact else None


@cache
def members_of(version: int, name: str) -> st.SearchStrategy[dict[str, Any]]:
    """The members of a record without any discriminator."""
    fields = {field[0]: field for field in fields_of(version, name)}
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for wire, expression, flags, *_ in fields.values():
        values = instances(version, expression)
        if "m" in flags:
            values = st.lists(instances(version, expression[1:-1]), min_size=1, max_size=2)
        # What is always written would otherwise come back besides.
        always = "r" in flags or "a" in flags
        if "t" in flags and expression != "any":
            values = values | st.none()
        if not always and "t" not in flags:
            # Null reads as absent there.
            values = values.filter(lambda value: value is not None)
        (required if always else optional)[wire] = values
    made = st.fixed_dictionaries(required, optional=optional)
    scope = rule_of(version, name, "scope")
    if scope:
        keyed = {group[0]: instances(version, fields[group[0]][1]) for group in scope}
        made = st.sampled_from(scope).flatmap(
            lambda group: st.tuples(
                st.fixed_dictionaries(required, optional=optional), keyed[group[0]]
            ).map(lambda pair: in_scope(pair[0], group, pair[1], scope))
        )
    if rule_of(version, name, "open"):
        made = st.builds(lambda members, more: {**more, **members}, made, extras(version, name))
    return made


def in_scope(
    members: dict[str, Any], group: list[str], key: Any, scope: list[list[str]]
) -> dict[str, Any]:
    foreign = {wire for other in scope if other is not group for wire in other}
    kept = {wire: value for wire, value in members.items() if wire not in foreign}
    return {**kept, group[0]: key}


def extras(version: int, name: str) -> st.SearchStrategy[dict[str, Any]]:
    taken = {field[0] for field in fields_of(version, name)}
    taken |= {"type", "mode", "action", "outcome", "operation", "state", "sessionUpdate", "_meta"}
    return st.dictionaries(texts.filter(lambda key: key not in taken), open_values, max_size=2)


def records(version: int, name: str, fact: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    members = members_of(version, name)
    tag = fact.get("tag")
    if tag:
        members = st.builds(lambda tag_value, rest: {tag: tag_value, **rest}, texts, members)
    only = rule_of(version, name, "only") or {}
    keep = rule_of(version, name, "keep")
    if not only and not keep:
        return members

    def settled(made: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
        for wire, (decider, value) in only.items():
            if made.get(decider) != value:
                made.pop(wire, None)
        if keep and made.get(keep[0]) is not None and made[keep[0]] not in keep[1]:
            made = {**more, **made}
        return made

    return st.builds(settled, members, extras(version, name))


KINDS: dict[str, Any] = {
    "str": strings,
    "int": lambda version, _, fact: instances(version, fact["r"]),
    "any": lambda *_: open_values,
    "alias": lambda version, _, fact: instances(version, fact["t"]),
    "enum": enums,
    "ienum": integer_enums,
    "shape": shapes,
    "union": unions,
    "rec": records,
}
