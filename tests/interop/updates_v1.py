"""One update of every kind of version 1, as objects of ours.

Owns what the scenario `everything` sends: the same as `everyUpdate` of the peers. It knows no
connection.
"""

from __future__ import annotations

from typing import Any

from acp import schema

__all__ = ("COUNT_META", "KIND_META", "every_update")

KIND_META = "interop.test/kind"
"""The member of `_meta` that repeats the kind of an update."""
COUNT_META = "interop.test/count"
"""The member of `_meta` of the answer to `everything`: how many updates there were."""


def every_update() -> list[Any]:
    """The updates, in the order of the schema, each with its kind in `_meta`."""
    text = schema.TextContentBlock
    content = [
        schema.UserMessageChunk(message_id="u1", content=text(text="user text")),
        _answer(schema.ImageContentBlock(data="aGk=", mime_type="image/png", uri="file:///i.png")),
        _answer(schema.AudioContentBlock(data="aGk=", mime_type="audio/wav")),
        _answer(schema.ResourceContentBlock(uri="file:///a.txt", name="a.txt", size=3)),
        _answer(
            schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents(
                    uri="file:///b.txt", mime_type="text/plain", text="b"
                )
            )
        ),
        schema.AgentThoughtChunk(message_id="t1", content=text(text="thinking")),
    ]
    tools = [
        schema.ToolCallStart(
            tool_call_id="call_1",
            title="Edit a file",
            name="edit",
            kind="edit",
            status="in_progress",
            content=[schema.FileEditToolCallContent(path="/tmp/a.txt", new_text="new")],
            locations=[schema.ToolCallLocation(path="/tmp/a.txt", line=1)],
            raw_input={"path": "/tmp/a.txt"},
        ),
        schema.ToolCallProgress(
            tool_call_id="call_1",
            status="completed",
            content=[schema.ContentToolCallContent(content=text(text="done"))],
            raw_output={"ok": True},
        ),
        schema.AgentPlanUpdate(
            entries=[schema.PlanEntry(content="step", priority="high", status="in_progress")]
        ),
    ]
    state = [
        schema.AvailableCommandsUpdate(
            available_commands=[
                schema.AvailableCommand(
                    name="test",
                    description="Run tests",
                    input=schema.UnstructuredCommandInput(hint="which"),
                )
            ]
        ),
        schema.CurrentModeUpdate(current_mode_id="code"),
        schema.ConfigOptionUpdate(
            config_options=[
                schema.SessionConfigOptionSelect(
                    id="model",
                    name="Model",
                    category="model",
                    current_value="fast",
                    options=[schema.SessionConfigSelectOption(value="fast", name="Fast")],
                )
            ]
        ),
        schema.SessionInfoUpdate(title="A title", updated_at="2026-01-02T03:04:05Z"),
        schema.UsageUpdate(used=10, size=100, cost=schema.Cost(amount=0.5, currency="USD")),
        schema.Notice(severity="warning", title="Heads up", description="details"),
        schema.CompactionUpdate(compaction_id="c1", status="in_progress"),
        schema.CompactionSummaryChunk(compaction_id="c1", content=text(text="summary")),
    ]
    updates: list[Any] = [*content, *tools, *state]
    for update in updates:
        update.field_meta = {KIND_META: update.session_update}
    return updates


def _answer(content: Any) -> schema.AgentMessageChunk:
    return schema.AgentMessageChunk(message_id="a1", content=content)
