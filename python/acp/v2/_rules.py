"""What each kind of update says about a session.

Owns the table from classes of updates to what they do to which entity. It keeps and folds nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from acp.v2.schema import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    BaseModel,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    CursorUpdate,
    IdleStateUpdate,
    Notice,
    OtherSessionUpdate,
    OtherStateUpdate,
    PlanRemoved,
    PlanUpdate,
    PromptSuggestionsUpdate,
    ReplayComplete,
    RequiresActionStateUpdate,
    RunningStateUpdate,
    SessionInfoUpdate,
    SessionMessage,
    SessionMessageChunk,
    SubagentUpdate,
    TerminalOutputChunk,
    TerminalUpdate,
    ToolCallContentChunk,
    ToolCallUpdate,
    UnknownStateUpdate,
    UsageUpdate,
    UserMessage,
    UserMessageChunk,
)

if TYPE_CHECKING:
    from acp.v2._entities import Kind

__all__ = ("Rule", "rule_of")

Act = Literal[
    "patch",
    "append",
    "set_plan",
    "remove_plan",
    "set_state",
    "patch_session",
    "replace_list",
    "note",
    "end_replay",
    "keep",
]


class Rule(NamedTuple):
    """What one kind of update does."""

    act: Act
    kind: Kind = "other"
    """The kind of entity that it is about, if it is about one."""
    id: str = ""
    """The member that is the entity's id."""
    value: str = ""
    """The member that is appended, or replaces a value of the session."""
    type: str = ""
    """The type of the updates."""


_RULES: dict[type[BaseModel], Rule] = {
    UserMessageChunk: Rule("append", "user_message", "message_id", "content"),
    AgentMessageChunk: Rule("append", "agent_message", "message_id", "content"),
    AgentThoughtChunk: Rule("append", "agent_thought", "message_id", "content"),
    SessionMessageChunk: Rule("append", "session_message", "message_id", "content"),
    ToolCallContentChunk: Rule("append", "tool_call", "tool_call_id", "content"),
    CompactionSummaryChunk: Rule("append", "compaction", "compaction_id", "content"),
    TerminalOutputChunk: Rule("append", "terminal", "terminal_id", "data"),
    UserMessage: Rule("patch", "user_message", "message_id"),
    AgentMessage: Rule("patch", "agent_message", "message_id"),
    AgentThought: Rule("patch", "agent_thought", "message_id"),
    SessionMessage: Rule("patch", "session_message", "message_id"),
    ToolCallUpdate: Rule("patch", "tool_call", "tool_call_id"),
    CompactionUpdate: Rule("patch", "compaction", "compaction_id"),
    TerminalUpdate: Rule("patch", "terminal", "terminal_id"),
    SubagentUpdate: Rule("patch", "subagent", "session_id"),
    CursorUpdate: Rule("patch", "cursor", "cursor_id"),
    PlanUpdate: Rule("set_plan", "plan"),
    PlanRemoved: Rule("remove_plan", "plan", "plan_id"),
    RunningStateUpdate: Rule("set_state"),
    IdleStateUpdate: Rule("set_state"),
    RequiresActionStateUpdate: Rule("set_state"),
    UnknownStateUpdate: Rule("set_state"),
    OtherStateUpdate: Rule("set_state"),
    SessionInfoUpdate: Rule("patch_session"),
    UsageUpdate: Rule("patch_session"),
    AvailableCommandsUpdate: Rule("replace_list", value="available_commands"),
    ConfigOptionUpdate: Rule("replace_list", value="config_options"),
    PromptSuggestionsUpdate: Rule("replace_list", value="suggestions"),
    Notice: Rule("note"),
    ReplayComplete: Rule("end_replay"),
    OtherSessionUpdate: Rule("keep"),
}


@lru_cache(maxsize=256)
def rule_of(cls: type[object]) -> Rule | None:
    """The rule for updates of a class or of one above it; None for what is no update."""
    base = next((base for base in cls.__mro__ if base in _RULES), None)
    return None if base is None else _RULES[base]._replace(type=base.__name__)
