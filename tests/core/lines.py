"""A connection of the core under test, fed line by line.

Owns the few functions that read well in an assertion.
"""

from __future__ import annotations

from typing import Any

from acp import _core

UPDATE = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}'
)
PROMPT = (
    '{"jsonrpc":"2.0","id":7,"method":"session/prompt",'
    '"params":{"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}}'
)


def agent(**options: Any) -> _core.Connection:
    return _core.Connection("agent", **options)


def client(**options: Any) -> _core.Connection:
    return _core.Connection("client", **options)


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
