"""What a program reads of an update: by attribute for typed objects, by member for JSON values."""

from __future__ import annotations

from typing import Any

from benches import wire

__all__ = ("BUILT", "BUILD_TEXT", "EXPECTED", "by_attribute", "by_member")

BUILD_TEXT = "One small step"


def by_attribute(update: Any, tag: str) -> Any:
    """The tag, and the parts of the update that a client shows."""
    if tag == "agent_message_chunk":
        return tag, update.content.text
    if tag == "plan":
        return tag, [(entry.content, entry.priority, entry.status) for entry in update.entries]
    text, diff = update.content
    return (
        tag,
        (update.tool_call_id, update.status, text.content.text),
        (diff.path, diff.old_text, diff.new_text),
        [(place.path, place.line) for place in update.locations],
        (update.raw_input, update.raw_output),
    )


def by_member(update: Any) -> Any:
    """The same of a JSON value."""
    tag = update["sessionUpdate"]
    if tag == "agent_message_chunk":
        return tag, update["content"]["text"]
    if tag == "plan":
        entries = update["entries"]
        return tag, [(entry["content"], entry["priority"], entry["status"]) for entry in entries]
    text, diff = update["content"]
    return (
        tag,
        (update["toolCallId"], update["status"], text["content"]["text"]),
        (diff["path"], diff["oldText"], diff["newText"]),
        [(place["path"], place["line"]) for place in update["locations"]],
        (update["rawInput"], update["rawOutput"]),
    )


EXPECTED = {kind: by_member(message["params"]["update"]) for kind, message in wire.KINDS.items()}
BUILT = ("agent_message_chunk", BUILD_TEXT)
