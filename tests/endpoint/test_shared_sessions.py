"""Sessions that several parts of a program load: one resume, one projection, one close."""

from __future__ import annotations

import copy
from typing import Any

import anyio
import pytest

import acp
from acp import v2
from tests.endpoint.session_peers import client_of, each_wire, served, text, words_of
from tests.endpoint.shared_peers import Agent, Party, said, sharing
from tests.raw_peer import within
from tests.sides import turns, until

UNKNOWN = -32002


async def two_in(agent: Agent, shared: v2.SharedSessions) -> tuple[Party, Party]:
    """Two that are in one session, by one resume."""
    both = Party(agent, shared), Party(agent, shared)
    await agent.resumed("history")
    for party in both:
        await party.loaded()
    return both


async def asked_to_close(agent: Agent, shared: v2.SharedSessions) -> Any:
    """The id of the close of a session that somebody was in."""
    party = Party(agent, shared)
    await agent.resumed("old")
    await party.loaded()
    await party.leave()
    return await agent.asked("session/close")


@each_wire
async def test_loads_at_one_time_share_one_resume_and_one_projection(wire: str) -> None:
    """C-276: the resume asks for the whole history, and each that waits gets a lease."""
    async with sharing(wire=wire) as (shared, agent):
        parties = [Party(agent, shared) for _ in range(3)]
        request = await agent.receive()
        assert request == {
            "jsonrpc": "2.0",
            "id": request["id"],
            "method": "session/resume",
            "params": {
                "sessionId": "s1",
                "cwd": "/",
                "mcpServers": [],
                "replayFrom": {"type": "start"},
            },
        }
        await served(agent)
        await agent.replay(request["id"], "a", "b")
        views = [await party.loaded() for party in parties]
        assert len({id(view) for view in views}) == 3
        assert len({id(view.projection) for view in views}) == 1
        await agent.send(text("c"))
        await until(lambda: said(views[0]) == "abc")
        late = Party(agent, shared)
        assert (await late.loaded()).projection is views[0].projection
        await served(agent)


async def test_a_lease_has_the_session_and_the_whole_answer_of_the_resume() -> None:
    """C-276: options of the answer are in the projection, behind those of the replay."""
    option = {"type": "boolean", "configId": "o", "name": "O", "currentValue": True}
    async with sharing() as (shared, agent):
        party = Party(agent, shared)
        request_id = await agent.asked("session/resume")
        await agent.answer(request_id, {"configOptions": [option], "_meta": {"k": 1}})
        view = await party.loaded()
        assert view.session_id == view.session.session_id == "s1"
        assert view.response.field_meta == {"k": 1}
        assert [each.config_id for each in view.projection.config_options] == ["o"]
        assert not view.is_disconnected


async def test_the_last_lease_that_is_released_closes_the_session_once() -> None:
    """C-277: who shares a lease has one more, and each is released on its own."""
    async with sharing() as (shared, agent):
        one, other = await two_in(agent, shared)
        copied = copy.copy(one.view)
        more = copied.share()
        await one.leave()
        await other.leave()
        with copied:
            assert copied.projection is one.view.projection
            await served(agent)
        assert copied.is_released
        copied.release()
        await served(agent)
        assert not more.is_released
        more.release()
        more.release()
        await agent.closed()
        await served(agent)
        for released in (one.view, copied, more):
            with pytest.raises(acp.SessionClosed):
                released.share()


async def test_a_load_that_is_given_up_before_its_first_step_publishes_nothing() -> None:
    """C-278: made and never entered, entered by a task without a turn, or cancelled before."""
    async with sharing() as (shared, agent):
        shared.load("s1", "/")
        parties = [Party(agent, shared), Party(agent, shared)]
        for party in parties:
            party.cancel_soon()
        with anyio.CancelScope() as scope:
            scope.cancel()
            async with shared.load("s1", "/"):
                pytest.fail("a load that was cancelled before has a lease")
        assert scope.cancelled_caught
        for party in parties:
            await party.cancel()
        await served(agent)


async def test_a_load_behind_one_that_was_given_up_never_sees_the_old_replay() -> None:
    """C-278: that is drained, then the session is closed, and only then it is resumed anew."""
    async with sharing() as (shared, agent):
        first = Party(agent, shared)
        request_id = await agent.asked("session/resume")
        await agent.send(text("old "))
        await first.cancel()
        second = Party(agent, shared)
        await served(agent)
        await agent.replay(request_id, "older ")
        close_id = await agent.asked("session/close")
        await agent.send(text("late "))
        await served(agent)
        assert second.waits
        await agent.answer(close_id, {})
        await agent.resumed("new")
        assert said(await second.loaded()) == "new"
        await second.leave()
        await agent.closed()
        await served(agent)


