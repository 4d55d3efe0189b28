"""The state of a session told once more, in another shape than it came about.

Owns how an agent replays what it keeps: whole messages or pieces cut elsewhere, members in one
update or several, ids of its own messages that are new.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.v2.agent_model import (
    LISTS,
    RENAMED,
    TIMELINE,
    Json,
    Session,
    encoded,
    printed,
)
from tests.v2.wire import text


class Replay:
    """One replay of a session; `renamed` has the new ids by kind and old id.

    With `keep_ids` it can be applied on top of what was seen before: every list and output begins
    empty before its pieces, and updates of unknown kinds, which have no id, are left out.
    """

    def __init__(self, session: Session, random: Random, *, keep_ids: bool) -> None:
        self.session = session
        self.random = random
        self.keep_ids = keep_ids
        self.renamed: dict[tuple[str, str], str] = {}

    def updates(self) -> list[Json]:
        """All updates of the replay, in order."""
        session = self.session
        history: list[list[Json]] = []
        beside: list[list[Json]] = []
        for (kind, name), entity in session.entities.items():
            if kind == "other":
                if not self.keep_ids:
                    history.append([entity])
                continue
            (history if kind in TIMELINE else beside).append(self.entity(kind, name, entity))
        beside += [
            [{"sessionUpdate": "plan_update", "plan": plan}] for plan in session.plans.values()
        ]
        for kind, members in (
            ("session_info_update", session.info),
            ("usage_update", session.usage),
        ):
            if members:
                beside.append([{"sessionUpdate": kind, **self.over(members)}])
        for kind, member in (
            ("available_commands_update", "availableCommands"),
            ("config_option_update", "configOptions"),
            ("prompt_suggestions_update", "suggestions"),
        ):
            if member in session.lists:
                beside.append([{"sessionUpdate": kind, member: session.lists[member]}])
        told = [update for updates in self.mixed(history, beside) for update in updates]
        told.append({"sessionUpdate": "replay_complete"})
        if session.state is not None:
            told.append({"sessionUpdate": "state_update", **session.state})
        return told

    def mixed(self, history: list[list[Json]], beside: list[list[Json]]) -> list[list[Json]]:
        """The history in its order, and the rest anywhere in between."""
        told = history[:]
        for updates in beside:
            told.insert(self.random.randint(0, len(told)), updates)
        return told

    def over(self, members: Json) -> Json:
        """Members of an upsert so that they hold whatever was told before."""
        meta = members.get("_meta", ...)
        if meta is ... or not self.keep_ids:
            return {name: value for name, value in members.items() if value is not None}
        return {name: value for name, value in members.items() if name != "_meta" or value}

    def entity(self, kind: str, name: str, entity: Json) -> list[Json]:
        if kind in RENAMED and not self.keep_ids:
            self.renamed[kind, name] = name = f"replayed {name} {self.random.random()}"
        members = self.over(entity)
        pieces: Any = members.pop(LISTS.get(kind, ""), None)
        output = self.session.output.get(name, b"") if kind == "terminal" else b""
        told: list[Json] = []
        if pieces is not None:
            told += self.listed(kind, name, pieces)
        if kind == "terminal":
            told += self.printed(name, output)
        parts: list[Json] = [{}, {}]
        for member, value in members.items():
            parts[self.random.randint(0, 1)][member] = value
        first = self.session.told(kind, name, parts[0])
        if kind == "cursor" and "anchor" in members:
            first["anchor"] = members["anchor"]
        # The first one makes the entity, whatever it tells.
        return [first, *told, self.session.told(kind, name, parts[1])]

    def listed(self, kind: str, name: str, pieces: list[Any]) -> list[Json]:
        member = LISTS[kind]
        if self.random.random() < 0.5:
            whole = [text(piece) if isinstance(piece, str) else piece for piece in pieces]
            return [self.session.told(kind, name, {member: whole})]
        cut: list[Any] = []
        for piece in pieces:
            cut += self.cut(piece) if isinstance(piece, str) else [piece]
        # What begins a replay in pieces: empty content, for the id that it names.
        primer = self.session.told(kind, name, {member: []})
        return [primer, *self.session.chunks(kind, name, cut)]

    def cut(self, words: str) -> list[str]:
        at = self.random.randint(0, len(words))
        return [words[:at], words[at:]]

    def printed(self, name: str, output: bytes) -> list[Json]:
        if self.random.random() < 0.5:
            return [self.session.told("terminal", name, {"output": encoded(output)})]
        at = self.random.randint(0, len(output))
        primer = self.session.told("terminal", name, {"output": None})
        return [primer, printed(name, output[:at]), printed(name, output[at:])]
