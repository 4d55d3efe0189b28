"""Connections inside of connections, and endpoints inside of endpoints."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v1, v2
from tests.endpoint.ends import (
    Failure,
    agent_of,
    ask,
    each_version,
    facing,
    facing_client,
    is_served,
    wire_initialize,
)
from tests.raw_peer import BOUND, RawPeer, within
from tests.sides import turns, until

# Nested connections.


@each_version
async def test_a_nested_connection_is_that_of_its_own_endpoint(v: Any) -> None:
    """C-138"""
    other = v2 if v is v1 else v1
    async with facing_client(v.Client(), v) as (connection, _):
        one, far = acp.memory_pair()
        async with connection.spawn_connection(agent_of(other), one) as child:
            assert type(child) is other.Agent.connection_type
            assert child.protocol_version != connection.protocol_version
            peer = RawPeer(far)
            assert (await ask(peer, "initialize", wire_initialize(other)))["result"]
        # It has ended by itself, and the outer one goes on.
        assert child.termination == acp.Termination("local_shutdown")
        assert connection.termination is None
        assert await peer.receive() is None


@each_version
async def test_a_nested_connection_ends_with_the_one_around_it(v: Any) -> None:
    """C-138"""
    log: list[str] = []
    inner = v.Client(version_guard=False)

    @inner.background
    async def beside(connection: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    async with facing(v.Client(version_guard=False)) as (connection, _):
        one, far = acp.memory_pair()
        child = connection.spawn_connection(inner, one)
        sent = child.request("_x/any", {})
        await turns()
        assert child.termination is None
    await until(lambda: child.termination is not None)
    assert log == ["cancelled"]
    with pytest.raises(acp.ConnectionClosed):
        await within(sent)
    assert (await RawPeer(far).receive())["method"] == "_x/any"


@each_version
async def test_a_nested_connection_that_was_never_run_is_ended_all_the_same(v: Any) -> None:
    """C-138"""
    async with facing(v.Client(version_guard=False)) as (connection, _):
        child = connection.spawn_connection(v.Client(version_guard=False), acp.memory_pair()[0])
        sent = child.request("_x/any", {})
    await until(lambda: child.termination is not None)
    with pytest.raises(acp.ConnectionClosed):
        await within(sent)
    await within(child.close())
    # The block is left in the turn in which it was to begin.
    with anyio.fail_after(BOUND):
        block = v.Client(version_guard=False).connect(acp.memory_pair()[0])
        connection = await block.__aenter__()
        await turns()
        child = connection.spawn_connection(v.Client(version_guard=False), acp.memory_pair()[0])
        sent = child.request("_x/any", {})
        await block.__aexit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    with pytest.raises(acp.ConnectionClosed):
        await within(sent)
    assert child.termination is not None


@each_version
async def test_the_failure_of_a_nested_connection_is_one_of_a_task(v: Any) -> None:
    """C-138"""
    error = Failure()

    async def fail() -> None:
        raise error

    def fails_later(connection: Any) -> Any:
        child = connection.spawn_connection(v.Client(), acp.memory_pair()[0])
        child.spawn(fail())

    def cannot_open(connection: Any) -> Any:
        connection.spawn_connection(v.Client(), acp.process_transport("/no/such/program"))

    for begin in (fails_later, cannot_open):
        with pytest.raises(acp.ConnectionClosed) as caught:
            async with facing(v.Client()) as (connection, _):
                begin(connection)
                termination = await within(connection.wait_closed())
                assert termination.kind == "handler_error"
        cause = caught.value.__cause__
        if begin is fails_later:
            assert isinstance(cause, acp.ConnectionClosed)
            assert cause.__cause__ is error
        else:
            assert isinstance(cause, FileNotFoundError)


@each_version
async def test_the_end_of_input_of_a_nested_connection_is_its_own_matter(v: Any) -> None:
    """C-138"""
    async with facing(v.Client(version_guard=False)) as (connection, peer):
        one, far = acp.memory_pair()
        child = connection.spawn_connection(v.Client(version_guard=False), one)
        await far.close()
        assert (await within(child.wait_closed())).kind == "incoming_closed"
        await turns()
        assert connection.termination is None
        assert await is_served(peer)


# Endpoints that do not go together.


def test_endpoints_of_another_version_or_side_cannot_be_included() -> None:
    """C-139"""
    for one in (v1.Agent(), v1.Client(), v2.Agent(), v2.Client()):
        for other in (v1.Agent(), v1.Client(), v2.Agent(), v2.Client()):
            if type(one) is type(other):
                one.include(other)
            else:
                with pytest.raises(ValueError, match="same side and protocol version"):
                    one.include(other)


def test_an_endpoint_cannot_include_itself() -> None:
    """C-139"""
    one, other, third = v1.Agent(), v1.Agent(), v1.Agent()
    one.include(other)
    other.include(third)
    for inner in (one, other, third):
        with pytest.raises(ValueError, match="itself"):
            inner.include(one)


@each_version
def test_what_is_included_counts_for_capabilities_and_features(v: Any) -> None:
    outer, inner = v.Agent(), v.Agent(features={"session_fork"})
    assert not outer.serves("session/fork")
    inner.fork_session(lambda _: None)
    outer.include(inner)
    assert outer.serves("session/fork")
