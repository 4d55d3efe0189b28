"""Results that do not fit their method, on endpoints: the hook and the counters have each once."""

from __future__ import annotations

from typing import Any

import pytest

import acp
from tests.endpoint.session_peers import client_of, each_version, opened
from tests.raw_peer import RawPeer, within
from tests.sides import until

WRONG: list[Any] = [{}, 5, [1], "x", None]


async def answered(peer: RawPeer, result: Any) -> None:
    request = await peer.receive()
    await peer.answer(request["id"], result)


@each_version
@pytest.mark.parametrize("way", ["await", "on_result", "map", "error", "prepared", "twice"])
@pytest.mark.parametrize("result", WRONG)
async def test_the_hook_is_told_of_a_result_that_does_not_fit_however_it_is_asked_for(
    version: int, way: str, result: Any
) -> None:
    """C10."""
    told: list[acp.Malformed] = []
    outcomes: list[Any] = []
    async with opened(client_of(version, on_malformed=told.append)) as (connection, peer):
        ask = connection.prepare if way == "prepared" else connection.request
        request = ask("session/list", {}, unchecked=True)
        if way == "prepared":
            request = request.send()
        if way == "map":
            request = request.map(lambda value: value)
        if way in ("await", "map", "prepared"):
            waiting = peer.start(request)
            await answered(peer, result)
            with pytest.raises(acp.ValidationError):
                await within(waiting)
        else:
            request.on_result(outcomes.append)
            await answered(peer, result)
            await until(lambda: len(outcomes) == 1)
            (outcome,) = outcomes
            for _ in range(2 if way == "twice" else 1):
                assert isinstance(outcome.error(), acp.ValidationError)
                with pytest.raises(acp.ValidationError):
                    outcome.result()
        assert connection.stats().counters["malformed_results"] == 1
    (each,) = told
    assert (each.kind, each.method, each.answered) == ("result", "session/list", False)


async def test_the_hook_is_told_of_a_turn_that_a_session_has_sent() -> None:
    told: list[acp.Malformed] = []
    async with opened(client_of(1, on_malformed=told.append)) as (connection, peer):
        starting = peer.start(connection.new_session("/"))
        await answered(peer, {"sessionId": "s1"})
        session = await within(starting)
        session.send_prompt("x")
        await answered(peer, {"stopReason": "future"})
        ended = await within(session.read_update())
        for _ in range(2):
            with pytest.raises(acp.ValidationError):
                ended.result()
        assert connection.stats().counters["malformed_results"] == 1
    assert [each.kind for each in told] == ["result"]


@each_version
async def test_a_result_that_nobody_reads_or_that_fits_is_not_told_of(version: int) -> None:
    told: list[acp.Malformed] = []
    async with opened(client_of(version, on_malformed=told.append)) as (connection, peer):
        connection.request("session/list", {}, unchecked=True).detach()
        await answered(peer, 5)
        fits = peer.start(connection.request("session/list", {}, unchecked=True))
        await answered(peer, {"sessions": []})
        await within(fits)
    assert told == []
