"""Whose connection shared sessions are on, how they end with it, and the client's handlers."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import anyio
import pytest

import acp
from acp import v2
from tests.endpoint.session_peers import client_of, each_wire, opened, served, text, words_of
from tests.endpoint.shared_peers import Agent, Party, attached, said, sharing
from tests.raw_peer import PAIRS, within
from tests.sides import turns, until


@each_wire
async def test_the_end_of_the_connection_fails_who_waits_and_marks_the_views(wire: str) -> None:
    """C-282: those that wait for a resume or for a close, and those that come later."""
    async with sharing(wire=wire) as (shared, agent):
        ready = Party(agent, shared, "ready")
        await agent.resumed("a", session="ready")
        view = await ready.loaded()
        changes = view.changes()
        closing = Party(agent, shared, "closing")
        await agent.resumed(session="closing")
        await closing.loaded()
        await closing.leave()
        await agent.asked("session/close", "closing")
        behind = Party(agent, shared, "closing")
        resuming = [Party(agent, shared, "resuming") for _ in range(2)]
        await agent.asked("session/resume", "resuming")
        await agent.send(text("b", "ready"))
        await agent.transport.close()
        errors = [await party.failed() for party in (behind, *resuming)]
        await until(lambda: view.is_disconnected)
        errors.append(await Party(agent, shared, "later").failed())
        assert [type(error) for error in errors] == [acp.ConnectionClosed] * 4
        assert len({id(error) for error in errors}) == 4
        assert said(view) == "ab"
        assert words_of((await within(anext(changes))).update) == "b"
        with pytest.raises(acp.ConnectionClosed):
            await within(anext(changes))
        late = view.changes()
        with pytest.raises(acp.ConnectionClosed):
            await within(anext(late))
        for lease, error in ((view, acp.ConnectionClosed), (closing.view, acp.SessionClosed)):
            with pytest.raises(error):
                lease.share()
        with pytest.raises(acp.ConnectionClosed):
            await view.cancel_active_work()
        assert closing.view.is_disconnected
        view.release()
        with pytest.raises(StopAsyncIteration):
            await within(anext(late))


@each_wire
@pytest.mark.parametrize("unanswered", ["resume", "abandoned resume", "close", "nothing"])
async def test_the_owner_of_the_connection_stops_it_whatever_is_unanswered(
    wire: str, unanswered: str
) -> None:
    """C-282: the agent sees the end of its input, behind the close of what was still open."""
    ours, theirs = PAIRS[wire]()
    await theirs.open()
    async with anyio.create_task_group() as group:
        agent = Agent(theirs, group)
        group.start_soon(agent.initialized)
        async with v2.SharedSessions(client_of(2), ours) as shared:
            unentered = shared.load("s1", "/")
            party = Party(agent, shared)
            request_id = await agent.asked("session/resume")
            if unanswered == "abandoned resume":
                await party.cancel()
            elif unanswered != "resume":
                await agent.answer(request_id, {})
                await party.loaded()
            if unanswered == "close":
                await party.leave()
                await agent.asked("session/close")
        if unanswered == "nothing":
            await agent.asked("session/close")
        assert await agent.receive() is None
        if unanswered == "resume":
            assert isinstance(await party.failed(), RuntimeError)
        if unanswered == "nothing":
            assert party.view.is_released
            assert party.view.is_disconnected
            await party.leave()
        with pytest.raises(RuntimeError, match="async with"):
            shared.load("s1", "/")
        with pytest.raises(RuntimeError, match="async with"):
            async with unentered:
                pytest.fail("it was left")
        await theirs.close()


async def test_an_owner_that_is_cancelled_stops_the_connection() -> None:
    """C-282: with a resume unanswered."""
    ours, theirs = acp.memory_pair()
    await theirs.open()
    async with anyio.create_task_group() as group:
        agent = Agent(theirs, group)
        scope = anyio.CancelScope()

        async def own() -> None:
            with scope:
                sharing = v2.SharedSessions(client_of(2), ours)
                async with sharing as shared, shared.load("s1", "/"):
                    pytest.fail("nobody has answered")

        group.start_soon(own)
        await agent.initialized()
        await agent.asked("session/resume")
        scope.cancel()
        assert await agent.receive() is None
        await theirs.close()


async def test_an_owner_whose_agent_refuses_to_initialize_has_no_connection() -> None:
    """The error is raised where the block begins, and the transport is closed."""
    ours, theirs = acp.memory_pair()
    await theirs.open()
    async with anyio.create_task_group() as group:
        agent = Agent(theirs, group)
        errors: list[Exception] = []

        async def own() -> None:
            shared = v2.SharedSessions(client_of(2), ours)
            try:
                async with shared:
                    pytest.fail("it is not initialized")
            except acp.RequestError as exc:
                errors.append(exc)
            with pytest.raises(RuntimeError):
                _ = shared.connection

        group.start_soon(own)
        request = await agent.receive()
        await agent.refuse(request["id"], -32603)
        assert await agent.receive() is None
        await until(lambda: bool(errors))
        await theirs.close()


async def test_a_connection_of_one_s_own_goes_on_and_the_close_is_waited_for_next_time() -> None:
    """C-279, C-282: what is open is closed; who shares the connection next waits for the answer."""
    client = client_of(2)
    async with attached(client) as (connection, agent):
        async with v2.SharedSessions(client, connection) as shared:
            assert shared.connection is connection
            party = Party(agent, shared)
            await agent.resumed("old")
            old = await party.loaded()
        assert old.is_released
        close_id = await agent.asked("session/close")
        await party.leave()
        async with v2.SharedSessions(client, connection) as shared:
            again = Party(agent, shared)
            await served(agent)
            await agent.answer(close_id, {})
            await agent.resumed("new")
            assert said(await again.loaded()) == "new"
            assert not old.is_disconnected
        await again.leave()
        await agent.closed()
        await served(agent)


async def test_a_resume_that_is_unanswered_when_its_owner_leaves_is_closed_once_it_is() -> None:
    """C-278, C-282: on a connection of one's own, whose next owner waits for that."""
    client = client_of(2)
    async with attached(client) as (connection, agent):
        async with v2.SharedSessions(client, connection) as shared:
            party = Party(agent, shared)
            request_id = await agent.asked("session/resume")
        assert isinstance(await party.failed(), RuntimeError)
        await agent.replay(request_id, "old")
        close_id = await agent.asked("session/close")
        async with v2.SharedSessions(client, connection) as shared:
            again = Party(agent, shared)
            await served(agent)
            await agent.answer(close_id, {})
            await agent.resumed("new")
            assert said(await again.loaded()) == "new"


