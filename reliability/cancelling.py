"""Every public coroutine of a connection, cancelled at each of its checkpoints.

Owns what each is called with, and what has to hold afterwards: the connection serves both ends, or
is closed with nothing left.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import sniffio

import acp
from acp import schema
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from reliability import footprint
from reliability.checkpoints import BOUND, Outcome, cancelled_at
from reliability.ends import PYTHON
from reliability.figures import Form, Values
from tests.raw_peer import RawPeer, agent_under_test, client_under_test
from tests.sides import turns

MOST_CHECKPOINTS = 100
BACKENDS = ("asyncio", "trio")
LARGE = "x" * 300_000
ARGUMENTS: dict[str, Any] = {
    "api_type": "openai",
    "base_url": "https://example.org",
    "command": "true",
    "config_id": "c",
    "content": "x",
    "cwd": "/",
    "elicitation_id": "e",
    "exc": None,
    "exc_type": None,
    "message": "m",
    "method": "m",
    "method_id": "m",
    "mode": {"session_id": "s", "elicitation_id": "e", "url": "https://example.org"},
    "mode_id": "m",
    "options": [schema.PermissionOption(option_id="o", name="n", kind="allow_once")],
    "params": {},
    "path": "/file",
    "prompt": [acp.text_block("x")],
    "protocol_version": 1,
    "provider_id": "p",
    "session_id": "s",
    "state": "authenticated",
    "tb": None,
    "terminal_id": "t",
    "title": "t",
    "tool_call": schema.ToolCallUpdate(tool_call_id="c"),
    "update": acp.update_agent_message_text("x"),
    "value": "v",
}
ENDING = ("__aexit__", "close")
NEITHER = ("__aenter__", "listen")


class Both(acp.Agent, acp.Client):
    """Answers extension methods."""

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {}


@dataclass
class Found:
    """What was cancelled, and what was wrong then."""

    coroutines: int = 0
    cancellations: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def note(self, wrong: bool, name: str, what: str) -> None:
        if wrong:
            self.faults[f"{sniffio.current_async_library()}: {name}: {what}"] += 1


class Answering:
    """The other end: answers every request with an empty object, and counts cancellations."""

    def __init__(self, peer: RawPeer) -> None:
        self.peer = peer
        self.cancelled: Counter[Any] = Counter()
        self.answers: dict[Any, anyio.Event] = {}
        self.reads = anyio.Event()

    async def run(self) -> None:
        await self.reads.wait()
        try:
            while (message := await self.peer.receive_any()) is not None:
                if message.get("method") == "$/cancel_request":
                    self.cancelled[message["params"]["requestId"]] += 1
                elif "method" not in message:
                    self.answers[message["id"]].set()
                elif "id" in message:
                    await self.peer.answer(message["id"], {})
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return

    async def is_served(self, connection: Any) -> bool:
        """Whether each end still gets an answer from the other."""
        answered = self.answers["theirs"] = anyio.Event()
        with anyio.move_on_after(BOUND):
            await self.peer.request("theirs", "_ping", {})
            await answered.wait()
            return await connection.ext_method("ping", {}) == {}
        return False


class UnboundedPeer(RawPeer):
    """A peer that waits as long as it takes, beside what is measured."""

    async def receive_any(self) -> Any:
        while not self._received:
            chunk = await self.transport.receive()
            if not chunk:
                return None
            self._take(chunk)
        return self._received.pop(0)

    def _take(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._received += [json.loads(line) for line in lines]


Call = Callable[[Any], Coroutine[Any, Any, Any]]


def called(name: str, function: Any) -> Call:
    """What calls a method with the arguments that it has to have."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    arguments = {
        each.name: ARGUMENTS[each.name]
        for each in parameters
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    return lambda connection: getattr(connection, name)(**arguments)


async def many_updates(connection: Any) -> None:
    for _ in range(130):
        await connection.session_update("s", ARGUMENTS["update"])


async def blocked_updates(connection: Any) -> None:
    """More than the other end has room for before it reads."""
    for _ in range(6):
        await connection.session_update("s", acp.update_agent_message_text(LARGE))


def calls(kind: Any) -> dict[str, Call]:
    """Every public coroutine of a connection class that leaves the connection open."""
    found = {
        name: called(name, function)
        for name, function in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if name not in (*ENDING, *NEITHER)
    }
    if kind is AgentSideConnection:
        found |= {"many session_update": many_updates, "blocked session_update": blocked_updates}
    return found


async def while_open(kind: Any, name: str, call: Call, at: int, found: Found) -> Outcome:
    """Cancels a call at one checkpoint; the connection has to be as good as before."""
    under_test = agent_under_test if kind is AgentSideConnection else client_under_test
    async with under_test(Both()) as pair, anyio.create_task_group() as group:
        connection, raw = pair if kind is ClientSideConnection else reversed(pair)
        other = Answering(UnboundedPeer(raw.transport))
        group.start_soon(other.run)

        def on_checkpoint(count: int) -> None:
            # A sender that is blocked gets on once it was cancelled, or has waited twice.
            if count >= min(at, 2) or not name.startswith("blocked"):
                other.reads.set()

        outcome = await cancelled_at(call(connection), at, on_checkpoint)
        other.reads.set()
        found.note(outcome.hangs, name, "hangs")
        if outcome.reached:
            found.note(not outcome.cancelled, name, "the cancellation is swallowed")
            found.note(not await other.is_served(connection), name, "the connection is harmed")
        inner = connection._connection
        found.note(len(inner._calls) > 0, name, "a call is left")
        found.note(any(count > 1 for count in other.cancelled.values()), name, "cancelled twice")
        with anyio.move_on_after(BOUND) as bound:
            await connection.close()
        found.note(bound.cancelled_caught, name, "cannot be closed")
        group.cancel_scope.cancel()
    return outcome


