"""The trace context that requests carry in `_meta`, as the other end sees and sends it.

Owns the keys `traceparent`, `tracestate` and `baggage` in either direction. Which spans there are
is `test_spans`'s.
"""

from __future__ import annotations

import logging
import re
import time
from typing import Any

import anyio
import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import acp
from acp import schema
from tests.endpoint_peer import agent, client, endpoint_under_test
from tests.raw_peer import RawPeer, agent_under_test, client_under_test, within
from tests.sides import Silent
from tests.telemetry.collected import Collected

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"
PARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"


def new_session(meta: Any = None) -> schema.NewSessionRequest:
    return schema.NewSessionRequest(cwd="/", mcp_servers=[], field_meta=meta)


async def sent(connection: Any, peer: RawPeer, params: Any, method: str = "session/new") -> Any:
    """The params that a request has on the wire."""
    call = peer.start(connection.request(method, params))
    asked = await peer.receive()
    await peer.answer(asked["id"], {"sessionId": "s"})
    await within(call)
    return asked["params"]


async def test_a_request_names_its_own_span_in_meta(spans: Collected) -> None:
    async with client_under_test(Silent()) as (connection, peer):
        params = await sent(connection, peer, new_session())
    span = spans.one("client session/new").get_span_context()
    form = r"00-([0-9a-f]{32})-([0-9a-f]{16})-0[0-9a-f]"
    found = re.fullmatch(form, params["_meta"]["traceparent"])
    assert found is not None
    assert (int(found[1], 16), int(found[2], 16)) == (span.trace_id, span.span_id)
    assert list(params["_meta"]) == ["traceparent"]


@pytest.mark.parametrize(
    "params",
    [new_session({"own": 1}), {"cwd": "/", "mcpServers": [], "_meta": {"own": 1}}],
    ids=["object", "dict"],
)
async def test_what_meta_has_besides_stays_and_the_params_given_are_not_changed(
    params: Any, spans: Collected
) -> None:
    before = repr(params)
    async with client_under_test(Silent()) as (connection, peer):
        meta = (await sent(connection, peer, params))["_meta"]
    assert meta == {"own": 1, "traceparent": meta["traceparent"]}
    assert repr(params) == before


@pytest.mark.parametrize(
    "meta", [{"traceparent": "mine"}, {"tracestate": "mine"}, {"baggage": None, "other": 1}]
)
@pytest.mark.parametrize("as_object", [True, False], ids=["object", "dict"])
async def test_a_trace_context_of_the_users_own_is_sent_as_it_is(
    meta: Any, as_object: bool, spans: Collected
) -> None:
    params = new_session(meta) if as_object else {"cwd": "/", "mcpServers": [], "_meta": meta}
    async with client_under_test(Silent()) as (connection, peer):
        assert (await sent(connection, peer, params))["_meta"] == meta


@pytest.mark.parametrize("params", [None, [1, 2], {"_meta": 5}, {"_meta": [1]}, {}, {"own": 1}])
async def test_params_without_a_place_for_it_are_sent_as_they_are(
    params: Any, spans: Collected
) -> None:
    """Those of an extension may be read by a type that knows no other member."""
    async with client_under_test(Silent()) as (connection, peer):
        call = peer.start(connection.request("_own", params))
        asked = await peer.receive()
        assert asked.get("params") == params
        await peer.answer(asked["id"], {})
        await within(call)


async def test_notifications_carry_none(spans: Collected) -> None:
    async with client_under_test(Silent()) as (connection, peer):
        with spans.own.start_as_current_span("own"):
            await connection.cancel("s")
        assert (await peer.receive())["params"] == {"sessionId": "s"}


