"""Spans of OpenTelemetry for one connection, and the trace context that `_meta` carries.

Owns when a connection is traced, the names and attributes of spans, and the three keys that the
protocol reserves at the root of `_meta`. It knows no handler and sends nothing. OpenTelemetry is
imported only where a connection is traced. Of a message a span has its method and id, and the code
of an error: nothing else.
"""

from __future__ import annotations

import logging
import re
import sys
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from acp._core import Model, __version__, decode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanKind, Tracer

__all__ = ("Spans", "tracer_of")

_log = logging.getLogger("acp")

_MOST = 200
"""Characters of what a peer chose."""
_MOST_CARRIED = 8192
"""Characters of one key of the trace context: what W3C asks of baggage."""

# Blanks belong to what comes after them, and only where something does: each text has one reading,
# or the time for a peer's would double with each blank.
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_VALUE = r"(?:[ \t]*[!#-+\--:<-\[\]-~]+)?"
_PROPERTY = rf"[ \t]*;[ \t]*{_TOKEN}(?:[ \t]*={_VALUE})?"
_CARRIED = ("traceparent", "tracestate", "baggage")
"""The keys at the root of `_meta` that the protocol reserves."""


@cache
def _form(key: str) -> re.Pattern[str]:
    """What W3C says a member of the value of a reserved key looks like."""
    forms = {
        "traceparent": r"(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}",
        "tracestate": (
            r"(?:[a-z][_0-9a-z*/-]{0,255}|[a-z0-9][_0-9a-z*/-]{0,240}@[a-z][_0-9a-z*/-]{0,13})"
            r"=[ -+\--<>-~]{0,255}[!-+\--<>-~]"
        ),
        "baggage": rf"{_TOKEN}[ \t]*={_VALUE}(?:{_PROPERTY})*",
    }
    return re.compile(forms[key])


def tracer_of(telemetry: bool | None) -> Tracer | None:
    """What makes spans, if anything does.

    With None only where the program has given OpenTelemetry a provider; nothing is imported then.
    Raises ModuleNotFoundError when it is asked for and OpenTelemetry is not installed.
    """
    if telemetry is False:
        return None
    if telemetry is None and not _has_provider():
        return None
    try:
        from opentelemetry import trace
    except ModuleNotFoundError as exc:
        message = "telemetry=True needs OpenTelemetry: pip install 'acp-native[otel]'"
        raise ModuleNotFoundError(message, name=exc.name) from exc
    return trace.get_tracer("acp", __version__)


def _has_provider() -> bool:
    trace: Any = sys.modules.get("opentelemetry.trace")
    # Another thread may be importing it.
    get_provider = getattr(trace, "get_tracer_provider", None)
    if get_provider is None:
        return False
    found = None
    # Where the environment names a provider, it is loaded here.
    with _Failures():
        found = get_provider()
    nothing = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
    return found is not None and not isinstance(found, nothing)


class _Failures:
    """Blocks that call what the program has given to OpenTelemetry.

    What such a block raises is told once, and is no failure of the connection.
    """

    def __init__(self) -> None:
        self._told = False

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(exc, Exception):
            return False
        if not self._told:
            self._told = True
            _log.warning("OpenTelemetry failed with %s; this is told once", type(exc).__name__)
            if _log.isEnabledFor(logging.DEBUG):
                from acp._wire_log import log_failure

                log_failure("OpenTelemetry", exc)
        return True


