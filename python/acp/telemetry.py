"""What can be seen of connections from outside: spans of OpenTelemetry, and a log of messages.

`span_context` is the name that the official Python SDK has; connections make their spans by
themselves, see the option `telemetry`. No logic of its own.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from acp._lazy import lazily
from acp._spans import tracer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp._message_log import MessageLog, log_to

__all__ = ["DEFAULT_TAGS", "MessageLog", "log_to", "span_context"]

__getattr__, __dir__ = lazily(__name__, {"acp._message_log": "MessageLog log_to"}, ())

DEFAULT_TAGS = ["acp"]
"""The attribute `logfire.tags` of spans that `span_context` makes."""


def span_context(
    name: str, *, attributes: Mapping[str, Any] | None = None
) -> AbstractContextManager[Any]:
    """A block with a span of its own, which is the current one in it.

    Where the program has given OpenTelemetry no provider, or has none installed, the block is as it
    would be without. An exception that leaves the block is recorded, and goes on.
    """
    tracer = tracer_of(None)
    if tracer is None:
        return nullcontext()
    tagged = {"logfire.tags": DEFAULT_TAGS, **(attributes or {})}
    return tracer.start_as_current_span(name, attributes=tagged)
