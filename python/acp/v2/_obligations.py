"""What the handlers of a version 2 agent owe, seen to around them.

Owns, per method, what happens before and after the user's handler: sessions are opened, prompts and
replay cursors checked, work is cancelled and waited for, states are told. What that means for a
session is `_agent_sessions`'; it calls no handler by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from acp._core import validated
from acp._stepping import current_run
from acp.exceptions import RequestError
from acp.v2 import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from acp.v2._endpoint import Connection

__all__ = ("Kept", "answer_close", "check_prompt", "check_replay", "seen_to")

_BASIC = frozenset({"text", "resource_link"})
"""Content that every agent takes."""

_OFFERED: Mapping[str, str] = {
    "image": "image",
    "audio": "audio",
    "resource": "embedded_context",
    "skill": "skill",
}
"""Types of content, and the prompt capability that each needs."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an agent has seen to for every session that it opens."""

    replay_from: frozenset[str]
    """Types of replay cursors that its handler of `session/resume` knows."""


def check_prompt(
    request: schema.PromptRequest, capabilities: schema.AgentCapabilities | None
) -> None:
    """Raises RequestError (-32602) for a prompt that is empty, or has content which the agent's
    capabilities do not offer.

    Types of one's own, which begin with `_`, are agreed on elsewhere, and pass.
    """
    if not request.prompt:
        raise _refusal(["prompt"], "too_short", "must not be empty")
    offered = getattr(getattr(capabilities, "session", None), "prompt", None)
    for index, block in enumerate(request.prompt):
        if block.type in _BASIC or block.type.startswith("_"):
            continue
        needed = _OFFERED.get(block.type)
        if needed is None or getattr(offered, needed, None) is None:
            loc = ["prompt", index, "type"]
            raise _refusal(loc, "unsupported", "is no content that this agent has offered to take")


def check_replay(
    request: schema.ResumeSessionRequest, supported: Collection[str] = ("start",)
) -> None:
    """Raises RequestError (-32602) for a replay cursor of a type that is not supported."""
    if request.replay_from is not None and request.replay_from.type not in supported:
        loc = ["replayFrom", "type"]
        raise _refusal(loc, "unsupported", "is no replay cursor that this agent supports")


def _refusal(loc: Sequence[str | int], kind: str, message: str) -> RequestError:
    fault = {"loc": [*loc], "type": kind, "message": message}
    return RequestError(-32602, "Invalid params", [fault])


def seen_to(
    wire: str, call: Callable[[Any], Any], connection: Connection, kept: Kept | None
) -> Callable[[Any], Any]:
    """What is called in place of `call`, which serves a method."""
    around = _AROUND.get(wire)
    return call if around is None else functools.partial(around, Seen(call, connection, kept))


class Seen:
    """The handlers of one method on one connection, with what is owed around them."""

    __slots__ = ("_call", "_connection", "_kept")

    def __init__(
        self, call: Callable[[Any], Any], connection: Connection, kept: Kept | None
    ) -> None:
        self._call = call
        self._connection = connection
        self._kept = kept

    async def _result(self, params: Any) -> Any:
        result = self._call(params)
        return await result if hasattr(result, "__await__") else result

    async def initialize(self, params: Any) -> Any:
        """Notes what the agent says that it can do."""
        result = told = await self._result(params)
        # What has no form as an answer is refused as such, by whoever writes it.
        with suppress(ValueError):
            if not isinstance(told, schema.InitializeResponse):
                told = validated(schema.InitializeResponse, told)
            self._connection.own_capabilities = told.capabilities
        return result

    async def open(self, params: Any) -> Any:
        """Opens the session that a handler has made."""
        made = result = await self._result(params)
        if self._kept is None:
            return result
        if isinstance(made, Mapping):
            session_id = cast("Mapping[str, Any]", made).get("sessionId")
        else:
            session_id = getattr(made, "session_id", None)
        if isinstance(session_id, str):
            self._connection.agent_sessions.open(session_id)
        return result

    async def resume(self, params: schema.ResumeSessionRequest) -> Any:
        """Opens the session, and tells its state behind what the handler has replayed."""
        sessions = self._connection.agent_sessions
        if self._kept is None:
            result = await self._result(params)
            session = sessions.find(params.session_id)
        else:
            check_replay(params, self._kept.replay_from)
            was_open = params.session_id in sessions
            session = sessions.open(params.session_id)
            try:
                result = await self._result(params)
            except BaseException:
                if not was_open:
                    sessions.discard(session)
                raise
            session = sessions.open(params.session_id)
        # No other message can come between this and the answer.
        if session is not None:
            session.tell_state()
        return result

    async def prompt(self, params: schema.PromptRequest) -> Any:
        """Refuses what is no prompt to be handled, and tells of failures behind insertion."""
        run = current_run.get()
        sessions = self._connection.agent_sessions
        if self._kept is None:
            session = sessions.find(params.session_id)
        else:
            session = sessions.get(params.session_id)
            check_prompt(params, self._connection.own_capabilities)
        if session is not None:
            session.prompt_began(run)
        try:
            return await self._result(params)
        except BaseException as exc:
            # Inserting may have opened it.
            session = session or sessions.find(params.session_id)
            if run.answered and session is not None:
                session.prompt_failed(run, exc)
            raise
        finally:
            session = session or sessions.find(params.session_id)
            if session is not None:
                session.prompt_ended(run)

    async def cancel(self, params: schema.CancelSessionNotification) -> Any:
        """Cancels the work of the session behind the handler."""
        session = self._connection.agent_sessions.find(params.session_id)
        if session is None:
            return await self._result(params)
        # What is to end is settled now: what comes while the user's handler runs is not meant.
        cancel = session.begin_cancel()
        try:
            return await self._result(params)
        finally:
            cancel()

    async def close(self, params: schema.CloseSessionRequest | schema.ArchiveSessionRequest) -> Any:
        """Ends the work of the session before the handler."""
        session = self._connection.agent_sessions.find(params.session_id)
        if session is None:
            return await self._result(params)
        async with session.closing():
            return await self._result(params)

    async def delete(self, params: schema.DeleteSessionRequest) -> Any:
        """Ends the work of a session that the handler has deleted."""
        result = await self._result(params)
        session = self._connection.agent_sessions.find(params.session_id)
        if session is not None:
            await session.close()
        return result


def answer_close(connection: Connection, params: schema.CloseSessionRequest) -> Any:
    """The answer of an agent that has nothing of its own to do when a session is closed."""
    connection.agent_sessions.get(params.session_id)
    return schema.CloseSessionResponse()


_AROUND: Mapping[str, Callable[[Seen, Any], Any]] = {
    "initialize": Seen.initialize,
    "session/new": Seen.open,
    "session/fork": Seen.open,
    "session/resume": Seen.resume,
    "session/prompt": Seen.prompt,
    "session/cancel": Seen.cancel,
    "session/close": Seen.close,
    # What is archived was closed before.
    "session/archive": Seen.close,
    "session/delete": Seen.delete,
}