async def ending(kind: Any, name: str, call: Call, at: int, found: Found) -> Outcome:
    """Cancels what ends a connection; closing it again ends it, and its calls fail."""
    under_test = agent_under_test if kind is AgentSideConnection else client_under_test
    async with under_test(Both()) as pair:
        connection, raw = pair if kind is ClientSideConnection else reversed(pair)
        pending = raw.start(connection.ext_method("m", {}))
        await raw.receive()
        outcome = await cancelled_at(call(connection), at)
        found.note(outcome.hangs, name, "hangs")
        with anyio.move_on_after(BOUND) as bound:
            await connection.close()
            try:
                await pending
            except acp.ConnectionClosed:
                pass
            else:
                found.note(True, name, "a call did not fail")
        found.note(bound.cancelled_caught, name, "cannot be closed")
    return outcome


async def listening(kind: Any, at: int, found: Found) -> Outcome:
    """Cancels `listen()` while it serves; the connection is closed by that."""
    ours, theirs = acp.memory_pair()
    connection = kind(Both(), ours, listening=False)
    other = RawPeer(theirs)
    async with anyio.create_task_group() as group:

        async def talk() -> None:
            try:
                for number in range(3):
                    await other.request(number, "_ping", {})
                    await other.receive()
                await theirs.close()
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return

        group.start_soon(talk)
        outcome = await cancelled_at(connection.listen(), at)
        found.note(outcome.hangs, "listen", "hangs")
        with anyio.move_on_after(BOUND) as bound:
            await connection.close()
            found.note(await ours_is_open(ours), "listen", "the transport is left open")
        found.note(bound.cancelled_caught, "listen", "cannot be closed")
        group.cancel_scope.cancel()
    return outcome


async def ours_is_open(transport: acp.Transport) -> bool:
    try:
        await transport.receive()
    except anyio.ClosedResourceError:
        return False
    return True


async def starting(at: int, found: Found) -> Outcome:
    """Cancels the start and the end of an agent's process."""
    del found

    async def body() -> None:
        if sniffio.current_async_library() == "asyncio":
            async with acp.spawn_agent_process(Both(), *PYTHON):
                await anyio.lowlevel.checkpoint()
        else:
            async with acp.process_transport(*PYTHON) as transport:
                await transport.send(b"x\n")

    return await cancelled_at(body(), at)


async def moving(at: int, found: Found) -> Outcome:
    """Cancels receiving and sending on the transport of a process; it can be closed then."""
    async with acp.process_transport(*PYTHON) as transport:

        async def body() -> None:
            await transport.send(b"x" * (1 << 20))
            await transport.receive()

        outcome = await cancelled_at(body(), at)
        found.note(outcome.hangs, "process_transport", "hangs")
    return outcome


async def holds() -> tuple[int, int, int]:
    """Descriptors, children, and, on asyncio, tasks of this process."""
    # The loop's own tasks around a child end some turns after it.
    await turns()
    gc.collect()
    is_asyncio = sniffio.current_async_library() == "asyncio"
    tasks = len(asyncio.all_tasks()) if is_asyncio else 0
    return footprint.descriptors(), len(footprint.children()), tasks


async def _cancel_everything(found: Found) -> None:
    cases: list[tuple[str, Callable[[int], Coroutine[Any, Any, Outcome]]]] = []
    for kind in (ClientSideConnection, AgentSideConnection):
        for name, call in calls(kind).items():
            cases.append((name, lambda at, k=kind, n=name, c=call: while_open(k, n, c, at, found)))
        for name in ENDING:
            call = called(name, getattr(kind, name))
            cases.append((name, lambda at, k=kind, n=name, c=call: ending(k, n, c, at, found)))
        cases.append(("listen", lambda at, k=kind: listening(k, at, found)))
    cases += [("start", lambda at: starting(at, found)), ("move", lambda at: moving(at, found))]
    await cases[-1][1](MOST_CHECKPOINTS)
    for name, case in cases:
        found.coroutines += 1
        held = await holds()
        for at in range(1, MOST_CHECKPOINTS + 1):
            outcome = await case(at)
            if not outcome.reached:
                break
            found.cancellations += 1
            left = await holds()
            found.note(left != held, name, f"{held} became {left}")
            held = left
        else:
            found.note(True, name, "has no end of checkpoints")


def everywhere(form: Form) -> Values:
    """B8."""
    del form
    found = Found()
    for backend in BACKENDS:
        anyio.run(_cancel_everything, found, backend=backend)
    for fault, count in found.faults.items():
        print(f"{count} x {fault}", file=sys.stderr)
    return {
        "coroutines": found.coroutines,
        "cancellations": found.cancellations,
        "faults": found.faults.total(),
    }
