"""How an update changes what is stored: the rules of upserts.

Owns absence, null and value of each member, and the patches of `_meta`. It keeps nothing, and knows
neither sessions nor the pieces that updates append.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from acp._core import UNSET, field_facts
from acp.v2.schema import (
    AgentMessage,
    AgentThought,
    BaseModel,
    CompactionUpdate,
    CursorUpdate,
    SessionInfoUpdate,
    SessionMessage,
    SubagentUpdate,
    TerminalUpdate,
    ToolCallUpdate,
    UsageUpdate,
    UserMessage,
)

if TYPE_CHECKING:
    from acp._core import UnsetType

__all__ = ("apply_members", "apply_meta_update", "apply_update", "patch_meta", "rules_of")

_Upsert = TypeVar(
    "_Upsert",
    ToolCallUpdate,
    TerminalUpdate,
    UserMessage,
    AgentMessage,
    AgentThought,
    SessionMessage,
    SessionInfoUpdate,
    UsageUpdate,
    CompactionUpdate,
    SubagentUpdate,
    CursorUpdate,
)

_KINDS: tuple[type[BaseModel], ...] = _Upsert.__constraints__

_REPLACED: dict[type[BaseModel], tuple[str, ...]] = {UsageUpdate: ("used", "size")}
_LASTING: dict[type[BaseModel], tuple[str, ...]] = {CursorUpdate: ("anchor",)}


class Rules(NamedTuple):
    """How the members of one kind of upsert are folded, all but `_meta`."""

    kind: type[BaseModel]
    patched: tuple[str, ...]
    """Members of three states."""
    replaced: tuple[str, ...]
    """Members of two states that each update has anew."""
    lasting: tuple[str, ...]
    """Members that the first update sets, and that no later one changes."""


@lru_cache(maxsize=64)
def rules_of(cls: type[object]) -> Rules:
    """How objects of a class are folded. Raises TypeError for those that are no upserts."""
    for kind in _KINDS:
        if issubclass(cls, kind):
            patched = tuple(
                name
                for name, _, _, default in field_facts(kind)
                if default is UNSET and name != "field_meta"
            )
            return Rules(kind, patched, _REPLACED.get(kind, ()), _LASTING.get(kind, ()))
    message = f"{cls.__name__} is no update that changes a stored entity"
    raise TypeError(message)


def apply_update(stored: _Upsert, update: _Upsert) -> None:
    """Changes `stored`, the state of an entity so far, by a later update of the same entity.

    A member that is UNSET in `update` stays; None is stored as None, which says that it was
    cleared; a value replaces the stored one whole. `_meta` is patched, see `apply_meta_update`.
    `update` is left as it is, and shares no list with `stored` afterwards.

    That both are about one entity is the caller's affair: ids are not compared, and `stored` keeps
    its own. Pieces that updates append are none of this function's; a whole session, and those,
    are `SessionProjection.apply`'s.

    Raises TypeError when the two are updates of different kinds, or none that change an entity.
    """
    apply_members(stored, update)
    patch: dict[str, Any] | UnsetType | None = update.field_meta
    if patch is not UNSET:
        stored.field_meta = apply_meta_update(stored.field_meta, patch)


def apply_members(stored: BaseModel, update: BaseModel) -> None:
    """As `apply_update`, without `_meta`."""
    rules = rules_of(type(stored))
    if rules_of(type(update)).kind is not rules.kind:
        message = f"{type(update).__name__} does not change a {type(stored).__name__}"
        raise TypeError(message)
    for name in rules.patched:
        value: Any = getattr(update, name)
        if value is not UNSET:
            setattr(stored, name, _own(value))
    for name in rules.replaced:
        setattr(stored, name, getattr(update, name))
    for name in rules.lasting:
        if getattr(stored, name) is None:
            setattr(stored, name, getattr(update, name))


def _own(value: Any) -> Any:
    return cast("list[Any]", value)[:] if isinstance(value, list) else value


def apply_meta_update(
    stored: dict[str, Any] | UnsetType | None, patch: dict[str, Any] | UnsetType | None
) -> dict[str, Any] | UnsetType | None:
    """The metadata of an entity after an update whose `_meta` is `patch`.

    UNSET leaves it as it is and None clears it. A dict patches it key by key: None removes the key,
    any other value takes the place of the whole value before. Objects within a value are not
    merged, and None within one is data. Keys that stay keep their order; neither argument is
    changed.

    This is for the updates that change a stored entity. The `_meta` of chunks, content, states
    and plans patches nothing.
    """
    if patch is UNSET:
        return stored
    if not isinstance(patch, dict):
        return None
    meta = dict(stored) if isinstance(stored, dict) else {}
    patch_meta(meta, patch)
    return meta


def patch_meta(meta: dict[str, Any], patch: dict[str, Any]) -> None:
    """Patches `meta` itself, key by key."""
    for key, value in patch.items():
        if value is None:
            meta.pop(key, None)
        else:
            meta[key] = value
