"""What a projection holds, as plain data that compares with a model of an agent."""

from __future__ import annotations

from typing import Any

import acp.v2.schema as v2
from acp.v2 import SessionProjection, TerminalView
from tests.v2.agent_model import IDS, Json, plain
from tests.v2.wire import written

KINDS: dict[type[Any], str] = {
    v2.UserMessage: "user_message",
    v2.AgentMessage: "agent_message",
    v2.AgentThought: "agent_thought",
    v2.SessionMessage: "session_message",
    v2.ToolCallUpdate: "tool_call",
    v2.CompactionUpdate: "compaction",
    v2.OtherSessionUpdate: "other",
}


def members_of(entry: Any, kind: str) -> tuple[str, Json]:
    """Id and members of a snapshot."""
    data = written(entry, type(entry).__name__)
    name = "" if kind == "other" else data.pop(IDS[kind])
    data.pop("sessionUpdate", None) if kind != "other" else None
    return name, plain(data)


def terminal_of(view: TerminalView) -> Json:
    data = written(view.terminal, "TerminalUpdate")
    del data["terminalId"]
    return plain(data | {"output": view.output})


def projected(projection: SessionProjection) -> Json:
    """Everything that can be read of a projection."""
    timeline: list[Any] = []
    for entry in projection.timeline():
        kind = KINDS[type(entry)]
        timeline.append((kind, *members_of(entry, kind)))
    apart: dict[str, Json] = {}
    for name in projection.ids("terminal"):
        view = projection.get("terminal", name)
        assert view is not None
        apart[f"terminal {name}"] = terminal_of(view)
    for kind in ("subagent", "cursor"):
        for name in projection.ids(kind):
            apart[f"{kind} {name}"] = members_of(projection.get(kind, name), kind)[1]
    for name in projection.ids("plan"):
        apart[f"plan {name}"] = plain(written(projection.get("plan", name), "PlanUpdateContent"))
    lists = {
        "availableCommands": (projection.available_commands, "AvailableCommand"),
        "configOptions": (projection.config_options, "SessionConfigOption"),
        "suggestions": (projection.prompt_suggestions, "PromptSuggestion"),
    }
    return {
        "timeline": timeline,
        "apart": apart,
        "info": session_value(projection.info),
        "usage": session_value(projection.usage),
        "lists": {
            name: [written(item, type_name) for item in items]
            for name, (items, type_name) in lists.items()
            if items
        },
        "state": None if projection.state is None else written(projection.state, "StateUpdate"),
    }


def session_value(value: Any) -> Json:
    if value is None:
        return {}
    data = written(value, type(value).__name__)
    data.pop("sessionUpdate", None)
    return plain(data)
