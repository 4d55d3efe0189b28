"""What the options of a connection of the core change, and what it counts.

Owns limits, versions, initialization and the compatibility profile as Python sees them. Numbers
C-… are those of `tests/requirements.toml`.
"""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

import acp.schema as v1
import acp.v2.schema as v2
from acp import _core
from tests.core.lines import PROMPT, UPDATE, agent, client, line, only, sent


def test_counters_add_up_to_what_was_fed() -> None:
    connection = agent()
    connection.request("_a")
    connection.forget(connection.request("_b"))
    for text in (PROMPT, UPDATE, '{"id":0,"result":1}', '{"id":1,"result":1}', "17", "{"):
        line(connection, text)
    line(connection, '{"method":"$/cancel_request","params":{"requestId":99}}')
    counted = {name: number for name, number in connection.counters().items() if number}
    assert counted == {
        "frames": 7,
        "requests": 1,
        "notifications": 2,
        "responses": 1,
        "swallowed_responses": 1,
        "idle_cancellations": 1,
        "rejected_envelope": 1,
        "rejected_parse": 1,
    }


def test_a_frame_over_the_limit_costs_only_itself() -> None:
    """C-005"""
    connection = agent(max_message_bytes=100)
    long = '{"id":"q","method":"m","params":["' + "x" * 200 + '"]}'
    events = connection.receive(f'{long}\n{{"id":2,"method":"_x"}}\n'.encode())
    assert [type(event) for event in events] == [_core.FrameRejected, _core.RequestReceived]
    assert '"id":"q"' in sent(connection)


def test_a_transport_that_keeps_frames_apart_hands_over_whole_ones() -> None:
    connection = agent()
    (event,) = connection.receive_frame(b'{\n"id":1,\n"method":"_x"}\n')
    assert event.method == "_x"
    assert connection.receive_frame(b" \n ") == []


def test_the_end_of_input_ends_the_last_line() -> None:
    """C-002"""
    connection = agent()
    assert connection.receive(PROMPT.encode()) == []
    assert [event.method for event in connection.end_of_input()] == ["session/prompt"]
    assert connection.receive(b"{cut") == []
    assert [event.reason for event in connection.end_of_input()] == ["parse"]
    assert connection.end_of_input() == []


def test_where_initialization_is_required_other_requests_are_refused_until_it_succeeded() -> None:
    """C-154, C-155"""
    connection = agent(require_initialize=True)
    assert line(connection, PROMPT) == []
    assert "-32600" in sent(connection)
    initialize = '{"id":1,"method":"initialize","params":{"protocolVersion":1}}'
    for succeeds in (False, True, False):
        first, second = connection.receive(f"{initialize}\n{PROMPT}\n".encode())
        early = connection.initialized
        if succeeds:
            connection.respond(first.token, v1.InitializeResponse(protocol_version=1))
        else:
            connection.respond_error(first.token, -32603, "no")
        assert connection.admit(second.token) is (succeeds or early)
        if succeeds or early:
            connection.respond(second.token, v1.PromptResponse(stop_reason="end_turn"))
        assert connection.in_flight == 0
        assert sent(connection).count("\n") == 2
    assert connection.initialized


