"""Protocol version 1.

Owns the names of the version that is in use today. Each is fetched from its module when it is first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp._lazy import lazily

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

__getattr__, __dir__ = lazily(__name__, _MODULES, ("schema",))
