"""An agent that keeps the state of its sessions in a way of its own, and tells of it in updates.

Owns what happens in a session, the live updates about it, and replays of the same state in other
shapes. It knows the wire and nothing of projections: patches are applied here by code of its own.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.v2.wire import text

Json = dict[str, Any]

MESSAGES = ("user_message", "agent_message", "agent_thought", "session_message")
IDS = {
    "tool_call": "toolCallId",
    "compaction": "compactionId",
    "terminal": "terminalId",
    "subagent": "sessionId",
    "cursor": "cursorId",
} | dict.fromkeys(MESSAGES, "messageId")
UPDATES = {
    "tool_call": "tool_call_update",
    "compaction": "compaction_update",
    "terminal": "terminal_update",
    "subagent": "subagent_update",
    "cursor": "cursor_update",
} | {kind: kind for kind in MESSAGES}
LISTS = {"tool_call": "content", "compaction": "summary"} | dict.fromkeys(MESSAGES, "content")
CHUNKS = {"tool_call": "tool_call_content_chunk", "compaction": "compaction_summary_chunk"} | {
    kind: f"{kind}_chunk" for kind in MESSAGES
}
TIMELINE = {*MESSAGES, "tool_call", "compaction", "other"}
RENAMED = {"agent_message", "agent_thought"}
"""Kinds whose ids a replay may choose anew."""

PATCHES: dict[str, dict[str, list[Any]]] = {
    "tool_call": {
        "name": ["read", "_acme.x"],
        "title": ["Read", "Write \u2713"],
        "kind": ["read", "edit", "_acme.kind"],
        "status": ["pending", "in_progress", "paused", "completed", "failed", "_acme.held"],
        "locations": [[], [{"path": "/a", "line": 3}], [{"path": "/b"}, {"path": "/c"}]],
        "rawInput": [{"a": [1, None]}, "text", 0, [], False],
        "rawOutput": [{"ok": True}, 1.5],
        "capabilities": [{}, {"cancel": {}}],
    },
    "terminal": {
        "command": ["ls -l", "make"],
        "cwd": ["/", "/tmp"],
        "exitStatus": [{}, {"exitCode": 0}, {"signal": "SIGTERM"}],
        "size": [{"cols": 80, "rows": 24}],
        "capabilities": [{}, {"cancel": {}}],
    },
    "compaction": {"status": ["in_progress", "completed", "_acme.late"], "error": ["no room"]},
    "subagent": {
        "title": ["Helper"],
        "description": ["Reads"],
        "cwd": ["/sub"],
        "additionalDirectories": [["/x"], ["/y", "/z"]],
        "state": [{"state": "running"}, {"state": "_acme.odd", "n": 1}],
        "capabilities": [{"cancel": {}}],
    },
    "cursor": {"capabilities": [{"fork": {}}, {}]},
    "session_message": {"senderSessionId": ["a"], "recipientSessionId": ["b"]},
}
ITEMS = [
    {"type": "content", "content": text("out")},
    {"type": "terminal", "terminalId": "t1"},
    {"type": "diff", "changes": [{"operation": "add", "path": "/n"}]},
    {"type": "diff", "path": "/p", "newText": "n"},
    {"type": "_acme.chart", "points": [[1, None]]},
]
BLOCKS = [
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "text", "text": "noted", "annotations": {"priority": 0.5}},
    {"type": "text", "text": "tagged", "_meta": {"k": 1}},
    {"type": "_acme.widget", "deep": {"n": [None]}},
]
WORDS = ["a", "Hello ", "w\u00f6rld", "\n", "\U0001f600", "x" * 30]
METAS: list[Any] = [1, "two", {"deep": None, "n": [1]}, [None], False]
STATES: list[Json] = [
    {"state": "running"},
    {"state": "requires_action", "background": []},
    {"state": "idle", "stopReason": "end_turn"},
    {"state": "idle"},
    {"state": "idle", "stopReason": "error", "error": {"code": -32000, "message": "no"}},
    {"state": "unknown"},
    {"state": "_acme.asleep", "until": [None]},
    {"state": "running", "background": [{"type": "tool_call", "toolCallId": "t1"}]},
]
COMMANDS = [{"type": "command", "name": "n", "description": "d"}]
OPTIONS = [
    {"type": "boolean", "configId": "c", "name": "n", "currentValue": True},
    {"type": "_acme.slider", "configId": "d", "name": "m", "max": 9},
]


def patched(stored: Any, patch: Any) -> Any:
    """Metadata after a patch that is not absent."""
    if patch is None:
        return None
    merged: Json = {**(stored or {}), **patch}
    return {key: value for key, value in merged.items() if value is not None}


def joined(blocks: list[Any]) -> list[Any]:
    """Blocks with neighbouring plain texts, which are strings here, put together."""
    made: list[Any] = []
    for block in blocks:
        if isinstance(block, str) and made and isinstance(made[-1], str):
            made[-1] += block
        elif block != "":
            made.append(block)
    return made


class Session:
    """One session of the agent, and what it is told to do at random."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.entities: dict[tuple[str, str], Json] = {}
        self.output: dict[str, bytes] = {}
        self.plans: dict[str, Json] = {}
        self.info: Json = {}
        self.usage: Json = {}
        self.lists: dict[str, list[Any]] = {}
        self.state: Json | None = None
        self.reported: list[Json] = []
        """Background work as last reported."""
        self.active = False
        self.completions = 0
        self.made = 0

    # -- what happens ---------------------------------------------------------

    def step(self) -> list[Json]:
        """One thing happens. The updates that tell of it."""
        kind = self.random.choice([*IDS] * 3 + ["plan", "info", "usage", "list", "state", "other"])
        if kind in IDS:
            return self.entity(kind)
        return getattr(self, f"tell_{kind}")()

    def pick(self, kind: str) -> str:
        """An entity of a kind, which may be a new one."""
        known = [name for found, name in self.entities if found == kind]
        if known and self.random.random() < 0.8:
            return self.random.choice(known[-4:])
        return f"{kind[0]}{len(known) + 1}"

    def entity(self, kind: str) -> list[Json]:
        name = self.pick(kind)
        entity = self.entities.setdefault((kind, name), {})
        acts = [self.patch]
        if kind in LISTS:
            acts += [self.append, self.append, self.rewrite]
        if kind == "terminal":
            acts += [self.print, self.print, self.reprint]
        if kind == "cursor" and "anchor" not in entity:
            entity["anchor"] = {
                "type": "tool_call",
                "toolCallId": "t1",
                "position": self.random.choice(["before", "_acme.in"]),
            }
            return [self.told(kind, name, {"anchor": entity["anchor"]})]
        return self.random.choice(acts)(kind, name, entity)

    def told(self, kind: str, name: str, members: Json) -> Json:
        return {"sessionUpdate": UPDATES[kind], IDS[kind]: name, **members}

    def patch(self, kind: str, name: str, entity: Json) -> list[Json]:
        members: Json = {}
        for member, values in PATCHES.get(kind, {}).items():
            if self.random.random() < 0.3:
                members[member] = self.random.choice([*values, None])
        entity.update(members)
        if self.random.random() < 0.5:
            members["_meta"] = self.meta()
            entity["_meta"] = patched(entity.get("_meta"), members["_meta"])
        return [self.told(kind, name, members)]

    def meta(self) -> Json | None:
        if self.random.random() < 0.1:
            return None
        keys = self.random.sample(["a", "b", "c", "d"], self.random.randint(0, 3))
        return {key: self.random.choice([*METAS, None]) for key in keys}

    def append(self, kind: str, name: str, entity: Json) -> list[Json]:
        if kind == "tool_call":
            pieces = [self.random.choice(ITEMS)]
        elif self.random.random() < 0.3:
            pieces = [self.random.choice(BLOCKS)]
        else:
            pieces = self.random.choices(WORDS, k=self.random.randint(1, 4))
        member = LISTS[kind]
        entity[member] = joined([*(entity.get(member) or []), *pieces])
        return list(self.chunks(kind, name, pieces))

    def chunks(self, kind: str, name: str, pieces: list[Any]) -> Iterator[Json]:
        for piece in pieces:
            content = text(piece) if isinstance(piece, str) else piece
            # Metadata of a chunk is the chunk's.
            yield {
                "sessionUpdate": CHUNKS[kind],
                IDS[kind]: name,
                "content": content,
                "_meta": {"chunk": None},
            }

    def rewrite(self, kind: str, name: str, entity: Json) -> list[Json]:
        member = LISTS[kind]
        pool: list[Any] = ITEMS if kind == "tool_call" else [*WORDS, *BLOCKS]
        new: Any = self.random.choices(pool, k=self.random.randint(0, 3))
        if self.random.random() < 0.2:
            new = None
        entity[member] = None if new is None else joined(new)
        blocks = None if new is None else [text(p) if isinstance(p, str) else p for p in new]
        return [self.told(kind, name, {member: blocks})]

    def print(self, kind: str, name: str, entity: Json) -> list[Json]:
        data = self.random.randbytes(self.random.randint(0, 5))
        self.output[name] = self.output.get(name, b"") + data
        return [printed(name, data)]

    def reprint(self, kind: str, name: str, entity: Json) -> list[Json]:
        if self.random.random() < 0.2:
            self.output[name] = b""
            return [self.told(kind, name, {"output": None})]
        self.output[name] = self.random.randbytes(3)
        return [self.told(kind, name, {"output": encoded(self.output[name])})]

    def tell_plan(self) -> list[Json]:
        name = f"p{self.random.randint(1, 3)}"
        if self.random.random() < 0.3:
            self.plans.pop(name, None)
            return [{"sessionUpdate": "plan_removed", "planId": name}]
        self.plans[name] = self.random.choice(
            [
                {"type": "markdown", "planId": name, "content": self.random.choice(WORDS)},
                {"type": "items", "planId": name, "entries": []},
                {"type": "_acme.gantt", "planId": name, "rows": [self.random.random(), None]},
            ]
        )
        return [{"sessionUpdate": "plan_update", "plan": self.plans[name], "_meta": {"a": None}}]

    def tell_info(self) -> list[Json]:
        members = {
            "title": self.random.choice(["T", "U", None]),
            "updatedAt": self.random.choice(["2026-01-02T03:04:05Z", None]),
        }
        members.pop(self.random.choice(["title", "updatedAt"]))
        return [self.session_patch(self.info, "session_info_update", members)]

    def tell_usage(self) -> list[Json]:
        members: Json = {"used": self.random.randint(0, 9), "size": 2**64 - 1}
        if self.random.random() < 0.5:
            members["cost"] = self.random.choice([{"amount": 0.5, "currency": "EUR"}, None])
        return [self.session_patch(self.usage, "usage_update", members)]

    def session_patch(self, stored: Json, kind: str, members: Json) -> Json:
        stored.update(members)
        if self.random.random() < 0.5:
            members["_meta"] = self.meta()
            stored["_meta"] = patched(stored.get("_meta"), members["_meta"])
        return {"sessionUpdate": kind, **members}

    def tell_list(self) -> list[Json]:
        kind, member, values = self.random.choice(
            [
                ("available_commands_update", "availableCommands", COMMANDS),
                ("config_option_update", "configOptions", OPTIONS),
                ("prompt_suggestions_update", "suggestions", [{"prompt": [text("go")]}]),
            ]
        )
        self.lists[member] = self.random.choices(values, k=self.random.randint(0, 2))
        return [{"sessionUpdate": kind, member: self.lists[member]}]

    def tell_state(self) -> list[Json]:
        new = self.random.choice(STATES)
        # A state may be told any number of times and is one state.
        times = self.random.randint(1, 2)
        self.completions += self.active and new["state"] == "idle"
        if new["state"] in {"running", "requires_action", "idle"}:
            self.active = new["state"] != "idle"
        self.state = new
        self.reported = new.get("background", self.reported)
        return [{"sessionUpdate": "state_update", **new}] * times

    def tell_other(self) -> list[Json]:
        notice = {"sessionUpdate": "notice", "severity": "info", "title": "n"}
        unknown = {"sessionUpdate": "_acme.odd", "deep": [None, {"n": self.random.random()}]}
        self.entities["other", f"o{self.made}"] = unknown
        self.made += 1
        return [notice, unknown]

    def cancel(self) -> list[Json]:
        """The client cancels the active work: what the agent tells afterwards."""
        told: list[Json] = []
        for (kind, name), entity in self.entities.items():
            final = entity.get("status") in {"completed", "failed", "cancelled"}
            if kind == "tool_call" and not final and name not in self.background():
                entity["status"] = "cancelled"
                told.append(self.told(kind, name, {"status": "cancelled"}))
        return told

    def background(self) -> set[str]:
        return {work["toolCallId"] for work in self.reported}

    # -- what it amounts to ---------------------------------------------------

    def expected(self) -> Json:
        """The state of the session, in the form of `tests.v2.projected`."""
        timeline: list[Any] = []
        apart: dict[str, Json] = {}
        for (kind, name), entity in self.entities.items():
            members = dict(entity)
            if kind == "terminal":
                members["output"] = self.output.get(name, b"")
            if kind in LISTS and members.get(LISTS[kind]) is not None:
                blocks = members[LISTS[kind]]
                members[LISTS[kind]] = [text(b) if isinstance(b, str) else b for b in blocks]
            if kind in TIMELINE:
                timeline.append((kind, "" if kind == "other" else name, plain(members)))
            else:
                apart[f"{kind} {name}"] = plain(members)
        return {
            "timeline": timeline,
            "apart": apart | {f"plan {name}": plain(plan) for name, plan in self.plans.items()},
            "info": plain(self.info),
            "usage": plain(self.usage),
            "lists": {name: items for name, items in self.lists.items() if items},
            "state": self.state,
        }


def printed(name: str, data: bytes) -> Json:
    """A piece of the output of a terminal."""
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": name, **encoded(data)}


def encoded(data: bytes) -> Json:
    return {"data": base64.b64encode(data).decode()}


def plain(members: Json) -> Json:
    """Members without those that say nothing: null, and empty lists, metadata and output."""
    return {
        name: value
        for name, value in members.items()
        if value is not None
        and not (name in {"content", "summary", "locations", "_meta", "output"} and not value)
    }
