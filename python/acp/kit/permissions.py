"""Answers to permission requests.

Owns choosing among the options of a request by what they mean: their kind, never their place or
their name. It works on both protocol versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

__all__ = ("PermissionPolicy", "choose_option")

CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}


def choose_option(options: Sequence[Any], *kinds: str) -> str | None:
    """The id of the first option of the first kind that there is one of; None when there is none.

    Kinds are `allow_once`, `allow_always`, `reject_once`, `reject_always`.
    """
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option.option_id
    return None


class PermissionPolicy:
    """A handler of `session/request_permission`.

    Args:
        *kinds: Kinds of options, the preferred one first. Without an option of these kinds the
            request is answered as cancelled: no other kind is ever chosen in their place.
        ask: Asked first, with the request; it returns kinds in the order of preference, or an
            option's id as `("id", …)`, or None to leave it to `kinds`. It may take as long as
            people do: nothing else waits for it, and it is cancelled with the request.
    """

    def __init__(
        self,
        *kinds: str,
        ask: Callable[[Any], Awaitable[Sequence[str] | tuple[str, str] | None]] | None = None,
    ) -> None:
        self._kinds = kinds
        self._ask = ask

    async def request_permission(self, request: Any) -> dict[str, Any]:
        """Answers one request."""
        kinds: Sequence[str] = self._kinds
        if self._ask is not None:
            answer = await self._ask(request)
            if answer is not None and len(answer) == 2 and answer[0] == "id":
                return _selected(answer[1])
            kinds = self._kinds if answer is None else answer
        chosen = choose_option(request.options, *kinds)
        return CANCELLED if chosen is None else _selected(chosen)

    __call__ = request_permission


def _selected(option_id: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}
