"""What the source says about the fields of schema classes: types, and a sentence for each.

Owns the evaluation of annotations, whose names are imported for type checkers only, and the reading
of docstrings. Knows neither values nor pydantic.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, Literal, Union, get_args, get_origin

from acp._core import Model, UnsetType

__all__ = ["descriptions", "types", "without_unset"]

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
