"""The rules for `initialize` as Python sees them: versions, what may pass, what is told of it.

Owns the connection of the core on both sides of version 2, the strict client of version 1, and the
functions that choose a version. What each rule says in every case is shown by the Rust tests
`guard*.rs`. Numbers C-… are those of `tests/requirements.toml`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import acp.schema as v1
from acp import _core
from acp.v2 import schema as v2
from tests.core.lines import ANSWER, INFO, INITIALIZE, agent, client, line, only, ready, sent

TOO_EARLY = "ACP initialization must complete before `{}` can be used"


def error_of(text: str) -> tuple[int, str, Any]:
    """The error of the only reply that was sent."""
    error = json.loads(text)["error"]
    return error["code"], error["message"], error.get("data")


def asking(version: object, **members: Any) -> str:
    params = {"protocolVersion": version, **members}
    return json.dumps({"id": 1, "method": "initialize", "params": params})


def initialize_request() -> v2.InitializeRequest:
    info = v2.Implementation(name="ed", version="3")
    return v2.InitializeRequest(protocol_version=2, info=info)


def asked(connection: _core.Connection) -> int:
    """The id of an `initialize` that was sent."""
    request_id = connection.request("initialize", initialize_request())
    sent(connection)
    return request_id


def answered(connection: _core.Connection, request_id: int, result: Any) -> Any:
    return only(connection, json.dumps({"id": request_id, "result": result}))


# The agent's side of version 2.


def test_an_agent_of_version_2_refuses_a_version_below_and_names_what_it_serves() -> None:
    """C-157, C-175"""
    connection = agent(version=2)
    assert line(connection, asking(1, clientInfo=INFO)) == []
    expected = (-32022, "Unsupported protocol version", {"requested": 1, "supported": [2]})
    assert error_of(sent(connection)) == expected
    assert _core.unsupported_protocol_version(1, [2]) == expected
    assert not connection.initialized
    assert only(connection, INITIALIZE).params().info.name == "ed"


def test_params_of_version_2_that_do_not_fit_are_told_by_place_and_rule() -> None:
    """C-158"""
    connection = agent(version=2)
    assert line(connection, asking(2, info={"name": 7, "version": "secret"})) == []
    code, message, data = error_of(sent(connection))
    assert (code, message) == (-32602, "Invalid params")
    with pytest.raises(_core.ValidationError) as caught:
        _core.decode(2, "InitializeRequest", '{"protocolVersion":2,"info":{"name":7,"version":""}}')
    assert data == [{**fault, "loc": list(fault["loc"])} for fault in caught.value.errors()]
    assert connection.counters()["refused"] == 1


def test_unknown_members_of_params_of_version_2_are_in_the_raw_view() -> None:
    """C-165"""
    connection = agent(version=2)
    event = only(connection, asking(2, info=INFO, later={"a": [1.5]}))
    assert json.loads(event.raw_params() or b"")["later"] == {"a": [1.5]}
    assert event.params() == initialize_request()


def test_a_client_of_a_later_version_is_read_as_one_of_version_2() -> None:
    """C-159"""
    connection = agent(version=2)
    event = only(connection, asking(7, info=5, capabilities={"auth": {"terminal": {}}, "x": 1}))
    request = event.params()
    assert (request.protocol_version, request.info.name) == (2, "unknown")
    assert request.capabilities.auth.terminal is not None
    assert "x" not in json.loads(event.raw_params() or b"")["capabilities"]


def test_the_answer_names_version_2_and_one_that_does_not_fit_is_an_internal_error() -> None:
    """C-160"""
    connection = agent(version=2)
    event = only(connection, INITIALIZE)
    with pytest.raises(_core.ValidationError, match="info") as caught:
        connection.respond(event.token, {"agentInfo": INFO})
    assert caught.value.title == "InitializeResponse"
    assert error_of(sent(connection)) == (-32603, "Internal error", None)
    assert connection.respond(event.token, ANSWER) is False
    assert not connection.initialized
    event = only(connection, INITIALIZE)
    info = v2.Implementation(name="a", version="1")
    assert connection.respond(event.token, v2.InitializeResponse(protocol_version=1, info=info))
    assert json.loads(sent(connection))["result"]["protocolVersion"] == 2
    assert connection.initialized


def test_an_answer_that_cannot_be_written_leaves_initialize_open() -> None:
    """C-160, C-161"""
    connection = agent(version=2)
    event = only(connection, INITIALIZE)
    with pytest.raises(_core.ValidationError):
        connection.respond(event.token, object())
    assert sent(connection) == ""
    assert connection.in_flight == 1
    assert connection.respond_error(event.token, -32603, "Internal error")
    assert not connection.initialized
    assert only(connection, INITIALIZE).method == "initialize"


def test_an_agent_of_version_2_neither_serves_nor_sends_before_initialization() -> None:
    """C-162, C-167, C-173"""
    connection = agent(version=2)
    assert line(connection, '{"id":5,"method":"session/new","params":{}}') == []
    expected = (-32600, "Invalid request", TOO_EARLY.format("session/new"))
    assert error_of(sent(connection)) == expected
    assert line(connection, '{"method":"_note"}') == []
    assert connection.counters()["early_notifications"] == 1
    for send in (connection.request, connection.notify):
        with pytest.raises(_core.LocalProtocolError) as caught:
            send("_x")
        assert str(caught.value) == TOO_EARLY.format("_x")
        assert caught.value.code == -32600
    assert sent(connection) == ""
    event = only(connection, INITIALIZE)
    (cancelled,) = line(connection, '{"method":"$/cancel_request","params":{"requestId":1}}')
    assert cancelled.token == event.token


@pytest.mark.parametrize("succeeds", [True, False])
def test_a_request_behind_initialize_is_admitted_only_when_that_succeeds(succeeds: bool) -> None:
    """C-051, C-162"""
    connection = agent(version=2)
    events: list[Any] = connection.receive(f'{INITIALIZE}\n{{"id":2,"method":"_x"}}\n'.encode())
    first, second = events
    if succeeds:
        connection.respond(first.token, ANSWER)
    else:
        connection.respond_error(first.token, -32603, "no")
    sent(connection)
    assert connection.admit(second.token) is succeeds
    assert bool(sent(connection)) is not succeeds


def test_initialize_is_repeated_until_another_request_is_accepted() -> None:
    """C-163, C-164, C-177"""
    connection = agent(version=2)
    event = only(connection, INITIALIZE)
    assert line(connection, INITIALIZE) == []
    in_progress = "ACP initialization is already in progress on this connection"
    assert error_of(sent(connection)) == (-32600, "Invalid request", in_progress)
    connection.respond(event.token, ANSWER)
    event = only(connection, INITIALIZE)
    connection.respond(event.token, ANSWER)
    only(connection, '{"id":2,"method":"_x"}')
    sent(connection)
    assert line(connection, INITIALIZE) == []
    too_late = (
        "ACP initialization cannot be repeated after any other request; "
        "reconnect to initialize again"
    )
    assert error_of(sent(connection)) == (-32600, "Invalid request", too_late)
    strict = ready("agent", allow_reinitialize=False)
    assert line(strict, INITIALIZE) == []
    assert error_of(sent(strict)) == (-32600, "Invalid request", too_late)


# The client's side of version 2.


def test_a_client_of_version_2_asks_for_it_and_sends_nothing_before_the_answer() -> None:
    """C-166, C-167"""
    connection = client(version=2)
    for method in ("session/new", "initialize"):
        with pytest.raises(_core.LocalProtocolError) as caught:
            connection.request(method, [])
        code = -32600 if method == "session/new" else -32602
        assert caught.value.code == code
    with pytest.raises(_core.ValidationError, match="info"):
        connection.request("initialize", {"protocolVersion": 2})
    assert connection.pending == []
    params = {"b": 1, "protocolVersion": 9, "info": INFO, "a": 2}
    assert connection.request("initialize", params) == 0
    written = json.loads(sent(connection))["params"]
    assert written == {**params, "protocolVersion": 2}
    assert [name for name in written if name != "protocolVersion"] == ["b", "info", "a"]
    with pytest.raises(_core.LocalProtocolError, match="already in progress"):
        connection.request("initialize", initialize_request())
    assert answered(connection, 0, ANSWER).result().info.name == "a"
    assert connection.request("session/new", {"cwd": "/"}) == 1
    with pytest.raises(_core.LocalProtocolError, match="cannot be repeated"):
        connection.request("initialize", initialize_request())


@pytest.mark.parametrize(
    ("selected", "sentence"),
    [
        (
            1,
            "required ACP protocol version 2 but peer negotiated 1; "
            "use a matching implementation for the negotiated protocol version",
        ),
        (
            7,
            "unsupported ACP protocol version 7; "
            "this endpoint only supports ACP protocol version 2",
        ),
    ],
)
def test_another_version_is_an_outcome_of_its_own_with_the_complete_answer(
    selected: int, sentence: str
) -> None:
    """C-168, C-169, C-178, C-179"""
    connection = client(version=2)
    answer = {"agentCapabilities": {"loadSession": True}, "protocolVersion": selected, "_x": 1}
    event = answered(connection, asked(connection), answer)
    assert (event.outcome, event.selected) == ("mismatch", selected)
    assert json.loads(event.raw_result() or b"") == answer
    assert event.error() == (-32600, "Invalid request", sentence)
    with pytest.raises(ValueError, match="outcome"):
        event.result()
    response = _core.decode(1, "InitializeResponse", event.raw_result() or b"")
    assert type(response) is v1.InitializeResponse
    assert not connection.initialized
    with pytest.raises(_core.LocalProtocolError):
        connection.request("session/new", {})
    assert answered(connection, asked(connection), ANSWER).selected is None
    assert connection.initialized


def test_an_answer_that_does_not_fit_raises_when_it_is_read_and_can_be_asked_for_again() -> None:
    """C-170"""
    connection = client(version=2)
    for result in ({}, None, {"protocolVersion": 2}, {"protocolVersion": "2", "info": INFO}):
        event = answered(connection, asked(connection), result)
        assert event.outcome == "result"
        with pytest.raises(_core.ValidationError):
            event.result()
        assert not connection.initialized
    request_id = asked(connection)
    refused = only(connection, f'{{"id":{request_id},"error":{{"code":-32022,"message":"m"}}}}')
    assert (refused.outcome, refused.selected) == ("error", None)
    answered(connection, asked(connection), ANSWER)
    assert connection.initialized


def test_initialize_goes_from_the_client_to_the_agent() -> None:
    """C-171, C-182"""
    sentence = "ACP clients send `initialize` requests and ACP agents respond to them"
    for side in (agent(version=2), ready("agent")):
        with pytest.raises(_core.LocalProtocolError) as caught:
            side.request("initialize", initialize_request())
        assert str(caught.value) == sentence
        assert sent(side) == ""
    for side in (client(version=2), ready("client")):
        assert line(side, INITIALIZE) == []
        assert error_of(sent(side)) == (-32600, "Invalid request", sentence)


# Either version.


def test_a_strict_client_of_version_1_takes_no_other_and_a_lax_one_does() -> None:
    """C-178, C-179"""
    request = v1.InitializeRequest(protocol_version=9)
    for result, outcome in (({"protocolVersion": 2}, "mismatch"), ({}, "result")):
        strict, lax = client(), client(lax=True)
        for connection, version in ((strict, 1), (lax, 9)):
            connection.request("initialize", request)
            assert json.loads(sent(connection))["params"]["protocolVersion"] == version
        assert answered(strict, 0, result).outcome == outcome
        assert not strict.initialized
        assert answered(lax, 0, result).outcome == "result"
        assert lax.initialized
        assert strict.request("session/new", {}) == 1
    connection = client()
    connection.request("initialize", request)
    assert answered(connection, 0, {"protocolVersion": 1}).result().protocol_version == 1
    assert connection.initialized


def test_only_a_strict_agent_is_told_of_an_answer_that_its_peer_is_told_of() -> None:
    """C-160"""
    lax, strict = agent(lax=True), agent()
    assert lax.respond(only(lax, asking(1)).token, [])
    with pytest.raises(_core.ValidationError, match="object"):
        strict.respond(only(strict, asking(1)).token, [])
    for connection in (lax, strict):
        assert error_of(sent(connection)) == (-32603, "Internal error", None)
        assert not connection.initialized


@pytest.mark.parametrize("version", [1, 2])
def test_without_the_guard_initialize_is_a_method_like_any_other(version: int) -> None:
    """C-156, C-023"""
    side = client(version=version, guard=False)
    assert side.request("session/new", {}) == 0
    assert side.request("initialize", [7]) == 1
    assert sent(side).endswith('"params":[7]}\n')
    assert answered(side, 1, {"protocolVersion": 3}).outcome == "result"
    side = agent(version=version, guard=False, require_initialize=True)
    assert only(side, '{"id":null,"method":"_x"}').id is None
    event = only(side, asking("x"))
    assert json.loads(event.raw_params() or b"") == {"protocolVersion": "x"}
    assert side.respond(event.token, 7)
    assert sent(side) == '{"jsonrpc":"2.0","id":1,"result":7}\n'


def test_what_nobody_cancels_is_unknown_and_not_its_method() -> None:
    """C-032"""
    connection = ready("agent")
    call = '{"id":2,"method":"tool_call/cancel","params":{"sessionId":"s","toolCallId":"t"}}'
    expected = (-32602, "the tool call is unknown or not cancellable", {"toolCallId": "t"})
    assert connection.unhandled(only(connection, call)) == expected
    ended = '{"id":3,"method":"terminal/cancel","params":{"terminalId":7}}'
    expected = (-32602, "the terminal is unknown or not cancellable", None)
    assert connection.unhandled(only(connection, ended)) == expected
    other = '{"id":4,"method":"_x"}'
    expected = (-32601, "Method not found", {"method": "_x"})
    assert connection.unhandled(only(connection, other)) == expected
    message = '{"id":5,"method":"mcp/message","params":{}}'
    expected = (-33001, "MCP server registration unavailable", None)
    assert connection.unhandled(only(connection, message)) == expected
    first = agent()
    expected = (-32601, "Method not found", {"method": "tool_call/cancel"})
    assert first.unhandled(only(first, call)) == expected


# Versions without a connection.


def test_a_version_is_chosen_from_the_params_of_a_first_frame() -> None:
    assert _core.requested_version('{"protocolVersion":3,"x":1}') == 3
    assert _core.requested_version(b'{"protocolVersion":"2"}') is None
    assert _core.requested_version("[]") is None
    with pytest.raises(_core.ValidationError):
        _core.requested_version("{")
    assert _core.choose_version(3, [1, 2]) == 2
    assert _core.choose_version(0, [1, 2]) == 1
    assert _core.choose_version(1, [2]) is None
    assert _core.choose_version(1, []) is None


def test_params_of_one_version_are_put_in_the_form_of_another() -> None:
    """C-153, C-159"""
    params = json.dumps({"protocolVersion": 2, "info": INFO, "later": 1}).encode()
    assert _core.initialize_params(2, params) == params
    normal = json.loads(_core.initialize_params(1, params))
    assert (normal["protocolVersion"], normal["clientInfo"]) == (1, INFO)
    later = json.loads(_core.initialize_params(2, params.replace(b": 2,", b": 3,")))
    assert later == {"protocolVersion": 2, "info": INFO, "capabilities": {}}
    with pytest.raises(_core.ValidationError, match="info"):
        _core.initialize_params(2, '{"protocolVersion":2}')
    with pytest.raises(ValueError, match="valid ACP protocol version"):
        _core.initialize_params(1, "{}")
    with pytest.raises(ValueError, match="Unsupported"):
        _core.initialize_params(2, '{"protocolVersion":1}')
    with pytest.raises((TypeError, ValueError)):
        _core.initialize_params(3, params)
