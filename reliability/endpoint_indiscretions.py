"""What goes wrong on endpoints alone, and above them, with a secret wherever one can be.

Owns what is said there: types of the user's, responders, callbacks, tasks, dropped handles, what
cannot be sent, the projection. What every layer has in common is `reliability.indiscretions`'.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import json
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio

import acp
from acp import v1, v2
from acp.v2 import SessionProjection
from reliability.indiscreet import LAYERS, SMALL, Scenario, ends
from reliability.opened import opened
from reliability.places import VERSIONS
from tests.raw_peer import RawPeer, chunk, within
from tests.sides import turns

__all__ = ("endpoint_scenarios", "until_last")

Failures = list[BaseException]


def caught(act: Callable[[], object]) -> Failures:
    """What an act raises."""
    try:
        act()
    except Exception as exc:  # noqa: BLE001 - it is looked at
        return [exc]
    return []


@dataclasses.dataclass
class Order:
    """A type of the user's."""

    count: int


class Model:
    """Another one."""

    @classmethod
    def model_validate(cls, value: Any) -> Model:
        raise ValueError(json.dumps(value))


async def until_last(peer: RawPeer) -> None:
    """Everything that was sent is answered."""
    await peer.request("last", "nothing/like/it", {})
    while isinstance(message := await peer.receive(), list) or message.get("id") != "last":
        pass


# What handlers get, and who answers for them.


async def types_of_the_users(version: Any, secret: str) -> Failures:
    """Params that are none of a type of the user's, and results."""
    agent = version.Agent()
    kinds = {"_order": Order, "_number": lambda value: int(value["n"]), "_model": Model}
    for name, kind in kinds.items():
        agent.on_request(name, kind)(lambda order: {})
        agent.on_notification(name, kind)(lambda order: None)
    async with opened(agent) as (connection, peer):
        for name in kinds:
            await peer.request(name, name, {secret: secret, "n": secret})
            await peer.notify(name, {secret: secret, "n": secret})
        await until_last(peer)
        asked = [connection.request("_x", {}, result=kind) for kind in kinds.values()]
        waiting = [asyncio.ensure_future(each) for each in asked]
        for _ in waiting:
            request = await peer.receive()
            await peer.answer(request["id"], {secret: secret, "n": secret})
        return await ends(*waiting)


async def responders(version: Any, secret: str) -> Failures:
    """Answers that cannot be written, errors of any kind, and none."""
    agent = version.Agent()
    found: Failures = []
    kept: list[acp.Responder] = []

    @agent.on_request("_late")
    def late(params: Any, ctx: Any) -> None:
        kept.append(ctx.defer())
        ctx.after_answer(failing, secret)

    @agent.on_request("_lost")
    async def lost(params: Any, ctx: Any) -> None:
        ctx.defer()
        raise RuntimeError(secret)

    async with opened(agent) as (_, peer):
        for number in range(5):
            await peer.request(f"late {number}", "_late", {"sessionId": secret, secret: secret})
            await peer.request(number, "_lost", {secret: secret})
        await peer.notify("$/cancel_request", {"requestId": "late 4"})
        await until_last(peer)
        first, second, third, *others = kept
        for value in ({secret: object()}, {secret}, {secret: float("nan")}):
            found += caught(partial(first.respond, value))
        second.error(RuntimeError(secret))
        third.error(acp.RequestError(-32000, "no", {"x": object()}))
        found.append(RuntimeError(repr(first)))
        first.respond({})
        del first, second, third, others
        kept.clear()
        gc.collect()
        await turns()
        await until_last(peer)
    return found


async def failing(secret: str) -> None:
    raise RuntimeError(secret)


@contextlib.contextmanager
def own_failure(secret: str) -> Iterator[None]:
    """What the program itself raises with the secret may end the connection, and its block."""
    try:
        yield
    except Exception as exc:
        if secret not in "".join(traceback.format_exception(exc)):
            raise


async def callbacks(version: Any, secret: str) -> Failures:
    """Callbacks, and what is made of results, raise what they were given."""

    def raising(outcome: Any) -> None:
        raise RuntimeError(secret)

    async def raising_later(outcome: Any) -> None:
        await anyio.lowlevel.checkpoint()
        raise RuntimeError(secret)

    with own_failure(secret):
        async with opened(version.Client()) as (connection, peer):
            params = {secret: secret}
            connection.request("_x", params).on_result(raising)
            connection.request("_x", params).map(lambda value: value[0]).on_result(raising)
            connection.request("_x", params).on_result(raising_later)
            await turns()
            # The first of them may end the connection.
            with contextlib.suppress(acp.ConnectionClosed, anyio.BrokenResourceError):
                for number in range(1, 4):
                    await peer.answer(number, params)
            await turns()
    return []


async def tasks(version: Any, secret: str) -> Failures:
    """A task of the connection fails, which ends it; the hooks fail, too."""
    found: Failures = []

    def hook(malformed: acp.Malformed) -> None:
        raise RuntimeError(secret)

    with own_failure(secret):
        async with opened(version.Client(on_malformed=hook)) as (connection, peer):
            await within(peer.transport.send(f"{secret}\n{secret}\n".encode()))
            waiting = asyncio.ensure_future(connection.request("_x", {secret: secret}))
            await peer.receive()
            connection.spawn(failing(secret))
            # The cause is the program's own exception.
            found += [RuntimeError(str(each)) for each in await ends(waiting)]
    assert found
    return found


