"""Which sessions are open, and what is kept for those who wait for one: either version."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

import acp
from acp import Limits, v1, v2
from tests.endpoint.session_peers import (
    anext_of,
    answer_setup,
    client_of,
    counting,
    each_version,
    each_wire,
    open_session,
    opened,
    permission,
    served,
    start_reading,
    text,
    texts_of,
)
from tests.raw_peer import within
from tests.sides import turns, until


def unread(connection: Any) -> int:
    return connection.stats().counters["unread"]


# Point 4 of dispatch: routing before waking.


@each_version
@each_wire
async def test_what_comes_behind_the_answer_in_its_chunk_goes_past_what_is_kept(
    version: int, wire: str
) -> None:
    """C-260: the session is open when the next message is looked at, before anybody has woken."""
    client = client_of(version, limits=Limits(kept_messages=1))
    async with opened(client, wire=wire) as (connection, peer):
        behind = [text(str(number)) for number in range(5)]
        session, updates = await start_reading(version, connection, peer, behind=behind)
        assert await texts_of(session, updates, 5) == ["0", "1", "2", "3", "4"]
        assert unread(connection) == 0


@each_version
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_nothing_is_kept_once_the_answer_is_read(version: int, method: str) -> None:
    """The other session's updates, too, find their session open at once."""
    if (version, method) == (2, "session/load"):
        method = "session/new"
    client = client_of(version, limits=Limits(kept_messages=0))
    async with opened(client) as (connection, peer):
        builder = {
            "session/new": lambda: connection.new_session("/"),
            "session/load": lambda: connection.load_session("s1", "/"),
            "session/resume": lambda: connection.resume_session("s1", "/"),
        }[method]()
        updates = builder.updates() if version == 2 else None
        got = await open_session(builder, peer, behind=[text("a"), text("b")])
        session = got if version == 1 else got.session
        assert await texts_of(session, updates, 2) == ["a", "b"]


@each_version
@each_wire
async def test_updates_before_the_answer_are_handled_at_once_and_kept(
    version: int, wire: str
) -> None:
    """The handler has them while nobody knows the session."""
    client = client_of(version)
    seen: list[str] = []

    @client.session_update
    def _(notification: Any) -> Any:
        seen.append(notification.update.content.text)
        return acp.UNHANDLED

    async with opened(client, wire=wire) as (connection, peer):
        builder = connection.new_session("/")
        updates = builder.updates() if version == 2 else None
        starting = peer.start(builder)
        request = await peer.receive()
        await peer.send(text("early"), text("other", "s2"))
        await until(lambda: seen == ["early", "other"])
        await peer.send(text("soon"), {"id": request["id"], "result": {"sessionId": "s1"}})
        got = await within(starting)
        session = got if version == 1 else got.session
        await peer.send(text("late"))
        assert await texts_of(session, updates, 3) == ["early", "soon", "late"]
        assert seen == ["early", "other", "soon", "late"]


