"""Conversations in which everything goes wrong, with a secret wherever one can be.

Owns what is said. Each scenario takes a secret and returns the exceptions that a user got; it does
not know who searches for the secret, or where. The places without it are names of methods and ids,
which log records may tell.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import anyio

import acp
from acp import _core, schema
from reliability.endpoint_indiscretions import endpoint_scenarios
from reliability.ends import PYTHON
from reliability.indiscreet import LAYERS, SMALL, Scenario, ends, facing, methods_of
from reliability.places import VERSIONS
from reliability.router_indiscretions import router_scenarios
from tests.raw_peer import agent_under_test, client_under_test, within
from tests.sides import Nothing, Silent, turns


def raising(make: Callable[[str], BaseException]) -> Callable[[str], Callable[[], Any]]:
    def with_secret(secret: str) -> Callable[[], Any]:
        def behave() -> Any:
            raise make(secret)

        return behave

    return with_secret


def chained(secret: str) -> BaseException:
    error = RuntimeError("outer")
    error.__cause__ = ValueError(secret)
    return error


def invalid(secret: str) -> BaseException:
    try:
        schema.PromptRequest(session_id=[secret], prompt={secret: secret})
    except acp.ValidationError as exc:
        return exc
    raise AssertionError("that is no prompt")


def circular(secret: str) -> Any:
    value: dict[str, Any] = {secret: secret}
    value["again"] = value
    return value


BEHAVIOURS: dict[str, Callable[[str], Callable[[], Any]]] = {
    "raises RuntimeError": raising(RuntimeError),
    "raises KeyError": raising(KeyError),
    "raises OSError": raising(lambda secret: OSError(2, "no", secret)),
    "raises a chain": raising(chained),
    "raises ValidationError": raising(invalid),
    "raises UnicodeError": raising(lambda s: UnicodeEncodeError("ascii", s, 0, 1, "no")),
    "raises NotImplementedError": raising(NotImplementedError),
    "returns an object": lambda secret: lambda: {secret: object()},
    "returns a circle": lambda secret: lambda: circular(secret),
    "returns a set": lambda secret: lambda: {secret},
    "returns bytes": lambda secret: lambda: {"x": secret.encode()},
    "returns NaN": lambda secret: lambda: {secret: float("nan")},
    "returns a text": lambda secret: lambda: secret,
}

BAD_PARAMS: dict[str, Callable[[str], Any]] = {
    "a text": lambda secret: secret,
    "a list": lambda secret: [secret],
    "unknown members": lambda secret: {secret: secret},
    "everything a text": lambda secret: dict.fromkeys(MEMBERS, secret),
    "everything an object": lambda secret: {key: {secret: secret} for key in MEMBERS},
    "everything a list": lambda secret: {key: [secret, {secret: secret}] for key in MEMBERS},
}
MEMBERS = (
    *("sessionId", "cwd", "mcpServers", "prompt", "protocolVersion", "clientCapabilities"),
    *("modeId", "configId", "value", "methodId", "update", "toolCall", "options", "path"),
    *("content", "line", "limit", "command", "args", "env", "terminalId", "outputByteLimit"),
    *("message", "mode", "requestedSchema", "elicitationId", "url", "cursor", "_meta"),
)
BAD_LINES: dict[str, Callable[[str], bytes]] = {
    "noise": lambda s: s.encode(),
    "cut off": lambda s: b'{"id":1,"method":"' + s.encode(),
    "bad UTF-8": lambda s: b'{"id":1,"method":"_m","params":{"x":"\xff' + s.encode() + b'"}}',
    "no envelope": lambda s: json.dumps({s: s}).encode(),
    "bad version": lambda s: json.dumps({"jsonrpc": s, "id": s, "method": s}).encode(),
    "bad id": lambda s: json.dumps({"id": {s: s}, "method": s}).encode(),
    "bad method": lambda s: json.dumps({"id": 1, "method": {s: s}}).encode(),
    "members twice": lambda s: f'{{"id":1,"method":"{s}","method":"{s}"}}'.encode(),
    "too long": lambda s: json.dumps({"id": 1, "method": "_m", "params": [s * 300]}).encode(),
    "too deep": lambda s: b'{"id":1,"method":"_m","params":' + b"[" * 1100 + f'"{s}"'.encode(),
    "a batch": lambda s: json.dumps([s, {"id": 1, "method": s, "params": s}]).encode(),
    "nobody's answer": lambda s: json.dumps({"id": s, "result": s}).encode(),
    "a cancellation": lambda s: json.dumps(
        {"method": "$/cancel_request", "params": {"requestId": s, s: s}}
    ).encode(),
}
BAD_ANSWERS: dict[str, Callable[[str], Any]] = {
    "a text as result": lambda s: {"result": s},
    "a list as result": lambda s: {"result": [s]},
    "bad members": lambda s: {"result": {"stopReason": s, "sessionId": {s: s}, "sessions": s}},
    "both": lambda s: {"result": s, "error": {"code": 1, "message": s}},
    "neither": lambda s: {s: s},
    "a text as error": lambda s: {"error": s},
    "an error with data": lambda s: {"error": {"code": -32603, "message": "no", "data": {s: s}}},
    "an error without a code": lambda s: {"error": {"message": s, "code": s}},
}


def failing_handler(layer: str, side: str, method: Any, with_secret: Any) -> Scenario:
    """A handler fails, or returns what cannot be written, and the params are full of it."""

    async def scenario(secret: str) -> list[BaseException]:
        name = "_m" if method is None else method.wire
        async with facing(layer, side, with_secret(secret), name) as (_, peer):
            params = {"sessionId": secret, "cwd": f"/{secret}", "mcpServers": [], "prompt": []}
            params |= {"protocolVersion": LAYERS[layer], "path": f"/{secret}"}
            params |= {"_meta": {secret: secret}, "info": {"name": secret, "version": secret}}
            if method is not None and method.kind == "notification":
                await peer.notify(name, params)
            else:
                await peer.request(1, name, params)
                await peer.receive()
            await peer.notify(name, params)
            await peer.request("last", "nothing/like/it", {})
            while (await peer.receive())["id"] != "last":
                pass
        return []

    return scenario


def bad_params(layer: str, side: str, method: Any, make: Callable[[str], Any]) -> Scenario:
    async def scenario(secret: str) -> list[BaseException]:
        only = method.wire if method.wire == "initialize" else ""
        async with facing(layer, side, dict, only) as (_, peer):
            await peer.notify(method.wire, make(secret))
            await peer.request(1, method.wire, make(secret))
            await peer.request("last", "nothing/like/it", {})
            while (await peer.receive()).get("id") != "last":
                pass
        return []

    return scenario


def bad_line(layer: str, side: str, make: Callable[[str], bytes]) -> Scenario:
    async def scenario(secret: str) -> list[BaseException]:
        async with facing(layer, side, limits=SMALL) as (_, peer):
            await within(peer.transport.send(make(secret) + b"\n"))
            await peer.request("last", "nothing/like/it", {})
            while isinstance(message := await peer.receive(), list) or message["id"] != "last":
                pass
        return []

    return scenario


def calls_of(layer: str, connection: Any, secret: str) -> list[Any]:
    """Requests that a client makes, full of it."""
    if layer == "drop-in":
        return [
            connection.prompt(secret, [acp.text_block(secret)]),
            connection.new_session(f"/{secret}"),
            connection.list_sessions(cursor=secret),
            connection.ext_method("m", {secret: secret}),
        ]
    made = VERSIONS[LAYERS[layer]].schema
    block = made.TextContentBlock(text=secret)
    requests = [
        made.PromptRequest(session_id=secret, prompt=[block]),
        made.NewSessionRequest(cwd=f"/{secret}", mcp_servers=[]),
        made.ListSessionsRequest(cursor=secret),
    ]
    calls = [connection.request(request, unchecked=True) for request in requests]
    return [*calls, connection.request("_m", {secret: secret}, result=int)]


def bad_answer(layer: str, make: Callable[[str], Any]) -> Scenario:
    async def scenario(secret: str) -> list[BaseException]:
        async with facing(layer, "client") as (connection, peer):
            waiting = [asyncio.ensure_future(call) for call in calls_of(layer, connection, secret)]
            for _ in waiting:
                request = await peer.receive()
                await peer.send({"id": request["id"], **make(secret)})
            return await ends(*waiting)

    return scenario


async def cut_off(secret: str) -> list[BaseException]:
    """The other end closes while calls wait; then it is too late for more."""
    async with client_under_test(Silent()) as (agent, peer):
        calls = [
            asyncio.ensure_future(agent.prompt(secret, [acp.text_block(secret)])),
            asyncio.ensure_future(agent.ext_method("m", {secret: secret})),
        ]
        await peer.receive()
        await peer.transport.close()
        found = await ends(*calls)
        return found + await ends(agent.new_session(f"/{secret}"))


async def cancelled(secret: str) -> list[BaseException]:
    async with client_under_test(Silent()) as (agent, peer):
        call = asyncio.ensure_future(agent.prompt(secret, [acp.text_block(secret)]))
        await peer.receive()
        call.cancel(secret[:3])
        return await ends(call)


async def kept_waiting(secret: str) -> list[BaseException]:
    """A handler keeps its session until patience ends, then more waits than may wait."""

    class Slow(acp.Agent):
        async def ext_notification(self, method: str, params: Any) -> None:
            await anyio.Event().wait()

    async with agent_under_test(Slow(), limits=SMALL) as (peer, connection):
        call = asyncio.ensure_future(connection.ext_method("m", {secret: secret}))
        await peer.receive()
        note = {"method": "_n", "params": {"sessionId": secret, secret: secret}}
        for _ in range(12):
            await peer.send(note)
            await asyncio.sleep(0.002)
        return await ends(call)


async def never_read(secret: str) -> list[BaseException]:
    async with agent_under_test(Nothing(), limits=SMALL) as (_, connection):
        update = acp.update_agent_message_text(secret * 10_000)

        async def send() -> None:
            for _ in range(100):
                await connection.session_update(secret, update)

        return await ends(send())


async def not_sent(secret: str) -> list[BaseException]:
    """What cannot be written is refused to who sends it."""
    async with client_under_test(Silent()) as (agent, _):
        values = (object(), {secret: object()}, [secret, {1, 2}], circular(secret), float("nan"))
        calls = [agent.ext_method("m", {secret: value}) for value in values]
        calls += [agent.ext_notification("m", {secret: value}) for value in values]
        calls += [agent.prompt([secret], secret), agent.new_session({secret: secret})]
        calls += [agent.initialize(secret)]
        waiting = [asyncio.ensure_future(call) for call in calls]
        await turns()
        # Some can be sent, as the compatibility profile has it; nobody answers those.
        await within(agent.close())
        return await ends(*waiting)


async def not_made(secret: str) -> list[BaseException]:
    """Objects that do not fit, made and read."""
    found: list[BaseException] = []
    for name in ("PromptRequest", "NewSessionRequest", "ToolCallStart", "McpServerStdio"):
        kind = getattr(schema, name)
        for make in (
            lambda kind=kind: kind(**{secret: secret}),
            lambda kind=kind: kind(session_id={secret: secret}, cwd=[secret], env=secret),
            lambda kind=kind: kind.model_validate({secret: secret, "env": secret}),
            lambda kind=kind: kind.model_validate_json(f'{{"{secret}": {secret}'),
            lambda name=name: _core.decode(1, name, json.dumps({"cwd": [secret], secret: 1})),
        ):
            found += refused(make)
    return found


def refused(make: Callable[[], object]) -> list[BaseException]:
    try:
        make()
    except (ValueError, TypeError) as exc:
        return [exc]
    return []


async def exiting_child(secret: str) -> list[BaseException]:
    """A child knows the secret, tells it on stderr, and exits."""
    program = f"import sys, os; sys.stderr.write(os.environ['TOKEN'] + '{secret}'); sys.exit(3)"
    options = {"env": {"TOKEN": secret}}
    async with acp.spawn_agent_process(Silent(), sys.executable, "-c", program, **options) as (
        agent,
        _,
    ):
        return await ends(agent.prompt(secret, [acp.text_block(secret)]))


async def killed_child(secret: str) -> list[BaseException]:
    transport = acp.process_transport(*PYTHON, "/dev/null", secret, env={"TOKEN": secret})
    async with transport:
        transport.process.kill()
        await within(transport.process.wait())
        return [transport.closed_error(), RuntimeError(repr(transport))]


def _scenarios() -> list[tuple[str, Scenario]]:
    found: list[tuple[str, Scenario]] = [
        ("cut off", cut_off),
        ("cancelled", cancelled),
        ("kept waiting", kept_waiting),
        ("never read", never_read),
        ("not sent", not_sent),
        ("not made", not_made),
        ("process", exiting_child),
        ("process killed", killed_child),
    ]
    for layer in LAYERS:
        found += of_layer(layer)
    return found + endpoint_scenarios() + router_scenarios(BAD_LINES, BAD_ANSWERS)


def of_layer(layer: str) -> list[tuple[str, Scenario]]:
    """What can go wrong in every layer, in one of them."""
    found: list[tuple[str, Scenario]] = []
    # One method that opens, one of a turn, one of a file, one notification of each side, and none.
    some = {"initialize", "session/prompt", "session/cancel", "session/update", "fs/read_text_file"}
    for side in ("agent", "client"):
        methods = methods_of(layer, side)
        for name, behaviour in BEHAVIOURS.items():
            for method in [None, *(each for each in methods if each.wire in some)]:
                wire = "_m" if method is None else method.wire
                label = f"{layer} {side}: {wire} {name}"
                found.append((label, failing_handler(layer, side, method, behaviour)))
        for name, make in BAD_PARAMS.items():
            for method in methods:
                label = f"{layer} {side}: {method.wire} with {name}"
                found.append((label, bad_params(layer, side, method, make)))
        for name, make_line in BAD_LINES.items():
            found.append((f"{layer} {side}: {name}", bad_line(layer, side, make_line)))
    for name, make in BAD_ANSWERS.items():
        found.append((f"{layer}: answered with {name}", bad_answer(layer, make)))
    return found


SCENARIOS = _scenarios()