async def test_a_connection_of_one_s_own_is_shared_once_at_a_time_and_by_an_attached_client() -> (
    None
):
    """C-283: both are said before anything is sent."""
    client = client_of(2)
    async with opened(client) as (connection, peer):
        with pytest.raises(ValueError, match="attach"):
            async with v2.SharedSessions(client, connection):
                pytest.fail("its updates would not be seen")
        v2.SharedSessions.attach(client)
        shared = v2.SharedSessions(client, connection)
        async with shared:
            with pytest.raises(RuntimeError, match="shared already"):
                async with v2.SharedSessions(client, connection):
                    pytest.fail("two would share it")
        with pytest.raises(RuntimeError, match="used already"):
            async with shared:
                pytest.fail("it was used")
        await served(peer)


@pytest.mark.parametrize("way", ["before", "behind", "included", "twice"])
async def test_a_client_s_own_handler_sees_each_update_once_behind_the_projection(way: str) -> None:
    """C-283: wherever it was registered, and however often the client is attached."""
    client, seen = client_of(2), list[str]()
    if way == "behind":
        v2.SharedSessions.attach(client)
    views: list[Any] = []

    @client.session_update
    def _(notification: Any) -> None:
        shown = said(views[0]) if views else ""
        seen.append(f"{words_of(notification.update)} of {shown}")

    if way == "included":
        other = client_of(2)
        v2.SharedSessions.attach(other)
        client.include(other)
    if way == "twice":
        v2.SharedSessions.attach(client)
        v2.SharedSessions.attach(client)
    async with sharing(client) as (shared, agent):
        party = Party(agent, shared)
        await agent.resumed("a")
        views.append(await party.loaded())
        changes = views[0].changes()
        await agent.send(text("b"), text("c"), text("x", "another"))
        await served(agent)
        assert seen == ["a of ", "b of ab", "c of abc", "x of abc"]
        assert said(views[0]) == "abc"
        assert [words_of((await within(anext(changes))).update) for _ in range(2)] == ["b", "c"]


async def test_nothing_is_kept_of_a_connection_that_has_ended() -> None:
    """C-282: nor of its views."""
    async with sharing() as (shared, agent):
        party = Party(agent, shared)
        await agent.resumed("a")
        watched: list[weakref.ref[Any]] = [weakref.ref(shared.connection)]
        watched.append(weakref.ref((await party.loaded()).projection))
        await party.leave()
        await agent.closed()
        blocked = Party(agent, shared)
        await agent.resumed()
        await blocked.loaded()
        await blocked.leave()
        await agent.refuse(await agent.asked("session/close"), -32603)
        await served(agent)
    del shared, agent, party, blocked
    await turns()
    gc.collect()
    assert [reference() for reference in watched] == [None, None]
