"""What who has a lease on a shared session sees and asks for, and who answers the agent."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v2
from acp.kit import PermissionPolicy
from tests.endpoint.session_peers import CANCELLED, client_of, permission, served, text, words_of
from tests.endpoint.shared_peers import Agent, Party, said, sharing
from tests.raw_peer import within
from tests.sides import turns, until

if TYPE_CHECKING:
    from collections.abc import Callable

CHOSEN = {"outcome": {"outcome": "selected", "optionId": "yes"}}


async def party_in(agent: Agent, shared: v2.SharedSessions, *replay: str) -> Party:
    """Somebody who is in the session."""
    party = Party(agent, shared)
    await agent.resumed(*replay)
    await party.loaded()
    return party


def words(changes: v2.SessionChanges) -> Callable[[], Any]:
    """What reads the text of the next change."""

    async def read() -> str:
        change = await within(anext(changes))
        assert isinstance(change, v2.schema.UpdateSessionNotification)
        return words_of(change.update)

    return read


async def test_each_view_has_its_own_stream_of_what_changes_after_it_began() -> None:
    """C-276: what came before is in the projection; a change is applied when it is read."""
    async with sharing() as (shared, agent):
        party = await party_in(agent, shared, "a")
        first = party.view.changes()
        assert said(party.view) == "a"
        await agent.send(text("b"))
        assert await words(first)() == "b"
        with party.view.share() as other:
            second = other.changes()
            await agent.send(text("c"), text("x", "another"), text("d"))
            assert [await words(first)() for _ in range(2)] == ["c", "d"]
            assert said(party.view) == "abcd"
        assert [words_of(change.update) async for change in second] == ["c", "d"]
        await agent.send(text("e"))
        assert await words(first)() == "e"


async def test_a_stream_that_is_read_too_slowly_fails_alone() -> None:
    """The session, its projection and the other streams go on."""
    async with sharing() as (shared, agent):
        party = await party_in(agent, shared)
        slow = party.view.changes(buffer=2)
        losing = party.view.changes(buffer=2, when_full="drop_oldest")
        quick = party.view.changes()
        await agent.send(*(text(str(number)) for number in range(5)))
        await served(agent)
        assert said(party.view) == "01234"
        assert [await words(slow)() for _ in range(2)] == ["0", "1"]
        with pytest.raises(acp.StreamOverflow):
            await within(anext(slow))
        assert [await words(losing)() for _ in range(2)] == ["3", "4"]
        assert (losing.dropped, quick.dropped) == (3, 0)
        assert [await words(quick)() for _ in range(5)] == list("01234")
        await party.leave()
        with pytest.raises(acp.StreamOverflow):
            await within(anext(slow))
        await agent.closed()


@pytest.mark.parametrize("bounds", [{"buffer": 0}, {"when_full": "wait"}, {"when_full": "other"}])
async def test_bounds_that_are_none_are_refused(bounds: dict[str, Any]) -> None:
    """One view cannot have the session wait for it: others share it."""
    async with sharing() as (shared, agent):
        party = await party_in(agent, shared)
        with pytest.raises(ValueError, match=r"."):
            party.view.changes(**bounds)


async def test_a_stream_ends_with_its_lease_and_one_that_is_dropped_costs_nothing() -> None:
    """C-277: what came before is read first."""
    async with sharing() as (shared, agent):
        party = await party_in(agent, shared)
        view = party.view.share()
        changes = view.changes()
        party.view.changes()
        gc.collect()
        await agent.send(text("a"))
        await until(lambda: said(view) == "a")
        waiting = view.changes()
        ends: list[str] = []
        async with anyio.create_task_group() as group:

            async def read() -> None:
                ends.extend([words_of(change.update) async for change in waiting])
                ends.append("end")

            group.start_soon(read)
            await turns()
            view.release()
        assert ends == ["end"]
        assert [words_of(change.update) async for change in changes] == ["a"]
        with pytest.raises(acp.SessionClosed):
            view.changes()
        with pytest.raises(acp.SessionClosed):
            await view.apply(v2.schema.SetSessionTitleResponse(title="T"))


async def test_what_one_view_applies_all_see() -> None:
    """C-276: answers that bring something about the session are the program's to apply."""
    async with sharing() as (shared, agent):
        party = await party_in(agent, shared)
        with party.view.share() as other:
            changes = other.changes()
            title = v2.schema.SetSessionTitleResponse(title="T")
            await party.view.apply(title)
            assert other.projection.info.title == "T"
            assert await within(anext(changes)) is title


