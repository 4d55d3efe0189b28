"""Objects of the schema that are kept.

Owns the copies that hold what counts and nothing else, and how large a value is.
"""

from __future__ import annotations

from typing import Any

from acp._core import decode, encode

__all__ = ("cleaned", "size_of")


def cleaned(value: object, type_name: str) -> Any:
    """A copy of an object of version 2, without the unknown members of known objects: those are no
    part of its meaning, and have no size.

    Raises ValidationError for one that cannot be written, TypeError for one of another version.
    """
    return decode(2, type_name, encode(value, version=2, type_name=type_name))


def size_of(value: object) -> int:
    """Bytes of the JSON text of a value."""
    return len(encode(value))
