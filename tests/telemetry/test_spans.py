"""The spans of requests and notifications: which there are, whose children, how they end.

Owns connections whose other end is of this library or written by hand. What `_meta` carries is
`test_trace_context`'s, when there are none `test_without_spans`'s.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry import trace

import acp
from acp import v1, v2
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests import raw_peer
from tests.raw_peer import agent_under_test, chunk, client_under_test, prompt, serving, within
from tests.sides import Nothing, Silent, until
from tests.telemetry.collected import Collected, failure, identity

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


def current() -> int:
    return trace.get_current_span().get_span_context().span_id


class Asking(acp.Agent):
    """Asks its client during a turn, and tells which span its handler sees."""

    client: Any
    seen: int

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        self.seen = current()
        await anyio.lowlevel.checkpoint()
        assert current() == self.seen
        text = acp.update_agent_message_text("secret")
        await self.client.session_update(session_id, text)
        await self.client.write_text_file(content="secret", path="/", session_id=session_id)
        return acp.PromptResponse(stop_reason="end_turn")


class Writing(acp.Client):
    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        return

    async def write_text_file(self, content: str, path: str, session_id: str, **kwargs: Any) -> Any:
        return None


@asynccontextmanager
async def joined(agent: Any, client: Any) -> AsyncGenerator[ClientSideConnection, None]:
    """An agent and a client with the names of the official SDK."""
    here, there = raw_peer.pair()
    async with (
        serving(AgentSideConnection, agent, there),
        serving(ClientSideConnection, client, here) as (connection, _),
    ):
        yield connection


async def test_what_both_sides_do_in_a_turn_is_one_trace(spans: Collected) -> None:
    agent = Asking()
    async with joined(agent, Writing()) as connection:
        with spans.own.start_as_current_span("own"):
            await within(connection.prompt(session_id="s", prompt=[acp.text_block("secret")]))
    assert spans.parents() == {
        "internal own": None,
        "client session/prompt": "internal own",
        "server session/prompt": "client session/prompt",
        "server session/update": "client session/prompt",
        "client fs/write_text_file": "server session/prompt",
        "server fs/write_text_file": "client fs/write_text_file",
    }
    assert agent.seen == identity(spans.one("server session/prompt"))


async def test_a_span_tells_method_and_id_and_nothing_that_was_said(spans: Collected) -> None:
    async with joined(Asking(), Writing()) as connection:
        await within(connection.prompt(session_id="s", prompt=[acp.text_block("secret")]))
    base = {"rpc.system": "jsonrpc", "rpc.jsonrpc.version": "2.0"}
    asked = {**base, "rpc.method": "session/prompt", "rpc.jsonrpc.request_id": "0"}
    assert dict(spans.one("client session/prompt").attributes or {}) == asked
    assert dict(spans.one("server session/prompt").attributes or {}) == asked
    told = {**base, "rpc.method": "session/update"}
    assert dict(spans.one("server session/update").attributes or {}) == told
    assert all("secret" not in span.to_json() for span in spans.all())
    assert {failure(span) for span in spans.all()} == {(None, None)}


@pytest.mark.parametrize("version", [v1, v2], ids=["v1", "v2"])
async def test_endpoints_of_either_version_make_the_same_spans(
    version: Any, spans: Collected
) -> None:
    seen: list[int] = []
    agent, client = version.Agent("agent"), version.Client("client")

    @agent.on_request("_ask")
    async def ask(params: Any, ctx: Any) -> Any:
        seen.append(current())
        await ctx.connection.notify("_told", {})
        return await ctx.connection.request("_answer", {"_meta": {"mine": 1}})

    @client.on_request("_answer")
    async def answer(params: Any) -> Any:
        seen.append(current())
        return {"meta": sorted(params["_meta"])}

    @client.on_notification("_told")
    def told(params: Any) -> None:
        seen.append(current())

    here, there = acp.memory_pair()
    async with agent.connect(there), client.connect(here) as connection:
        await within(connection.initialize())
        spans.exporter.clear()
        assert await within(connection.request("_ask", {"_meta": {}})) == {
            "meta": ["mine", "traceparent"]
        }
    assert spans.parents() == {
        "client _ask": None,
        "server _ask": "client _ask",
        "server _told": None,
        "client _answer": "server _ask",
        "server _answer": "client _answer",
    }
    names = ("server _ask", "server _told", "server _answer")
    assert sorted(seen) == sorted(identity(spans.one(name)) for name in names)


class Failing(acp.Agent):
    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        if method == "refuses":
            raise acp.RequestError(-31999, "secret", {"secret": 1})
        if method == "raises":
            raise KeyError("secret")
        return {"secret": object()}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "later":
            await anyio.lowlevel.checkpoint()
        raise KeyError("secret")

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        return acp.NewSessionResponse(session_id="s")


@pytest.mark.parametrize(
    ("method", "params", "name", "code", "kind"),
    [
        ("_refuses", {}, "_refuses", -31999, "-31999"),
        ("_raises", {}, "_raises", -32603, "KeyError"),
        ("_unwritable", {}, "_unwritable", -32603, "RuntimeError"),
        ("session/new", {"cwd": 5}, "session/new", -32602, "ValidationError"),
        ("no/such", {}, "_OTHER", -32601, "-32601"),
    ],
)
async def test_the_span_of_a_request_that_is_answered_with_an_error_has_its_code_and_kind(
    method: str, params: Any, name: str, code: int, kind: str, spans: Collected
) -> None:
    async with agent_under_test(Failing()) as (peer, _):
        await peer.request("r", method, params)
        assert (await peer.receive())["error"]["code"] == code
    span = spans.one(f"server {name}")
    assert failure(span) == (code, kind)
    assert "secret" not in span.to_json()


@pytest.mark.parametrize("method", ["_now", "_later"])
async def test_the_span_of_a_notification_whose_handler_fails_has_the_kind(
    method: str, spans: Collected
) -> None:
    async with agent_under_test(Failing()) as (peer, _):
        await peer.notify(method, {})
        await until(lambda: bool(spans.of(f"server {method}")))
    assert failure(spans.one(f"server {method}")) == (None, "KeyError")


async def test_the_span_of_a_call_has_what_became_of_it(spans: Collected) -> None:
    async with client_under_test(Silent()) as (connection, peer):
        for method, answer in (
            ("_error", {"error": {"code": -31999, "message": "secret", "data": "secret"}}),
            ("_malformed", {"error": 5}),
            ("_result", {"result": {"secret": 1}}),
        ):
            call = peer.start(connection.request(method, {}))
            asked = await peer.receive()
            await peer.send({"id": asked["id"], **answer})
            if method == "_result":
                await within(call)
            else:
                with pytest.raises((acp.RequestError, acp.RemoteProtocolError)):
                    await within(call)
        with anyio.move_on_after(0.01):
            await connection.request("_cancelled", {})
        with pytest.raises(acp.RequestTimeout):
            await connection.request("_late", {}, timeout=0.01)
        with pytest.raises(acp.ValidationError):
            await connection.request("_unsendable", {"secret": object()})
        call = peer.start(connection.request("_closed", {}))
        await until(lambda: connection.stats().calls > 0)
        await peer.transport.close()
        with pytest.raises(acp.ConnectionClosed):
            await within(call)
    assert {span.name: failure(span) for span in spans.all()} == {
        "_error": (-31999, "-31999"),
        "_malformed": (None, "malformed"),
        "_result": (None, None),
        "_cancelled": (None, "cancelled"),
        "_late": (None, "cancelled"),
        "_unsendable": (None, "ValidationError"),
        "_closed": (None, "ConnectionClosed"),
    }
    assert all("secret" not in span.to_json() for span in spans.all())


async def test_a_request_that_its_peer_cancels_ends_as_cancelled(spans: Collected) -> None:
    class Waiting(acp.Agent):
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            await anyio.Event().wait()

    async with joined(Waiting(), Silent()) as connection:
        with anyio.move_on_after(0.05):
            await connection.request("_wait", {})
        await until(lambda: bool(spans.of("server _wait")))
    assert failure(spans.one("server _wait")) == (-32800, "-32800")
    assert failure(spans.one("client _wait")) == (None, "cancelled")


async def test_requests_that_run_at_once_keep_their_own_parents(spans: Collected) -> None:
    turn = anyio.Event()

    class Together(acp.Agent):
        waiting = 0

        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            self.waiting += 1
            if self.waiting == 50:
                turn.set()
            await turn.wait()
            return await self.client.ext_method("back", {"_meta": {}})

    class Back(acp.Client):
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            await anyio.lowlevel.checkpoint()
            return {"span": current()}

    async def ask(connection: Any, answers: dict[int, Any]) -> None:
        with spans.own.start_as_current_span("own") as own:
            answers[own.get_span_context().trace_id] = await connection.ext_method(
                "ask", {"_meta": {}}
            )

    answers: dict[int, Any] = {}
    async with joined(Together(), Back()) as connection:
        with anyio.fail_after(raw_peer.BOUND):
            async with anyio.create_task_group() as group:
                for _ in range(50):
                    group.start_soon(ask, connection, answers)
    assert len(answers) == 50
    for trace_id, answer in answers.items():
        members = [span for span in spans.all() if span.context.trace_id == trace_id]
        names = ("own", "_ask", "_ask", "_back", "_back")
        assert sorted(span.name for span in members) == sorted(names)
        assert answer["span"] in map(identity, members)


async def test_the_span_of_a_deferred_answer_ends_with_the_answer(spans: Collected) -> None:
    responders: list[acp.Responder] = []

    class Deferring(acp.Agent):
        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            responders.append(self.client.defer())

    async with agent_under_test(Deferring()) as (peer, _):
        for number, method in enumerate(("_one", "_two", "_three")):
            await peer.request(number, method, {})
        await until(lambda: len(responders) == 3)
        assert spans.all() == []
        responders[0].respond({})
        responders[1].error(acp.RequestError(-31999, "secret"))
        await peer.receive()
        assert failure(spans.one("server _one")) == (None, None)
        assert failure(spans.one("server _two")) == (-31999, "-31999")
    # The connection has ended before the third.
    assert failure(spans.one("server _three")) == (None, "ConnectionClosed")


async def test_what_an_agent_without_spans_sends_in_a_turn_belongs_to_the_turn(
    spans: Collected,
) -> None:
    async with client_under_test(Writing()) as (connection, peer):
        call = peer.start(connection.prompt(session_id="s", prompt=[acp.text_block("hello")]))
        asked = await peer.receive()
        await peer.send(chunk("in the turn"), chunk("elsewhere", "other"))
        params = {"sessionId": "s", "path": "/", "content": ""}
        await peer.request(1, "fs/write_text_file", params)
        await peer.receive()
        await peer.answer(asked["id"], {"stopReason": "end_turn"})
        await within(call)
        await peer.send(chunk("behind it"))
        await until(lambda: len(spans.of("server session/update")) == 3)
    turn = identity(spans.one("client session/prompt"))
    parents = [
        span.parent and span.parent.span_id
        for name in ("server session/update", "server fs/write_text_file")
        for span in spans.of(name)
    ]
    assert parents == [turn, None, None, turn]


async def test_names_that_a_peer_chooses_are_cut_off(spans: Collected) -> None:
    async with agent_under_test(Failing()) as (peer, _):
        await peer.request("i" * 5000, "_" + "x" * 5000, {})
        await peer.receive()
    (span,) = spans.all()
    assert len(span.name) == 200
    assert all(len(str(value)) <= 200 for value in (span.attributes or {}).values())


async def test_a_prompt_whose_turn_is_cancelled_ends_without_an_error(spans: Collected) -> None:
    class Working(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            await anyio.Event().wait()

    async with agent_under_test(Working()) as (peer, _):
        await peer.request(1, "session/prompt", prompt())
        await peer.notify("session/cancel", {"sessionId": "s"})
        assert (await peer.receive())["result"] == {"stopReason": "cancelled"}
    assert failure(spans.one("server session/prompt")) == (None, None)
    assert failure(spans.one("server session/cancel")) == (None, None)


async def test_without_a_handler_there_is_no_span_of_a_notification(spans: Collected) -> None:
    async with agent_under_test(Nothing()) as (peer, _):
        await peer.notify("session/cancel", {"sessionId": "s"})
        await peer.notify("_nobody", {})
        await peer.request(1, "_end", {})
        await peer.receive()
    assert [span.name for span in spans.all()] == ["session/cancel", "_OTHER"]
