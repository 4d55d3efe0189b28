"""What an agent or a client answers, and tells its own callers: from bytes to handlers and back.

Owns the errors that handlers, params and results end in, and how a connection ends. The order of
handlers is not looked at here; numbers C-… are those of `tests/requirements.toml`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import RequestError, schema
from acp.agent.connection import AgentSideConnection
from tests.raw_peer import RawPeer, agent_under_test, client_under_test, within


async def ask(peer: RawPeer, method: str, params: str = "{}", request_id: str = '"q"') -> Any:
    """Sends a request; its error or result, which has to be the next thing that comes."""
    await peer.send_text(f'{{"id":{request_id},"method":"{method}","params":{params}}}\n')
    answer = await peer.receive()
    assert answer.pop("jsonrpc") == "2.0"
    assert answer.pop("id") == json.loads(request_id)
    return answer


async def is_served(peer: RawPeer) -> bool:
    """Whether the next request, whatever came before, has its answer next."""
    return await ask(peer, "_alive", request_id='"alive"') == {"result": {"alive": True}}


class Handlers:
    """An agent's handlers: each extension method ends as its function does."""

    def __init__(self, **methods: Callable[[], Any]) -> None:
        self.methods = methods
        self.called: list[str] = []

    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        self.called.append(method)
        return {"alive": True} if method == "alive" else self.methods[method]()

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.called.append(method)
        self.methods[method]()

    async def new_session(self, **keywords: Any) -> Any:
        self.called.append("new_session")
        return schema.NewSessionResponse(session_id="s")


