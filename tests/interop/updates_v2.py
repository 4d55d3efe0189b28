"""One update of each kind of protocol version 2.

Owns what the peers' scenario `everything` sends, as objects of this library.
"""

from __future__ import annotations

from typing import Any

__all__ = ("COMMANDS", "every_update")

COMMANDS = [
    {
        "type": "command",
        "name": "test",
        "description": "Run tests",
        "input": {"type": "text", "hint": "which"},
    }
]
DIFF = {
    "type": "diff",
    "changes": [
        {"operation": "modify", "path": "/tmp/a.txt", "fileType": "text"},
        {"operation": "move", "oldPath": "/tmp/b", "path": "/tmp/c"},
    ],
    "patch": {"format": "git_patch", "text": "--- a\n+++ b\n"},
}
MODEL = {
    "configId": "model",
    "name": "Model",
    "type": "select",
    "category": "model",
    "currentValue": "fast",
    "options": [{"groupId": "g", "name": "Group", "options": [{"value": "fast", "name": "Fast"}]}],
}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def every_update() -> list[dict[str, Any]]:
    """The updates, as JSON data."""
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    widget = {"type": "_interop.test/widget", "colour": "red", "deep": {"n": [1]}}
    entry = {"content": "step", "priority": "high", "status": "cancelled"}
    return [
        _of("user_message_chunk", messageId="u1", content=text("user text")),
        _of("user_message", messageId="u1", content=[text("whole user text")]),
        _of("agent_thought_chunk", messageId="t1", content=text("think")),
        _of("agent_thought", messageId="t1", content=[text("thought")]),
        _of("agent_message_chunk", messageId="a1", content=image),
        _of("agent_message_chunk", messageId="a1", content=widget),
        _of("agent_message", messageId="a1", content=None),
        _of(
            "tool_call_update",
            toolCallId="call_1",
            title="Edit",
            name="edit",
            kind="edit",
            status="pending",
            content=[DIFF],
            locations=[{"path": "/tmp/a.txt", "line": 1}],
            rawInput={"path": "/tmp/a.txt"},
            capabilities={"cancel": {}},
        ),
        _of(
            "tool_call_content_chunk",
            toolCallId="call_1",
            content={"type": "content", "content": text("more")},
        ),
        _of(
            "tool_call_update",
            toolCallId="call_1",
            status="completed",
            rawOutput={"ok": True},
            capabilities=None,
        ),
        _of(
            "terminal_update",
            terminalId="term_1",
            command="ls",
            cwd="/tmp",
            size={"cols": 80, "rows": 24},
        ),
        _of("terminal_output_chunk", terminalId="term_1", data="4pw="),
        _of("terminal_output_chunk", terminalId="term_1", data="kwo="),
        _of(
            "terminal_update",
            terminalId="term_1",
            output={"data": "4pyTCg=="},
            exitStatus={"exitCode": 0},
        ),
        _of("plan_update", plan={"type": "items", "planId": "p1", "entries": [entry]}),
        _of("available_commands_update", availableCommands=COMMANDS),
        _of("config_option_update", configOptions=[MODEL]),
        _of("session_info_update", title="A title", updatedAt="2026-01-02T03:04:05Z"),
        _of("usage_update", used=10, size=100, cost={"amount": 0.5, "currency": "USD"}),
        _of("notice", severity="warning", title="Heads up", description="details"),
        _of("compaction_update", compactionId="c1", status="in_progress"),
        _of("compaction_summary_chunk", compactionId="c1", content=text("summary")),
        _of("_interop.test/custom", anything={"goes": [1, 2, None]}),
    ]


def _of(update: str, /, **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": update, **members}
