"""Requests of ours that wait for their answers.

Owns, per request id, who waits. It knows no method and does not decide when an answer is handed
over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from acp._core import ResponseReceived, ResponseRejected, decode
from acp._runtime import Slot, fill
from acp.exceptions import ConnectionClosed, RemoteProtocolError, RequestError, VersionMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Context

__all__ = ("Call", "Calls", "HeldResponse", "outcome", "plain_outcome", "session_of")


class Call:
    """One request of ours."""

    # Every request has one of these: what few need is an attribute of its own only where it is set.
    __slots__ = (
        "__dict__",
        "answer",
        "held",
        "id",
        "is_turn",
        "lane",
        "method",
        "settled",
        "slot",
    )

    turn_cancelled = False
    """It is a turn that this side has cancelled."""
    failure: Exception | None = None
    """What has kept it from being sent."""
    opening: Callable[[Any], None] | None = None
    """Called with the answer when it is read, before anything behind it is looked at."""
    taken: Callable[[], None] | None = None
    """Called when the answer is handed over, or given up."""
    callback: Callable[[Any], Any] | None = None
    """Takes the place of the answer in its lane: called with it as the handler of a notification
    is.
    """
    seen = False
    """The callback is what sees the answer before who waits for it."""
    then: Callable[[Any], Any] | None = None
    """The callback behind that, if any."""
    context: Context | None = None
    """Where that was given, and is called."""
    ends: list[Callable[[], object]] | None = None
    """What to call once it is settled."""

    def __init__(
        self,
        request_id: int | None,
        method: str,
        slot: Slot[Any],
        *,
        held: bool,
        is_turn: bool,
        lane: str | None,
    ) -> None:
        self.id = request_id
        """None when it could not be sent."""
        self.method = method
        self.held = held
        """Its answer keeps its place in the stream of a session."""
        self.lane = lane
        """That session; None when only the answer names it."""
        self.is_turn = is_turn
        """It ends with its answer: until then its session is in a turn."""
        self.settled = False
        """Nothing more can happen to it on the wire: the answer is here, though perhaps not yet
        handed over, or nobody wants it, or none can come.
        """
        self.answer: Any = None
        """The answer, once it is here."""
        self.slot = slot
        """Where its caller waits for the answer, or who looks for it finds it."""

    def settle(self) -> None:
        """Nothing more can happen to it on the wire."""
        self.settled = True
        ends, self.ends = self.ends, None
        for function in ends or ():
            function()

    def take_callback(self) -> tuple[Callable[[Any], Any], Context | None]:
        """The callback, which is called now and kept no longer, and its context."""
        assert self.callback is not None
        taken = self.callback, self.context
        self.callback = self.context = None
        return taken

    def at_end(self, function: Callable[[], object]) -> None:
        """Has a function called once it is settled."""
        if self.ends is None:
            self.ends = []
        self.ends.append(function)

    def watch(self, answered: Callable[[Any], object], taken: Callable[[], object]) -> None:
        """Has more functions called as `opening` and `taken`, behind those that are."""
        first_answered, first_taken = self.opening, self.taken

        def opening(answer: Any) -> None:
            if first_answered is not None:
                first_answered(answer)
            answered(answer)

        def all_taken() -> None:
            if first_taken is not None:
                first_taken()
            taken()

        self.opening, self.taken = opening, all_taken


class HeldResponse(NamedTuple):
    """An answer in its place in a lane."""

    call: Call
    event: Any
    size: int


class Calls:
    """The requests of ours on one connection that are not answered."""

    __slots__ = ("_by_id", "_turns")

    def __init__(self) -> None:
        self._by_id: dict[int, Call] = {}
        self._turns: dict[Call, None] | None = None
        """Turns whose answer was not handed over, as keys: there may be thousands."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, request_id: int | None) -> bool:
        return request_id in self._by_id

    def __iter__(self) -> Iterator[Call]:
        return iter(self._by_id.values())

    def add(self, request_id: int, call: Call) -> None:
        """A request was queued."""
        self._by_id[request_id] = call
        if call.is_turn:
            if self._turns is None:
                self._turns = {}
            self._turns[call] = None

    def give_back(self) -> None:
        """Gives back memory that is not needed at the moment."""
        if not self._by_id:
            self._by_id.clear()

    def settle(self, event: ResponseReceived | ResponseRejected) -> Call | None:
        """Takes out the call that an answer has come for; None when its caller has given up."""
        call = self._by_id.pop(event.id, None)
        if call is not None:
            call.settled = True
            call.answer = event
            if call.ends is not None:
                call.settle()
            if call.opening is not None:
                call.opening(event)
        return call

    def give_up(self, call: Call) -> None:
        """Takes out a call that nobody waits for any more."""
        if call.id is not None and self._by_id.pop(call.id, None) is not None:
            call.settle()
            self.handed_over(call)

    def handed_over(self, call: Call) -> None:
        """Who waits for the answer of a call gets it now, or gave it up."""
        if call.taken is not None:
            call.taken()
        if call.is_turn and self._turns is not None:
            self._turns.pop(call, None)
            if not self._turns:
                self._turns = None

    def has_callback(self, request_id: int) -> bool:
        """Whether what an answer means is more than giving it to who waits."""
        call = self._by_id.get(request_id)
        return call is not None and (call.callback is not None or call.opening is not None)

    def in_turn(self, session: str | None) -> bool:
        """Whether a turn of the session runs, as far as this side was told."""
        return self._turns is not None and any(call.lane == session for call in self._turns)

    def cancel_turns(self, session: str | None) -> None:
        """This side cancels what runs in a session."""
        for call in self._by_id.values():
            if call.is_turn and call.lane == session:
                call.turn_cancelled = True

    def has_cancelled(self, session: str | None) -> bool:
        """Whether a turn of the session was cancelled by this side and has not ended."""
        return session is not None and any(
            call.turn_cancelled for call in self._by_id.values() if call.lane == session
        )

    def fail_all(self, error: ConnectionClosed) -> list[Call]:
        """Ends the wait of every caller with an exception like `error`. Returns those that have a
        callback, which are still to be told.
        """
        calls, self._by_id = self._by_id, {}
        for call in calls.values():
            call.settle()
            if call.opening is not None:
                call.opening(error)
            self.handed_over(call)
            fill(call.slot, error)
        return [call for call in calls.values() if call.callback is not None]


