"""Modules with names of the official Python SDK: functions, tables of handlers, streams."""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings
from typing import Any, cast

import pytest

import acp
from acp import schema, utils
from acp._deserialize import salvage_on_error, skip_invalid_items
from acp._transport import NdjsonTransport, Transport, memory_transport_pair
from acp.agent.connection import AgentSideConnection
from acp.agent.router import build_agent_router
from acp.client.connection import ClientSideConnection
from acp.client.router import build_client_router
from acp.connection import Connection
from acp.router import MessageRouter, Route
from acp.stdio import spawn_stdio_connection
from acp.task import MessageSender, TaskSupervisor
from acp.transports import spawn_stdio_transport
from tests.raw_peer import within
from tests.sides import Nothing, Silent, until

pytestmark = pytest.mark.asyncio_only

# Functions around objects.


def test_params_are_plain_data_without_what_is_absent() -> None:
    request = acp.InitializeRequest(protocol_version=1)
    assert utils.serialize_params(request) == {"protocolVersion": 1}
    assert utils.normalize_result(None) == {}
    assert utils.normalize_result([1]) == [1]
    result = acp.PromptResponse(stop_reason="end_turn")
    assert utils.normalize_result(result) == {"stopReason": "end_turn"}


@pytest.mark.parametrize("payload", [None, [1], "text", 5])
def test_what_is_no_dict_counts_as_little_as_the_function_says(payload: Any) -> None:
    kind = acp.ReadTextFileResponse
    assert utils.ensure_dict(payload) == {}
    assert utils.validate_optional_model(payload, kind) is None
    assert utils.validate_model_from_dict(payload, acp.WriteTextFileResponse) is not None
    for validate in (utils.validate_model, utils.validate_model_from_dict):
        with pytest.raises(ValueError, match="ReadTextFileResponse"):
            validate(payload, kind)


async def test_requests_with_objects_go_over_any_connection() -> None:
    async def answer(method: str, params: Any, is_notification: bool) -> Any:
        seen.append((method, params, is_notification))
        return None if method == "none" else {"content": params["path"]}

    async def silent(method: str, params: Any, is_notification: bool) -> Any:
        del method, params, is_notification

    seen: list[Any] = []
    ours, theirs = acp.memory_pair()
    request = acp.ReadTextFileRequest(session_id="s", path="/a")
    kind = acp.ReadTextFileResponse
    async with Connection(silent, ours) as conn, Connection(answer, theirs):
        read = await within(utils.request_model(conn, "m", request, kind))
        assert read == kind(content="/a")
        assert await within(utils.request_model_from_dict(conn, "m", request, kind)) == read
        assert await within(utils.request_optional_model(conn, "none", request, kind)) is None
        await utils.notify_model(conn, "note", request)
        await until(lambda: len(seen) == 4)
    assert seen[-1] == ("note", {"sessionId": "s", "path": "/a"}, True)


def test_validators_that_give_way_catch_faults_and_nothing_else() -> None:
    def validate(value: Any) -> Any:
        items = value if isinstance(value, list) else [value]
        return [acp.ReadTextFileResponse.model_validate({"content": item}) for item in items]

    good = acp.ReadTextFileResponse(content="a")
    assert salvage_on_error("a", validate, list) == [good]
    assert salvage_on_error(5, validate, lambda: ["fallback"]) == ["fallback"]
    assert skip_invalid_items(["a", 5, "a", None], validate) == [good, good]
    assert skip_invalid_items("a", validate) == [good]

    def broken(value: Any) -> Any:
        raise RuntimeError

    for call in (
        lambda: salvage_on_error(1, broken, list),
        lambda: skip_invalid_items([1], broken),
    ):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.parametrize("name", ["http", "ws"])
def test_a_module_that_is_to_come_says_so(name: str) -> None:
    with pytest.raises(ImportError, match=f"acp.{name} is not part of this release"):
        __import__(f"acp.{name}.client")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("acp.agent.connection", "build_agent_router"),
        ("acp.client.connection", "SessionNotification"),
        ("acp.client.router", "ReadTextFileRequest"),
        ("acp.connection", "NdjsonTransport"),
        ("acp.interfaces", "ToolCallUpdate"),
        ("acp.utils", "Connection"),
    ],
)
def test_names_are_also_where_the_official_sdk_imports_them(module: str, name: str) -> None:
    found = getattr(__import__(module, fromlist=["*"]), name)
    assert found is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = __import__(module, fromlist=["*"]).no_such_name


# Tables of handlers.


class Agent(acp.Agent):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> Any:
        self.seen.append((cwd, session_id, kwargs))

    async def fork_session(self, session_id: str, cwd: str, **kwargs: Any) -> Any:
        return acp.schema.ForkSessionResponse(session_id="other")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self.seen.append(session_id)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {method: params}


