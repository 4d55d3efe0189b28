"""What goes wrong while a protocol version is chosen, with a secret wherever one can be.

Owns what is said to a router before it has chosen, and to a connector before it has a connection.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

import acp
from acp.negotiation import AgentRouter, ClientConnector
from reliability.endpoint_indiscretions import until_last
from reliability.indiscreet import SMALL, Scenario, ends
from reliability.places import VERSIONS, answering, initialize
from tests.raw_peer import RawPeer, within

__all__ = ("router_scenarios",)

Failures = list[BaseException]


@asynccontextmanager
async def routed(versions: list[int]) -> AsyncGenerator[RawPeer, None]:
    """The hand of a client, whose agent is behind a router."""
    here, there = acp.memory_pair()
    await here.open()
    router = AgentRouter(limits=SMALL, close_on_rejection=False)
    for version in versions:
        router.add(answering(version, "agent"))
    async with anyio.create_task_group() as group:
        group.start_soon(router.serve, there)
        yield RawPeer(here, group)
        await here.close()
        group.cancel_scope.cancel()


def first_line(versions: list[int], make: Callable[[str], bytes]) -> Scenario:
    """A router gets it before anything is chosen."""

    async def scenario(secret: str) -> Failures:
        async with routed(versions) as peer:
            await within(peer.transport.send(make(secret) + b"\n"))
            await until_last(peer)
        return []

    return scenario


OPENINGS: dict[str, Callable[[str], Any]] = {
    "a text as version": lambda secret: {"protocolVersion": secret},
    "an object as version": lambda secret: {"protocolVersion": {secret: secret}},
    "version 0": lambda secret: {**initialize(2), "protocolVersion": 0, secret: secret},
    "bad info": lambda secret: {**initialize(2), "info": secret, secret: {secret: secret}},
    "bad capabilities": lambda secret: {**initialize(2), "capabilities": [secret]},
    "of a later version": lambda secret: {"protocolVersion": 9, "info": {secret: secret}},
    "no object": lambda secret: [secret],
}


def opening(versions: list[int], make: Callable[[str], Any]) -> Scenario:
    """An `initialize` that is refused, or not."""

    async def scenario(secret: str) -> Failures:
        async with routed(versions) as peer:
            for _ in range(2):
                await peer.request("open", "initialize", make(secret))
                await peer.receive()
            await until_last(peer)
        return []

    return scenario


INITIALIZED: dict[str, Callable[[str], Any]] = {
    "another version": lambda secret: {"result": {"protocolVersion": 9, secret: secret}},
    "a text as version": lambda secret: {"result": {"protocolVersion": secret}},
    "no info": lambda secret: {"result": {"protocolVersion": 2, "info": {secret: secret}}},
    "version 1 and nothing else": lambda secret: {
        "result": {"protocolVersion": 1, "agentInfo": secret, "authMethods": secret, secret: secret}
    },
    "unsupported": lambda secret: {
        "error": {"code": -32022, "message": "no", "data": {"supported": [1, secret], secret: 1}}
    },
    "unsupported, with a text": lambda secret: {
        "error": {"code": -32022, "message": "no", "data": secret}
    },
}


def answered(clients: list[int], make: Callable[[str], Any]) -> Scenario:
    """A connector's `initialize` gets an answer full of it."""

    async def scenario(secret: str) -> Failures:
        async def agent(transport: acp.Transport) -> None:
            await transport.open()
            peer = RawPeer(transport, group)
            await within(transport.send(f"{secret}\n".encode()))
            while (message := await peer.receive()) is not None:
                if "id" in message:
                    await peer.send({"id": message["id"], **make(secret)})

        def open_transport() -> acp.Transport:
            here, there = acp.memory_pair()
            group.start_soon(agent, there)
            return here

        async def connect() -> None:
            async with connector.connect(open_transport):
                pass

        makers = {f"v{number}": (lambda n=number: VERSIONS[n].Client()) for number in clients}
        connector = ClientConnector(**makers)
        async with anyio.create_task_group() as group:
            found = await ends(connect())
            group.cancel_scope.cancel()
        return found

    return scenario


def router_scenarios(lines: dict[str, Any], answers: dict[str, Any]) -> list[tuple[str, Scenario]]:
    """What can go wrong while a version is chosen: with these first lines, and these answers."""
    found: list[tuple[str, Scenario]] = []
    for versions in ([1, 2], [2], [1]):
        label = f"router of {versions}"
        found += [(f"{label}: {n}", first_line(versions, make)) for n, make in lines.items()]
        found += [(f"{label}: {n}", opening(versions, make)) for n, make in OPENINGS.items()]
        label = f"connector of {versions}"
        for name, make in {**answers, **INITIALIZED}.items():
            found.append((f"{label}: {name}", answered(versions, make)))
    return found
