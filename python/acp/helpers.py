"""Builders of the schema objects that agents and clients make most.

Owns short names for common combinations. No builder knows a connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._arguments import given
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AudioContentBlock,
    AvailableCommand,
    AvailableCommandsUpdate,
    BlobResourceContents,
    ContentToolCallContent,
    CurrentModeUpdate,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ImageContentBlock,
    PlanEntry,
    PlanEntryPriority,
    PlanEntryStatus,
    ResourceContentBlock,
    SessionInfoUpdate,
    SessionNotification,
    TerminalToolCallContent,
    TextContentBlock,
    TextResourceContents,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolKind,
    UserMessageChunk,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ContentBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
"""What a message or a prompt is made of."""

SessionUpdate = (
    AgentMessageChunk
    | AgentPlanUpdate
    | AgentThoughtChunk
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | UserMessageChunk
    | ToolCallStart
    | ToolCallProgress
    | SessionInfoUpdate
)
"""What an agent tells about a session."""

ToolCallContentVariant = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent
"""What a tool call shows."""

__all__ = [
    "audio_block",
    "embedded_blob_resource",
    "embedded_text_resource",
    "image_block",
    "plan_entry",
    "resource_block",
    "resource_link_block",
    "session_notification",
    "start_edit_tool_call",
    "start_read_tool_call",
    "start_tool_call",
    "text_block",
    "tool_content",
    "tool_diff_content",
    "tool_terminal_ref",
    "update_agent_message",
    "update_agent_message_text",
    "update_agent_thought",
    "update_agent_thought_text",
    "update_available_commands",
    "update_current_mode",
    "update_plan",
    "update_tool_call",
    "update_user_message",
    "update_user_message_text",
]


def text_block(text: str) -> TextContentBlock:
    """Text, as Markdown."""
    return TextContentBlock(text=text)


def image_block(data: str, mime_type: str, *, uri: str | None = None) -> ImageContentBlock:
    """An image; `data` is base64."""
    return ImageContentBlock(data=data, mime_type=mime_type, **given(uri=uri))


def audio_block(data: str, mime_type: str) -> AudioContentBlock:
    """Sound; `data` is base64."""
    return AudioContentBlock(data=data, mime_type=mime_type)


def resource_link_block(
    name: str,
    uri: str,
    *,
    mime_type: str | None = None,
    size: int | None = None,
    description: str | None = None,
    title: str | None = None,
) -> ResourceContentBlock:
    """A resource that the receiver can fetch by its URI; `size` is in bytes."""
    optional = given(mime_type=mime_type, size=size, description=description, title=title)
    return ResourceContentBlock(name=name, uri=uri, **optional)


def embedded_text_resource(
    uri: str, text: str, *, mime_type: str | None = None
) -> TextResourceContents:
    """The text of a resource, for `resource_block`."""
    return TextResourceContents(uri=uri, text=text, **given(mime_type=mime_type))


def embedded_blob_resource(
    uri: str, blob: str, *, mime_type: str | None = None
) -> BlobResourceContents:
    """The bytes of a resource in base64, for `resource_block`."""
    return BlobResourceContents(uri=uri, blob=blob, **given(mime_type=mime_type))


def resource_block(
    resource: TextResourceContents | BlobResourceContents,
) -> EmbeddedResourceContentBlock:
    """A resource with its contents."""
    return EmbeddedResourceContentBlock(resource=resource)


def tool_content(block: ContentBlock) -> ContentToolCallContent:
    """A content block, as what a tool call shows."""
    return ContentToolCallContent(content=block)


def tool_diff_content(
    path: str, new_text: str, old_text: str | None = None
) -> FileEditToolCallContent:
    """A change of one file, as what a tool call shows. Without `old_text` the file is new."""
    return FileEditToolCallContent(path=path, new_text=new_text, **given(old_text=old_text))


def tool_terminal_ref(terminal_id: str) -> TerminalToolCallContent:
    """A terminal of the client, as what a tool call shows."""
    return TerminalToolCallContent(terminal_id=terminal_id)


def plan_entry(
    content: str,
    *,
    priority: PlanEntryPriority = "medium",
    status: PlanEntryStatus = "pending",
) -> PlanEntry:
    """One step of a plan."""
    return PlanEntry(content=content, priority=priority, status=status)


def update_plan(entries: Iterable[PlanEntry]) -> AgentPlanUpdate:
    """The whole plan; it takes the place of the one before."""
    return AgentPlanUpdate(entries=list(entries))


def update_user_message(content: ContentBlock) -> UserMessageChunk:
    """A part of a message of the user."""
    return UserMessageChunk(content=content)


def update_user_message_text(text: str) -> UserMessageChunk:
    """A part of a message of the user, as text."""
    return UserMessageChunk(content=TextContentBlock(text=text))


def update_agent_message(content: ContentBlock) -> AgentMessageChunk:
    """A part of the agent's answer."""
    return AgentMessageChunk(content=content)


