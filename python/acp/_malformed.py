"""What users get to see of malformed input.

Owns its shape, and loads nothing else: it is imported only where somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ("Malformed", "MalformedHook")


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that the peer sent and that was not, or not wholly, read."""

    kind: Literal["frame", "error", "response", "params", "result", "skipped"]
    """What it is.

    `frame`: a frame, or an entry of a batch, that is no message; also a response to no request of
    ours. `error`: an error with a null id, by which the peer tells that it could not read something
    that this side sent. `response`: an answer to a request of ours, whose caller got
    RemoteProtocolError. `params`, `result`: what does not fit its method. `skipped`: items of
    lists, and members that may be absent, that do not fit and were left out of params or a result;
    the rest was read.
    """
    reason: str
    """One word for what is wrong.

    Of a frame, an error or a response: `parse`, `depth`, `size`, `utf8`, `envelope`, `duplicate`,
    `batch`, `response`, `id`, `error`, `cancel`, as in the counters `rejected_…`. Of the others the
    `type` of the first of the `errors`; `value` when there are none.
    """
    size: int
    """Bytes of the frame or of the batch entry; of the others those of the params or the result."""
    answered: bool = False
    """Whether the peer was told of it, with an error."""
    method: str | None = None
    """The method; of a response or a result that of our request. None where it is not known."""
    code: int | None = None
    """The code of an `error`."""
    errors: tuple[Mapping[str, Any], ...] = ()
    """Where it does not fit and which rules it breaks, as `ValidationError.errors()` tells.

    Of what was skipped one for each, up to 64.
    """
    data: bytes = field(default=b"", repr=False)
    """The first 4,096 of the bytes. They may hold secrets; the log never has them."""


MalformedHook = Callable[[Malformed], object]
"""A plain function, called in the loop of the connection, which goes on when it returns."""