async def test_a_load_that_is_given_up_leaves_the_others_to_wait() -> None:
    """C-278: only the last one gives the resume up."""
    async with sharing() as (shared, agent):
        first, second = Party(agent, shared), Party(agent, shared)
        request_id = await agent.asked("session/resume")
        await first.cancel()
        await agent.replay(request_id, "a")
        assert said(await second.loaded()) == "a"
        await served(agent)


async def test_a_resume_that_nobody_waits_for_and_that_fails_needs_no_close() -> None:
    """C-278: the load behind it begins anew."""
    async with sharing() as (shared, agent):
        first = Party(agent, shared)
        request_id = await agent.asked("session/resume")
        await first.cancel()
        second = Party(agent, shared)
        await turns()
        await agent.refuse(request_id, -32603)
        await agent.resumed("new")
        assert said(await second.loaded()) == "new"


async def test_loads_behind_a_close_that_are_given_up_resume_nothing() -> None:
    """C-279: the session stays closed when nobody wants it any more."""
    async with sharing() as (shared, agent):
        close_id = await asked_to_close(agent, shared)
        others = [Party(agent, shared), Party(agent, shared)]
        await turns()
        for other in others:
            await other.cancel()
        await agent.answer(close_id, {})
        await served(agent)


async def test_a_load_during_a_close_waits_and_other_sessions_do_not() -> None:
    """C-279: all that wait share the next resume."""
    async with sharing() as (shared, agent):
        close_id = await asked_to_close(agent, shared)
        behind = [Party(agent, shared), Party(agent, shared)]
        other = Party(agent, shared, "s2")
        await agent.resumed("other", session="s2")
        assert said(await other.loaded()) == "other"
        await other.leave()
        await agent.closed("s2")
        await served(agent)
        assert all(party.waits for party in behind)
        await agent.answer(close_id, {})
        await agent.resumed("new")
        for party in behind:
            assert said(await party.loaded()) == "new"
        await served(agent)


async def test_a_failed_resume_fails_all_that_wait_and_a_later_load_tries_again() -> None:
    """C-280: each has an exception of its own."""
    async with sharing() as (shared, agent):
        parties = [Party(agent, shared) for _ in range(3)]
        await agent.refuse(await agent.asked("session/resume"), -32603)
        errors = [await party.failed() for party in parties]
        assert [getattr(error, "code", None) for error in errors] == [-32603] * 3
        assert len({id(error) for error in errors}) == 3
        await served(agent)
        again = Party(agent, shared)
        await agent.resumed("a")
        assert said(await again.loaded()) == "a"


async def test_a_failed_close_blocks_its_session_and_no_other() -> None:
    """C-280: loads get the error, those that wait as well as later ones."""
    async with sharing() as (shared, agent):
        close_id = await asked_to_close(agent, shared)
        waiting = Party(agent, shared)
        await turns()
        await agent.refuse(close_id, -32603)
        errors = [await waiting.failed()]
        errors += [await Party(agent, shared).failed() for _ in range(2)]
        assert [getattr(error, "code", None) for error in errors] == [-32603] * 3
        assert len({id(error) for error in errors}) == 3
        await served(agent)
        other = Party(agent, shared, "s2")
        await agent.resumed("a", session="s2")
        assert said(await other.loaded()) == "a"


async def test_a_session_that_the_agent_does_not_know_any_more_counts_as_closed() -> None:
    """C-280: so says its answer to the close."""
    async with sharing() as (shared, agent):
        close_id = await asked_to_close(agent, shared)
        waiting = Party(agent, shared)
        await turns()
        await agent.refuse(close_id, UNKNOWN)
        await agent.resumed("a")
        assert said(await waiting.loaded()) == "a"


def holding_client() -> tuple[Any, anyio.Event]:
    """A client whose own handler keeps what comes behind an update that says `hold`."""
    client, go = client_of(2), anyio.Event()

    @client.session_update
    async def _(notification: Any) -> None:
        if words_of(notification.update) == "hold":
            await go.wait()

    return client, go


