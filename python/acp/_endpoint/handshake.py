"""What an endpoint says of itself when a connection begins, and what it learns of its peer.

Owns capabilities as far as they follow from handlers, and that an agent which says that it has
sessions serves them. What is sent is each protocol version's.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from acp._core import validated
from acp.exceptions import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from acp._endpoint.connection import Connection
    from acp._endpoint.endpoint import Endpoint

__all__ = ("check", "derived", "seeing")

_log = logging.getLogger("acp")

_SESSIONS = "session"
"""The capability of an agent that it has sessions, where it is one."""


def derived(endpoint: Endpoint[Any], kind: type[Any]) -> Any:
    """What an endpoint says that it can do: what was given, or what its handlers stand for."""
    if endpoint.capabilities is not None:
        return endpoint.capabilities
    found: dict[str, Any] = {}
    absent = [f"{path}." for path, missing, _ in _offered(endpoint) if missing]
    for path, missing, _ in _offered(endpoint):
        # Without the whole there is no part.
        if missing or path.startswith(tuple(absent)):
            continue
        *groups, last = path.split(".")
        group = found
        for name in groups:
            group = group.setdefault(name, {})
        group[last] = True if last in endpoint.facts.flags else group.get(last, {})
    return kind(**found)


def _offered(endpoint: Endpoint[Any]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each capability that handlers stand for, and which methods that it takes are not served and
    which are.
    """
    stands_for = endpoint.facts.offers[endpoint.side]
    for path in dict.fromkeys(stands_for.values()):
        needed = [wire for wire, capability in stands_for.items() if capability == path]
        served = [wire for wire in needed if endpoint.serves(wire)]
        yield path, [wire for wire in needed if wire not in served], served


def check(endpoint: Endpoint[Any]) -> None:
    """Raises ValueError for an agent that is told to say that it has sessions and does not serve
    all that belongs to them. What only some handlers are there for is not told to the peer.
    """
    if endpoint.capabilities is not None:
        has_sessions = getattr(endpoint.capabilities, _SESSIONS, None) is not None
        if has_sessions and endpoint.side == "agent":
            _check_sessions(endpoint)
        return
    if endpoint.serves("initialize"):
        return
    for path, missing, served in _offered(endpoint):
        if served and missing:
            message = "There is no handler for %s: the capability %s is not told to the peer"
            _log.warning(message, ", ".join(missing), path)


def _check_sessions(endpoint: Endpoint[Any]) -> None:
    """Raises ValueError when what belongs to sessions is not all served."""
    missing = [wire for wire in endpoint.facts.baseline if not endpoint.serves(wire)]
    # These serve what nobody else does, and only they know what that is.
    if missing and not any(
        each.low_level or each.is_fallback("request") for each in endpoint.handlers()
    ):
        message = f"An agent with sessions needs handlers for {', '.join(missing)}"
        raise ValueError(message)


def seeing(
    endpoint: Endpoint[Any], connection: Connection, call: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Handles `initialize` by `call`, and notes what it tells once it has succeeded."""

    async def seen(params: Any) -> Any:
        result = call(params)
        if hasattr(result, "__await__"):
            result = await result
        if result is not None:
            _check_told(endpoint, result)
        connection.saw(params)
        return result

    return seen


def _check_told(endpoint: Endpoint[Any], result: Any) -> None:
    """Raises RuntimeError when what a handler of `initialize` tells is not so."""
    facts = endpoint.facts
    try:
        told = result
        if isinstance(result, dict):
            told = validated(facts.schema.InitializeResponse, result)
        if getattr(facts.seen(told)[1], _SESSIONS, None) is not None:
            _check_sessions(endpoint)
    except ValidationError as exc:
        # It is the fault of the handler, and not of the params.
        message = "The result of the handler of initialize does not fit"
        raise RuntimeError(message) from exc
    except ValueError as exc:
        _log.error("What is told to the peer is not so: %s", exc)
        raise
