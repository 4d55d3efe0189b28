"""The state of one session, folded from its updates.

Owns what each update means for the session as a whole, and what can be read of it. It knows no
connection: messages are handed to it, in the order in which they arrived.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from acp.v2._entities import Kind, Patched, TooLarge
from acp.v2._kept import cleaned, size_of
from acp.v2._rules import rule_of
from acp.v2._store import EntityStore
from acp.v2._views import ProjectionLimits, ProjectionStats
from acp.v2.schema import (
    AvailableCommandsUpdate,
    BackgroundToolCall,
    ConfigOptionUpdate,
    ForkSessionResponse,
    IdleStateUpdate,
    NewSessionResponse,
    OtherStateUpdate,
    RequestPermissionRequest,
    RequiresActionStateUpdate,
    ResumeSessionResponse,
    RunningStateUpdate,
    SessionInfoUpdate,
    SetSessionConfigOptionResponse,
    SetSessionTitleResponse,
    ToolCallPermissionSubject,
    ToolCallUpdate,
    UpdateSessionNotification,
    UsageUpdate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from acp.v2._rules import Rule
    from acp.v2._views import TerminalView
    from acp.v2.schema import (
        AgentMessage,
        AgentThought,
        AvailableCommand,
        BackgroundWork,
        BaseModel,
        CompactionUpdate,
        CursorUpdate,
        OtherSessionUpdate,
        PlanUpdateContent,
        PromptSuggestion,
        SessionConfigOption,
        SessionMessage,
        SessionUpdate,
        StateUpdate,
        SubagentUpdate,
        UserMessage,
    )

    Message: TypeAlias = (
        UpdateSessionNotification
        | SessionUpdate
        | RequestPermissionRequest
        | NewSessionResponse
        | ResumeSessionResponse
        | ForkSessionResponse
        | SetSessionConfigOptionResponse
        | SetSessionTitleResponse
    )
    TimelineEntry: TypeAlias = (
        UserMessage
        | AgentMessage
        | AgentThought
        | SessionMessage
        | ToolCallUpdate
        | CompactionUpdate
        | OtherSessionUpdate
    )

__all__ = ("SessionProjection",)

_TIMELINE: frozenset[Kind] = frozenset(get_args(Kind)) - {"terminal", "plan", "subagent", "cursor"}
_FINAL = frozenset({"completed", "failed", "cancelled"})
"""Statuses of tool calls that have ended; others, also unknown ones, count as in progress."""
_SETUP = (NewSessionResponse, ForkSessionResponse, ResumeSessionResponse)


class SessionProjection:
    """The state of one session: what its updates, applied one after the other, amount to.

    `apply` takes the messages of the session in the order in which they arrived, those of a
    replay among them. What they amount to can be read at any time, as snapshots that do not
    change later; objects within them may be shared with the projection and are to be read only.

    A replay into the same projection changes nothing where it keeps the ids, and where messages
    come whole or begin with empty content before their pieces. In a replay from the start the
    agent's messages and thoughts may have other ids than before: call `clear` when asking for one.

    Of a text that came in pieces the whole is kept: neighbouring blocks of a message that are plain
    text, without annotations and `_meta`, are one, and one without text is none.

    `limits` bounds what is kept. Not for use by several threads at once.
    """

    def __init__(self, session_id: str, *, limits: ProjectionLimits | None = None) -> None:
        self.session_id = session_id
        self._limits = ProjectionLimits() if limits is None else limits
        self.clear()

    def clear(self) -> None:
        """Forgets everything, as if the projection were new."""
        self._store = EntityStore(self._limits)
        self._state: StateUpdate | None = None
        self._background: list[BackgroundWork] = []
        self._is_active = False
        self._completions = 0
        self._values: dict[str, Patched] = {}
        self._lists: dict[str, list[Any]] = {}
        self._counts = dict.fromkeys(
            ("messages", "late", "refused", "malformed", "notices", "others", "replays"), 0
        )

    # -- applying -------------------------------------------------------------

    def apply(self, message: Message) -> bool:
        """Applies a message that says something about the session.

        These are the params of `session/update` above all, or the update in them, as
        `session.updates()` gives it; further the params of `session/request_permission`, which may
        tell of a tool call, and the results that bring configuration options, commands or the
        title. Those that do not name their session are taken to be of this one. Programs that keep
        single objects themselves have `acp.v2.apply_update`.

        Returns False, and changes nothing, when the message names another session. Raises
        TypeError for other objects, and ValidationError for one that could not have been received:
        what is kept are copies, made by writing and reading.
        """
        # The session that an update may name is another one, which it is about.
        is_update = rule_of(type(message)) is not None
        if not is_update and getattr(message, "session_id", self.session_id) != self.session_id:
            return False
        try:
            if is_update:
                self._apply(message)
            elif isinstance(message, UpdateSessionNotification):
                self._apply(message.update)
            else:
                self._apply_other(message)
        except TooLarge:
            self._counts["refused"] += 1
        self._counts["messages"] += 1
        return True

    def _apply_other(self, message: object) -> None:
        if isinstance(message, RequestPermissionRequest):
            if isinstance(message.subject, ToolCallPermissionSubject):
                self._apply(message.subject.tool_call)
        elif isinstance(message, SetSessionTitleResponse):
            self._apply(SessionInfoUpdate(title=message.title))
        elif isinstance(message, _SETUP):
            self._apply(ConfigOptionUpdate(config_options=message.config_options))
            commands = message.available_commands
            self._apply(AvailableCommandsUpdate(available_commands=commands))
        elif isinstance(message, SetSessionConfigOptionResponse):
            self._apply(ConfigOptionUpdate(config_options=message.config_options))
        else:
            raise TypeError(f"{type(message).__name__} says nothing about a session")

    def _apply(self, update: object) -> None:
        rule = rule_of(type(update))
        if rule is None:
            raise TypeError(f"{type(update).__name__} is no update of a session")
        if rule.act != "append":
            update = cleaned(update, rule.type)
        _ACTS[rule.act](self, update, rule)

    def _entity(self, update: Any, rule: Rule) -> Patched | None:
        entity = self._store.patched(rule.kind, getattr(update, rule.id))
        if entity is None:
            self._counts["late"] += 1
        return entity

    def _append(self, update: Any, rule: Rule) -> None:
        if (entity := self._entity(update, rule)) is not None:
            try:
                entity.append(getattr(update, rule.value))
            except ValueError:
                self._counts["malformed"] += 1
            else:
                self._store.keep(entity)

    def _patch(self, update: Any, rule: Rule) -> None:
        if (entity := self._entity(update, rule)) is not None:
            try:
                entity.patch(update)
            except ValueError:
                # All but the malformed part was applied.
                self._counts["malformed"] += 1
            self._store.keep(entity)

    def _set_plan(self, update: Any, _: Rule) -> None:
        entity = self._store.whole("plan", update.plan.plan_id)
        entity.replace(update.plan)
        self._store.keep(entity)

    def _remove_plan(self, update: Any, _: Rule) -> None:
        self._store.remove("plan", update.plan_id)

    def _keep(self, update: Any, _: Rule) -> None:
        self._counts["others"] += 1
        entity = self._store.whole("other", str(self._counts["others"]))
        entity.replace(update)
        self._store.keep(entity)

    def _set_state(self, update: StateUpdate, _: Rule) -> None:
        self._check(update)
        if isinstance(update, IdleStateUpdate):
            self._completions += self._is_active
            self._is_active = False
        elif isinstance(update, RunningStateUpdate | RequiresActionStateUpdate):
            self._is_active = True
        if not isinstance(update, OtherStateUpdate) and update.background is not None:
            self._background = update.background
        self._state = update

    def _patch_session(self, update: SessionInfoUpdate | UsageUpdate, _: Rule) -> None:
        made: BaseModel
        if isinstance(update, UsageUpdate):
            kind, made = "usage_update", UsageUpdate(used=0, size=0)
        else:
            kind, made = "session_info_update", SessionInfoUpdate()
        # One that no store keeps has no use for a key.
        found = self._values.get(kind) or Patched(("other", ""), 0, self._limits, made)
        found.patch(update)
        self._values[kind] = found

    def _replace_list(self, update: Any, rule: Rule) -> None:
        self._check(update)
        self._lists[rule.value] = getattr(update, rule.value)

    def _note(self, update: Any, _: Rule) -> None:
        self._counts["notices"] += 1

    def _end_replay(self, update: Any, _: Rule) -> None:
        self._counts["replays"] += 1

    def _check(self, value: object) -> None:
        if size_of(value) > self._limits.entity_bytes:
            raise TooLarge

    def cancel_active_work(self) -> list[str]:
        """Marks the unfinished tool calls of the session as cancelled, which a client does when it
        sends `session/cancel`; returns their ids.

        Tool calls that the agent last reported as background work go on, and stay. What the agent
        says about a tool call afterwards counts again.
        """
        background = {
            work.tool_call_id for work in self._background if isinstance(work, BackgroundToolCall)
        }
        marked: list[str] = []
        for entity in self._store.each(frozenset({"tool_call"})):
            _, name = entity.key
            unfinished = isinstance(entity, Patched) and entity.stored.status not in _FINAL
            if unfinished and name not in background:
                self._apply(ToolCallUpdate(tool_call_id=name, status="cancelled"))
                marked.append(name)
        return marked

    # -- reading --------------------------------------------------------------

    @property
    def state(self) -> StateUpdate | None:
        """The last state that was reported; None when none was, which counts as idle."""
        return copy.copy(self._state)

    @property
    def is_idle(self) -> bool:
        """Whether the last report was idle, or there was none. A state that is not known, and one
        that says so, is not idle.
        """
        return self._state is None or isinstance(self._state, IdleStateUpdate)

    @property
    def completions(self) -> int:
        """How often the session became idle after it ran or waited for the user. Repeated reports
        of idle count once.
        """
        return self._completions

    @property
    def info(self) -> SessionInfoUpdate | None:
        """Title, time of the last activity and `_meta`; None when nothing was said of them."""
        return self._value("session_info_update")

    @property
    def usage(self) -> UsageUpdate | None:
        """How full the context is, and the cost; None when nothing was said of them."""
        return self._value("usage_update")

    def _value(self, kind: str) -> Any:
        found = self._values.get(kind)
        return None if found is None else found.snapshot()

    @property
    def available_commands(self) -> list[AvailableCommand]:
        """The commands that can be used now."""
        return self._lists.get("available_commands", [])[:]

    @property
    def config_options(self) -> list[SessionConfigOption]:
        """The configuration options with their current values."""
        return self._lists.get("config_options", [])[:]

    @property
    def prompt_suggestions(self) -> list[PromptSuggestion]:
        """The prompts that the agent suggests now."""
        return self._lists.get("suggestions", [])[:]

    def timeline(self) -> list[TimelineEntry]:
        """Messages, tool calls, compactions and updates of unknown kinds, in the order in which
        each was first told of.
        """
        return [entity.snapshot() for entity in self._store.each(_TIMELINE)]

    # fmt: off
    @overload
    def get(self, kind: Literal["user_message"], entity_id: str) -> UserMessage | None: ...
    @overload
    def get(self, kind: Literal["agent_message"], entity_id: str) -> AgentMessage | None: ...
    @overload
    def get(self, kind: Literal["agent_thought"], entity_id: str) -> AgentThought | None: ...
    @overload
    def get(self, kind: Literal["session_message"], entity_id: str) -> SessionMessage | None: ...
    @overload
    def get(self, kind: Literal["tool_call"], entity_id: str) -> ToolCallUpdate | None: ...
    @overload
    def get(self, kind: Literal["compaction"], entity_id: str) -> CompactionUpdate | None: ...
    @overload
    def get(self, kind: Literal["terminal"], entity_id: str) -> TerminalView | None: ...
    @overload
    def get(self, kind: Literal["plan"], entity_id: str) -> PlanUpdateContent | None: ...
    @overload
    def get(self, kind: Literal["subagent"], entity_id: str) -> SubagentUpdate | None: ...
    @overload
    def get(self, kind: Literal["cursor"], entity_id: str) -> CursorUpdate | None: ...
    # fmt: on
    def get(self, kind: Kind, entity_id: str) -> Any:
        """The entity of a kind and an id; None when it was never told of, removed or dropped."""
        entity = self._store.find(kind, entity_id)
        return None if entity is None else entity.snapshot()

    def ids(self, kind: Kind) -> list[str]:
        """The ids of the entities of a kind, in the order in which each was first told of."""
        return [entity.key[1] for entity in self._store.each(frozenset({kind}))]

    def stats(self) -> ProjectionStats:
        """The projection in numbers."""
        store = self._store
        return ProjectionStats(
            entities=len(store), bytes=store.bytes, dropped=store.dropped, **self._counts
        )


_ACTS: Mapping[str, Callable[[SessionProjection, Any, Rule], None]] = {
    "append": SessionProjection._append,
    "patch": SessionProjection._patch,
    "set_plan": SessionProjection._set_plan,
    "remove_plan": SessionProjection._remove_plan,
    "set_state": SessionProjection._set_state,
    "patch_session": SessionProjection._patch_session,
    "replace_list": SessionProjection._replace_list,
    "note": SessionProjection._note,
    "end_replay": SessionProjection._end_replay,
    "keep": SessionProjection._keep,
}
"""What does the acts of the rules."""
