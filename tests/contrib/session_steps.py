"""Updates of a session as hypothesis draws them, and a plain model of what they amount to.

Owns the model: dicts and lists of JSON, folded by the simplest rules that tell what is right.
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

import acp
from acp.schema import SessionNotification

Json = dict[str, Any]

NEWS = ("title", "kind", "status", "content", "locations", "rawInput", "rawOutput")
CHUNKS = {
    "user_message_chunk": "user_messages",
    "agent_message_chunk": "agent_messages",
    "agent_thought_chunk": "agent_thoughts",
}

_TEXTS = st.text(max_size=5)
_CONTENT = st.lists(
    st.builds(lambda text: {"type": "content", "content": {"type": "text", "text": text}}, _TEXTS),
    max_size=2,
)
_LOCATIONS = st.lists(st.builds(lambda path: {"path": path}, _TEXTS), max_size=2)
_RAW = st.one_of(_TEXTS, st.integers(0, 9), st.builds(lambda text: {"in": [text]}, _TEXTS))
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(["read", "edit", "execute"]),
    "status": st.sampled_from(["pending", "in_progress", "completed", "failed"]),
    "content": _CONTENT,
    "locations": _LOCATIONS,
    "rawInput": _RAW,
    "rawOutput": _RAW,
}
_IDS = st.sampled_from(["c1", "c2", "c3"])

UPDATES: st.SearchStrategy[Json] = st.one_of(
    st.fixed_dictionaries(
        {"sessionUpdate": st.just("tool_call"), "toolCallId": _IDS, "title": _TEXTS},
        optional=MEMBERS,
    ),
    st.fixed_dictionaries(
        {"sessionUpdate": st.just("tool_call_update"), "toolCallId": _IDS},
        optional={"title": _TEXTS, **MEMBERS},
    ),
    st.builds(
        lambda kind, text: {"sessionUpdate": kind, "content": {"type": "text", "text": text}},
        st.sampled_from(list(CHUNKS)),
        _TEXTS,
    ),
    st.builds(
        lambda texts: {
            "sessionUpdate": "plan",
            "entries": [{"content": t, "priority": "low", "status": "pending"} for t in texts],
        },
        st.lists(_TEXTS, max_size=2),
    ),
    st.builds(lambda mode: {"sessionUpdate": "current_mode_update", "currentModeId": mode}, _TEXTS),
    st.builds(
        lambda names: {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": name, "description": ""} for name in names],
        },
        st.lists(_TEXTS, max_size=2),
    ),
    st.just({"sessionUpdate": "usage_update", "used": 1, "size": 2}),
)


def notification(update: Json | Any, session_id: str = "s") -> SessionNotification:
    """An update as a message, read from its JSON or made from an object."""
    if isinstance(update, dict):
        message = {"sessionId": session_id, "update": update}
        return SessionNotification.model_validate(message)
    return acp.session_notification(session_id, update)


class Model:
    """What the updates of one session amount to."""

    def __init__(self) -> None:
        self.state: Json = {
            "tool_calls": {},
            "plan_entries": [],
            "current_mode_id": None,
            "available_commands": [],
            **{name: [] for name in CHUNKS.values()},
        }

    def fold(self, update: Json) -> None:
        update = copy.deepcopy(update)
        kind = update["sessionUpdate"]
        calls = self.state["tool_calls"]
        if kind == "tool_call":
            calls[update["toolCallId"]] = {name: update.get(name) for name in NEWS}
        elif kind == "tool_call_update":
            call = calls.setdefault(update["toolCallId"], dict.fromkeys(NEWS))
            call.update({name: update[name] for name in NEWS if update.get(name) is not None})
        elif kind == "plan":
            self.state["plan_entries"] = update["entries"]
        elif kind == "current_mode_update":
            self.state["current_mode_id"] = update["currentModeId"]
        elif kind == "available_commands_update":
            self.state["available_commands"] = update["availableCommands"]
        elif kind in CHUNKS:
            self.state[CHUNKS[kind]].append(update)

    def told(self) -> Json:
        """In the form of `told` below: empty lists of calls are as good as none."""
        told = copy.deepcopy(self.state)
        for call in told["tool_calls"].values():
            call.update({name: call[name] or None for name in ("content", "locations")})
        return told


def told(snapshot: Any) -> Json:
    """A snapshot in JSON of the wire."""
    dumped = snapshot.model_dump(mode="json", by_alias=True)
    del dumped["session_id"]
    for call in dumped["tool_calls"].values():
        del call["tool_call_id"]
        call["rawInput"], call["rawOutput"] = call.pop("raw_input"), call.pop("raw_output")
    return without_nulls(dumped)


def without_nulls(dumped: Json) -> Json:
    """Of the objects of the schema; the members of calls and snapshots stay."""

    def pruned(value: Any) -> Any:
        if isinstance(value, list):
            return [pruned(item) for item in value]
        if isinstance(value, dict):
            return {key: pruned(item) for key, item in value.items() if item is not None}
        return value

    calls = {
        key: {name: pruned(value) for name, value in call.items()}
        for key, call in dumped["tool_calls"].items()
    }
    return {name: pruned(value) for name, value in dumped.items()} | {"tool_calls": calls}