@each_version
@pytest.mark.parametrize("bound", ["messages", "bytes"])
async def test_what_is_kept_is_bounded_and_the_oldest_is_dropped_and_counted(
    version: int, bound: str
) -> None:
    told: list[str] = []
    size = len('{"jsonrpc": "2.0", }') + len(str(text("0")))
    limits = {
        "messages": Limits(kept_messages=3),
        "bytes": Limits(kept_bytes=3 * size + size // 2),
    }[bound]
    client = client_of(version, limits=limits, on_count=counting(told))
    async with opened(client) as (connection, peer):
        early = [text(str(number)) for number in range(8)]
        builder = connection.new_session("/")
        updates = builder.updates() if version == 2 else None
        starting = peer.start(builder)
        await answer_setup(peer, *early, behind=[text("end")])
        got = await within(starting)
        session = got if version == 1 else got.session
        assert await texts_of(session, updates, 4) == ["5", "6", "7", "end"]
        assert unread(connection) == 5
        assert told.count("unread") == 5


async def test_nothing_is_kept_when_no_setup_wants_a_stream() -> None:
    client = client_of(2, limits=Limits(kept_messages=0))

    @client.session_update
    def handler(notification: Any) -> None:
        pass

    async with opened(client) as (connection, peer):
        await open_session(connection.new_session("/"), peer)
        starting = peer.start(connection.new_session("/"))
        request = await peer.receive()
        await peer.send(*(text(str(number), "s2") for number in range(5)))
        await served(peer)
        assert unread(connection) == 0
        # The handler itself is what an update is given to.
        assert connection.router.direct["session/update"][1] is handler
        await peer.answer(request["id"], {"sessionId": "s2"})
        await within(starting)
        assert connection.router.direct["session/update"][1] is handler


@each_version
async def test_updates_go_to_the_handler_itself_again_once_nobody_reads(version: int) -> None:
    client = client_of(version)

    @client.session_update
    def handler(notification: Any) -> Any:
        return acp.UNHANDLED

    async with opened(client) as (connection, peer):
        for end in ("drop", "leave"):
            session, updates = await start_reading(version, connection, peer, behind=[text("a")])
            assert await texts_of(session, updates, 1) == ["a"]
            assert connection.router.chain.sessions.is_read
            if end == "leave":
                async with updates:
                    pass
            del session, updates
            gc.collect()
            await peer.send(text("b"), text("c"))
            await served(peer)
            assert not connection.router.chain.sessions.is_read
            # Of version 1 what a handler declines may wait for others, so that this is looked at.
            called = connection.router.direct["session/update"][1]
            assert called is handler or version == 1


@each_version
async def test_a_setup_that_fails_lets_go_of_what_was_kept(version: int) -> None:
    """The next session of that id has nothing of it."""
    async with opened(client_of(version)) as (connection, peer):
        builder = connection.new_session("/")
        updates = builder.updates() if version == 2 else None
        starting = peer.start(builder)
        request = await peer.receive()
        error = {"code": -32000, "message": "Log in"}
        await peer.send(text("early"), {"id": request["id"], "error": error})
        with pytest.raises(acp.RequestError) as caught:
            await within(starting)
        assert caught.value.code == -32000
        if updates is not None:
            with pytest.raises(acp.RequestError):
                await within(anext_of(updates))
        session, updates = await start_reading(version, connection, peer, behind=[text("right")])
        assert await texts_of(session, updates, 1) == ["right"]


@each_version
async def test_a_setup_that_nobody_awaits_any_more_keeps_nothing(version: int) -> None:
    """C-261: it is cancelled, and what was to read the session is gone."""
    client = client_of(version)

    @client.session_update
    def handler(notification: Any) -> None:
        del notification

    async with opened(client) as (connection, peer):
        builder = connection.resume_session("s1", "/")
        updates = builder.updates() if version == 2 else None
        starting = peer.start(builder)
        request = await peer.receive()
        starting.cancel()
        cancelled = await peer.receive()
        assert cancelled["method"] == "$/cancel_request"
        assert cancelled["params"] == {"requestId": request["id"]}
        await turns()
        if updates is not None:
            assert [update async for update in updates] == []
        await peer.send(text("a"))
        await served(peer)
        assert connection.router.direct["session/update"][1] is handler
        await peer.answer(request["id"], {})
        await served(peer)
        assert connection.stats().calls == 0


@each_version
async def test_two_setups_at_once_get_each_its_own(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        builders = [connection.new_session("/") for _ in range(2)]
        updates = [builder.updates() if version == 2 else None for builder in builders]
        starting = [peer.start(builder.start_session()) for builder in builders]
        requests = [await peer.receive() for _ in builders]
        await peer.send(text("a", "s1"), text("b", "s2"), text("c", "s1"))
        await peer.send({"id": requests[1]["id"], "result": {"sessionId": "s2"}}, text("d", "s2"))
        second = await within(starting[1])
        await peer.send(text("e", "s2"), text("f", "s1"))
        await peer.answer(requests[0]["id"], {"sessionId": "s1"})
        first = await within(starting[0])
        if version == 2:
            first, second = first.session, second.session
        assert await texts_of(first, updates[0], 3) == ["a", "c", "f"]
        assert await texts_of(second, updates[1], 3) == ["b", "d", "e"]


@each_version
async def test_the_end_of_the_connection_is_told_to_who_reads(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        session, updates = await start_reading(version, connection, peer, behind=[text("last")])
        await peer.transport.close()
        await within(connection.wait_closed())
        assert await texts_of(session, updates, 1) == ["last"]
        with pytest.raises(acp.ConnectionClosed):
            await within(anext_of(updates))
        if version == 2:
            with pytest.raises(acp.ConnectionClosed):
                await within(anext_of(session.updates()))
            with pytest.raises(acp.ConnectionClosed):
                await within(session.wait_idle())


@each_version
async def test_a_setup_that_cannot_be_sent_reads_nothing(version: int) -> None:
    async with opened(client_of(version)) as (connection, peer):
        await peer.transport.close()
        await within(connection.wait_closed())
        builder = connection.new_session("/")
        updates = builder.updates() if version == 2 else None
        with pytest.raises(acp.ConnectionClosed):
            await within(builder)
        if updates is not None:
            with pytest.raises(acp.ConnectionClosed):
                await within(anext_of(updates))


def schema_of(version: int, method: str) -> Any:
    """The class of the answer to a method."""
    name = "".join(word.capitalize() for word in method.split("_"))
    return getattr((v1 if version == 1 else v2).schema, f"{name}Response")


ANSWERS: dict[int, dict[str, Any]] = {
    1: {
        "modes": {
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask"}],
        },
        "_meta": {"k": 1},
        "future": {"a": [True]},
    },
    2: {
        "availableCommands": [{"name": "plan", "description": "Make a plan"}],
        "_meta": {"k": 1},
        "future": {"a": [True]},
    },
}


@each_version
@pytest.mark.parametrize("method", ["new_session", "resume_session", "load_session"])
async def test_everything_that_an_agent_answers_is_there(version: int, method: str) -> None:
    """C27, C-266: members that this release does not know, too."""
    if (version, method) == (2, "load_session"):
        method = "fork_session"
    client = client_of(version, features={"session_fork"})
    async with opened(client) as (connection, peer):
        ids = () if method == "new_session" else ("s0",)
        builder = getattr(connection, method)(*ids, "/")
        got = await open_session(builder, peer, session="s1", **ANSWERS[version])
        names = method in ("new_session", "fork_session")
        sent = {**({"sessionId": "s1"} if names else {}), **ANSWERS[version]}
        assert json.loads(got.raw_response) == sent
        assert got.response == schema_of(version, method).model_validate(sent)
        assert got.response.field_meta == {"k": 1}
        session = got if version == 1 else got.session
        assert session.session_id == ("s1" if names else "s0")
        assert session.connection is connection


async def test_a_request_of_a_session_that_fails_to_load_is_not_served() -> None:
    """C-261: it was kept for the session; then nobody is there to answer it."""
    async with opened(client_of(1)) as (connection, peer):
        starting = peer.start(connection.load_session("s1", "/"))
        request = await peer.receive()
        await peer.send(permission(1), permission(2, "s2"))
        assert (await peer.receive())["id"] == 2
        await served(peer)
        await peer.send({"id": request["id"], "error": {"code": -32002, "message": "Gone"}})
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32601)
        with pytest.raises(acp.RequestError):
            await within(starting)


async def test_a_request_that_is_kept_too_long_is_not_served() -> None:
    """C-261: it is dropped for what comes behind."""
    async with opened(client_of(1, limits=Limits(kept_messages=1))) as (connection, peer):
        starting = peer.start(connection.load_session("s1", "/"))
        request = await peer.receive()
        await peer.send(permission(1), text("a"))
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32601)
        await peer.answer(request["id"], {})
        assert await texts_of(await within(starting), None, 1) == ["a"]
        assert unread(connection) == 1
