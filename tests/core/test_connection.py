"""The connection of the core as Python sees it: from bytes to events, and what events tell.

Owns what the binding adds to the core: attributes of events, params and results decoded when asked
for, Python values as params, results and data. What the protocol itself demands is tested with the
core; numbers C-… are those of `tests/requirements.toml`.
"""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

import acp.schema as v1
import acp.v2.schema as v2
from acp import _core
from tests.core.lines import PROMPT, UPDATE, agent, client, line, only, ready, sent

# Events.


def test_a_request_tells_all_that_is_known_of_it() -> None:
    """C-013"""
    event = only(agent(), PROMPT)
    assert type(event) is _core.RequestReceived
    assert (event.id, event.method, event.lane, event.peer) == (
        7,
        "session/prompt",
        "s1",
        "counterpart",
    )
    assert type(event.token) is int
    assert event.size == len(PROMPT)
    assert event.raw_params() == PROMPT[PROMPT.index('{"sessionId') : -1].encode()
    assert event.params() == v1.PromptRequest(
        session_id="s1", prompt=[v1.TextContentBlock(text="hi")]
    )


def test_a_notification_outside_a_batch_has_no_token() -> None:
    """C-013"""
    event = only(client(), UPDATE)
    assert type(event) is _core.NotificationReceived
    assert (event.token, event.method, event.lane, event.peer) == (
        None,
        "session/update",
        "s1",
        "counterpart",
    )
    assert event.size == len(UPDATE)
    assert type(event.params().update) is v1.AgentMessageChunk
    assert json.loads(event.raw_params())["sessionId"] == "s1"


def test_a_response_tells_whose_answer_it_is() -> None:
    """C-025"""
    connection = client()
    request_id = connection.request("session/new", v1.NewSessionRequest(cwd="/", mcp_servers=[]))
    assert (request_id, connection.pending) == (0, [(0, "session/new")])
    answer = '{"id":0,"result":{"sessionId":"s2"}}'
    event = only(connection, answer)
    assert type(event) is _core.ResponseReceived
    assert (event.id, event.method, event.outcome, event.lane, event.size) == (
        0,
        "session/new",
        "result",
        "s2",
        len(answer),
    )
    assert event.result() == v1.NewSessionResponse(session_id="s2")
    assert event.raw_result() == b'{"sessionId":"s2"}'
    assert connection.pending == []
    with pytest.raises(ValueError, match="no error"):
        event.error()


@pytest.mark.parametrize(
    ("member", "data"),
    [("", None), (',"data":null', None), (',"data":{"a":[1,"x"]}', {"a": [1, "x"]})],
)
def test_an_error_gives_code_message_and_data(member: str, data: Any) -> None:
    """C-016, C-036"""
    connection = client()
    connection.request("session/new")
    event = only(connection, f'{{"id":0,"error":{{"code":-7,"message":"n\\u006f"{member}}}}}')
    assert (event.outcome, event.lane, event.raw_result()) == ("error", None, None)
    assert event.error() == (-7, "no", data)
    with pytest.raises(ValueError, match="no result"):
        event.result()


def test_a_malformed_answer_is_told_as_such_and_settles_its_request() -> None:
    """C-014, C-015"""
    connection = client(shown_bytes=9)
    connection.request("session/new")
    event = only(connection, '{"id":0,"error":"boom"}')
    assert type(event) is _core.ResponseRejected
    assert (event.id, event.method, event.lane) == (0, "session/new", None)
    assert (event.reason, event.size, event.head) == ("envelope", 23, b'{"id":0,"')
    assert connection.pending == []
    assert sent(connection).count("\n") == 1, "nothing but our own request"


def test_a_cancellation_names_the_token_of_its_request() -> None:
    """C-103"""
    connection = agent()
    request = only(connection, PROMPT)
    event = only(connection, '{"method":"$/cancel_request","params":{"requestId":7}}')
    assert type(event) is _core.RequestCancelled
    assert (event.token, event.id) == (request.token, 7)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{oops", "parse"),
        ('{"x":' + "[" * 1025 + "]" * 1025 + "}", "depth"),
        ('{"id":1,"method":"m","params":["' + "x" * 3000 + '"]}', "size"),
        ("17", "envelope"),
        ('{"method":"m","method":"m"}', "duplicate"),
        ("[]", "batch"),
        ('{"id":5,"result":1}', "response"),
        ('{"id":1.5,"method":"m"}', "id"),
    ],
)
def test_a_rejected_frame_tells_its_reason(text: str, reason: str) -> None:
    connection = agent(max_message_bytes=2500)
    event = only(connection, text)
    assert type(event) is _core.FrameRejected
    answered = reason != "response"
    assert (event.reason, event.answered, event.size) == (reason, answered, len(text))
    assert bool(sent(connection)) is answered
    assert connection.counters()[f"rejected_{reason}"] == 1


def test_bytes_that_are_no_utf8_are_rejected_as_such() -> None:
    """C-006"""
    (event,) = agent().receive(b'{"method":"\xff"}\n')
    assert (event.reason, event.answered, event.size) == ("utf8", True, 14)


