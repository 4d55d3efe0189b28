"""Public names that are fetched from their module when they are first used.

Owns the one way in which packages of the library do that. Which names there are is each package's.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ("lazily",)


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