def test_the_version_that_a_handler_sees_and_answers_is_the_connections() -> None:
    """C-151, C-152"""
    connection = agent()
    text = '{{"id":1,"method":"initialize","params":{{"protocolVersion":{}}}}}'
    event = only(connection, text.format(9))
    assert event.params().protocol_version == 1
    connection.respond(event.token, v1.InitializeResponse(protocol_version=9))
    assert json.loads(sent(connection))["result"]["protocolVersion"] == 1
    assert line(connection, text.format("-1")) == []
    assert json.loads(sent(connection))["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (("server",), {}, ValueError),
        (("agent",), {"version": 3}, (TypeError, ValueError)),
        (("agent",), {"batches": "maybe"}, ValueError),
        (("agent",), {"max_message_bytes": -1}, OverflowError),
        (("agent",), {"shown_bytes": -1}, OverflowError),
        (("agent",), {"unknown_values": "drop"}, ValueError),
        (("agent",), {"observer": 5}, TypeError),
        (("agent", 1), {}, TypeError),
        (("agent",), {"limit": 1}, TypeError),
    ],
)
def test_a_connection_is_not_made_with_options_that_mean_nothing(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        _core.Connection(*arguments, **options)


@pytest.mark.parametrize("version", ['"1"', "1.0", '"2024-11-05"'])
def test_the_compatibility_profile_reads_versions_of_other_forms(version: str) -> None:
    """C-152"""
    text = f'{{"id":1,"method":"initialize","params":{{"protocolVersion":{version}}}}}'
    with pytest.warns(UserWarning, match="version 1"):
        assert only(agent(lax=True), text).params().protocol_version == 1
    connection = agent()
    assert line(connection, text) == []
    assert json.loads(sent(connection))["error"]["code"] == -32602


def test_the_compatibility_profile_reads_integers_of_other_forms_in_params() -> None:
    text = (
        '{"method":"session/update","params":{"sessionId":"s",'
        '"update":{"sessionUpdate":"usage_update","used":"3","size":2.0}}}'
    )
    update = only(client(lax=True), text).params().update
    assert (update.used, update.size) == (3, 2)
    with pytest.raises(_core.ValidationError):
        only(client(), text).params()


def test_of_what_is_no_message_as_much_is_shown_as_was_asked_for() -> None:
    long = '{"id":1,"method":"' + "x" * 200 + '"}'
    for shown in (0, 5, 1000):
        connection = agent(max_message_bytes=100, shown_bytes=shown)
        for text in ("17", "no json", long):
            assert only(connection, text).head == text.encode()[:shown]
    assert only(agent(), "17").head == b""


class Observer:
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def skipped(self, *told: Any) -> None:
        self.told.append(told)


PLAN = (
    '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan",'
    '"entries":[5,{"content":"a","priority":"high","status":"pending"}]}}}'
)


def test_an_observer_is_told_what_is_left_out_each_time_that_it_is_decoded() -> None:
    observer = Observer()
    event = only(client(observer=observer, shown_bytes=4), PLAN)
    assert observer.told == []
    for _ in range(2):
        assert [entry.content for entry in event.params().update.entries] == ["a"]
        (method, part, count, places, size, head) = observer.told.pop()
        assert (method, part, count) == ("session/update", "params", 1)
        assert [fault["loc"] for fault in places.errors()] == [("update", "entries", 0)]
        assert (size, head) == (len(event.raw_params()), b'{"se')
    assert observer.told == []


def test_what_an_observer_raises_is_raised_by_decoding() -> None:
    class Failing:
        def skipped(self, *told: Any) -> None:
            raise KeyError("mine")

    observer = Failing()
    event = only(client(observer=observer), PLAN)
    with pytest.raises(KeyError, match="mine"):
        event.params()


def test_an_observer_that_is_gone_is_told_nothing() -> None:
    connection = client(observer=Observer())
    gc.collect()
    assert len(only(connection, PLAN).params().update.entries) == 1


def test_what_no_release_knows_is_decoded_where_that_was_asked_for() -> None:
    known = '{"stopReason":"end_turn"}'
    for text in (known, '{"stopReason":"future"}'):
        kept = _core.decode(1, "PromptResponse", text, unknown_values="keep")
        assert kept.stop_reason == json.loads(text)["stopReason"]
    with pytest.raises(_core.ValidationError):
        _core.decode(1, "PromptResponse", '{"stopReason":"future"}')
    video = '{"type":"video","uri":"u"}'
    assert _core.decode(1, "ContentBlock", video, unknown_values="keep") == json.loads(video)
    other = _core.decode(2, "ContentBlock", video, unknown_values="keep")
    assert isinstance(other, v2.OtherContentBlock)
    with pytest.raises(ValueError, match="unknown_values"):
        _core.decode(1, "ContentBlock", video, unknown_values="maybe")  # type: ignore[arg-type]


def test_a_fault_of_the_core_ends_one_connection_and_says_so() -> None:
    failed, other = agent(), agent()
    for use in (
        failed._fail,  # pyright: ignore[reportPrivateUsage]
        lambda: failed.receive(b"{}\n"),
        lambda: failed.request("_x"),
        lambda: failed.respond(1, None),
    ):
        with pytest.raises(_core.InternalError, match="closed"):
            use()
    assert line(other, PROMPT)


def test_a_method_is_known_also_when_its_name_is_written_with_escapes() -> None:
    event = only(agent(), PROMPT.replace("session/prompt", "session\\/pr\\u006fmpt"))
    assert event.method == "session/prompt"
    assert isinstance(event.params(), v1.PromptRequest)


def test_a_version_that_only_the_lax_reading_takes_is_warned_about() -> None:
    text = '{"id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}'
    connection = agent(lax=True)
    with pytest.warns(UserWarning, match="version 1"):
        event = only(connection, text)
    assert event.params().protocol_version == 1
    assert connection.counters()["lax_versions"] == 1


def test_an_error_message_with_a_lone_surrogate_keeps_its_code() -> None:
    connection = agent()
    event = only(connection, PROMPT)
    assert connection.respond_error(event.token, -5, "a\ud800")
    assert '"code":-5,"message":"a' in sent(connection)