async def test_a_table_calls_handlers_as_a_connection_does() -> None:
    agent = Agent()
    table = build_agent_router(agent)
    load = {"cwd": "/", "sessionId": "s", "mcpServers": [], "_meta": {"a": 1, "cwd": "/evil"}}
    assert await table("session/load", load, False) == {}
    await table("session/cancel", {"sessionId": "s"}, True)
    assert await table("_echo", {"a": 1}, False) == {"echo": {"a": 1}}
    cwd, session, keywords = agent.seen[0]
    assert (cwd, session, keywords["a"]) == ("/", "s", 1)
    assert agent.seen[1] == "s"
    await table("_note", {}, True)
    for method in ("session/new", "no/such"):
        with pytest.raises(acp.RequestError) as caught:
            await table(method, {}, False)
        assert (caught.value.code, caught.value.data) == (-32601, {"method": method})
    with pytest.raises(ValueError, match="sessionId"):
        await table("session/load", {"cwd": "/"}, False)


async def test_a_table_serves_unstable_methods_only_when_asked() -> None:
    fork = {"cwd": "/", "sessionId": "s"}
    with (
        pytest.warns(UserWarning, match="session/fork is not stable"),
        pytest.raises(acp.RequestError) as caught,
    ):
        await build_agent_router(Agent())("session/fork", fork, False)
    assert caught.value.code == -32601
    table = build_agent_router(Agent(), use_unstable_protocol=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (await table("session/fork", fork, False)).session_id == "other"


async def test_a_clients_table_gives_an_elicitation_as_message_and_mode() -> None:
    seen: list[Any] = []

    class Client(acp.Client):
        async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> Any:
            seen.append((message, type(mode).__name__, kwargs))
            return schema.DeclineElicitationResponse()

    table = build_client_router(Client(), use_unstable_protocol=True)
    url = {"url": "https://x", "elicitationId": "e", "message": "Who?", "mode": "url"}
    for scope in ({"sessionId": "s"}, {"requestId": 1}):
        await table("elicitation/create", {**url, **scope}, False)
    kinds = ("ElicitationUrlSessionMode", "ElicitationUrlRequestMode")
    assert seen == [("Who?", kind, {}) for kind in kinds]


async def test_routes_of_ones_own() -> None:
    class Own:
        async def read(self, path: str, session_id: str, **kwargs: Any) -> Any:
            return path

    table = MessageRouter()
    model = acp.ReadTextFileRequest
    table.route_request("own/read", model, Own(), "read", adapt_result=lambda path: [path])
    table.route_request("own/none", model, Own(), "none", optional=True, default_result=7)
    table.route_notification("own/note", model, Own(), "read")
    table.add_route(Route("own/more", None, "request"))
    params = {"sessionId": "s", "path": "/a"}
    assert await table("own/read", params, False) == ["/a"]
    assert await table("own/none", params, False) == 7
    assert await table("own/note", params, True) == "/a"
    for method in ("own/more", "own/note"):
        with pytest.raises(acp.RequestError, match="Method not found"):
            await table(method, params, False)


# Streams and tasks.


class Writer:
    """What a sender needs of a StreamWriter."""

    def __init__(self) -> None:
        self.data = b""
        self.go = asyncio.Event()
        self.go.set()

    def write(self, data: bytes) -> None:
        self.data += data

    async def drain(self) -> None:
        await self.go.wait()


def sender(writer: Writer) -> MessageSender:
    return MessageSender(cast("Any", writer), TaskSupervisor(source="tests"))


async def test_a_sender_writes_one_message_after_the_other() -> None:
    writer = Writer()
    writer.go.clear()
    sending = sender(writer)
    tasks = [asyncio.ensure_future(sending.send({"n": n, "é": None})) for n in range(3)]
    await until(lambda: bool(writer.data))
    tasks[1].cancel()
    closing = asyncio.ensure_future(sending.close())
    await asyncio.sleep(0)
    assert writer.data.count(b"\n") == 1
    writer.go.set()
    await within(asyncio.wait([*tasks, closing]))
    assert writer.data == '{"n":0,"é":null}\n{"n":2,"é":null}\n'.encode()
    with pytest.raises(ConnectionError):
        await sending.send({})
    await within(sending.close())


async def test_lines_are_messages_whatever_the_limit_of_the_reader(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reader = asyncio.StreamReader(limit=16)
    transport = NdjsonTransport(reader, sender(Writer()))
    assert isinstance(transport, Transport)
    long = {"a": "x" * 5000}
    reader.feed_data(b'\n \r\n{"n":1}\r\nsecret\n42\n' + b'{"a":"' + b"x" * 5000 + b'"}\n[{"n":2}]')
    reader.feed_eof()
    received = [await within(transport.receive()) for _ in range(4)]
    assert received == [{"n": 1}, long, [{"n": 2}], None]
    assert "secret" not in caplog.text
    assert len([r for r in caplog.records if r.levelno == logging.WARNING]) == 2


async def test_a_transport_of_lines_has_a_time_for_silence() -> None:
    transport = NdjsonTransport(asyncio.StreamReader(), sender(Writer()), receive_timeout=0.01)
    with pytest.raises((TimeoutError, asyncio.TimeoutError)):
        await within(transport.receive())


async def test_agent_and_client_talk_over_a_pair_of_transports() -> None:
    class Prompted(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            return acp.PromptResponse(stop_reason="end_turn")

    here, there = memory_transport_pair()
    async with (
        ClientSideConnection(Silent(), here) as client,
        AgentSideConnection(Prompted(), there),
    ):
        answer = await within(client.prompt("s", [acp.text_block("hi")]))
    assert answer.stop_reason == "end_turn"
    with pytest.raises(ConnectionError):
        await here.send({})
    assert await within(here.receive()) is None


async def test_the_end_of_one_transport_is_the_end_of_the_others_input() -> None:
    here, there = memory_transport_pair()
    await here.send({"n": 1})
    await here.close()
    assert [await within(there.receive()) for _ in range(3)] == [{"n": 1}, None, None]
    with pytest.raises(ConnectionError):
        await there.send({})
    await there.close()
    await here.close()


async def test_a_supervisor_tells_of_failures_and_ends_what_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[Any] = []

    async def failing() -> None:
        raise ValueError("secret")

    def broken(task: object, exc: BaseException) -> None:
        raise RuntimeError("secret")

    tasks = TaskSupervisor(source="tests")
    await asyncio.wait([tasks.create(failing())])
    tasks.add_error_handler(broken)
    tasks.add_error_handler(lambda task, exc: told.append(("any", type(exc).__name__)))
    await asyncio.wait([tasks.create(failing(), name="mine")])
    one = tasks.create(failing(), on_error=lambda task, exc: told.append("one"))
    await asyncio.wait([one])
    stays = tasks.create(asyncio.Event().wait())
    await asyncio.sleep(0)
    await within(tasks.shutdown())
    assert stays.cancelled()
    assert told == [("any", "ValueError"), "one"]
    assert "secret" not in caplog.text
    with pytest.raises(RuntimeError, match="shut down"):
        tasks.create(failing())


ECHO = "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)\n"


async def test_a_process_with_streams_ends_when_its_block_does() -> None:
    async with spawn_stdio_transport(sys.executable, "-c", ECHO) as (reader, writer, process):
        writer.write(b"abc\n")
        assert await within(reader.readline()) == b"cba\n"
        assert process.returncode is None
    assert process.returncode == 0


async def test_a_process_that_stays_is_terminated() -> None:
    program = "import time; print('up', flush=True); time.sleep(60)"
    command = (sys.executable, "-c", program)
    async with spawn_stdio_transport(*command, shutdown_timeout=0.1) as (reader, _, process):
        assert await within(reader.readline()) == b"up\n"
    assert process.returncode not in (None, 0)


async def test_a_process_that_fills_its_stderr_is_not_blocked() -> None:
    program = "import sys; sys.stderr.write('x' * 300_000); print('done', flush=True)"
    async with spawn_stdio_transport(sys.executable, "-c", program) as (reader, _, process):
        assert await within(reader.readline()) == b"done\n"
        assert process.stderr is not None


@pytest.mark.parametrize(("limit", "fits"), [(None, False), (200_000, True)])
async def test_the_limit_is_that_of_the_reader(limit: int | None, fits: bool) -> None:
    command = (sys.executable, "-c", "print('x' * 100_000)")
    async with spawn_stdio_transport(*command, limit=limit) as (reader, _, _process):
        if fits:
            assert len(await within(reader.readline())) == 100_001
        else:
            with pytest.raises(ValueError, match="limit"):
                await within(reader.readline())


AGENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": message["params"]}
    print(json.dumps(answer), flush=True)
"""


async def test_one_handler_for_a_process() -> None:
    seen: list[Any] = []

    async def handler(method: str, params: Any, is_notification: bool) -> Any:
        del method, params, is_notification

    command = (sys.executable, "-c", AGENT)
    async with spawn_stdio_connection(handler, *command, observers=[seen.append]) as (conn, child):
        assert await within(conn.send_request("m", {"a": [1]})) == {"a": [1]}
    assert child.returncode == 0
    assert len(seen) == 2


def test_an_agent_without_handlers_has_an_empty_table() -> None:
    assert callable(build_agent_router(Nothing()))
