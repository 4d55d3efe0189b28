"""What the source says about the fields of schema classes: types, and a sentence for each.

Owns the evaluation of annotations, whose names are imported for type checkers only, and the reading
of docstrings. Knows neither values nor pydantic.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, Literal, Union, get_args, get_origin

from acp._core import Model, UnsetType, field_facts, field_rules

__all__ = ["descriptions", "fields_of_ones_own", "is_constant", "types", "without_unset"]

_FINAL = re.compile(r"(\w+\.)*Final\b")
_MEMBER = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def types(owner: type[Model]) -> dict[str, Any]:
    """The types of a class's fields and discriminators, by attribute name."""
    found: dict[str, Any] = {}
    for base in reversed(owner.__mro__):
        package = base.__module__.rpartition(".")[0]
        if not package.startswith("acp._schema.v"):
            continue
        # The classes and aliases of a version are all in its package, but those of former releases.
        version = ".".join(package.split(".")[:3])
        names = {
            **vars(importlib.import_module(version)),
            **vars(importlib.import_module(package)),
            "Any": Any,
            "Literal": Literal,
            "UnsetType": UnsetType,
        }
        for name, said in inspect.get_annotations(base).items():
            found[name] = eval(said, names) if isinstance(said, str) else said
    return found


def fields_of_ones_own(owner: type[Model]) -> list[str]:
    """What the class statement of a user's class annotates as fields.

    Constants of the class, private names, names of slots and discriminators given again are none.
    """
    own = vars(owner)
    others = {*own.get("__slots__", ()), *_discriminators(owner)}
    return [
        name
        for name, said in inspect.get_annotations(owner).items()
        if not (name.startswith("_") or name in others or is_constant(said))
        # A final name that has a value is the class's, too.
        and not (name in own and _FINAL.match(_text(said)))
    ]


def is_constant(said: Any) -> bool:
    """Whether an annotation says that the name is the class's and no field."""
    return "ClassVar" in _text(said)


def _text(said: Any) -> str:
    return said if isinstance(said, str) else repr(said)


def _discriminators(owner: type[Model]) -> set[str]:
    try:
        rules, _ = field_rules(owner)
    except TypeError:
        # It is derived from a root of all classes, and no object of the protocol.
        return set()
    return {name for name, *_ in field_facts(owner)[len(rules) :]}


def without_unset(said: Any) -> Any:
    """An annotation without the state of an absent member, for those who know no such state."""
    if UnsetType not in get_args(said):
        return said
    return Union[tuple(a for a in get_args(said) if a is not UnsetType)]  # noqa: UP007


def descriptions(owner: type[Model]) -> dict[str, str]:
    """What the docstring says of each field; nothing where docstrings were left out."""
    text = owner.__doc__ or ""
    _, _, members = text.partition("Members:\n")
    # Docstrings lose their indentation in Python 3.13.
    if members.startswith("        "):
        members = re.sub(r"^ {4}", "", members, flags=re.MULTILINE)
    found = {name: " ".join(said.split()) for name, said in _MEMBER.findall(members)}
    for name, kind in types(owner).items():
        if get_origin(kind) is Literal and len(get_args(kind)) == 1 and name not in found:
            found[name] = f"constant; `{get_args(kind)[0]}`."
    return found
