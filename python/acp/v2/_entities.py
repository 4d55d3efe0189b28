"""The entities of a session while updates come in.

Owns how each kind is kept, how large it is, and what a snapshot of it is. It knows no session, and
an entity knows no other one.
"""

from __future__ import annotations

import base64
import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from acp._core import UNSET
from acp.v2._folding import apply_members, apply_meta_update, patch_meta, rules_of
from acp.v2._kept import cleaned, size_of
from acp.v2._views import TerminalView
from acp.v2.schema import (
    AgentMessage,
    AgentThought,
    BaseModel,
    CompactionUpdate,
    CursorUpdate,
    SessionMessage,
    SubagentUpdate,
    TerminalUpdate,
    TextContentBlock,
    ToolCallUpdate,
    UserMessage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp._core import UnsetType
    from acp.v2._views import ProjectionLimits

__all__ = ("PATCHED", "Entity", "Key", "Kind", "Patched", "TooLarge", "Whole")

Kind = Literal[
    "user_message",
    "agent_message",
    "agent_thought",
    "session_message",
    "tool_call",
    "compaction",
    "terminal",
    "plan",
    "subagent",
    "cursor",
    "other",
]
Key = tuple[Kind, str]

_BASE = 1024
"""Bytes that an entity costs whatever is in it; members of up to `_PIECE` bytes are covered by it,
so that a change of a status never makes an entity larger.
"""
_PIECE = 64
"""Bytes that a piece of content, or a key of metadata, costs on top of what it holds."""


class TooLarge(Exception):
    """An update would take an entity above its limit. The entity is as it was."""


def _size_of_member(value: object) -> int:
    """What a member adds to the size of its entity."""
    return 0 if value is UNSET else max(0, size_of(value) - _PIECE)


def _size_of_key(key: str, value: object) -> int:
    """What a key of metadata adds."""
    return _PIECE + len(key) + size_of(value)


class Entity:
    """One entity of whatever kind."""

    __slots__ = ("counted", "key", "limits", "order", "size")

    def __init__(self, key: Key, order: int, limits: ProjectionLimits) -> None:
        self.key = key
        self.order = order
        """Its place among all entities, by when each was first told of."""
        self.limits = limits
        self.size = _BASE + len(key[1])
        self.counted = 0
        """Its size as counted by the one who keeps it; 0 while it is not kept."""

    def check(self, size: int) -> int:
        """Returns `size`; raises TooLarge above the limit."""
        if size > self.limits.entity_bytes:
            raise TooLarge
        return size

    def snapshot(self) -> Any:
        """The entity as it is now; what comes later does not change it."""
        raise NotImplementedError


class Whole(Entity):
    """An entity that each update replaces: a plan, an update of an unknown kind."""

    __slots__ = ("_value",)

    def __init__(self, key: Key, order: int, limits: ProjectionLimits) -> None:
        super().__init__(key, order, limits)
        self._value: Any = None

    def replace(self, value: Any) -> None:
        """Takes the place of what was there."""
        self.size = self.check(_BASE + len(self.key[1]) + size_of(value))
        self._value = value

    def snapshot(self) -> Any:
        return copy.copy(self._value)


class Patched(Entity):
    """An entity that updates patch: a subagent, a cursor, what is known of the session as a whole.

    What is measured is only what an update brings and what it takes the place of. Further kinds
    keep one member apart, so that what is appended to it costs no more for what is there already.
    """

    __slots__ = ("_meta_size", "_weight", "stored")

    APART: ClassVar[str] = ""
    """The member that is kept apart; empty for none."""

    def __init__(self, key: Key, order: int, limits: ProjectionLimits, empty: BaseModel) -> None:
        super().__init__(key, order, limits)
        self.stored: Any = empty
        """What is stored now, without the member that is kept apart; to be read only."""
        self._meta_size = 0
        self._weight = 0
        """The size of the member that is kept apart."""

    def patch(self, update: Any) -> None:
        """Applies an update by the rules of upserts.

        Raises TooLarge, and ValueError for a malformed member that is kept apart: then that member
        stays, and the others were applied.
        """
        size, apart = self._measure(update)
        meta_size = self._meta_size + self._meta_growth(update.field_meta)
        size += meta_size - self._meta_size
        taken, weight, fault = None, self._weight, None
        if apart is not UNSET:
            try:
                taken = self.take(apart)
                weight = self.weigh(taken)
            except ValueError as error:
                apart, fault = UNSET, error
        self.size = self.check(size + weight - self._weight)
        self._meta_size, self._weight = meta_size, weight
        apply_members(self.stored, update)
        if self.APART:
            setattr(self.stored, self.APART, UNSET)
        self._patch_meta(update.field_meta)
        if apart is not UNSET:
            self.put(taken)
        if fault is not None:
            raise fault

    def _measure(self, update: Any) -> tuple[int, Any]:
        """The size after an update but for `_meta`, and its member that is kept apart."""
        size, apart = self.size, UNSET
        rules = rules_of(cast("Any", type(self.stored)))
        for name in rules.patched:
            value = getattr(update, name)
            if name == self.APART:
                apart = value
            elif value is not UNSET:
                size += _size_of_member(value) - _size_of_member(getattr(self.stored, name))
        for name in rules.lasting:
            if getattr(self.stored, name) is None:
                size += _size_of_member(getattr(update, name))
        return size, apart

    def _meta_growth(self, patch: dict[str, Any] | UnsetType | None) -> int:
        if patch is UNSET:
            return 0
        if not isinstance(patch, dict):
            return -self._meta_size
        meta: dict[str, Any] = self.stored.field_meta or {}
        size = 0
        for key, value in patch.items():
            if key in meta:
                size -= _size_of_key(key, meta[key])
            if value is not None:
                size += _size_of_key(key, value)
        return size

    def _patch_meta(self, patch: Any) -> None:
        if patch is UNSET:
            return
        if patch is None:
            self.stored.field_meta = None
        elif self.stored.field_meta:
            # Snapshots have a dict of their own.
            patch_meta(self.stored.field_meta, patch)
        else:
            self.stored.field_meta = apply_meta_update(UNSET, patch)

    def take(self, member: Any) -> Any:
        """What is kept of the member that is kept apart. Raises ValueError when it is malformed."""
        return member

    def weigh(self, taken: Any) -> int:
        """The size of what is kept."""
        return 0

    def put(self, taken: Any) -> None:
        """Keeps it, in place of what was kept before."""

    def append(self, piece: Any) -> None:
        """Appends to the member that is kept apart. Raises TooLarge, and ValueError for a piece
        that is malformed.
        """
        raise NotImplementedError

    def add_weight(self, weight: int) -> None:
        """Counts what was appended, before it is. Raises TooLarge."""
        self.size = self.check(self.size + weight)
        self._weight += weight

    def snapshot(self) -> Any:
        made = copy.copy(self.stored)
        if made.field_meta:
            made.field_meta = dict(made.field_meta)
        return made


class ToolCall(Patched):
    """A tool call, to whose content items are appended."""

    __slots__ = ("_items",)

    APART: ClassVar[str] = "content"
    ITEM: ClassVar[str] = "ToolCallContent"
    """The type of the items."""

    def __init__(self, key: Key, order: int, limits: ProjectionLimits, empty: BaseModel) -> None:
        super().__init__(key, order, limits, empty)
        self._items: list[Any] | UnsetType | None = UNSET

    def take(self, member: Any) -> Any:
        return None if member is None else [self.piece(item) for item in member]

    def weigh(self, taken: Any) -> int:
        return sum(map(self.weigh_piece, taken or ()))

    def put(self, taken: Any) -> None:
        self._items = taken

    def append(self, piece: Any) -> None:
        kept = self.piece(piece)
        if not isinstance(kept, str):
            kept = cleaned(kept, self.ITEM)
        self.add_weight(self.weigh_piece(kept))
        if isinstance(self._items, list):
            self._items.append(kept)
        else:
            self._items = [kept]

    def piece(self, item: Any) -> Any:
        """What is kept of one item."""
        return item

    def weigh_piece(self, piece: Any) -> int:
        """The size of that."""
        return _PIECE + size_of(piece)

    def whole(self, pieces: list[Any]) -> list[Any]:
        """The items that the pieces stand for."""
        return pieces[:]

    def snapshot(self) -> Any:
        made = super().snapshot()
        items = self._items
        setattr(made, self.APART, self.whole(items) if isinstance(items, list) else items)
        return made


class Message(ToolCall):
    """A message, to whose content blocks are appended.

    Of a text that came in pieces the whole counts: neighbours that are plain text, without
    annotations and `_meta`, are one block, and one without text is none. That is so wherever they
    came from, since a replay may cut a text otherwise than it was cut at first.
    """

    __slots__ = ()

    ITEM: ClassVar[str] = "ContentBlock"

    def piece(self, item: Any) -> Any:
        if type(item) is TextContentBlock and item.annotations is None and item.field_meta is None:
            return item.text
        return item

    def weigh_piece(self, piece: Any) -> int:
        if isinstance(piece, str):
            return _PIECE + (len(piece) if piece.isascii() else 3 * len(piece))
        return super().weigh_piece(piece)

    def whole(self, pieces: list[Any]) -> list[Any]:
        return list(_blocks(pieces))


class Compaction(Message):
    """A compaction, to whose summary blocks are appended."""

    __slots__ = ()

    APART: ClassVar[str] = "summary"


class Terminal(Patched):
    """A terminal, to whose output bytes are appended."""

    __slots__ = ("_cut", "_output")

    APART: ClassVar[str] = "output"

    def __init__(self, key: Key, order: int, limits: ProjectionLimits, empty: BaseModel) -> None:
        super().__init__(key, order, limits, empty)
        self._output = bytearray()
        self._cut = 0

    def take(self, member: Any) -> Any:
        return b"" if member is None else _decoded(member.data)

    def weigh(self, taken: Any) -> int:
        return min(len(taken), self.limits.terminal_bytes)

    def put(self, taken: Any) -> None:
        self._output.clear()
        self._cut = 0
        self._print(taken)

    def append(self, piece: Any) -> None:
        data = _decoded(piece)
        room = self.limits.terminal_bytes - len(self._output)
        self.add_weight(min(len(data), room))
        self._print(data)

    def _print(self, data: bytes) -> None:
        self._output += data
        over = len(self._output) - self.limits.terminal_bytes
        if over > 0:
            del self._output[:over]
            self._cut += over

    def snapshot(self) -> TerminalView:
        return TerminalView(super().snapshot(), bytes(self._output), self._cut)


def _decoded(data: str) -> bytes:
    if len(data) % 4:
        # Padding alone would pass on Python 3.10.
        message = "This is no base64"
        raise ValueError(message)
    return base64.b64decode(data, validate=True)


def _blocks(pieces: list[Any]) -> Iterable[Any]:
    run: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            run.append(piece)
        else:
            yield from _text(run)
            run = []
            yield piece
    yield from _text(run)


def _text(run: list[str]) -> Iterable[TextContentBlock]:
    if text := "".join(run):
        yield TextContentBlock(text=text)


PATCHED: dict[Kind, tuple[type[Patched], type[BaseModel], str]] = {
    "user_message": (Message, UserMessage, "message_id"),
    "agent_message": (Message, AgentMessage, "message_id"),
    "agent_thought": (Message, AgentThought, "message_id"),
    "session_message": (Message, SessionMessage, "message_id"),
    "tool_call": (ToolCall, ToolCallUpdate, "tool_call_id"),
    "compaction": (Compaction, CompactionUpdate, "compaction_id"),
    "terminal": (Terminal, TerminalUpdate, "terminal_id"),
    "subagent": (Patched, SubagentUpdate, "session_id"),
    "cursor": (Patched, CursorUpdate, "cursor_id"),
}
"""The kinds that updates patch: how one is kept, the class of what is stored, and its id there."""
