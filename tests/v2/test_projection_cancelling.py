"""What a client that cancels the work of a session marks by itself."""

from __future__ import annotations

from tests.v2.told import call, made, state
from tests.v2.wire import params


def test_cancelling_marks_the_unfinished_tool_calls_and_nothing_else() -> None:
    """C-228: after `session/cancel` the client marks unfinished tool calls cancelled; a status that
    is not known counts as in progress."""
    statuses = ["pending", "in_progress", "paused", "_acme.held", None, ...]
    final = ["completed", "failed", "cancelled"]
    updates = [
        call(str(number), title="T", **({} if status is ... else {"status": status}))
        for number, status in enumerate([*statuses, *final])
    ]
    projection = made(*updates, state("running"))
    assert projection.cancel_active_work() == ["0", "1", "2", "3", "4", "5"]
    found = [projection.get("tool_call", name) for name in projection.ids("tool_call")]
    assert [each and each.status for each in found] == ["cancelled"] * 6 + final
    assert {each and each.title for each in found} == {"T"}
    assert not projection.is_idle
    assert projection.cancel_active_work() == []


def test_cancelling_leaves_background_work_alone() -> None:
    """C-228, C-238: what goes on in the background, as last reported, is no active work."""
    work = [{"type": "tool_call", "toolCallId": "b"}, {"type": "terminal", "terminalId": "t"}]
    projection = made(
        call("a", status="in_progress"),
        call("b", status="in_progress"),
        state("running", background=work),
        # A state that says nothing of it takes nothing back.
        state("running"),
        state("_acme.odd", background=[]),
    )
    assert projection.cancel_active_work() == ["a"]
    projection.apply(params(state("idle", background=[])))
    assert projection.cancel_active_work() == ["b"]


def test_what_the_agent_says_after_a_cancellation_counts() -> None:
    """C-228: the mark is the client's guess; the agent's word is the state."""
    projection = made(call("a", status="in_progress"))
    assert projection.cancel_active_work() == ["a"]
    projection.apply(params(call("a", status="completed")))
    found = projection.get("tool_call", "a")
    assert found is not None
    assert found.status == "completed"