class Spans:
    """Makes the spans of one connection."""

    def __init__(self, tracer: Tracer, version: int) -> None:
        from opentelemetry import context, propagate, trace

        self._failures = _Failures()
        self._context = context
        self._propagate = propagate
        self._trace = trace
        self._tracer = tracer
        self._version = version
        self._served: dict[int, Span] = {}
        """Of the peer's requests that are not answered, by their token."""
        self._turns: dict[str | None, Span] = {}
        """Of the turns of this side that run, by their session."""

    # Requests of this side.

    def asked(self, method: str) -> Span:
        """The span of a request that is about to be sent."""
        return self._start(method, self._trace.SpanKind.CLIENT)

    def carried(self, span: Span, method: str, params: Any) -> Any:
        """Params with the trace context in their `_meta`, unless they have one of their own.

        What was given is not changed. Params without a place for it are as they were. So are those
        of an extension that have no `_meta`: what its peer takes besides is not known.
        """
        if type(params) is dict:
            plain = cast("dict[str, Any]", params)
            if method.startswith("_") and "_meta" not in plain:
                return plain
            meta = self._meta(span, plain.get("_meta"))
            return plain if meta is None else {**plain, "_meta": meta}
        if not isinstance(params, Model) or not hasattr(params, "field_meta"):
            return params
        meta = self._meta(span, getattr(params, "field_meta", None))
        if meta is None:
            return params
        changed: Any = copy(params)
        changed.field_meta = meta
        return changed

    def _meta(self, span: Span, given: Any) -> dict[str, Any] | None:
        """`_meta` with the trace context; None where nothing is to be added."""
        own = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        if (given and not own) or not own.keys().isdisjoint(_CARRIED):
            return None
        carrier: dict[str, str] = {}
        with self._failures:
            if span.get_span_context().is_valid:
                self._propagate.inject(carrier, self._trace.set_span_in_context(span))
        # What else the program propagates has no place in the protocol.
        added = {key: value for key, value in carrier.items() if key in _CARRIED}
        return {**own, **added} if added else None

    def turn_began(self, session: str | None, span: Span) -> None:
        """What the peer sends in a session is about this turn now."""
        self._turns[session] = span

    def turn_ended(self, session: str | None, span: Span) -> None:
        """The turn is over."""
        if self._turns.get(session) is span:
            del self._turns[session]

    # Messages of the peer.

    def served(self, token: int, event: Any, *, known: bool) -> None:
        """A request of the peer is handled from here on: its span is the current one.

        Called in the context of its handler.
        """
        span = self._handled(event, known=known)
        self.numbered(span, event.id)
        self._served[token] = span

    def answered(self, token: int, code: int | None = None, kind: str | None = None) -> None:
        """A request of the peer is answered, with an error when there is a code or a kind."""
        span = self._served.pop(token, None)
        if span is not None:
            self.ended(span, code, kind)

    def given_up(self) -> None:
        """Nothing can be answered any more."""
        for token in tuple(self._served):
            self.answered(token, kind="ConnectionClosed")

    def notified(self, event: Any) -> Span:
        """The span of a notification of the peer that is handled, which is the current one."""
        return self._handled(event, known=True)

    def _handled(self, event: Any, *, known: bool) -> Span:
        context = self._context.get_current()
        turn = self._turns.get(event.lane)
        if turn is not None:
            context = self._trace.set_span_in_context(turn, context)
        carrier = self._carrier(event.raw_params())
        if carrier:
            with self._failures:
                context = self._propagate.extract(carrier, context)
        method = event.method if known else "_OTHER"
        span = self._start(method, self._trace.SpanKind.SERVER, context)
        self._context.attach(self._trace.set_span_in_context(span, context))
        return span

    def _carrier(self, params: bytes | None) -> Mapping[str, str]:
        """The trace context of params, as far as it has the form of one."""
        if params is None or b'"_meta"' not in params:
            return {}
        try:
            # A type of either version without any other member: the rest is passed by.
            meta: Any = decode(self._version, "ListProvidersRequest", params).field_meta
        except ValueError:
            return {}
        if not isinstance(meta, dict):
            return {}
        own = cast("dict[str, Any]", meta)
        return {key: own[key] for key in _CARRIED if _fits(key, own.get(key))}

    # Spans.

    def numbered(self, span: Span, request_id: object) -> None:
        """The span is of the request with this id."""
        with self._failures:
            span.set_attribute("rpc.jsonrpc.request_id", _shown(str(request_id)))

    def _start(self, method: str, kind: SpanKind, context: Context | None = None) -> Span:
        name = _shown(method)
        attributes = {"rpc.system": "jsonrpc", "rpc.jsonrpc.version": "2.0", "rpc.method": name}
        with self._failures:
            return self._tracer.start_span(name, context, kind, attributes)
        return self._trace.INVALID_SPAN

    def ended(self, span: Span, code: int | None = None, kind: str | None = None) -> None:
        """Ends a span: with an error when there is its code, or what kind of failure it was."""
        with self._failures:
            if code is not None:
                span.set_attribute("rpc.jsonrpc.error_code", code)
            if code is not None or kind is not None:
                span.set_attribute("error.type", kind or str(code))
                span.set_status(self._trace.StatusCode.ERROR)
        with self._failures:
            span.end()


def _shown(text: str) -> str:
    """What a peer chose, as far as a span shows it.

    Exporters lose all spans of a batch for one that has a lone surrogate.
    """
    return text[:_MOST].encode("utf-8", "backslashreplace").decode()[:_MOST]


def _fits(key: str, value: Any) -> bool:
    """Whether a value of the trace context is well formed.

    OpenTelemetry would log one that is not, and a peer has chosen it.
    """
    if not isinstance(value, str) or len(value) > _MOST_CARRIED:
        return False
    members = value.split(",")
    return all(_form(key).fullmatch(member.strip(" \t")) for member in members)