def update_agent_message_text(text: str) -> AgentMessageChunk:
    """A part of the agent's answer, as text."""
    return AgentMessageChunk(content=TextContentBlock(text=text))


def update_agent_thought(content: ContentBlock) -> AgentThoughtChunk:
    """A part of the agent's reasoning."""
    return AgentThoughtChunk(content=content)


def update_agent_thought_text(text: str) -> AgentThoughtChunk:
    """A part of the agent's reasoning, as text."""
    return AgentThoughtChunk(content=TextContentBlock(text=text))


def update_available_commands(commands: Iterable[AvailableCommand]) -> AvailableCommandsUpdate:
    """The commands that the user can type now; they take the place of those before."""
    return AvailableCommandsUpdate(available_commands=list(commands))


def update_current_mode(current_mode_id: str) -> CurrentModeUpdate:
    """The mode that the session is in from now on."""
    return CurrentModeUpdate(current_mode_id=current_mode_id)


def session_notification(session_id: str, update: SessionUpdate) -> SessionNotification:
    """The params of a `session/update`."""
    return SessionNotification(session_id=session_id, update=update)


def start_tool_call(
    tool_call_id: str,
    title: str,
    *,
    kind: ToolKind | None = None,
    status: ToolCallStatus | None = None,
    content: Sequence[ToolCallContentVariant] | None = None,
    locations: Sequence[ToolCallLocation] | None = None,
    raw_input: Any | None = None,
    raw_output: Any | None = None,
) -> ToolCallStart:
    """The start of a tool call; `update_tool_call` with the same id goes on with it."""
    return ToolCallStart(
        tool_call_id=tool_call_id,
        title=title,
        **_tool_call(kind, status, content, locations, raw_input, raw_output),
    )


def start_read_tool_call(
    tool_call_id: str,
    title: str,
    path: str,
    *,
    extra_options: Sequence[ToolCallContentVariant] | None = None,
) -> ToolCallStart:
    """The start of a tool call that reads the file `path`."""
    return start_tool_call(
        tool_call_id,
        title,
        kind="read",
        status="pending",
        content=extra_options,
        locations=[ToolCallLocation(path=path)],
        raw_input={"path": path},
    )


def start_edit_tool_call(
    tool_call_id: str,
    title: str,
    path: str,
    content: Any,
    *,
    extra_options: Sequence[ToolCallContentVariant] | None = None,
) -> ToolCallStart:
    """The start of a tool call that changes the file `path`; `content` is what it is to write."""
    return start_tool_call(
        tool_call_id,
        title,
        kind="edit",
        status="pending",
        content=extra_options,
        locations=[ToolCallLocation(path=path)],
        raw_input={"path": path, "content": content},
    )


def update_tool_call(
    tool_call_id: str,
    *,
    title: str | None = None,
    kind: ToolKind | None = None,
    status: ToolCallStatus | None = None,
    content: Sequence[ToolCallContentVariant] | None = None,
    locations: Sequence[ToolCallLocation] | None = None,
    raw_input: Any | None = None,
    raw_output: Any | None = None,
) -> ToolCallProgress:
    """News of a tool call: what is given here takes the place of what was said before."""
    return ToolCallProgress(
        tool_call_id=tool_call_id,
        **given(title=title),
        **_tool_call(kind, status, content, locations, raw_input, raw_output),
    )


def _tool_call(
    kind: ToolKind | None,
    status: ToolCallStatus | None,
    content: Sequence[ToolCallContentVariant] | None,
    locations: Sequence[ToolCallLocation] | None,
    raw_input: Any | None,
    raw_output: Any | None,
) -> dict[str, Any]:
    return given(
        kind=kind,
        status=status,
        content=None if content is None else list(content),
        locations=None if locations is None else list(locations),
        raw_input=raw_input,
        raw_output=raw_output,
    )
