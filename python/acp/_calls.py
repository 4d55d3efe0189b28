"""Requests of ours that wait for their answers.

Owns, per request id, who waits. It knows no method and does not decide when an answer is handed
over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from acp._runtime import Slot, fill
from acp.exceptions import ConnectionClosed, RemoteProtocolError, RequestError

__all__ = ("Call", "Calls", "HeldResponse", "outcome")


class Call:
    """One request of ours."""

    __slots__ = ("held", "lane", "settled", "slot", "turn_cancelled")

    def __init__(self, slot: Slot[Any], *, held: bool, lane: str | None) -> None:
        self.held = held
        """Its answer keeps its place in the stream of a session."""
        self.lane = lane
        """That session; None when only the answer names it."""
        self.turn_cancelled = False
        """It is a turn that this side has cancelled."""
        self.settled = False
        """The answer is here, though perhaps not yet handed over."""
        self.slot = slot
        """Where its caller waits for the answer."""


class HeldResponse(NamedTuple):
    """An answer in its place in a lane."""

    call: Call
    event: Any
    size: int


class Calls:
    """The requests of ours on one connection that are not answered."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[int, Call] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, request_id: int, call: Call) -> None:
        """A request was queued."""
        self._by_id[request_id] = call

    def give_back(self) -> None:
        """Gives back memory that is not needed at the moment."""
        if not self._by_id:
            self._by_id.clear()

    def settle(self, request_id: int) -> Call | None:
        """Takes out the call that an answer has come for; None when its caller has given up."""
        call = self._by_id.pop(request_id, None)
        if call is not None:
            call.settled = True
        return call

    def give_up(self, request_id: int) -> bool:
        """Takes out a call whose caller was cancelled. False when its answer is here already."""
        return self._by_id.pop(request_id, None) is not None

    def cancel_turns(self, session: str) -> None:
        """This side cancels what runs in a session."""
        for call in self._by_id.values():
            if call.lane == session:
                call.turn_cancelled = True

    def has_cancelled(self, session: str | None) -> bool:
        """Whether a turn of the session was cancelled by this side and has not ended."""
        return session is not None and any(
            call.turn_cancelled for call in self._by_id.values() if call.lane == session
        )

    def fail_all(self, error: ConnectionClosed) -> None:
        """Ends the wait of every caller with an exception like `error`."""
        calls, self._by_id = self._by_id, {}
        for call in calls.values():
            fill(call.slot, error)


def outcome(answer: Any) -> Any:
    """The result of a call, from what its slot was filled with; raises what that stands for."""
    if isinstance(answer, ConnectionClosed):
        # Each caller raises an exception of its own: a traceback belongs to one task.
        raise ConnectionClosed(
            str(answer), exit_code=answer.exit_code, stderr_tail=answer.stderr_tail
        ) from answer.__cause__
    if answer.outcome == "result":
        return answer.result()
    if answer.outcome == "error":
        raise RequestError(*answer.error())
    message = f"The answer to {answer.method} is malformed"
    raise RemoteProtocolError(message)
