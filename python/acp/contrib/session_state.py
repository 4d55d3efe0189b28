"""What the updates of a session amount to, in version 1 of the protocol.

Owns the folding of updates and the snapshots of the result. It knows no connection: notifications
are handed to it in the order in which they came.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from acp.contrib._views import CallView, View, shown
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommand,
    AvailableCommandsUpdate,
    CurrentModeUpdate,
    PlanEntry,
    SessionNotification,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

__all__ = [
    "SessionAccumulator",
    "SessionNotificationMismatchError",
    "SessionSnapshot",
    "SessionSnapshotUnavailableError",
    "ToolCallView",
]

_NOTHING: dict[str, Any] = dict.fromkeys(
    ("title", "kind", "status", "content", "locations", "raw_input", "raw_output")
)
_CHUNKS = (UserMessageChunk, AgentMessageChunk, AgentThoughtChunk)


class SessionNotificationMismatchError(ValueError):
    """A notification is of another session than those before, and that was not wanted.

    Attributes:
        expected: The session of the accumulator.
        actual: The session of the notification.
    """

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(
            "a notification of another session: use one accumulator for each, or call reset()"
        )
        self.expected = expected
        self.actual = actual

    def __reduce__(self) -> tuple[type[SessionNotificationMismatchError], tuple[str, str]]:
        return type(self), (self.expected, self.actual)


class SessionSnapshotUnavailableError(RuntimeError):
    """There is no state yet: no notification was applied, or none since `reset()`."""

    def __init__(self) -> None:
        super().__init__("no notification was applied yet: there is nothing to tell")


class ToolCallView(CallView):
    """A tool call as the updates told it. It cannot be changed.

    Members:
        tool_call_id: The id on the wire.
        title: What the call does, None when only later news of it came.
        kind: What sort of work it is.
        status: How far it is.
        content: What it shows, None for nothing.
        locations: The files it touches, None for none.
        raw_input: What the tool was given.
        raw_output: What the tool gave.
    """


@dataclass(frozen=True, kw_only=True)
class SessionSnapshot(View):
    """The state of a session at one moment. It cannot be changed, and belongs to who asked for it.

    The objects in it are copies, made when a member is read for the first time: what nobody reads
    costs nothing. Reading all messages again in each new snapshot costs as many copies as there are
    messages, each time.

    Members:
        session_id: The session.
        tool_calls: By id, in the order in which they were first told of.
        plan_entries: The plan, as last told.
        current_mode_id: The mode, None when it was not told.
        available_commands: As last told.
        user_messages: The pieces of the user's messages, in order.
        agent_messages: The pieces of the agent's messages, in order.
        agent_thoughts: The pieces of the agent's thoughts, in order.
    """

    session_id: str
    tool_calls: dict[str, ToolCallView]
    plan_entries: tuple[PlanEntry, ...]
    current_mode_id: str | None
    available_commands: tuple[AvailableCommand, ...]
    user_messages: tuple[UserMessageChunk, ...]
    agent_messages: tuple[AgentMessageChunk, ...]
    agent_thoughts: tuple[AgentThoughtChunk, ...]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Copies a member that is read for the first time."""
            moment = self.__dict__.get("_moment")
            if moment is None or name not in self.__dataclass_fields__:
                message = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(message)
            value = self.__dict__[name] = copy.deepcopy(moment.member(name))
            return value

    def __reduce__(self) -> tuple[Callable[..., SessionSnapshot], tuple[Any, ...]]:
        return _snapshot_of, tuple(getattr(self, field.name) for field in fields(self))


def _snapshot_of(*members: Any) -> SessionSnapshot:
    names = (field.name for field in fields(SessionSnapshot))
    return SessionSnapshot(**dict(zip(names, members, strict=True)))


class _Calls:
    """The tool calls of one moment, for all snapshots between two changes of them."""

    __slots__ = ("__weakref__", "views")

    def __init__(self, views: dict[str, ToolCallView]) -> None:
        self.views = views


class _Moment(NamedTuple):
    """How the accumulator's state was: lists only grow, so that their length then tells it."""

    calls: _Calls
    plan_entries: tuple[PlanEntry, ...]
    available_commands: tuple[AvailableCommand, ...]
    chunks: dict[type[Any], list[Any]]
    lengths: tuple[int, ...]

    def member(self, name: str) -> Any:
        """The accumulator's own objects: to be copied."""
        if name == "tool_calls":
            return self.calls.views
        if name in ("plan_entries", "available_commands"):
            return getattr(self, name)
        index = ("user_messages", "agent_messages", "agent_thoughts").index(name)
        return tuple(self.chunks[_CHUNKS[index]][: self.lengths[index]])


