"""Requests, notifications and arrays of them: whole messages, that nobody can serve or understand.

Owns these rows of the table of hostile input. What is no message is `reliability.hostile_frames`'.
"""

from __future__ import annotations

from collections.abc import Mapping

from reliability.hostile_rows import (
    INVALID,
    NOTHING,
    SILENT_CLIENT,
    Hostile,
    array,
    error,
    not_first,
    not_found,
    result,
    too_early,
)

__all__ = ("CALLS",)


def _request(
    request_id: str,
    method: str,
    answer: bytes,
    params: str = "",
    *,
    otherwise: Mapping[str, bytes] = NOTHING,
    at_any_time: Mapping[str, bytes] = NOTHING,
) -> Hostile:
    """A request whose envelope is good. What is answered `at_any_time` is so before the handshake,
    too, where all others come too early.
    """
    more = f',"params":{params}' * bool(params)
    frame = f'{{"jsonrpc":"2.0","id":{request_id},"method":"{method}"{more}}}'.encode()
    early = {"early": too_early(method, request_id)}
    places = {"router v2": not_first(request_id), **at_any_time, **early, **otherwise}
    return Hostile(frame, answer, places, is_call=True)


NULL_ID = error(
    -32600,
    "Invalid request",
    data='"ACP protocol v2 request ids must be a string or an integer, not null"',
)
NO_VERSION = error(
    -32602,
    "Invalid params",
    "7",
    '"initialize.protocolVersion must be a valid ACP protocol version"',
)
DIRECTION = error(
    -32600,
    "Invalid request",
    "7",
    '"ACP clients send `initialize` requests and ACP agents respond to them"',
)

NO_TERMINAL = error(-32602, "the terminal is unknown or not cancellable", "7", '{"terminalId":"t"}')

MISSING, NO_TEXT, NO_OBJECT, NO_LIST = (
    f'"type":"{kind}","message":"{message}"'
    for kind, message in (
        ("missing", "a required member is missing"),
        ("string_type", "must be a string"),
        ("object_type", "must be an object"),
        ("list_type", "must be an array"),
    )
)


def _unfit(method: str, side: str, params: str, *faults: str, v2: tuple[str, ...] = ()) -> Hostile:
    """A request that `side` serves, with params that do not fit.

    Version 2 tells other faults, and drop-in connections tell them in another form.
    """

    def told(faults: tuple[str, ...], official: bool = False) -> bytes:
        listed = ",".join("{" + fault + "}" for fault in faults)
        data = f"[{listed}]"
        if official:
            data = '{"errors":' + data.replace('"message"', '"msg"') + "}"
        return error(-32602, "Invalid params", "7", data)

    elsewhere = {"client" if side == "agent" else "agent": not_found(method, "7")}
    elsewhere["drop-in"] = told(faults, official=True)
    if v2:
        elsewhere["v2"] = told(v2)
    return _request("7", method, told(faults), params, otherwise=elsewhere)


UNFIT = [
    _unfit("session/new", "agent", "", f'"loc":[],{NO_OBJECT}'),
    _unfit("session/new", "agent", '["/"]', f'"loc":[],{NO_OBJECT}'),
    _unfit(
        "session/new", "agent", '{"cwd":"/","cwd":5,"mcpServers":[]}', f'"loc":["cwd"],{NO_TEXT}'
    ),
    _unfit(
        "session/new",
        "agent",
        '{"mcpServers":[{"type":"http","name":"n","url":7,"headers":[]}]}',
        *(f'"loc":["mcpServers",0,"{member}"],{MISSING}' for member in ("command", "args", "env")),
        f'"loc":["cwd"],{MISSING}',
        v2=(f'"loc":["mcpServers",0,"url"],{NO_TEXT}', f'"loc":["cwd"],{MISSING}'),
    ),
    _unfit(
        "session/request_permission",
        "client",
        '{"sessionId":5,"options":{}}',
        f'"loc":["sessionId"],{NO_TEXT}',
        f'"loc":["options"],{NO_LIST}',
        f'"loc":["toolCall"],{MISSING}',
        v2=(
            f'"loc":["sessionId"],{NO_TEXT}',
            f'"loc":["options"],{NO_LIST}',
            f'"loc":["title"],{MISSING}',
        ),
    ),
    _unfit("session/request_permission", "client", "", f'"loc":[],{NO_OBJECT}'),
]
"""Requests that are served, of which the params do not fit."""

NOTES = (
    b'{"method":""}',
    b'{"method":"nothing/like/it"}',
    b'{"method":"initialize"}',
    b'{"method":"session/new","params":{"cwd":"/"}}',
    b'{"method":"session/cancel"}',
    b'{"method":"session/update","params":{"sessionId":5}}',
    b'{"method":"session/update","params":[1]}',
)
"""Notifications that mean nothing, or not enough."""


def _bad_initialize(params: str) -> Hostile:
    """An `initialize` that asks for no version."""
    elsewhere = {"v2 client": DIRECTION, "client": not_found("initialize", "7")}
    row = _request("7", "initialize", NO_VERSION, params)
    return row._replace(otherwise=elsewhere)


REQUESTS = [
    *(
        _request(request_id, "nothing/like/it", not_found("nothing/like/it", request_id))
        for request_id in ("7", '""', '"\\ud800"', "-9223372036854775808")
    ),
    _request("7", "$/cancel_request", not_found("$/cancel_request", "7"), '{"requestId":0}'),
    _request("null", "_ping", result("null"), at_any_time={"v2 client": b"", "v2": NULL_ID}),
    _request("7", "session/cancel", not_found("session/cancel", "7"), '{"sessionId":"s"}'),
    _request(
        "7",
        "terminal/cancel",
        not_found("terminal/cancel", "7"),
        '{"sessionId":"s","terminalId":"t"}',
        otherwise={"v2 agent": NO_TERMINAL},
    ),
    *map(_bad_initialize, ("", "[1]", '{"protocolVersion":"two"}', '{"protocolVersion":-1}')),
]
"""Requests that are whole messages, and cannot be served."""

PING_AND_ONE = b'[{"id":7,"method":"_ping"},1]'
ARRAYS = [
    Hostile(b"[1]", array(INVALID), SILENT_CLIENT),
    Hostile(b'[null,{"method":""}]', array(INVALID), SILENT_CLIENT, is_call=True),
    Hostile(
        PING_AND_ONE,
        array(result("7"), INVALID),
        {
            "router v2": array(not_first("7"), INVALID),
            "early client": array(too_early("_ping", "7")),
            "early": array(too_early("_ping", "7"), INVALID),
            "client": array(result("7")),
        },
        is_call=True,
    ),
    Hostile(b"[" + b",".join([b"1"] * 1025) + b"]", INVALID, SILENT_CLIENT),
]

CALLS = [*(Hostile(frame, b"", is_call=True) for frame in NOTES), *REQUESTS, *UNFIT, *ARRAYS]