async def test_cancelling_marks_unfinished_tool_calls_for_all_views() -> None:
    """C-276: at once, before the agent says anything."""
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress"}
    update = {"method": "session/update", "params": {"sessionId": "s1", "update": call}}
    async with sharing() as (shared, agent):
        party = await party_in(agent, shared)
        await agent.send(update)
        await until(lambda: party.view.projection.ids("tool_call") == ["t"])
        changes = party.view.changes()
        with party.view.share() as other:
            await within(other.cancel_active_work())
        message = await agent.receive()
        assert (message["method"], message["params"]) == ("session/cancel", {"sessionId": "s1"})
        assert party.view.projection.get("tool_call", "t").status == "cancelled"
        change: Any = await within(anext(changes))
        assert (change.update.tool_call_id, change.update.status) == ("t", "cancelled")


async def test_the_projections_have_the_bounds_that_are_given() -> None:
    """C-276: what is too large is refused and counted, in each opening."""
    async with sharing(limits=v2.ProjectionLimits(entity_bytes=128, terminal_bytes=128)) as (
        shared,
        agent,
    ):
        party = await party_in(agent, shared, "a" * 200)
        assert said(party.view) == ""
        assert party.view.projection.stats().refused == 1


async def test_permissions_are_cancelled_when_nobody_says_otherwise() -> None:
    """C-282: those of shared sessions; what they tell of a tool call is in the projection."""
    call = {"toolCallId": "t", "title": "Run"}
    question = permission(1)
    question["params"]["subject"] = {"type": "tool_call", "toolCall": call}
    async with sharing() as (shared, agent):
        party = await party_in(agent, shared)
        changes = party.view.changes()
        await agent.send(question)
        answer = await agent.receive()
        assert (answer["id"], answer["result"]) == (1, CANCELLED)
        assert party.view.projection.get("tool_call", "t").title == "Run"
        assert isinstance(await within(anext(changes)), v2.schema.RequestPermissionRequest)
        await agent.send(permission(2, "another"))
        answer = await agent.receive()
        assert (answer["id"], answer["error"]["code"]) == (2, -32601)


@pytest.mark.parametrize("kind", ["sync", "async", "kit"])
async def test_permissions_are_answered_by_the_policy_that_is_given(kind: str) -> None:
    """C-282: a function of the request, or one of the policies for clients."""

    def decide(request: Any) -> Any:
        return CHOSEN if request.session_id == "s1" else CANCELLED

    async def decide_later(request: Any) -> Any:
        await turns()
        return decide(request)

    policies = {"sync": decide, "async": decide_later, "kit": PermissionPolicy("allow_once")}
    async with sharing(permissions=policies[kind]) as (shared, agent):
        await party_in(agent, shared)
        await agent.send(permission(1))
        assert (await agent.receive())["result"] == CHOSEN


async def test_a_policy_can_leave_permissions_to_the_client_s_own_handler() -> None:
    """C-282: which is asked about other sessions in any case."""
    client, asked = client_of(2), list[str]()

    @client.request_permission
    def _(request: Any) -> Any:
        asked.append(request.session_id)
        return CHOSEN

    def leave(request: Any) -> Any:
        return acp.UNHANDLED

    async with sharing(client, permissions=leave) as (shared, agent):
        await party_in(agent, shared)
        for number, session in enumerate(("s1", "another")):
            await agent.send(permission(number, session))
            assert (await agent.receive())["result"] == CHOSEN
        assert asked == ["s1", "another"]


async def test_what_is_not_decided_when_the_last_lease_is_released_is_cancelled() -> None:
    """C-277, C-282: nobody is there any more to decide it; nor is anybody asked again."""
    asked: list[str] = []

    async def decide(request: Any) -> Any:
        asked.append(request.session_id)
        await anyio.sleep_forever()

    async with sharing(permissions=decide) as (shared, agent):
        party = await party_in(agent, shared)
        await agent.send(permission(1))
        await until(lambda: asked == ["s1"])
        with party.view.share():
            await party.leave()
            await served(agent)
        close_id = await agent.asked("session/close")
        answer = await agent.receive()
        assert (answer["id"], answer["result"]) == (1, CANCELLED)
        await agent.send(permission(2))
        answer = await agent.receive()
        assert (answer["id"], answer["result"]) == (2, CANCELLED)
        assert asked == ["s1"]
        await agent.answer(close_id, {})
        await served(agent)


async def test_permissions_of_a_resume_that_was_given_up_are_cancelled() -> None:
    """C-278: while it is drained."""

    def decide(request: Any) -> Any:
        pytest.fail("nobody looks at that session")

    async with sharing(permissions=decide) as (shared, agent):
        party = Party(agent, shared)
        await agent.asked("session/resume")
        await party.cancel()
        await agent.send(permission(1))
        assert (await agent.receive())["result"] == CANCELLED
