"""Variants of the open unions of version 2: known ones that are malformed, unknown ones, and the
messages that such a value can stand in.

Owns how a valid instance is broken, and the way from a message to a union. What is valid comes from
the facts in `schema/`, by `tests.codec.instances`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, cast

from hypothesis import strategies as st

import acp.v2.schema as v2
from acp._core import Model, ValidationError, decode
from acp._schema.method import Method
from acp._schema.v2.methods import METHODS
from tests.codec.instances import (
    KINDS,
    TYPES,
    fields_of,
    instances,
    members_of,
    rule_of,
    tagged,
)

FACTS = TYPES[2]
OPEN = {name: fact for name, fact in FACTS.items() if fact.get("other")}
"""The unions that keep what they do not know."""

Values = st.SearchStrategy[Any]
Members = dict[str, Any]


class Variant(NamedTuple):
    """A known variant of a union."""

    union: str
    tag: str
    target: str
    """The record, or the union, that it is read as."""

    def __str__(self) -> str:
        return f"{self.union} {self.tag} {self.target}"


def known_variants() -> list[Variant]:
    """Every known variant of every open union."""
    found: list[Variant] = []
    for union, fact in OPEN.items():
        for tag, target in fact["v"]:
            names = [target] if isinstance(target, str) else [name for _, name in target["scope"]]
            found += [Variant(union, tag, name) for name in names]
    return found


def valid(variant: Variant) -> Values:
    """Well-formed instances of a variant."""
    return tagged(OPEN[variant.union]["tag"], variant.tag, instances(2, variant.target))


def unknown(union: str) -> Values:
    """Instances with a discriminator that the union does not know."""
    fact = OPEN[union]
    heard = {tag for tag, _ in fact["v"]}
    tags = st.sampled_from(["", "later", "Text", "\x00", "é"]).filter(lambda tag: tag not in heard)
    nested: Members = {"nested": {"n": None, "f": [1.5, {}]}}
    members = members_of(2, fact["other"]).map(lambda members: {**nested, **members})
    return put(fact["tag"], tags, members)


def put(name: str, value: Values, whole: Values) -> Values:
    """Objects with one member set."""

    def joined(whole: Members, value: Any) -> Members:
        return {**whole, name: value}

    return st.builds(joined, whole, value)


# What can be wrong with one of its members.

WRONG: list[Any] = [None, True, 5, -1.5, "", [], [[]], {}]


@cache
def does_not_fit(expression: str) -> tuple[Any, ...]:
    """Values that are not of a type."""
    return tuple(value for value in WRONG if not fits(expression, value))


def fits(expression: str, value: Any) -> bool:
    """Whether a value is of a type, of what `WRONG` has."""
    if expression.startswith("["):
        return isinstance(value, list)
    if expression.startswith("{") or expression == "map":
        return isinstance(value, dict)
    if expression in FACTS:
        try:
            decode(2, expression, json.dumps(value))
        except ValidationError:
            return False
        return True
    if expression == "any":
        return True
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fitting = {
        "str": isinstance(value, str),
        "bool": isinstance(value, bool),
        "null": value is None,
        "f64": number,
    }
    return fitting.get(expression, isinstance(value, int) and number)


class Strict(NamedTuple):
    """A member that has to be right."""

    name: str
    expression: str
    required: bool

    @property
    def wrong(self) -> list[Any]:
        """What it must not be."""
        values = does_not_fit(self.expression)
        # Null is often read as absent.
        return [value for value in values if self.required or value is not None]


def strict_members(variant: Variant) -> list[Strict]:
    """The members of a variant that have no reading where they are malformed."""
    fact = FACTS[variant.target]
    if fact["k"] == "union":
        return [Strict(fact["tag"], "str", required=True)]
    only: Members = rule_of(2, variant.target, "only") or {}
    return [
        Strict(name, expression, "r" in flags)
        for name, expression, flags, *_ in fields_of(2, variant.target)
        if "e" not in flags and name not in only
    ]


def broken(variant: Variant) -> Values:
    """Instances of a variant of which one member is of another type, or missing where it has to
    be there.
    """

    def breaks(member: Strict) -> Values:
        name, values = member.name, valid(variant)
        ways: list[Values] = []
        if member.required:
            ways.append(values.map(lambda value: {key: value[key] for key in value if key != name}))
        if member.wrong:
            ways.append(put(name, st.sampled_from(member.wrong), values))
        return st.one_of(ways)

    return st.one_of([breaks(member) for member in strict_members(variant)])


def breakable() -> list[Variant]:
    """The known variants that something has to be right in."""
    return [
        variant
        for variant in known_variants()
        if any(member.required or member.wrong for member in strict_members(variant))
    ]


# What messages a union stands in.

Wrap = Callable[[Values], Values]


class Place(NamedTuple):
    """Somewhere in the params or the result of a method."""

    method: Method
    part: str
    wraps: list[Wrap]
    """From the inside."""

    def holding(self, value: Values) -> Values:
        """Params or results in which the value stands there; all else is well-formed."""
        for wrap in self.wraps:
            value = wrap(value)
        return value


def place_of(union: str) -> Place:
    """Where a union is met: in a notification where it can be, else in params, else in a result."""
    ranked = sorted(METHODS, key=lambda method: (method.kind != "notification", method.wire))
    for part in ("params", "result"):
        for method in ranked:
            root = getattr(method, part)
            if root in FACTS and method.side != "proxy" and (wraps := way(root, union)) is not None:
                return Place(method, part, wraps)
    raise LookupError(union)


def way(root: str, union: str) -> list[Wrap] | None:
    """How to get from a value of a union to one of another type that contains it."""
    todo: deque[tuple[str, list[Wrap]]] = deque([(root, [])])
    seen = {root}
    while todo:
        name, wraps = todo.popleft()
        if name == union:
            return wraps
        for inner, wrap in steps(name):
            if inner not in seen:
                seen.add(inner)
                todo.append((inner, [wrap, *wraps]))
    return None


def steps(name: str) -> Iterator[tuple[str, Wrap]]:
    """The types that a type has in it, and how to put one of their values there."""
    fact = FACTS[name]
    if fact["k"] == "rec":
        for wire, expression, *_ in fields_of(2, name):
            inner = expression.strip("[]{}")
            if inner in FACTS:
                yield inner, member(name, wire, expression)
    elif fact["k"] == "union":
        for tag, target in fact["v"]:
            names = [target] if isinstance(target, str) else [each for _, each in target["scope"]]
            for each in names:
                yield each, lambda value, tag=tag: tagged(fact["tag"], tag, value)
    elif fact["k"] in ("alias", "shape"):
        for inner in [fact["t"]] if fact["k"] == "alias" else fact["v"]:
            if inner in FACTS:
                yield inner, lambda value: value


def member(record: str, wire: str, expression: str) -> Wrap:
    """Puts a value into one member of a record."""

    def wrap(value: Values) -> Values:
        for bracket in reversed(expression[: len(expression) - len(expression.lstrip("[{"))]):
            value = value.map(lambda one: [one]) if bracket == "[" else value.map(keyed)
        return put(wire, value, KINDS["rec"](2, record, FACTS[record]))

    return wrap


def keyed(value: Any) -> dict[str, Any]:
    return {"key": value}


# What is read.


def mistaken(value: Any) -> list[Any]:
    """The catch-all objects in a value whose discriminator is one that their union knows."""
    found = [one for each in inner_values(value) for one in mistaken(each)]
    for fact in OPEN.values():
        if type(value) is getattr(v2, fact["other"]):
            attribute = next(iter(value.model_fields))
            heard = {tag for tag, _ in fact["v"]}
            return [value, *found] if getattr(value, attribute) in heard else found
    return found


def inner_values(value: Any) -> list[Any]:
    """What a value has in it."""
    if isinstance(value, Model):
        return [inner for _, inner in value]
    if isinstance(value, dict):
        return list(cast("Members", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []
