"""What a connection of the core writes for Python: calls, answers, errors, cancellations, batches.

Owns the exact bytes, and that what cannot be written leaves nothing behind. Numbers C-… are those
of `tests/requirements.toml`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import acp.schema as v1
from acp import _core
from tests.core.lines import agent, line, sent

PROMPT = '{"id":7,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}'
NOTE = '{"method":"_x/note"}'


def received(text: str = PROMPT) -> tuple[_core.Connection, int]:
    """A connection with one open request, and its token."""
    connection = agent()
    (event,) = line(connection, text)
    return connection, event.token


def request(request_id: str) -> str:
    return f'{{"id":{request_id},"method":"_x"}}'


def result(request_id: str, value: str) -> str:
    return f'{{"jsonrpc":"2.0","id":{request_id},"result":{value}}}'


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# Requests and notifications of ours.


@pytest.mark.parametrize(
    ("params", "member"),
    [
        (None, ""),
        ({}, ',"params":{}'),
        ([], ',"params":[]'),
        ((1, "x"), ',"params":[1,"x"]'),
        ({"b": 1, "a": {"d": None, "c": 2.5}}, ',"params":{"b":1,"a":{"d":null,"c":2.5}}'),
        ({"é": "\n"}, ',"params":{"é":"\\n"}'),
    ],
)
def test_params_are_written_in_the_order_they_have_or_left_out(params: Any, member: str) -> None:
    """C-009, C-028"""
    connection = agent()
    connection.notify("_n", params)
    assert connection.request("_r", params) == 0
    assert sent(connection) == (
        f'{{"jsonrpc":"2.0","method":"_n"{member}}}\n'
        f'{{"jsonrpc":"2.0","id":0,"method":"_r"{member}}}\n'
    )


def test_a_schema_object_is_written_as_the_params_of_its_method() -> None:
    """C-007"""
    connection = agent()
    update = v1.AgentMessageChunk(content=v1.TextContentBlock(text="a\nb"))
    connection.notify("session/update", v1.SessionNotification(session_id="s", update=update))
    assert sent(connection) == (
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
        '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\\nb"}}}}\n'
    )


@pytest.mark.parametrize("params", [5, 1.5, "x", True, b"x", {1}, object(), iter([1])])
def test_params_that_are_neither_object_nor_array_are_refused_here(params: Any) -> None:
    """C-028"""
    connection = agent()
    for send in (connection.request, connection.notify):
        with pytest.raises(_core.LocalProtocolError, match="object or array"):
            send("_m", params)
    assert sent(connection) == ""
    assert connection.pending == []


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), float("inf"), 10**4300, nested(1100), {"a": [object()]}],
    ids=["object", "nan", "infinity", "digits", "depth", "inside"],
)
def test_what_cannot_be_written_is_refused_and_uses_no_id(value: Any) -> None:
    """C-018"""
    connection = agent()
    for send in (connection.request, connection.notify):
        with pytest.raises((TypeError, ValueError)):
            send("_m", {"v": value})
    assert (connection.output_size, connection.pending) == (0, [])
    assert connection.request("_m") == 0


def test_ids_count_from_zero_and_none_is_used_twice() -> None:
    """C-024"""
    connection = agent()
    assert [connection.request("_a"), connection.request("_b")] == [0, 1]
    line(connection, '{"id":0,"result":1}')
    assert connection.request("_c") == 2
    assert connection.pending == [(1, "_b"), (2, "_c")]


def test_a_request_is_cancelled_once_and_still_answered() -> None:
    """C-094, C-095, C-096"""
    connection = agent()
    request_id = connection.request("_m")
    sent(connection)
    assert [connection.cancel(request_id), connection.cancel(request_id)] == [True, False]
    assert sent(connection) == (
        '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}\n'
    )
    (event,) = line(connection, '{"id":0,"result":1}')
    assert event.outcome == "result"
    assert not connection.cancel(request_id)
    assert not connection.cancel(99)
    assert sent(connection) == ""


@pytest.mark.parametrize("request_id", [0, 99, "ninety", None])
def test_a_cancellation_of_any_id_can_be_written_and_marks_no_request_of_ours(
    request_id: int | str | None,
) -> None:
    """C-102"""
    connection = agent()
    asked = connection.request("_m")
    sent(connection)
    for _ in range(2):
        connection.notify("$/cancel_request", {"requestId": request_id})
        assert sent(connection) == (
            '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":'
            f"{json.dumps(request_id)}}}}}\n"
        )
    assert connection.pending == [(asked, "_m")]
    assert connection.cancel(asked)


def test_the_answer_to_a_given_up_request_is_swallowed() -> None:
    """C-026"""
    connection = agent()
    request_id = connection.request("_m")
    sent(connection)
    assert [connection.forget(request_id), connection.forget(request_id)] == [True, False]
    assert connection.pending == []
    assert not connection.cancel(request_id)
    assert line(connection, '{"id":0,"result":1}') == []
    assert [event.reason for event in line(connection, '{"id":0,"result":1}')] == ["response"]
    assert sent(connection) == ""


# Answers of ours.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (v1.PromptResponse(stop_reason="end_turn"), '{"stopReason":"end_turn"}'),
        ({"stopReason": "end_turn", "more": [1]}, '{"stopReason":"end_turn","more":[1]}'),
        (None, "null"),
        ([], "[]"),
        (2.0, "2.0"),
        ("x", '"x"'),
        (True, "true"),
    ],
)
def test_any_json_value_and_any_object_is_a_result(value: Any, text: str) -> None:
    """C-015"""
    connection, token = received()
    assert connection.in_flight == 1
    assert connection.respond(token, value)
    assert sent(connection) == result("7", text) + "\n"
    assert connection.in_flight == 0


@pytest.mark.parametrize(
    ("data", "member"),
    [
        ((), ""),
        ((None,), ',"data":null'),
        (({"requested": 1, "supported": [2]},), ',"data":{"requested":1,"supported":[2]}'),
        (("_x/none",), ',"data":"_x/none"'),
        ((v1.TextContentBlock(text="x"),), ',"data":{"type":"text","text":"x"}'),
    ],
)
def test_an_error_is_written_with_its_data_or_without(data: tuple[Any, ...], member: str) -> None:
    """C-016, C-035, C-036"""
    for code in (-32022, -(2**31), 2**31 - 1):
        connection, token = received()
        assert connection.respond_error(token, code, 'a "b"\n', *data)
        error = f'{{"code":{code},"message":"a \\"b\\"\\n"{member}}}'
        assert sent(connection) == f'{{"jsonrpc":"2.0","id":7,"error":{error}}}\n'


def test_a_request_is_answered_once() -> None:
    """C-041"""
    connection, token = received()
    assert connection.respond(token, None)
    assert not connection.respond(token, None)
    assert not connection.respond(token, object()), "what is not sent need not be writable"
    assert not connection.respond_error(token, 1, "no")
    assert not connection.respond(token + 1, None)
    assert not connection.admit(token)
    assert sent(connection) == result("7", "null") + "\n"


def recursive() -> Any:
    value: dict[str, Any] = {}
    value["again"] = value
    return value


@pytest.mark.parametrize("make", [object, recursive, lambda: float("nan"), lambda: {1: object()}])
def test_a_result_that_cannot_be_written_leaves_the_request_open(make: Callable[[], Any]) -> None:
    """C-018, C-041"""
    connection, token = received()
    with pytest.raises((TypeError, ValueError)):
        connection.respond(token, make())
    with pytest.raises((TypeError, ValueError)):
        connection.respond_error(token, 1, "no", make())
    assert (connection.output_size, connection.in_flight) == (0, 1)
    assert connection.respond(token, {})
    assert sent(connection) == result("7", "{}") + "\n"


def test_output_is_whole_frames_and_is_taken_once() -> None:
    """C-007"""
    connection, token = received()
    connection.notify("_a", {"t": "x\ny"})
    connection.respond(token, "\r\n")
    size = connection.output_size
    output = connection.take_output()
    assert (size, connection.output_size, connection.take_output()) == (len(output), 0, b"")
    assert output.endswith(b"}\n")
    assert [json.loads(text)["jsonrpc"] for text in output.splitlines()] == ["2.0", "2.0"]


# Text and numbers at their ends.


def test_lone_surrogates_pass_in_every_place() -> None:
    """C-021"""
    connection = agent()
    members = '{"sessionId":"\\udfff","\\udcff":"\\ud83d"}'
    (event,) = line(connection, f'{{"id":"\\udead","method":"_\\ud800","params":{members}}}')
    assert (event.id, event.method, event.lane) == ("\udead", "_\ud800", "\udfff")
    params = event.params()
    assert params == {"sessionId": "\udfff", "\udcff": "\ud83d"}
    assert connection.respond(event.token, params)
    assert sent(connection) == result('"\\udead"', members) + "\n"
    prompt = PROMPT.replace("[]", '[{"type":"text","text":"\\ud800"}]')
    (event,) = line(connection, prompt)
    assert event.params().prompt[0].text == "\ud800"
    connection.request("_m", {"m": event.params().prompt})
    assert sent(connection).endswith('{"m":[{"type":"text","text":"\\ud800"}]}}\n')
    (event,) = line(connection, '{"id":0,"error":{"code":1,"message":"\\ud800","data":"\\udfff"}}')
    assert event.error() == (1, "\ud800", "\udfff")


@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_of_4300_digits_pass_and_longer_ones_are_no_json(sign: str) -> None:
    number = sign + "9" * 4300
    connection = agent()
    (event,) = line(connection, f'{{"id":1,"method":"_x","params":{{"v":{number}}}}}')
    assert event.params() == {"v": int(number)}
    connection.respond(event.token, event.params())
    assert sent(connection) == result("1", f'{{"v":{number}}}') + "\n"
    (event,) = line(connection, f'{{"id":1,"method":"_x","params":{{"v":{number}9}}}}')
    assert (event.reason, event.answered) == ("parse", True)


# Batches.


def test_replies_of_a_batch_leave_together_once_its_notifications_are_handled() -> None:
    """C-053, C-054"""
    connection = agent()
    first, note, second = line(connection, f"[{request('1')},{NOTE},{request('2')}]")
    assert type(note.token) is int
    assert connection.respond(second.token, "two")
    assert connection.respond(first.token, "one")
    assert sent(connection) == ""
    connection.handled(note.token)
    replies = f"[{result('1', json.dumps('one'))},{result('2', json.dumps('two'))}]\n"
    assert sent(connection) == replies
    for token in (note.token, first.token, 999):
        connection.handled(token)
    assert sent(connection) == ""


def test_a_reply_that_cannot_be_written_keeps_its_place() -> None:
    """C-018, C-060"""
    connection = agent()
    first, second = line(connection, f"[{request('1')},{request('2')}]")
    with pytest.raises(_core.ValidationError):
        connection.respond(first.token, object())
    connection.respond(second.token, 2)
    assert sent(connection) == ""
    connection.respond_error(first.token, -32603, "Internal error")
    error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}'
    assert sent(connection) == f"[{error},{result('2', '2')}]\n"


def test_every_kind_of_entry_has_its_event_and_its_size() -> None:
    """C-043, C-047, C-048, C-049"""
    connection = agent()
    connection.request("_m")
    sent(connection)
    entries = ['{"id":0,"result":1}', "17", request("1"), NOTE, '{"id":5,"error":1}']
    events = line(connection, "[" + ", ".join(entries) + "]")
    assert [type(event).__name__ for event in events] == [
        "ResponseReceived",
        "FrameRejected",
        "RequestReceived",
        "NotificationReceived",
        "FrameRejected",
    ]
    assert [event.size for event in events] == [len(entry) for entry in entries]
    connection.respond(events[2].token, 1)
    connection.handled(events[3].token)
    invalid = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}'
    assert sent(connection) == f"[{invalid},{result('1', '1')}]\n"


def test_batches_are_bounded_or_refused_by_option() -> None:
    """C-073"""
    entries = f"[{request('1')},{request('2')}]"
    (event,) = line(agent(max_batch_entries=1), entries)
    assert (event.reason, event.answered) == ("batch", True)
    connection = agent(batches="reject")
    (event,) = line(connection, entries)
    assert (event.reason, connection.in_flight) == ("batch", 0)
    assert sent(connection).count("batches are not supported") == 1
