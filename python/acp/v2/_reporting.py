"""What a session is doing, as its client was told.

Owns the state that was reported last, and that nothing is reported twice. It decides no state and
knows no work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from acp._errors import NO_DATA
from acp.v2 import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from acp._errors import WireError

__all__ = ("Active", "Reported", "without_states")

Active = Literal["running", "requires_action"]

_ACTIVE = {
    "running": schema.RunningStateUpdate,
    "requires_action": schema.RequiresActionStateUpdate,
}
_STATES = (
    schema.IdleStateUpdate,
    schema.RunningStateUpdate,
    schema.RequiresActionStateUpdate,
    schema.UnknownStateUpdate,
    schema.OtherStateUpdate,
)


class Reported:
    """The state of one session. What reports returns whether its sender has to pause."""

    __slots__ = ("_background", "_owes_idle", "_post", "name")

    def __init__(
        self, post: Callable[[Any], bool], background: Sequence[schema.BackgroundWork] | None
    ) -> None:
        self._post = post
        self._background = background
        self.name: Literal["idle"] | Active = "idle"
        self._owes_idle = False

    def owe_idle(self) -> None:
        """Something has begun that the client waits to see the end of."""
        self._owes_idle = True

    def disown(self) -> None:
        """The client will see no end any more."""
        self._owes_idle = False

    @property
    def owes_idle(self) -> bool:
        """Whether the client waits for an idle."""
        return self._owes_idle

    def active(self, name: Active) -> bool:
        """Work goes on, or as a whole waits for the user."""
        if self.name == name:
            return False
        pause = self._post(_ACTIVE[name](background=self._background))
        self.name = name
        self._owes_idle = True
        return pause

    def idle(
        self,
        stop_reason: str | None,
        *,
        error: schema.Error | None = None,
        usage: schema.Usage | None = None,
        field_meta: dict[str, Any] | None = None,
    ) -> bool:
        """No work remains. Told only where some was: what is idle has no second end."""
        if not self._owes_idle:
            return False
        pause = self._post(
            schema.IdleStateUpdate(
                stop_reason=stop_reason,
                error=error,
                usage=usage,
                background=self._background,
                field_meta=field_meta,
            )
        )
        self.name = "idle"
        self._owes_idle = False
        return pause

    def failed(self, error: WireError) -> bool:
        """Work has ended with an error, which is told as far as it can be written."""
        data = {} if error.data is NO_DATA else {"data": error.data}
        for members in (
            {"code": error.code, "message": error.message, **data},
            {"code": error.code, "message": error.message},
            {"code": -32603, "message": "Internal error"},
        ):
            pause = self._attempt(members)
            if pause is not None:
                return pause
        return False

    def _attempt(self, members: dict[str, Any]) -> bool | None:
        """None for an error that cannot be written."""
        try:
            return self.idle("error", error=schema.Error(**members))
        except (TypeError, ValueError, OverflowError):
            return None

    def snapshot(self) -> bool:
        """Tells the state as it is. The end of earlier work is not told again."""
        kind = schema.IdleStateUpdate if self.name == "idle" else _ACTIVE[self.name]
        return self._post(kind(background=self._background))

    def list_background(self, items: Sequence[schema.BackgroundWork] | None) -> bool:
        """What goes on beside the foreground, from now on part of every report."""
        items = None if items is None else [*items]
        if items == self._background:
            return False
        self._background = items
        return self.snapshot()


def without_states(updates: Iterable[Any]) -> Iterable[Any]:
    """Updates of the past, without the states: those are not what the session is doing now."""
    return (update for update in updates if not isinstance(update, _STATES))
