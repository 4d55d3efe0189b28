"""Protocol version 1.

Owns the names of the version that is in use today. Each is fetched from its module when it is first
used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acp.v1 import schema as schema
    from acp.v1._endpoint import Agent, Client, Connection, Context
    from acp.v1._sessions import (
        ActiveSession,
        PromptOutcome,
        Session,
        SessionBuilder,
        SessionMessage,
    )

__all__ = [
    "ActiveSession",
    "Agent",
    "Client",
    "Connection",
    "Context",
    "PromptOutcome",
    "Session",
    "SessionBuilder",
    "SessionMessage",
]

_MODULES = {
    "acp.v1._endpoint": "Agent Client Connection Context",
    "acp.v1._sessions": "ActiveSession PromptOutcome Session SessionBuilder SessionMessage",
}
"""Where each public name is defined."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "schema":
        return importlib.import_module("acp.v1.schema")
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "schema"})