def session_of(params: Any) -> str | None:
    """The session that the params of a message of ours name."""
    if type(params) is dict:
        found: Any = cast("dict[str, Any]", params).get("sessionId")
        return found if isinstance(found, str) else None
    return getattr(params, "session_id", None)


def outcome(answer: Any) -> Any:
    """The result of a call, from what its slot was filled with; raises what that stands for."""
    # What nearly all are.
    if type(answer) is ResponseReceived and answer.outcome == "result":
        return answer.result()
    if isinstance(answer, ResponseRejected):
        message = f"The answer to {answer.method} is malformed"
        raise RemoteProtocolError(message)
    if isinstance(answer, ConnectionClosed):
        # Each caller raises an exception of its own: a traceback belongs to one task.
        raise ConnectionClosed(
            str(answer),
            exit_code=answer.exit_code,
            stderr_tail=answer.stderr_tail,
            termination=answer.termination,
        ) from answer.__cause__
    if isinstance(answer, Exception):
        raise answer
    if answer.outcome == "result":
        return answer.result()
    code, message, data = answer.error()
    if answer.outcome == "mismatch":
        response = _plain_result(answer)
        raise VersionMismatch(code, message, data, selected=answer.selected, response=response)
    raise RequestError(code, message, data)


def plain_outcome(answer: Any) -> Any:
    """The same, with the result as plain JSON data."""
    if type(answer) is ResponseReceived and answer.outcome != "error":
        return _plain_result(answer)
    return outcome(answer)


def _plain_result(answer: ResponseReceived) -> Any:
    return decode(1, "ExtResponse", answer.raw_result() or b"null")
