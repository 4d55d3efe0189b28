"""What the log shows of messages and failures, and what it keeps to itself.

Owns the lines of the levels DEBUG and TRACE, and what is told of each message where they go to a
file (`acp._message_log`). Imported only once such a level is on. It decides nothing about a
message, changes none, and knows no method. Which values are covered is `acp._redaction`'s.

DEBUG tells kind, method and id, and where a failure was raised; never a payload. TRACE shows whole
messages, in which the values below the keys `env` and `headers` are covered.
"""

from __future__ import annotations

import json
import logging
import traceback
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from acp._core import (
    NotificationReceived,
    RequestCancelled,
    RequestReceived,
    ResponseReceived,
    ResponseRejected,
    ValidationError,
    encode,
)
from acp._messages import MESSAGES, TRACE
from acp._redaction import redacted, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from acp._core import Event

__all__ = (
    "log_failure",
    "log_received",
    "log_sending",
    "log_skipped",
    "redacted",
)

if logging.getLevelName(TRACE) == f"Level {TRACE}":
    logging.addLevelName(TRACE, "TRACE")

_log = logging.getLogger("acp")

_numbers: WeakKeyDictionary[object, int] = WeakKeyDictionary()
"""Of connections, in the order in which their first message was shown."""
_count = count(1)

_MOST_FAILURES = 8
_MOST_FRAMES = 40
_MOST_SHOWN = 200
"""Characters of one value in a head."""

# What a peer chose, such as a method, is shown as its `repr` and cut off: `%.200r`. So it cannot
# look like a line of its own, and is written by any handler, whatever its encoding.


def log_received(events: Sequence[Event], connection: object) -> None:
    """Tells what has arrived on a connection, which any object of its own stands for."""
    in_full = _log.isEnabledFor(TRACE)
    for event in events:
        if isinstance(event, NotificationReceived):
            _log.debug("Received notification %.200r", event.method)
        elif isinstance(event, RequestReceived):
            _log.debug("Received request %.200r, id %.200r", event.method, event.id)
        elif isinstance(event, ResponseReceived):
            _log_response(event)
        elif isinstance(event, ResponseRejected):
            message = "Received malformed answer to %.200r, id %d, %d bytes"
            _log.debug(message, event.method, event.id, event.size)
        elif isinstance(event, RequestCancelled):
            _log.debug("Received cancellation of the request with id %.200r", event.id)
        elif event.code is not None:
            _log.debug("Received error %s for no request, %d bytes", event.code, event.size)
        else:
            _log.debug("Received what is no message (%s), %d bytes", event.reason, event.size)
        text = ""
        if in_full or MESSAGES.shows_whole:
            members = ",".join(f'"{name}":{value}' for name, value in _members(event).items())
            text = redacted("{" + members + "}") if members else ""
        if in_full and text:
            _log.log(TRACE, "Received %s", text)
        if MESSAGES.handlers:
            size = {} if isinstance(event, RequestCancelled) else {"bytes": event.size}
            _show("received", connection, {**_received_head(event), **size}, text)


def log_sending(frames: bytes, connection: object) -> None:
    """Tells what goes to the transport: whole frames of ours, each ending in a newline."""
    in_full = _log.isEnabledFor(TRACE)
    for frame in frames.decode("utf-8", "backslashreplace").split("\n")[:-1]:
        heads = list(_heads(frame))
        for kind, method, request_id, code in heads:
            if kind == "notification":
                _log.debug("Sending notification %.200r", method)
            elif kind == "request":
                _log.debug("Sending request %.200r, id %.200r", method, request_id)
            elif kind == "error":
                _log.debug("Sending error %s for id %.200r", code, request_id)
            else:
                _log.debug("Sending result for id %.200r", request_id)
        text = redacted(frame) if in_full or MESSAGES.shows_whole else ""
        if in_full:
            _log.log(TRACE, "Sending %s", text)
        if MESSAGES.handlers:
            head = _sent_head(heads[0]) if len(heads) == 1 else {"kind": "batch"}
            _show("sent", connection, {**head, "bytes": len(frame.encode())}, text)


def _show(direction: str, connection: object, head: dict[str, Any], text: str) -> None:
    number = _numbers.get(connection)
    if number is None:
        number = _numbers[connection] = next(_count)
    # A peer chooses methods, and ids that are strings.
    short = {k: v[:_MOST_SHOWN] if isinstance(v, str) else v for k, v in head.items()}
    MESSAGES.tell({"connection": number, "direction": direction, **short}, text)


def log_failure(subject: str, failure: BaseException) -> None:
    """Tells where `failure` was raised. Its text may hold anything and is shown at TRACE only."""
    _log.debug("%.200r failed:\n%s", subject, _without_texts(failure))
    if _log.isEnabledFor(TRACE):
        _log.log(TRACE, "%.200r failed", subject, exc_info=failure)


def log_skipped(method: str, places: ValidationError) -> None:
    """Tells where something was left out of a message, and why."""
    _log.debug("Left out of %.200r:\n%s", method, "".join(_places(places)).rstrip())


# Messages that were received.