class SessionAccumulator:
    """Folds the notifications of a session into its state.

    It follows tool calls, also those whose start did not come; the plan, the commands and the mode;
    and keeps all pieces of messages and thoughts. Other updates, and those that version 1 does not
    know, change nothing. What it is given is copied.

    All messages are kept until `reset()` or until another session comes: who follows a peer that is
    not trusted has to call it in time.

    Args:
        auto_reset_on_session_change: Whether a notification of another session starts anew.
            Otherwise `apply` raises for it.
    """

    def __init__(self, *, auto_reset_on_session_change: bool = True) -> None:
        self._auto_reset = auto_reset_on_session_change
        self._subscribers: dict[object, Callable[[SessionSnapshot, SessionNotification], None]] = {}
        self.session_id: str | None = None
        self.reset()

    def reset(self) -> None:
        """Forgets all state. Subscribers stay, and snapshots are as they were."""
        self.session_id = None
        self._calls: dict[str, ToolCallView] = {}
        self._shared_calls: Callable[[], _Calls | None] = _nobody
        self._plan_entries: tuple[PlanEntry, ...] = ()
        self._current_mode_id: str | None = None
        self._available_commands: tuple[AvailableCommand, ...] = ()
        self._chunks: dict[type[Any], list[Any]] = {kind: [] for kind in _CHUNKS}

    def subscribe(
        self, callback: Callable[[SessionSnapshot, SessionNotification], None]
    ) -> Callable[[], None]:
        """Has `callback` called after each notification, and returns the function that ends that.

        What a callback raises comes out of `apply`, whose notification is applied all the same;
        the callbacks behind it are not called for that one.
        """
        subscription = object()
        self._subscribers[subscription] = callback

        def unsubscribe() -> None:
            self._subscribers.pop(subscription, None)

        return unsubscribe

    def apply(self, notification: SessionNotification) -> SessionSnapshot:
        """Folds a notification, calls the subscribers and returns the new state.

        Raises SessionNotificationMismatchError, a ValueError, for another session when
        `auto_reset_on_session_change` is off; then nothing has changed.
        """
        if self.session_id != notification.session_id:
            if self.session_id is not None:
                if not self._auto_reset:
                    raise SessionNotificationMismatchError(self.session_id, notification.session_id)
                self.reset()
            self.session_id = notification.session_id
        self._fold(notification.update)
        snapshot = self.snapshot()
        for callback in list(self._subscribers.values()):
            callback(snapshot, notification)
        return snapshot

    def snapshot(self) -> SessionSnapshot:
        """The state as it is now.

        Raises SessionSnapshotUnavailableError, a RuntimeError, before the first notification.
        """
        if self.session_id is None:
            raise SessionSnapshotUnavailableError
        calls = self._shared_calls()
        if calls is None:
            calls = _Calls(self._calls)
            self._shared_calls = weakref.ref(calls)
        lengths = tuple(len(self._chunks[kind]) for kind in _CHUNKS)
        snapshot = object.__new__(SessionSnapshot)
        snapshot.__dict__.update(
            session_id=self.session_id,
            current_mode_id=self._current_mode_id,
            _moment=_Moment(
                calls, self._plan_entries, self._available_commands, self._chunks, lengths
            ),
        )
        return snapshot

    def _fold(self, update: Any) -> None:
        if isinstance(update, ToolCallStart):
            self._set_call(update, ToolCallView(tool_call_id=update.tool_call_id, **_NOTHING))
        elif isinstance(update, ToolCallProgress):
            unknown = ToolCallView(tool_call_id=update.tool_call_id, **_NOTHING)
            self._set_call(update, self._calls.get(update.tool_call_id, unknown))
        elif isinstance(update, AgentPlanUpdate):
            self._plan_entries = copy.deepcopy(tuple(update.entries))
        elif isinstance(update, CurrentModeUpdate):
            self._current_mode_id = update.current_mode_id
        elif isinstance(update, AvailableCommandsUpdate):
            self._available_commands = copy.deepcopy(tuple(update.available_commands))
        else:
            for kind in _CHUNKS:
                if isinstance(update, kind):
                    self._chunks[kind].append(copy.deepcopy(update))

    def _set_call(self, told: ToolCallStart | ToolCallProgress, before: ToolCallView) -> None:
        news: dict[str, Any] = {}
        for name in _NOTHING:
            value = copy.deepcopy(getattr(told, name))
            if value is not None:
                news[name] = shown(value) if name in ("content", "locations") else value
        if self._shared_calls() is not None:
            # Somebody has a snapshot of the calls as they are, and keeps them.
            self._calls = dict(self._calls)
            self._shared_calls = _nobody
        self._calls[told.tool_call_id] = before.model_copy(update=news)


def _nobody() -> None:
    return None
