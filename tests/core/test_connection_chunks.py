"""However a stream is cut, a connection in Python gives the same events and the same bytes.

Owns the comparison of whole, cut and byte-wise input, batches and their answers included.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import hypothesis
import hypothesis.strategies as st

import acp.schema  # noqa: F401 - registers the classes
from acp import _core

LIMIT = 300

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=()), max_size=8),
    lambda values: (
        st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3)
    ),
    max_leaves=8,
)


def call(method: str, params: Any, request_id: Any = ...) -> str:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if request_id is not ...:
        message["id"] = request_id
    return json.dumps(message)


ids = st.integers(0, 3) | st.sampled_from(["a", "\ud800", None])
sessions = st.fixed_dictionaries({"sessionId": st.sampled_from(["s", "é"]), "x": json_values})
messages = st.one_of(
    st.builds(call, st.sampled_from(["_x", "session/prompt"]), sessions, ids),
    st.builds(call, st.sampled_from(["_x", "session/update"]), sessions),
    st.builds(lambda at: f'{{"id":{at},"result":{{"sessionId":"s"}}}}', st.integers(0, 4)),
    st.builds(lambda at: f'{{"id":{at},"error":{{"code":1}}}}', st.integers(0, 4)),
    st.builds(lambda key: call("$/cancel_request", {"requestId": key}), ids),
)
frames = st.one_of(
    messages.map(str.encode),
    st.lists(messages, max_size=4).map(lambda entries: f"[{','.join(entries)}]".encode()),
    st.binary(max_size=30).map(lambda noise: noise.replace(b"\n", b"")),
    st.integers(0, 2 * LIMIT).map(lambda size: b'{"id":1,"method":"' + b"x" * size + b'"}'),
)
streams = st.builds(
    lambda lines, last: b"".join(lines) + last,
    st.lists(st.builds(bytes.__add__, frames, st.sampled_from([b"\n", b"\r\n"])), max_size=6),
    frames | st.just(b""),
)


def seen(event: Any) -> tuple[Any, ...]:
    """An event as a value: all of its attributes, and its params or answer."""
    match event:
        case _core.RequestReceived():
            body = (event.token, event.id, event.raw_params())
        case _core.NotificationReceived():
            body = (event.token, event.raw_params())
        case _core.ResponseReceived():
            body = (event.id, event.outcome, event.raw_result())
        case _core.ResponseRejected():
            body = (event.id, event.reason, event.head)
        case _core.RequestCancelled():
            return ("cancelled", event.token, event.id)
        case _:
            told = (event.reason, event.answered, event.code, event.head)
            return ("rejected", event.size, *told)
    return (type(event).__name__, event.method, event.lane, event.size, *body)


def run(stream: bytes, cuts: list[int]) -> tuple[list[tuple[Any, ...]], bytes]:
    """Events and output of a connection that is fed the stream in pieces.

    Requests are answered at the end, every third one never.
    """
    connection = _core.Connection("agent", max_message_bytes=LIMIT, shown_bytes=30)
    for _ in range(3):
        connection.request("_ours")
    found: list[tuple[Any, ...]] = []
    open_requests: list[int] = []

    def take(events: list[Any]) -> None:
        for event in events:
            found.append(seen(event))
            if isinstance(event, _core.RequestReceived):
                open_requests.append(event.token)
            elif isinstance(event, _core.NotificationReceived) and event.token is not None:
                connection.handled(event.token)

    for start, end in itertools.pairwise([0, *sorted(cuts), len(stream)]):
        take(connection.receive(stream[start:end]))
    take(connection.end_of_input())
    for token in open_requests:
        if token % 3:
            connection.respond(token, {"token": token})
    return found, connection.take_output()


@hypothesis.given(streams, st.lists(st.integers(0, 2000), max_size=8))
@hypothesis.settings(max_examples=150)
def test_any_cutting_of_a_stream_gives_the_same_events_and_replies(
    stream: bytes, places: list[int]
) -> None:
    """C-001, C-002"""
    whole = run(stream, [])
    assert run(stream, [place % (len(stream) + 1) for place in places]) == whole
    assert run(stream, list(range(len(stream)))) == whole
