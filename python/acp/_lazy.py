"""Public names that are fetched from their module when they are first used.

Owns the one way in which packages of the library do that. Which names there are is each package's.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ("lazily", "passing_on")


def lazily(
    package: str, modules: Mapping[str, str], submodules: Iterable[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package has as `__getattr__` and `__dir__`.

    Args:
        package: Its name.
        modules: For each module the names that come from it, with spaces between.
        submodules: Modules that are attributes of the package without having been imported.

    The first raises AttributeError for a name that is not there.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}
    nested = frozenset(submodules)
    members = sys.modules[package].__dict__

    def fetch(name: str) -> Any:
        if name in nested:
            return import_module(f"{package}.{name}")
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        value = members[name] = getattr(import_module(homes[name]), name)
        return value

    def names() -> list[str]:
        return sorted({*members, *members["__all__"], *nested})

    return fetch, names


def passing_on(module: str, *homes: str) -> Callable[[str], Any]:
    """What a module has as `__getattr__` that also has the public names of others.

    The official Python SDK imports them there, and programs may have followed. Type checkers are
    told of their own places alone.
    """

    members = sys.modules[module].__dict__

    def fetch(name: str) -> Any:
        for home in homes if not name.startswith("_") else ():
            names = import_module(home)
            if name in names.__all__:
                value = members[name] = getattr(names, name)
                return value
        message = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(message)

    return fetch
