"""The entities that a projection keeps.

Owns their number, their bytes together, and which of them make room for others. What an entity
holds is its own affair; no update is known here.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

from acp.v2._entities import PATCHED, Patched, Whole

if TYPE_CHECKING:
    from acp.v2._entities import Entity, Key, Kind
    from acp.v2._views import ProjectionLimits

__all__ = ("EntityStore",)


class EntityStore:
    """Entities by kind and id, within limits."""

    def __init__(self, limits: ProjectionLimits) -> None:
        self._limits = limits
        self._entities: OrderedDict[Key, Entity] = OrderedDict()
        """The one updated last is the last one."""
        self._others: deque[Key] = deque()
        self._gone: OrderedDict[int, None] = OrderedDict()
        """Hashes of the keys of those that were dropped; keys can be of any length."""
        self._opened = 0
        self.bytes = 0
        """The size of all that are kept."""
        self.dropped = 0
        """How many made room for others."""

    def __len__(self) -> int:
        return len(self._entities)

    def find(self, kind: Kind, entity_id: str) -> Entity | None:
        """An entity that is kept."""
        return self._entities.get((kind, entity_id))

    def each(self, kinds: frozenset[Kind]) -> list[Entity]:
        """The entities of some kinds, in the order in which they were opened."""
        found = [entity for entity in self._entities.values() if entity.key[0] in kinds]
        return sorted(found, key=lambda entity: entity.order)

    def patched(self, kind: Kind, entity_id: str) -> Patched | None:
        """The entity, a new one when there was none; None when it was dropped, so that its
        beginning is missing. A new one is kept only once it is given to `keep`.
        """
        key = (kind, entity_id)
        found = self._entities.get(key)
        if found is None and hash(key) in self._gone:
            return None
        if isinstance(found, Patched):
            return found
        make, stored, name = PATCHED[kind]
        made: Any = stored(**{name: entity_id})
        return make(key, self._opened, self._limits, made)

    def whole(self, kind: Kind, entity_id: str) -> Whole:
        """The entity, a new one when there was none, which is kept only once it is given to
        `keep`.
        """
        found = self._entities.get((kind, entity_id))
        return (
            found
            if isinstance(found, Whole)
            else Whole((kind, entity_id), self._opened, self._limits)
        )

    def keep(self, entity: Entity) -> None:
        """Counts an entity that has changed, as the one that was updated last."""
        if not entity.counted:
            self._entities[entity.key] = entity
            self._opened += 1
            if entity.key[0] == "other":
                self._others.append(entity.key)
        self._entities.move_to_end(entity.key)
        self.bytes += entity.size - entity.counted
        entity.counted = entity.size
        if len(self._others) > self._limits.others:
            self._drop(self._others.popleft())
        while len(self._entities) > self._limits.entities or self.bytes > self._limits.bytes:
            # Never the one just updated: alone it is within both.
            self._drop(next(iter(self._entities)))

    def remove(self, kind: Kind, entity_id: str) -> bool:
        """Forgets an entity. Whether there was one."""
        entity = self._entities.pop((kind, entity_id), None)
        if entity is None:
            return False
        self.bytes -= entity.counted
        return True

    def _drop(self, key: Key) -> None:
        if not self.remove(*key):
            return
        self.dropped += 1
        # What replaces an entity whole needs nothing of what was before.
        if key[0] in PATCHED:
            self._gone[hash(key)] = None
            if len(self._gone) > self._limits.entities:
                self._gone.popitem(last=False)