async def test_baggage_and_state_are_carried_and_other_headers_are_not(
    spans: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own(TraceContextTextMapPropagator):
        def inject(self, carrier: Any, *args: Any, **kwargs: Any) -> None:
            super().inject(carrier, *args, **kwargs)
            carrier.update({"tracestate": "vendor=1", "baggage": "k=v", "x-own": "1"})

    monkeypatch.setattr(propagate, "_HTTP_TEXT_FORMAT", Own())
    monkeypatch.setattr(propagate, "propagator", Own(), raising=False)
    async with client_under_test(Silent()) as (connection, peer):
        meta = (await sent(connection, peer, new_session()))["_meta"]
    assert meta.keys() == {"traceparent", "tracestate", "baggage"}


async def test_baggage_of_the_caller_reaches_the_handler(spans: Collected) -> None:
    seen: list[Any] = []
    served, asking = agent(), client()

    @served.on_request("_ask")
    def ask(params: Any) -> Any:
        seen.append((params["_meta"]["baggage"], dict(baggage.get_all())))
        return {}

    here, there = acp.memory_pair()
    async with served.connect(there), asking.connect(here) as connection:
        token = context.attach(baggage.set_baggage("tenant", "a b"))
        try:
            await within(connection.request("_ask", {"_meta": {}}))
        finally:
            context.detach(token)
    assert seen == [("tenant=a+b", {"tenant": "a b"})]


async def test_a_span_that_is_not_sampled_says_so(spans: Collected) -> None:
    parent = trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(0))
    async with client_under_test(Silent()) as (connection, peer):
        with trace.use_span(trace.NonRecordingSpan(parent)):
            meta = (await sent(connection, peer, new_session()))["_meta"]
    assert re.fullmatch(r"00-0{31}1-[0-9a-f]{16}-0[02]", meta["traceparent"])
    assert spans.all() == []


async def handled(spans: Collected, meta: Any) -> tuple[Any, dict[str, object]]:
    """The parent of the span of a request with this `_meta`, and the baggage of its handler."""
    carried: dict[str, object] = {}

    class Looking(acp.Agent):
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            carried.update(baggage.get_all())
            return {}

    async with agent_under_test(Looking()) as (peer, _):
        await peer.request(1, "_look", {"_meta": meta})
        assert (await peer.receive())["result"] == {}
    return spans.one("server _look").parent, carried


async def test_the_trace_context_of_a_request_is_the_parent_of_its_span(spans: Collected) -> None:
    state = "vendor=1,other@system=a b"
    meta = {"traceparent": PARENT, "tracestate": state, "baggage": "a=1;p;q=2, b=%20", "own": 5}
    parent, carried = await handled(spans, meta)
    assert (parent.trace_id, parent.span_id) == (int(TRACE_ID, 16), int(SPAN_ID, 16))
    assert parent.is_remote
    assert dict(parent.trace_state) == {"vendor": "1", "other@system": "a b"}
    assert carried.keys() == {"a", "b"}


async def test_both_versions_read_it_of_typed_params(spans: Collected) -> None:
    served = agent()
    served.new_session(lambda request: schema.NewSessionResponse(session_id="s"))
    async with endpoint_under_test(served) as (_, peer):
        params = {"cwd": "/", "mcpServers": [], "_meta": {"traceparent": PARENT}}
        await peer.request(1, "session/new", params)
        await peer.receive()
    parent = spans.one("server session/new").parent
    assert parent is not None
    assert parent.span_id == int(SPAN_ID, 16)


@pytest.mark.parametrize(
    "meta",
    [
        None,
        5,
        [],
        "traceparent",
        {"traceparent": None},
        {"traceparent": 5},
        {"traceparent": [PARENT]},
        {"traceparent": ""},
        {"traceparent": "secret"},
        {"traceparent": PARENT + " secret"},
        {"traceparent": PARENT.upper()},
        {"traceparent": PARENT + "\n"},
        {"traceparent": PARENT.replace("00-", "ff-", 1)},
        {"traceparent": f"00-{'0' * 32}-{SPAN_ID}-01"},
        {"traceparent": f"00-{TRACE_ID}-{'0' * 16}-01"},
        {"traceparent": "\ud800"},
        {"nested": {"traceparent": PARENT}},
        {"baggage": "secret"},
        {"baggage": "a=secret,,"},
        {"baggage": 'a="secret"'},
        {"baggage": "a=b;;secret"},
        {"baggage": "a=" + "x" * 10_000},
        {"baggage": {"a": "secret"}},
        {"tracestate": "secret"},
    ],
)
async def test_a_malformed_trace_context_is_ignored_without_a_word(
    meta: Any, spans: Collected, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    parent, carried = await handled(spans, meta)
    assert (parent, carried) == (None, {})
    assert caplog.records == []


@pytest.mark.parametrize(
    "piece", [" ", "\t", ";", ";b", ";b=", ";b= ", "; b = ", " ;", "= ", "%20", ",a=1", ",", "b"]
)
@pytest.mark.parametrize("key", ["baggage", "tracestate", "traceparent"])
@pytest.mark.parametrize("start", ["a=1", "a", "00-", ""])
async def test_the_time_for_a_trace_context_grows_with_its_length_alone(
    start: str, key: str, piece: str, spans: Collected
) -> None:
    text = start + piece * (8000 // len(piece)) + '"'
    before = time.thread_time()
    parent, carried = await handled(spans, {key: text})
    assert (parent, carried) == (None, {})
    assert time.thread_time() - before < 0.5


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("a=1", {"a"}),
        ("a = 1 ; p ; q = 2 , b=", {"a", "b"}),
        ("a=1;p= ;q", {"a"}),
        ("a=;p,b=1;q=2;r= 3", {"a", "b"}),
    ],
)
async def test_baggage_is_read_with_blanks_and_properties(
    given: str, names: set[str], spans: Collected
) -> None:
    _, carried = await handled(spans, {"baggage": given})
    assert {name.strip() for name in carried} == names