async def test_giving_up_comes_before_an_answer_that_is_there_but_not_taken() -> None:
    """C-281: the resume is abandoned, whatever its answer, and a load behind gets a new one."""
    client, go = holding_client()
    async with sharing(client) as (shared, agent):
        first = Party(agent, shared)
        await agent.replay(await agent.asked("session/resume"), "hold")
        await served(agent)
        await first.cancel()
        second = Party(agent, shared)
        await turns()
        go.set()
        await agent.closed()
        await agent.resumed("new")
        assert said(await second.loaded()) == "new"


@pytest.mark.parametrize("succeeds", [True, False])
async def test_a_load_comes_before_an_answer_that_is_there_but_not_taken(succeeds: bool) -> None:
    """C-281: it shares the outcome of the resume."""
    client, go = holding_client()
    async with sharing(client) as (shared, agent):
        first = Party(agent, shared)
        request_id = await agent.asked("session/resume")
        await agent.send(text("hold"))
        if succeeds:
            await agent.answer(request_id, {})
        else:
            await agent.refuse(request_id, -32603)
        await served(agent)
        second = Party(agent, shared)
        await turns()
        go.set()
        for party in (first, second):
            if succeeds:
                assert said(await party.loaded()) == "hold"
            else:
                assert getattr(await party.failed(), "code", None) == -32603
        await served(agent)


async def test_a_release_of_an_opening_that_is_over_means_nothing() -> None:
    """C-281: somebody has closed the session by its handle, and it was loaded anew."""
    async with sharing() as (shared, agent):
        stale = Party(agent, shared)
        await agent.resumed("old")
        view = await stale.loaded()
        changes = view.changes()
        closing = agent.start(view.session.close())
        await agent.closed()
        await within(closing)
        fresh = Party(agent, shared)
        await agent.resumed("new")
        assert said(await fresh.loaded()) == "new"
        assert [change async for change in changes] == []
        with pytest.raises(acp.SessionClosed):
            view.share()
        await stale.leave()
        await served(agent)
        assert said(fresh.view) == "new"
        await agent.send(text("!"))
        await until(lambda: said(fresh.view) == "new!")
        assert said(view) == "old"
        await fresh.leave()
        await agent.closed()


async def test_a_session_that_was_closed_by_its_handle_is_not_closed_again() -> None:
    """C-277: the last release has nothing to do then."""
    async with sharing() as (shared, agent):
        party = Party(agent, shared)
        await agent.resumed()
        view = await party.loaded()
        closing = agent.start(view.session.close())
        await agent.closed()
        await within(closing)
        await party.leave()
        await served(agent)
        again = Party(agent, shared)
        await agent.resumed("again")
        assert said(await again.loaded()) == "again"


async def test_a_lease_is_what_a_block_has() -> None:
    """C-283: `async with shared.load(…) as view`, released also when an exception leaves it."""
    async with sharing() as (shared, agent):
        agent.group.start_soon(agent.resumed, "a")
        views: list[v2.SessionView] = []
        with pytest.raises(KeyError):
            async with shared.load("s1", "/") as view:
                views.append(view)
                assert said(view) == "a"
                raise KeyError
        assert views[0].is_released
        await agent.closed()
        await served(agent)


async def test_what_a_load_asks_for_is_what_a_resume_asks_for() -> None:
    """C-283: members of the request; those of the first load count."""
    async with sharing() as (shared, agent):
        greedy = Party(agent, shared, additional_directories=["/more"])
        assert isinstance(await greedy.failed(), acp.UnsupportedByPeer)
        await served(agent)
        party = Party(agent, shared, field_meta={"k": 1})
        request = await agent.receive()
        assert request["params"]["_meta"] == {"k": 1}
        other = Party(agent, shared, field_meta={"k": 2})
        await turns()
        await agent.answer(request["id"], {})
        for each in (party, other):
            await each.loaded()
        await served(agent)


async def test_a_load_that_asks_for_too_much_does_not_cost_those_behind_it() -> None:
    """C-279: the next that waited asks for less."""
    async with sharing() as (shared, agent):
        close_id = await asked_to_close(agent, shared)
        greedy = Party(agent, shared, additional_directories=["/more"])
        await turns()
        behind = Party(agent, shared)
        await turns()
        await agent.answer(close_id, {})
        await agent.resumed("a")
        assert said(await behind.loaded()) == "a"
        assert isinstance(await greedy.failed(), acp.UnsupportedByPeer)