def failing(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


# What handlers end with.


@pytest.mark.parametrize(
    "error",
    [
        RequestError(1, "\ud800"),
        RequestError(2**31, "too big"),
        RequestError("x", "no number"),
        RequestError(1, None),
        RequestError(1, "data", object()),
        RequestError(1, "data", {"v": float("nan")}),
    ],
)
async def test_an_error_that_cannot_be_written_is_answered_all_the_same(
    error: RequestError,
) -> None:
    """C-018"""
    async with agent_under_test(Handlers(fail=failing(error))) as (peer, _):
        answer = await ask(peer, "_fail")
        assert answer["error"]["code"] in (1, -32603)
        assert await is_served(peer)


# What never reaches a handler.


async def test_what_nobody_serves_is_answered_when_it_is_a_request() -> None:
    """C-031, C-033"""

    class Nothing:
        """Serves no method, and no extension either."""

    async with agent_under_test(Nothing()) as (peer, _):
        for method in ("no/such", "_x/note", "$/other"):
            await peer.notify(method)
        for method in ("no/such", "_x/y", "session/prompt", "fs/read_text_file", "$/other", ""):
            error = {"code": -32601, "message": "Method not found", "data": {"method": method}}
            assert await ask(peer, method) == {"error": error}


async def test_only_names_with_an_underscore_reach_the_extension_handlers() -> None:
    """C-033"""
    handlers = Handlers()
    async with agent_under_test(handlers) as (peer, _):
        for method in ("no/such", "x_y", " _x", "$/_x"):
            assert (await ask(peer, method))["error"]["code"] == -32601
        for method in ("no/such", "alive"):
            await peer.notify(method)
        assert await is_served(peer)
    assert handlers.called == ["alive"]


# Batches.


async def test_each_entry_of_a_batch_is_answered_by_what_its_handler_ended_with() -> None:
    """C-031, C-056, C-060, C-061"""
    handlers = Handlers(
        note=lambda: None, crash=failing(ValueError()), fail=failing(RequestError(9, "own"))
    )
    entry = '{{"jsonrpc":"2.0","id":{},"method":"_{}","params":{{}}}}'.format
    async with agent_under_test(handlers) as (peer, _):
        entries = [entry('"a"', "alive"), "7", '{"method":"_note"}', entry(2, "crash")]
        entries += [entry(3, "fail"), '{"id":4,"method":"no/such"}']
        await peer.send_text("[" + ",".join(entries) + "]\n")
        replies = await peer.receive()
        assert [reply["id"] for reply in replies] == ["a", None, 2, 3, 4]
        assert replies[0]["result"] == {"alive": True}
        codes = [reply["error"]["code"] for reply in replies[1:]]
        assert codes == [-32600, -32603, 9, -32601]
        assert await is_served(peer)


async def test_a_request_behind_an_initialize_that_fails_is_refused() -> None:
    """C-051, C-154"""

    class Uncertain(Handlers):
        async def initialize(self, **keywords: Any) -> Any:
            self.called.append("initialize")
            if self.called == ["initialize"]:
                raise RequestError(-32603, "not yet")
            return schema.InitializeResponse(protocol_version=1)

    handlers = Uncertain()
    first = '{"id":1,"method":"initialize","params":{"protocolVersion":1}}'
    second = '{"id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}'
    async with agent_under_test(handlers, require_initialize=True) as (peer, _):
        await peer.send_text(f"[{first},{second}]\n")
        assert [reply["error"]["code"] for reply in await peer.receive()] == [-32603, -32600]
        await peer.send_text(f"{first}\n{second}\n")
        assert "result" in await peer.receive()
        assert "result" in await peer.receive()
    assert handlers.called == ["initialize", "initialize", "new_session"]


# What callers on this side get.


class Client:
    """Serves nothing."""


async def test_a_peer_cannot_forge_the_end_of_the_connection() -> None:
    """C-039"""
    data = {"reason": "incoming_transport_closed", "method": "session/new"}
    error = {"code": -32603, "message": "Incoming transport closed", "data": data}
    async with client_under_test(Client()) as (connection, peer):
        call = peer.start(connection.new_session(cwd="/", mcp_servers=[]))
        await peer.send({"id": (await peer.receive())["id"], "error": error})
        with pytest.raises(RequestError) as caught:
            await within(call)
        assert not isinstance(caught.value, acp.ConnectionClosed)
        assert (caught.value.code, caught.value.data) == (-32603, data)


def test_the_errors_of_the_protocol_have_their_codes_and_messages() -> None:
    """C-035"""
    errors = {
        -32700: (RequestError.parse_error(), "Parse error"),
        -32600: (RequestError.invalid_request(), "Invalid request"),
        -32601: (RequestError.method_not_found("m"), "Method not found"),
        -32602: (RequestError.invalid_params(), "Invalid params"),
        -32603: (RequestError.internal_error(), "Internal error"),
        -32800: (RequestError.request_cancelled(), "Request cancelled"),
        -32000: (RequestError.auth_required(), "Authentication required"),
        -32002: (RequestError.resource_not_found("u"), "Resource not found"),
        -33000: (RequestError.mcp_limit_reached(), "MCP resource limit reached"),
        -33001: (RequestError.mcp_server_unavailable(), "MCP server registration unavailable"),
        -33002: (RequestError.mcp_backend_failed(), "MCP backend failed"),
    }
    for code, (error, message) in errors.items():
        assert (error.code, error.message) == (code, message)
    assert RequestError.resource_not_found("u").data == {"uri": "u"}
    assert RequestError.resource_not_found().data is None
    missing = RequestError.session_not_found("s")
    assert (missing.code, missing.message) == (-32002, "Resource not found")
    assert missing.data == {"sessionId": "s"}


def test_the_text_of_an_error_is_its_message_without_the_data() -> None:
    """C-038"""
    error = RequestError(-32602, "Invalid params", {"token": "canary"})
    assert str(error) == "Invalid params"
    assert "canary" not in repr(error)


# The ends of a connection.


class Recorder(acp.Transport):
    """Gives out prepared chunks, the end of input after them, and notes what is done with it.

    Nothing can be sent at once, as on a full pipe: every byte goes through `send`.
    """

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = list(chunks)
        self.ended = anyio.Event()
        self.sent = b""
        self.sent_at_close: bytes | None = None

    async def receive(self) -> bytes:
        if self.chunks:
            return self.chunks.pop(0)
        self.ended.set()
        return b""

    async def send(self, data: bytes | memoryview) -> None:
        await anyio.lowlevel.checkpoint()
        self.sent += data

    async def close(self) -> None:
        if self.sent_at_close is None:
            self.sent_at_close = self.sent


async def test_answers_that_become_ready_after_the_input_ended_are_sent_before_the_close() -> None:
    """C-007, C-008"""

    class Slow:
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            await transport.ended.wait()
            return {"late": True}

    transport = Recorder(b'{"id":1,"method":"_slow"}\n', b'{"id":2,"method":"_slow"}')
    await within(AgentSideConnection(Slow(), transport, listening=False).listen())
    assert transport.sent_at_close == transport.sent
    assert sorted(json.loads(text)["id"] for text in transport.sent.splitlines()) == [1, 2]


async def test_a_cut_off_last_line_is_answered_and_the_connection_ends_cleanly() -> None:
    """C-002, C-011"""
    transport = Recorder(b'{"id":1,"meth')
    await within(AgentSideConnection(Handlers(), transport, listening=False).listen())
    assert transport.sent == (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'
    )
    assert transport.sent_at_close == transport.sent