@pytest.mark.parametrize("state", ["secret", "A=1", "a=1,a=2", "a=1,b=\u00e9", "a" * 9000, 5])
async def test_a_malformed_state_costs_the_state_and_not_the_parent(
    state: Any, spans: Collected, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    parent, _ = await handled(spans, {"traceparent": PARENT, "tracestate": state})
    assert parent.span_id == int(SPAN_ID, 16)
    assert dict(parent.trace_state) == {}
    assert caplog.records == []


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "x" * 300 + "\ud800", "\u00e9\n"])
async def test_what_a_peer_chooses_can_be_exported_from_a_span(text: str, spans: Collected) -> None:
    async with agent_under_test(Silent()) as (peer, _):
        await peer.request(text, "_" + text)
        await peer.receive()
    (span,) = spans.all()
    for shown in (span.name, *(span.attributes or {}).values()):
        assert len(str(shown).encode()) <= 2 * 200


class FailingSpan(trace.NonRecordingSpan):
    """A span of the program's own that fails in one of its methods."""

    def __init__(self, failing: str) -> None:
        super().__init__(trace.SpanContext(1, 2, is_remote=False))
        self.failing = failing

    def __getattribute__(self, name: str) -> Any:
        if name in ("failing", "__class__") or name != self.failing:
            return super().__getattribute__(name)
        raise ValueError("secret")


@pytest.mark.parametrize(
    "failing", ["set_attribute", "set_status", "get_span_context", "end", "is_recording"]
)
async def test_a_span_that_fails_costs_no_message(
    failing: str,
    spans: Collected,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tracer = trace.NoOpTracer()
    monkeypatch.setattr(tracer, "start_span", lambda *_, **__: FailingSpan(failing))
    monkeypatch.setattr(spans.provider, "get_tracer", lambda *_, **__: tracer)
    served, asking = agent(), client()
    served.on_request("_ask")(lambda params: {})
    here, there = acp.memory_pair()
    async with served.connect(there), asking.connect(here) as connection:
        for _ in range(2):
            assert await within(connection.request("_ask", {"_meta": {}})) == {}
        with pytest.raises(acp.RequestError):
            await within(connection.request("_not_there", {}))
        await connection.notify("_told", {})
    assert "secret" not in caplog.text


class Broken(SpanProcessor):
    """What a program may have given to OpenTelemetry."""

    def on_start(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("secret")

    def on_end(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("secret")


async def test_what_fails_in_telemetry_is_told_once_and_breaks_nothing(
    spans: Collected, caplog: pytest.LogCaptureFixture
) -> None:
    spans.provider.add_span_processor(Broken())
    served, asking = agent(), client()
    served.on_request("_ask")(lambda params: {})
    here, there = acp.memory_pair()
    async with served.connect(there), asking.connect(here) as connection:
        for _ in range(3):
            assert await within(connection.request("_ask", {})) == {}
        await connection.notify("_told", {})
        with anyio.move_on_after(0):
            await connection.request("_ask", {})
    lines = [record.getMessage() for record in caplog.records]
    told = "OpenTelemetry failed with ValueError; this is told once"
    assert lines.count(told) == 2
    assert "secret" not in "".join(lines)
