"""One module for each library that is measured, all with the same functions.

Each imports its own library and no other side. What the functions are: `Side`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Any, Protocol, cast

__all__ = ("Side", "available")


class Side(Protocol):
    """What each module of this package is."""

    NAME: str

    def decode(self, frame: bytes) -> Any:
        """The bytes of a `session/update` frame to the update in it."""
        ...

    def decode_stream(self, stream: bytes) -> list[Any]:
        """The same for every frame of what was read in one go."""
        ...

    def facts(self, update: Any) -> Any:
        """The kind of the update, and what a program would read of it."""
        ...

    def encoder(self, kind: str) -> Callable[[], bytes]:
        """A function that writes the frame of an update that is there already."""
        ...

    def build(self) -> Any:
        """A message chunk, made in Python."""
        ...


# The distribution that has to be there for a side to be measured.
DISTRIBUTIONS = {
    "native": "acp-native",
    "official": "agent-client-protocol",
    "structs": "msgspec",
    "plain": "orjson",
}


def available() -> list[Side]:
    """The sides whose library this environment has."""
    found: list[Side] = []
    for module, distribution in DISTRIBUTIONS.items():
        try:
            importlib.metadata.distribution(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(cast("Side", importlib.import_module(f"benches.sides.{module}")))
    return found