def _log_response(event: ResponseReceived) -> None:
    if event.outcome == "error":
        code, *_ = _error(event)
        _log.debug("Received error %s for %.200r, id %d", code, event.method, event.id)
    else:
        _log.debug("Received result for %.200r, id %d", event.method, event.id)


def _received_head(event: Event) -> dict[str, Any]:
    if isinstance(event, NotificationReceived):
        return {"kind": "notification", "method": event.method}
    if isinstance(event, RequestReceived):
        return {"kind": "request", "method": event.method, "id": event.id}
    if isinstance(event, RequestCancelled):
        return {"kind": "notification", "method": "$/cancel_request"}
    if isinstance(event, ResponseReceived):
        head = {"kind": "result", "method": event.method, "id": event.id}
        return (
            head
            if event.outcome != "error"
            else {**head, "kind": "error", "code": _error(event)[0]}
        )
    if isinstance(event, ResponseRejected):
        return {"kind": "malformed", "method": event.method, "id": event.id}
    return {"kind": "malformed", "reason": event.reason}


def _members(event: Event) -> dict[str, str]:
    """The members of a message as JSON text; none of what is not kept."""
    if isinstance(event, RequestCancelled):
        return {
            "method": '"$/cancel_request"',
            "params": f'{{"requestId":{_text(encode(event.id))}}}',
        }
    if isinstance(event, ResponseReceived):
        if event.outcome == "error":
            code, message, data = _error(event)
            error = {"code": code, "message": message}
            # Null and absent look alike here.
            text = encode(error if data is None else {**error, "data": data})
            return {"id": str(event.id), "error": _text(text)}
        result = event.raw_result()
        return {} if result is None else {"id": str(event.id), "result": _text(result)}
    if not isinstance(event, (RequestReceived, NotificationReceived)):
        return {}
    members = {"id": _text(encode(event.id))} if isinstance(event, RequestReceived) else {}
    members["method"] = _text(encode(event.method))
    if (params := event.raw_params()) is not None:
        members["params"] = _text(params)
    return members


def _error(event: ResponseReceived) -> tuple[int | None, str, Any]:
    try:
        return event.error()
    except ValueError:
        # Python may have been told to make no integers of so many digits. Its caller will see.
        return None, "", None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


# Messages that are sent.


_BODIES = frozenset({"params", "result"})


class _Head(NamedTuple):
    """What a message is, without what it says."""

    kind: str
    method: str
    id: Any
    code: str


def _heads(frame: str) -> Iterator[_Head]:
    """The head of the message, or of each message of the array, that a frame of ours is."""
    level = 2 if frame.startswith("[") else 1
    seen: dict[str, Any] = {}
    member: str | None = None
    for depth, key, start, end in tokens(frame):
        if depth == level:
            if key is not None:
                if key in _BODIES and level == 1:
                    # The core writes it last; it may be long, and there is nothing to see in it.
                    yield _head({**seen, key: None})
                    return
                member = key
                is_small = key in {"id", "method"}
                seen[key] = json.loads(frame[start:end]) if is_small else None
        elif depth == level + 1 and member == "error" and key == "code":
            seen["code"] = frame[start:end]
        elif depth == level - 1 and seen:
            yield _head(seen)
            seen = {}


def _head(seen: dict[str, Any]) -> _Head:
    if "method" in seen:
        kind = "request" if "id" in seen else "notification"
    else:
        kind = "error" if "error" in seen else "result"
    return _Head(kind, seen.get("method", ""), seen.get("id"), seen.get("code", ""))


def _sent_head(head: _Head) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": head.kind}
    if head.method:
        shown["method"] = head.method
    if head.kind != "notification":
        shown["id"] = head.id
    return {**shown, "code": json.loads(head.code)} if head.code else shown


# Failures.


def _places(exc: ValidationError) -> Iterator[str]:
    """Places and rules: values have no place in them."""
    for fault in exc.errors():
        yield f"  {'.'.join(map(str, fault['loc']))}: {fault['type']}\n"


def _without_texts(failure: BaseException) -> str:
    """The traceback of an exception, and of those behind it, without any text of theirs."""
    lines: list[str] = []
    waiting: list[BaseException] = [failure]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_FAILURES:
        exc = waiting.pop(0)
        if id(exc) in seen:
            continue
        seen.add(id(exc))
        frames = traceback.walk_tb(exc.__traceback__)
        # Without the lines of the source, which may hold what the level must not show.
        lines += (
            f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
            for frame in traceback.StackSummary.extract(
                frames, limit=-_MOST_FRAMES, lookup_lines=False
            )
        )
        lines.append(f"{type(exc).__name__}\n")
        if isinstance(exc, ValidationError):
            lines += _places(exc)
        behind = exc.__context__ if not exc.__suppress_context__ else exc.__cause__
        if behind is not None:
            waiting.append(behind)
        # Those of a group, whose class is no builtin before Python 3.11.
        inside: Any = getattr(exc, "exceptions", None)
        if isinstance(inside, tuple):
            members = cast("tuple[object, ...]", inside)
            waiting += (one for one in members if isinstance(one, BaseException))
    return "".join(lines).rstrip()
