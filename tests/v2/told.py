"""Updates as plain data, and a projection that was told of them."""

from __future__ import annotations

from typing import Any

import acp.v2.schema as v2
from acp.v2 import SessionProjection
from tests.v2.wire import params


def made(*updates: dict[str, Any]) -> SessionProjection:
    """A projection of the session `s` after these updates."""
    projection = SessionProjection("s")
    for update in updates:
        assert projection.apply(params(update))
    return projection


def state(name: str, **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "state_update", "state": name, **members}


def call(name: str, **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": name, **members}


def chunk(name: str, content: Any, kind: str = "agent_message", **members: Any) -> dict[str, Any]:
    update = f"{kind}_chunk"
    return {"sessionUpdate": update, "messageId": name, "content": content, **members}


def whole(name: str, kind: str = "agent_message", **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": name, **members}


def texts(projection: SessionProjection) -> list[str]:
    """The texts of the messages, in order; of each the blocks, with bars between."""
    return [
        "|".join(getattr(block, "text", "?") for block in entry.content or [])
        for entry in projection.timeline()
        if isinstance(entry, v2.UserMessage | v2.AgentMessage | v2.AgentThought)
    ]
