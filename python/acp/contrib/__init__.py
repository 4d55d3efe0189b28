"""Ready parts above a connection: the state of a session, tool calls, permissions.

Owns the names. Nothing here knows a connection: messages are handed in and out, and `import acp`
loads none of it. The modules have further names, such as the errors.
"""

from __future__ import annotations

from acp.contrib.permissions import PermissionBroker, default_permission_options
from acp.contrib.session_state import SessionAccumulator, SessionSnapshot, ToolCallView
from acp.contrib.tool_calls import ToolCallTracker, TrackedToolCallView

__all__ = [
    "PermissionBroker",
    "SessionAccumulator",
    "SessionSnapshot",
    "ToolCallTracker",
    "ToolCallView",
    "TrackedToolCallView",
    "default_permission_options",
]