def test_what_an_event_says_cannot_be_changed() -> None:
    connection = agent()
    request = only(connection, PROMPT)
    cancelled = only(connection, '{"method":"$/cancel_request","params":{"requestId":7}}')
    for event, name in [(request, "id"), (cancelled, "token"), (only(connection, "17"), "size")]:
        with pytest.raises(AttributeError):
            setattr(event, name, 1)


def test_events_outlive_their_connection() -> None:
    connection = client()
    events = line(connection, UPDATE)
    del connection
    gc.collect()
    assert events[0].params().update.content.text == "hi"


# Params and results, decoded when asked for.


def test_params_are_decoded_only_when_they_are_asked_for() -> None:
    """C-029"""
    event = only(agent(), '{"id":1,"method":"session/new","params":{"cwd":5,"secret":"canary"}}')
    with pytest.raises(_core.ValidationError) as caught:
        event.params()
    assert caught.value.errors() == [
        {"loc": ("cwd",), "type": "string_type", "message": "must be a string"},
        {"loc": ("mcpServers",), "type": "missing", "message": "a required member is missing"},
    ]
    assert "canary" not in str(caught.value)


def test_each_call_of_params_makes_an_object_of_its_own() -> None:
    event = only(client(), UPDATE)
    first, second = event.params(), event.params()
    assert first == second
    assert first is not second


def test_absent_and_null_params_are_read_alike() -> None:
    """C-027"""
    connection = agent()
    for member in ("", ',"params":null'):
        known = only(connection, f'{{"id":1,"method":"session/new"{member}}}')
        with pytest.raises(_core.ValidationError):
            known.params()
        extension = only(connection, f'{{"method":"_x/y"{member}}}')
        assert extension.params() is None
        assert (known.raw_params(), extension.raw_params()) == (None, None)


@pytest.mark.parametrize("method", ["_x/y", "no/such/method", "session/update", ""])
def test_params_of_a_method_that_this_side_does_not_serve_are_plain_data(method: str) -> None:
    """C-033"""
    event = only(agent(), f'{{"id":1,"method":"{method}","params":{{"sessionId":"s","a":[1.5]}}}}')
    assert (event.method, event.lane) == (method, "s")
    assert event.params() == {"sessionId": "s", "a": [1.5]}


@pytest.mark.parametrize("name", ["session\\/prompt", "s\\u0065ssion/prompt"])
def test_a_method_is_known_however_its_name_is_written(name: str) -> None:
    """C-033"""
    connection = agent()
    event = only(connection, PROMPT.replace("session/prompt", name))
    assert event.method == "session/prompt"
    assert type(event.params()) is v1.PromptRequest
    assert connection.respond(event.token, v1.PromptResponse(stop_reason="end_turn"))
    assert sent(connection).endswith('"result":{"stopReason":"end_turn"}}\n')


def test_a_result_that_does_not_fit_is_told_to_who_reads_it() -> None:
    """C-030"""
    connection = client()
    connection.request("session/new")
    sent(connection)
    event = only(connection, '{"id":0,"result":{"sessionId":["canary"]}}')
    assert event.outcome == "result"
    with pytest.raises(_core.ValidationError) as caught:
        event.result()
    assert [fault["loc"] for fault in caught.value.errors()] == [("sessionId",)]
    assert "canary" not in str(caught.value)
    assert sent(connection) == ""


def test_the_last_of_equal_members_counts_for_objects_too() -> None:
    """C-010"""
    text = '{"method":"session/cancel","params":{"sessionId":"a","sessionId":"b"}}'
    event = only(agent(), text)
    assert (event.lane, event.params().session_id) == ("b", "b")


def test_objects_of_version_2_are_read_and_written_by_a_connection_of_version_2() -> None:
    """C-023"""
    connection = ready("agent")
    event = only(connection, PROMPT)
    assert type(event.params()) is v2.PromptRequest
    assert connection.respond(event.token, v2.PromptResponse(message_id="m1"))
    assert sent(connection) == '{"jsonrpc":"2.0","id":7,"result":{"messageId":"m1"}}\n'
    assert only(connection, PROMPT.replace("7", "null")).reason == "id"


# Ids.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1", -1),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ('""', ""),
        ('"1"', "1"),
        ('"é😀"', "é😀"),
        ('"\\ud83d"', "\ud83d"),
        ('"a\\"\\\\\\n\\u0000"', 'a"\\\n\0'),
        ("null", None),
    ],
)
def test_an_id_is_a_plain_value_and_comes_back_as_it_was(text: str, value: object) -> None:
    """C-019, C-021, C-022"""
    connection = agent()
    event = only(connection, f'{{"id":{text},"method":"_x"}}')
    assert event.id == value
    assert type(event.id) is type(value)
    assert connection.respond(event.token, {})
    assert sent(connection) == f'{{"jsonrpc":"2.0","id":{text},"result":{{}}}}\n'
