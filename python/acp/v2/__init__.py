"""Protocol version 2, a draft: it changes with every release of the protocol.

Owns the names of that version; importing this package is the consent to that. Each is fetched from
its module when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp._lazy import lazily

if TYPE_CHECKING:
    from acp.v2 import schema as schema
    from acp.v2._agent_sessions import AgentSession, AgentSessions
    from acp.v2._endpoint import Agent, Client, Connection, Context
    from acp.v2._folding import apply_meta_update, apply_update
    from acp.v2._foreground import Foreground
    from acp.v2._idle import IdleWait
    from acp.v2._obligations import check_prompt, check_replay
    from acp.v2._projection import SessionProjection
    from acp.v2._sessions import Session, SessionBuilder, SessionSetup, UpdateStream
    from acp.v2._shared_sessions import SharedSessions
    from acp.v2._shared_views import SessionChanges, SessionView
    from acp.v2._views import ProjectionLimits, ProjectionStats, TerminalView

__all__ = [
    "Agent",
    "AgentSession",
    "AgentSessions",
    "Client",
    "Connection",
    "Context",
    "Foreground",
    "IdleWait",
    "ProjectionLimits",
    "ProjectionStats",
    "Session",
    "SessionBuilder",
    "SessionChanges",
    "SessionProjection",
    "SessionSetup",
    "SessionView",
    "SharedSessions",
    "TerminalView",
    "UpdateStream",
    "apply_meta_update",
    "apply_update",
    "check_prompt",
    "check_replay",
]

_MODULES = {
    "acp.v2._endpoint": "Agent Client Connection Context",
    "acp.v2._agent_sessions": "AgentSession AgentSessions",
    "acp.v2._folding": "apply_meta_update apply_update",
    "acp.v2._foreground": "Foreground",
    "acp.v2._idle": "IdleWait",
    "acp.v2._obligations": "check_prompt check_replay",
    "acp.v2._projection": "SessionProjection",
    "acp.v2._sessions": "Session SessionBuilder SessionSetup UpdateStream",
    "acp.v2._shared_sessions": "SharedSessions",
    "acp.v2._shared_views": "SessionChanges SessionView",
    "acp.v2._views": "ProjectionLimits ProjectionStats TerminalView",
}
"""Where each public name is defined."""

__getattr__, __dir__ = lazily(__name__, _MODULES, ("schema",))
