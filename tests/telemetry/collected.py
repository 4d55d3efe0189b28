"""Spans of OpenTelemetry, kept in memory for the tests of this folder.

Owns the provider that a test has in place of the program's, and what tests ask of a span. It knows
no connection.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

TRACER = "acp"


class Collected:
    """What has ended so far, by its kind and name: `client session/prompt`."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.own = self.provider.get_tracer("the test")

    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def of(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all() if label(span) == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.of(name)
        return span

    def parents(self) -> dict[str, str | None]:
        """The name of the parent of each; those are seen as well."""
        names = {identity(span): label(span) for span in self.all()}
        found: dict[str, str | None] = {}
        for span in self.all():
            found[label(span)] = None if span.parent is None else names[span.parent.span_id]
        return found


def label(span: ReadableSpan) -> str:
    return f"{span.kind.name.lower()} {span.name}"


def identity(span: ReadableSpan) -> int:
    return span.get_span_context().span_id


def failure(span: ReadableSpan) -> tuple[Any, Any]:
    """The code and the kind of error that a span has ended with."""
    attributes = dict(span.attributes or {})
    kind = attributes.get("error.type")
    expected = trace.StatusCode.UNSET if kind is None else trace.StatusCode.ERROR
    assert span.status.status_code is expected
    # No text of anybody's.
    assert span.status.description is None
    assert span.events == ()
    return attributes.get("rpc.jsonrpc.error_code"), kind


@contextmanager
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    """A provider for as long as the block, and nothing left of it behind."""
    found = Collected()
    with monkeypatch.context() as patched:
        # A program gives its provider once and for good; a test must not.
        patched.setattr(trace, "_TRACER_PROVIDER", found.provider)
        yield found
    found.provider.shutdown()
