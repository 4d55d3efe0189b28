"""What the log shows of messages and failures, and what it keeps to itself.

Owns the lines of the levels DEBUG and TRACE, and which values never get into one. Imported only
once such a level is on. It decides nothing about a message, changes none, and knows no method.

DEBUG tells kind, method and id, and where a failure was raised; never a payload. TRACE shows whole
messages, in which the values below the keys `env` and `headers` are covered.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from acp._core import (
    NotificationReceived,
    RequestCancelled,
    RequestReceived,
    ResponseReceived,
    ResponseRejected,
    ValidationError,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from acp._core import Event

__all__ = ("TRACE", "log_failure", "log_received", "log_sending", "log_skipped", "redacted")

TRACE = 5
"""The level of whole messages, below `logging.DEBUG`."""

if logging.getLevelName(TRACE) == f"Level {TRACE}":
    logging.addLevelName(TRACE, "TRACE")

_log = logging.getLogger("acp")

_SECRET_KEYS = frozenset({"env", "headers"})
_COVER = '"[REDACTED]"'
_MOST_FAILURES = 8
_MOST_FRAMES = 40

# What a peer chose, such as a method, is shown as its `repr` and cut off: `%.200r`. So it cannot
# look like a line of its own, and is written by any handler, whatever its encoding.


def log_received(events: Sequence[Event]) -> None:
    """Tells what has arrived."""
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
        if in_full and (members := _members(event)):
            text = ",".join(f'"{name}":{value}' for name, value in members.items())
            _log.log(TRACE, "Received %s", redacted("{" + text + "}"))


def log_sending(frames: bytes) -> None:
    """Tells what goes to the transport: whole frames of ours, each ending in a newline."""
    in_full = _log.isEnabledFor(TRACE)
    for frame in frames.decode("utf-8", "backslashreplace").split("\n")[:-1]:
        for kind, method, request_id, code in _heads(frame):
            if kind == "notification":
                _log.debug("Sending notification %.200r", method)
            elif kind == "request":
                _log.debug("Sending request %.200r, id %.200r", method, request_id)
            elif kind == "error":
                _log.debug("Sending error %s for id %.200r", code, request_id)
            else:
                _log.debug("Sending result for id %.200r", request_id)
        if in_full:
            _log.log(TRACE, "Sending %s", redacted(frame))


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


# JSON text, read without making anything of it: what is shown stays as it was written, to the last
# digit, and nesting takes no stack.

_TOKEN = re.compile(r'[\[\]{}:,"]|[^\s\[\]{}:,"]+')
_MAY_HOLD_SECRETS = re.compile(r'"(?:env|headers)"|\\u00')


class _Token(NamedTuple):
    """A scalar, or a bracket."""

    depth: int
    """Containers around it."""
    key: str | None
    """Its name, in an object."""
    start: int
    end: int


def _tokens(text: str) -> Iterator[_Token]:
    """The values of valid JSON text in their order, brackets one by one, keys with their values."""
    keys: list[str | None] = []
    """For each container that is open: None in an array, the last key in an object."""
    is_key = False
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        start, at = found.span()
        first = text[start]
        if first == '"':
            at = _end_of_string(text, start)
        if first == ":":
            is_key = False
        elif first == ",":
            is_key = bool(keys) and keys[-1] is not None
        elif first in "]}":
            is_key = False
            keys.pop()
            yield _Token(len(keys), None, start, at)
        elif is_key:
            keys[-1] = _string(text, start, at)
        else:
            yield _Token(len(keys), keys[-1] if keys else None, start, at)
            if first in "[{":
                is_key = first == "{"
                keys.append("" if is_key else None)


def _end_of_string(text: str, start: int) -> int:
    end = start
    while True:
        end = text.find('"', end + 1)
        if end < 0:
            return len(text)
        before = end
        while text[before - 1] == "\\":
            before -= 1
        if (end - before) % 2 == 0:
            return end + 1


def _string(text: str, start: int, end: int) -> str:
    inside = text[start + 1 : end - 1]
    return json.loads(text[start:end]) if "\\" in inside else inside


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
    for depth, key, start, end in _tokens(frame):
        if depth == level:
            if key is not None:
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


_Treatment = Literal["shown", "list", "entry", "map", "covered"]
"""How a value is shown; of a container, how what is in it is.

Below the keys in question, `list` is one of names and values, `entry` an object of it, and `map` an
object whose keys are the names.
"""


def _treatment(around: _Treatment, key: str | None, first: str) -> _Treatment:
    """How a value is shown that begins with `first` and is in a container shown as `around`."""
    if around == "shown":
        if key not in _SECRET_KEYS:
            return "shown"
        return "list" if first == "[" else "map" if first == "{" else "covered"
    if around == "list" and first == "{":
        return "entry"
    if around == "entry" and key == "name" and first == '"':
        return "shown"
    return "covered"


def redacted(text: str) -> str:
    """JSON text in which the values below the keys `env` and `headers` are covered.

    Either is a list of objects with `name` and `value`, of which the names stay, or a map, of which
    the keys stay. Everything else, null too, stays as it is written.
    """
    if _MAY_HOLD_SECRETS.search(text) is None:
        return text
    pieces: list[str] = []
    copied = 0
    around: list[_Treatment] = ["shown"]
    covered: _Token | None = None
    """The bracket that opened the container which is covered as a whole."""
    for token in _tokens(text):
        first = text[token.start]
        start = token.start
        if first in "]}":
            around.pop()
            if covered is None or token.depth != covered.depth:
                continue
            start, covered = covered.start, None
        else:
            treatment = _treatment(around[-1], token.key, first)
            if first in "[{":
                around.append(treatment)
                if treatment == "covered" and covered is None:
                    covered = token
                continue
            if treatment != "covered" or covered is not None or first == "n":
                continue
        pieces += (text[copied:start], _COVER)
        copied = token.end
    return "".join(pieces) + text[copied:]


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
