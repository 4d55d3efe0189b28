"""Objects of version 2 as they are read from JSON, and as they are written again.

Owns the few functions that read well in an assertion.
"""

from __future__ import annotations

import json
from typing import Any

import acp.v1.schema
import acp.v2.schema
from acp._core import decode, encode

BOTH = {1: acp.v1.schema, 2: acp.v2.schema}


def read(type_name: str, data: Any, *, version: int = 2) -> Any:
    """What plain data, as JSON text, is read as."""
    return decode(version, type_name, json.dumps(data))


def written(value: Any, type_name: str, *, version: int = 2) -> Any:
    """What an object is written as, as plain data."""
    return json.loads(encode(value, version=version, type_name=type_name))


def update(kind: str, /, **members: Any) -> Any:
    """One session update."""
    return read("SessionUpdate", {"sessionUpdate": kind, **members})


def params(update: dict[str, Any], session: str = "s") -> Any:
    """The params of `session/update`, read from JSON text."""
    return read("UpdateSessionNotification", {"sessionId": session, "update": update})


def text(words: str) -> dict[str, Any]:
    """A block of plain text, as plain data."""
    return {"type": "text", "text": words}
