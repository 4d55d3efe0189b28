"""A connection of the core under test, fed line by line.

Owns the few functions that read well in an assertion.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from acp import _core

UPDATE = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}'
)
PROMPT = (
    '{"jsonrpc":"2.0","id":7,"method":"session/prompt",'
    '"params":{"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}}'
)
INFO = {"name": "ed", "version": "3"}
INITIALIZE = json.dumps(
    {"id": 1, "method": "initialize", "params": {"protocolVersion": 2, "info": INFO}}
)
"""An `initialize` of version 2."""
ANSWER = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}}
"""A result of that which fits."""


def agent(**options: Any) -> _core.Connection:
    return _core.Connection("agent", **options)


def client(**options: Any) -> _core.Connection:
    return _core.Connection("client", **options)


def ready(role: Literal["agent", "client"], **options: Any) -> _core.Connection:
    """A connection of version 2 that has been initialized; nothing of that is left to be seen."""
    connection = _core.Connection(role, version=2, **options)
    if role == "agent":
        event = only(connection, INITIALIZE)
        connection.respond(event.token, ANSWER)
    else:
        request_id = connection.request("initialize", {"info": INFO})
        line(connection, json.dumps({"id": request_id, "result": ANSWER}))
    assert connection.initialized
    sent(connection)
    return connection


def line(connection: _core.Connection, text: str) -> list[Any]:
    """Feeds one line and returns its events."""
    return connection.receive(text.encode() + b"\n")


def only(connection: _core.Connection, text: str) -> Any:
    """Feeds one line and returns its one event."""
    (event,) = line(connection, text)
    return event


def sent(connection: _core.Connection) -> str:
    """What was queued, taken."""
    return connection.take_output().decode()
