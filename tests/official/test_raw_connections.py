"""`acp.connection.Connection`, and what programs reach of it as `_conn`: one function for all."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp.agent.router import build_agent_router
from acp.connection import Connection, StreamDirection, StreamEvent
from tests.raw_peer import RawPeer, agent_under_test, chunk, client_under_test, within
from tests.sides import Nothing, Silent, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.asyncio_only


@asynccontextmanager
async def raw(handler: Any, **options: Any) -> AsyncGenerator[tuple[Connection, RawPeer], None]:
    """A connection with one handler, and its peer."""
    ours, theirs = acp.memory_pair()
    async with Connection(handler, ours, **options) as connection:
        yield connection, RawPeer(theirs)


async def nothing(method: str, params: Any, is_notification: bool) -> Any:
    del method, params, is_notification


async def test_the_handler_gets_method_and_plain_params_of_every_message() -> None:
    seen: list[Any] = []

    async def handler(method: str, params: Any, is_notification: bool) -> Any:
        seen.append((method, params, is_notification))
        return {"got": params}

    async with raw(handler) as (_, peer):
        await peer.request("a", "session/new", {"cwd": 5, "extra": None})
        await peer.notify("session/update", [1])
        await peer.request(None, "of/nobody")
        answers = [await peer.receive(), await peer.receive()]
    assert [answer["result"] for answer in answers] == [
        {"got": {"cwd": 5, "extra": None}},
        {"got": None},
    ]
    assert sorted(seen, key=str) == [
        ("of/nobody", None, False),
        ("session/new", {"cwd": 5, "extra": None}, False),
        ("session/update", [1], True),
    ]


async def test_what_the_handler_returns_or_raises_is_the_answer() -> None:
    outcomes = {
        "none": None,
        "object": acp.PromptResponse(stop_reason="end_turn"),
        "error": acp.RequestError(-5, "No room", {"rooms": 0}),
        "failure": RuntimeError("no disk"),
        "json": RuntimeError('{"disk": 0}'),
        "number": RuntimeError("5"),
    }

    async def handler(method: str, params: Any, is_notification: bool) -> Any:
        outcome = outcomes[method]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    answers: dict[str, Any] = {}
    async with raw(handler) as (_, peer):
        for method in outcomes:
            await peer.request(method, method)
            answer = await peer.receive()
            answers[method] = answer.get("result", answer.get("error"))
    internal = {"code": -32603, "message": "Internal error"}
    assert answers == {
        "none": None,
        "object": {"stopReason": "end_turn"},
        "error": {"code": -5, "message": "No room", "data": {"rooms": 0}},
        "failure": {**internal, "data": {"details": "no disk"}},
        "json": {**internal, "data": {"disk": 0}},
        "number": {**internal, "data": {"details": "5"}},
    }


async def test_a_result_is_plain_data_whatever_the_method() -> None:
    async with raw(nothing) as (connection, peer):
        for result in ({"sessionId": 5}, None, [1], "text"):
            calling = asyncio.ensure_future(connection.send_request("session/new", {"cwd": 1}))
            request = await peer.receive()
            assert (request["method"], request["params"]) == ("session/new", {"cwd": 1})
            await peer.answer(request["id"], result)
            assert await within(calling) == result


async def test_an_error_answer_is_raised_with_its_members() -> None:
    async with raw(nothing) as (connection, peer):
        calling = asyncio.ensure_future(connection.send_request("m"))
        await peer.receive()
        await peer.send({"id": 0, "error": {"code": 7, "message": "No", "data": [1]}})
        with pytest.raises(acp.RequestError, match="No") as caught:
            await within(calling)
    assert (caught.value.code, caught.value.data) == (7, [1])


async def test_calls_end_with_the_connection_and_later_ones_fail_at_once() -> None:
    connection = Connection(nothing, acp.memory_pair()[0])
    calling = asyncio.ensure_future(connection.send_request("m"))
    await asyncio.sleep(0)
    await within(connection.close())
    for call in (calling, connection.send_request("m"), connection.send_notification("m")):
        with pytest.raises(ConnectionError, match="Connection closed"):
            await within(call)


async def test_programs_reach_the_connection_of_an_agent_or_a_client() -> None:
    async with agent_under_test(Nothing()) as (peer, agent):
        assert isinstance(agent._conn, Connection)
        calling = peer.start(agent._conn.send_request("fs/read_text_file", {"path": "/a"}))
        assert (await peer.receive())["params"] == {"path": "/a"}
        await peer.answer(0, {"content": "text"})
        assert await within(calling) == {"content": "text"}
        await agent._conn.send_notification("_note", {"a": 1})
        assert (await peer.receive())["method"] == "_note"
        await within(agent._conn.close())
        assert await peer.receive() is None


async def test_main_loop_serves_until_the_input_ends() -> None:
    ours, theirs = acp.memory_pair()
    connection = Connection(nothing, ours, listening=False)
    serving = asyncio.ensure_future(connection.main_loop())
    peer = RawPeer(theirs)
    await peer.request(1, "m")
    assert await peer.receive() == {"jsonrpc": "2.0", "id": 1, "result": None}
    await theirs.close()
    await within(serving)


async def test_a_table_of_an_agents_handlers_is_a_handler() -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            return acp.NewSessionResponse(session_id=cwd)

    async with raw(build_agent_router(Agent())) as (_, peer):
        await peer.request(1, "session/new", {"cwd": "/a", "mcpServers": []})
        assert (await peer.receive())["result"] == {"sessionId": "/a"}
        await peer.request(2, "session/load", {})
        assert (await peer.receive())["error"]["code"] == -32601


# Observers.


async def test_observers_see_each_message_before_its_handler_and_as_it_leaves() -> None:
    order: list[str] = []
    seen: list[StreamEvent] = []

    class Client(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            order.append("handled")

    def observer(event: StreamEvent) -> None:
        order.append(event.direction.value)
        seen.append(event)

    async with client_under_test(Client(), observers=[observer]) as (connection, peer):
        calling = peer.start(connection.new_session("/"))
        await peer.receive()
        await peer.send(chunk("a"))
        await peer.answer(0, {"sessionId": "s"})
        await within(calling)
    assert order == ["outgoing", "incoming", "incoming", "handled"] or order == [
        "outgoing",
        "incoming",
        "handled",
        "incoming",
    ]
    assert seen[0].message["method"] == "session/new"
    assert seen[1].message == {"jsonrpc": "2.0", **chunk("a")}
    assert seen[-1].message == {"jsonrpc": "2.0", "id": 0, "result": {"sessionId": "s"}}
    assert {event.direction for event in seen} == set(StreamDirection)


@pytest.mark.parametrize("cut", [1, 7, 1000])
async def test_frames_reach_observers_whole_however_they_are_cut(cut: int) -> None:
    seen: list[Any] = []
    lines = (
        '{"method":"_é","params":["\\n"]}\n\n  \nnoise\n[{"method":"_b"}]\n42\n{"method":"_c"}\n'
    )
    async with raw(nothing, observers=[lambda event: seen.append(event.message)]) as (_, peer):
        data = lines.encode()
        for at in range(0, len(data), cut):
            await peer.transport.send(data[at : at + cut])
        await until(lambda: len(seen) == 4)
    assert seen == [{"method": "_é", "params": ["\n"]}, [{"method": "_b"}], 42, {"method": "_c"}]


async def test_a_frame_longer_than_the_connection_reads_is_not_observed() -> None:
    seen: list[Any] = []
    options: dict[str, Any] = {"limits": acp.Limits(max_message_bytes=100)}
    async with raw(nothing, **options) as (connection, peer):
        connection.add_observer(lambda event: seen.append(event.message["method"]))
        for size in (10, 200, 10):
            await peer.notify("_" + "x" * size)
        await until(lambda: len(seen) == 2)
    assert seen == ["_" + "x" * 10] * 2


async def test_what_an_observer_raises_costs_nothing_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Any] = []

    def failing(event: StreamEvent) -> None:
        raise ValueError("secret")

    async def failing_late(event: StreamEvent) -> None:
        raise ValueError("secret")

    async def cancelled(event: StreamEvent) -> None:
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone.cancel("secret")
        await gone

    async def cancelled_late(event: StreamEvent) -> None:
        work = asyncio.ensure_future(asyncio.sleep(30))
        await asyncio.sleep(0)
        work.cancel("secret")
        await work

    observers = [failing, failing_late, cancelled, cancelled_late, seen.append]
    async with raw(nothing, observers=observers) as (_, peer):
        for number in range(3):
            await peer.request(number, "m")
            assert (await peer.receive())["result"] is None
    assert len(seen) == 6
    shown = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(shown) == 1
    assert "secret" not in caplog.text


async def test_coroutines_of_observers_run_beside_and_are_bounded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go = anyio.Event()
    begun = 0

    async def observer(event: StreamEvent) -> None:
        nonlocal begun
        begun += 1
        await go.wait()

    async with raw(nothing) as (connection, peer):
        connection.add_observer(observer)
        for number in range(1300):
            await peer.notify(f"_{number}")
        await peer.request(1, "m")
        await peer.receive()
        await until(lambda: begun == 1024)
        go.set()
    assert begun == 1024
    assert "slower" in caplog.text


async def test_a_changed_copy_changes_nothing() -> None:
    def observer(event: StreamEvent) -> None:
        event.message["params"].clear()

    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            return acp.NewSessionResponse(session_id=cwd)

    async with agent_under_test(Agent()) as (peer, agent):
        agent._conn.add_observer(lambda event: event.message.clear())
        await peer.request(1, "session/new", {"cwd": "/a", "mcpServers": []})
        assert (await peer.receive())["result"] == {"sessionId": "/a"}


# Silence.


@pytest.mark.parametrize("partial", [b"", b'{"id":', b"x" * 70_000])
async def test_a_peer_that_is_silent_for_too_long_ends_the_connection(partial: bytes) -> None:
    ours, theirs = acp.memory_pair()
    connection = Connection(nothing, ours, listening=False, receive_timeout=0.05)
    serving = asyncio.ensure_future(connection.main_loop())
    await theirs.send(partial or b"\n")
    calling = asyncio.ensure_future(connection.send_request("m"))
    with pytest.raises(acp.RequestError) as caught:
        await within(serving)
    assert (caught.value.code, caught.value.data) == (-32603, {"details": "Agent timeout"})
    with pytest.raises(ConnectionError, match="Connection closed"):
        await within(calling)


async def test_a_client_may_be_given_a_time_for_silence() -> None:
    async with client_under_test(Silent(), receive_timeout=0.05) as (connection, _):
        with pytest.raises(acp.ConnectionClosed):
            await within(connection.new_session("/"))


# Streams: what the official SDK's tests look at from inside.


class Writer:
    """What a connection needs of a StreamWriter."""

    def __init__(self) -> None:
        self.data = b""
        self.transport = self

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.data += data

    async def drain(self) -> None:
        await asyncio.sleep(0)


def streams(handler: Any, **options: Any) -> tuple[Connection, asyncio.StreamReader, Writer]:
    """A connection over streams whose reader has a small limit, and is fed by hand."""
    reader, writer = asyncio.StreamReader(limit=16), Writer()
    given: Any = writer
    return Connection(handler, given, reader, listening=False, **options), reader, writer


@pytest.mark.parametrize("cut", [False, True])
async def test_frames_longer_than_the_limit_of_a_reader_are_read(cut: bool) -> None:
    seen: list[Any] = []

    async def handler(method: str, params: Any, is_notification: bool) -> Any:
        seen.append((method, len(params["text"])))

    connection, reader, _ = streams(handler)
    frame = '{"method":"_m","params":{"text":"%s"}}' % ("x" * 500)
    for _ in range(2):
        reader.feed_data(f"{frame}\n".encode())
    # A last one that the end of input cuts off costs nothing but itself.
    reader.feed_data(frame[:300].encode() if cut else frame.encode())
    reader.feed_eof()
    await within(connection.main_loop())
    assert seen == [("_m", 500)] * (2 if cut else 3)


async def test_what_reading_raises_ends_the_connection_and_is_the_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection, reader, _ = streams(nothing)
    serving = asyncio.ensure_future(connection.main_loop())
    calling = asyncio.ensure_future(connection.send_request("m"))
    await asyncio.sleep(0)
    reader.set_exception(OSError("secret"))
    with pytest.raises(ConnectionError, match="Connection closed") as caught:
        await within(calling)
    await within(serving)
    causes = [caught.value.__cause__, getattr(caught.value.__cause__, "__cause__", None)]
    assert OSError in map(type, causes)
    assert "secret" not in caplog.text


async def test_a_call_that_is_cancelled_leaves_nothing() -> None:
    async with client_under_test(Silent()) as (connection, peer):
        calling = peer.start(connection._conn.send_request("ping"))
        await peer.receive()
        assert connection.stats().calls == 1
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert connection.stats().calls == 0
        assert (await peer.receive())["method"] == "$/cancel_request"
        await peer.answer(0, {})
        await peer.request(1, "x")
        assert (await peer.receive())["id"] == 1


async def test_private_names_that_programs_look_at_tell_what_they_did() -> None:
    async with raw(nothing, receive_timeout=5) as (connection, _):
        assert (connection._disconnected, connection._transport._receive_timeout) == (False, 5)
    assert connection._disconnected
