"""Sessions that a client has archived, which closes those that are open."""

from __future__ import annotations

from typing import Any

import pytest

import acp
from tests.endpoint.session_peers import client_of, each_version, opened, text
from tests.endpoint.test_session_ids import assert_closed, served, start_reading, texts_of
from tests.raw_peer import within

GONE = {"code": -32002, "message": "Resource not found"}
BUSY = {"code": -32603, "message": "Busy"}


def archiving(version: int) -> Any:
    features = {"session_archive", "session_unarchive"}
    return client_of(version, features=features)


async def archive(connection: Any, peer: Any, answer: dict[str, Any], method: str) -> None:
    asking = peer.start(connection.request(method, {"sessionId": "s1"}, unchecked=True))
    request = await peer.receive()
    assert request["method"] == method
    await peer.send({"id": request["id"], **answer})
    if "error" in answer:
        with pytest.raises(acp.RequestError):
            await within(asking)
    else:
        await within(asking)


@each_version
@pytest.mark.parametrize("answer", [{"result": {}}, {"result": None}, {"error": GONE}])
async def test_a_handle_is_of_no_use_once_its_session_is_archived(
    version: int, answer: dict[str, Any]
) -> None:
    """C46: the agent has closed it, or does not know it."""
    async with opened(archiving(version)) as (connection, peer):
        session, updates = await start_reading(version, connection, peer, behind=[text("old")])
        await archive(connection, peer, answer, "session/archive")
        await peer.send(text("late"))
        await served(peer)
        await assert_closed(version, session, peer)
        assert await texts_of(session, updates, 1) == ["old"]
        assert [item async for item in updates] == []


@each_version
async def test_a_session_that_is_opened_again_after_it_was_archived_has_a_handle_of_its_own(
    version: int,
) -> None:
    """C46."""
    async with opened(archiving(version)) as (connection, peer):
        first, _ = await start_reading(version, connection, peer)
        await archive(connection, peer, {"result": {}}, "session/archive")
        await archive(connection, peer, {"result": {}}, "session/unarchive")
        second, new = await start_reading(version, connection, peer, behind=[text("new")])
        await assert_closed(version, first, peer)
        assert await texts_of(second, new, 1) == ["new"]


@each_version
@pytest.mark.parametrize(
    ("method", "answer"),
    [("session/archive", {"error": BUSY}), ("session/unarchive", {"result": {}})],
)
async def test_a_session_that_was_not_archived_is_open(
    version: int, method: str, answer: dict[str, Any]
) -> None:
    async with opened(archiving(version)) as (connection, peer):
        session, updates = await start_reading(version, connection, peer)
        await archive(connection, peer, answer, method)
        assert not session.is_closed
        await peer.send(text("on"))
        assert await texts_of(session, updates, 1) == ["on"]
