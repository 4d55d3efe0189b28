"""The messages that all sides are measured on, as JSON values and as frames.

Owns the texts and sizes; knows no library. Sizes include the newline.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = (
    "CHUNK",
    "CHUNK_V2",
    "FRAMES",
    "KINDS",
    "PLAN",
    "SESSION",
    "TEXT",
    "TOOL_UPDATE",
    "TOOL_UPDATE_V2",
    "frame",
)

SESSION = "session-7f3a"
TEXT = "The parser takes one line, and then stops."

Json = dict[str, Any]


def update(body: Json) -> Json:
    """A `session/update` notification around `body`."""
    params = {"sessionId": SESSION, "update": body}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def frame(message: Json) -> bytes:
    """The compact line of a message."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


CHUNK = update(
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": TEXT}},
)

TOOL_UPDATE = update(
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "call-42",
        "status": "completed",
        "content": [
            {
                "type": "content",
                "content": {"type": "text", "text": "src/parser.py:17: unused name\n" * 4},
            },
            {
                "type": "diff",
                "path": "/home/dev/app/src/parser.py",
                "oldText": "import os",
                "newText": "",
            },
        ],
        "locations": [{"path": "/home/dev/app/src/parser.py", "line": 17}],
        "rawInput": {"path": "/home/dev/app/src/parser.py", "limit": 9},
        "rawOutput": {"ok": True, "n": 5},
    },
)

PLAN = update(
    {
        "sessionUpdate": "plan",
        "entries": [
            {"content": f"Step {n}: read the next file", "priority": "high", "status": "pending"}
            for n in range(8)
        ],
    },
)

CHUNK_V2 = update(
    {
        "sessionUpdate": "agent_message_chunk",
        "messageId": "message-1",
        "content": {"type": "text", "text": TEXT},
    },
)

TOOL_UPDATE_V2 = update(
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "call-42",
        "status": "completed",
        "content": [
            {
                "type": "content",
                "content": {"type": "text", "text": "src/parser.py:17: unused name\n" * 4},
            },
            {
                "type": "diff",
                "changes": [{"operation": "modify", "path": "/home/dev/app/src/parser.py"}],
            },
        ],
        "locations": [{"path": "/home/dev/app/src/parser.py", "line": 17}],
        "rawInput": {"path": "/home/dev/app/src/parser.py", "limit": 9},
        "rawOutput": {"ok": True, "n": 5},
    },
)

KINDS: dict[str, Json] = {"chunk": CHUNK, "tool_update": TOOL_UPDATE, "plan": PLAN}
FRAMES: dict[str, bytes] = {kind: frame(message) for kind, message in KINDS.items()}
SIZES = {"chunk": 209, "tool_update": 604}

if any(len(FRAMES[kind]) != size for kind, size in SIZES.items()):
    raise AssertionError({kind: len(FRAMES[kind]) for kind in SIZES})
