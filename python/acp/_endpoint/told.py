"""What a peer tells of itself.

Owns reading its capabilities, and what its refusal of `initialize` says about versions. It sends
nothing and keeps nothing.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast

from acp._core import UNSET
from acp.exceptions import VersionMismatch

if TYPE_CHECKING:
    from acp.exceptions import RequestError

__all__ = ("mismatch_of", "offers")

_UNSUPPORTED_VERSION = -32022


def offers(capabilities: Any, path: str) -> bool:
    """Whether capabilities have something at a path with dots.

    An object counts by being there, also when it is empty.
    """
    found = capabilities
    for step in path.split("."):
        found = getattr(found, step, None)
        if found is None or found is False or found is UNSET:
            return False
    return True


def mismatch_of(error: RequestError) -> VersionMismatch | None:
    """What an error of `initialize` says about versions; None when that is nothing."""
    if isinstance(error, VersionMismatch):
        return error
    if error.code != _UNSUPPORTED_VERSION:
        return None
    supported: tuple[int, ...] = ()
    # What the peer sends as data may be anything.
    with contextlib.suppress(TypeError, KeyError):
        listed = cast("Any", error.data)["supported"]
        supported = tuple(each for each in listed if isinstance(each, int))
    return VersionMismatch(error.code, error.message, error.data, supported=supported)