async def dropped_handles(version: Any, secret: str) -> Failures:
    async with opened(version.Client()) as (connection, peer):
        for _ in range(3):
            connection.request("_x", {secret: secret})
        gc.collect()
        await turns()
        await until_last(peer)
        prepared = connection.prepare("_x", {secret: secret})
        found: Failures = [RuntimeError(repr(prepared))]
        waiting = asyncio.ensure_future(connection.request("_x", {secret: secret}, timeout=0.01))
        return found + await ends(waiting)


# What cannot be sent.


async def not_sent(version: Any, secret: str) -> Failures:
    """What has no form, is of another version, not on, or not allowed by the peer."""
    schema, other = version.schema, (v2 if version is v1 else v1).schema
    found: Failures = []
    async with opened(version.Client()) as (connection, _):
        waiting: list[Any] = []
        for value in (object(), {secret: object()}, [secret, {1}], {secret: float("nan")}):
            params = {secret: value}
            waiting.append(connection.notify("_x", params))
            found += caught(partial(connection.notify_nowait, "_x", params))
            # Some can be sent, and nobody answers those.
            found += caught(partial(ask, connection, waiting, "_x", params))
        block = {"type": "text", "text": secret}
        for message in (
            other.PromptRequest(session_id=secret, prompt=[block]),
            schema.TextContentBlock(text=secret),
            schema.ListSessionsRequest(cursor=secret),
            schema.PromptRequest.model_construct(session_id={secret: secret}, prompt=secret),
            secret.encode(),
        ):
            found += caught(partial(ask, connection, waiting, message))
            found += caught(partial(connection.notify_nowait, message))
        found += caught(partial(ask, connection, waiting, "session/archive", {"cwd": secret}))
        found += caught(partial(ask, connection, waiting, "session/list", {"cursor": secret}))
        waiting = [asyncio.ensure_future(each) for each in waiting]
        found += await ends(connection.initialize({secret: secret}))
    return found + await ends(*waiting, connection.request("_x", {secret: secret}))


def ask(connection: Any, waiting: list[Any], *message: Any) -> None:
    """Sends a request, whose answer is waited for later."""
    waiting.append(connection.request(*message))


async def kept_waiting(version: Any, secret: str) -> Failures:
    """A handler keeps its session until patience ends, then more waits than may wait."""
    agent = version.Agent(limits=SMALL)

    @agent.on_notification("_n")
    async def slow(params: Any) -> None:
        await anyio.Event().wait()

    async with opened(agent) as (connection, peer):
        call = asyncio.ensure_future(connection.request("_x", {secret: secret}))
        await peer.receive()
        note = {"method": "_n", "params": {"sessionId": secret, secret: secret}}
        with contextlib.suppress(anyio.BrokenResourceError):
            for _ in range(12):
                await peer.send(note)
                await asyncio.sleep(0.002)
        return await ends(call)


async def never_read(version: Any, secret: str) -> Failures:
    async with opened(version.Agent(limits=SMALL)) as (connection, _):

        async def send() -> None:
            for _ in range(100):
                await connection.notify("_n", {"sessionId": secret, "text": secret * 10_000})

        return await ends(send(), connection.request("_x", {secret: secret}))


# Above connections.


async def projected(secret: str) -> Failures:
    """What is no update, and updates that cannot have been received."""
    schema = v2.schema
    projection: Any = SessionProjection(secret)
    text = schema.TextContentBlock(text=secret)
    construct = schema.UpdateSessionNotification.model_construct
    found: Failures = []
    for message in (
        secret,
        {secret: secret},
        text,
        construct(session_id=secret, update=secret),
        construct(session_id=secret, update=text),
        construct(session_id=secret, update={"sessionUpdate": secret}),
        construct(
            session_id=secret,
            update=schema.AgentMessageChunk.model_construct(message_id={secret}, content=secret),
        ),
    ):
        found += caught(partial(projection.apply, message))
    stored = schema.ToolCallUpdate(tool_call_id=secret, title=secret)
    message = schema.AgentMessage(message_id=secret, content=[text])
    change: Any = v2.apply_update
    found += caught(partial(change, stored, message))
    found += caught(partial(change, stored, text))
    change = v2.apply_meta_update
    found += caught(partial(change, {secret: secret}, secret))
    return found


async def malformed_updates(secret: str) -> Failures:
    """Updates that do not fit, on the way to a handler that gives them to a projection."""
    client = v2.Client()
    projection = SessionProjection("s")
    client.session_update(projection.apply)
    async with opened(client) as (_, peer):
        for update in (secret, {"sessionUpdate": secret, secret: secret}, chunk(secret)["params"]):
            await peer.notify("session/update", {"sessionId": "s", "update": update})
        await peer.notify("session/update", {"sessionId": secret, "update": {secret: secret}})
        await until_last(peer)
    return []


ON_ENDPOINTS = (
    *(types_of_the_users, responders, callbacks, tasks, dropped_handles),
    *(not_sent, kept_waiting, never_read),
)


def endpoint_scenarios() -> list[tuple[str, Scenario]]:
    """What can go wrong on endpoints alone, and above them."""
    found: list[tuple[str, Scenario]] = []
    for layer in ("v1", "v2"):
        version = VERSIONS[LAYERS[layer]]
        for scenario in ON_ENDPOINTS:
            label = f"{layer}: {scenario.__name__}"
            found.append((label, lambda secret, s=scenario, v=version: s(v, secret)))
    found += [("projected", projected), ("malformed updates", malformed_updates)]
    return found
