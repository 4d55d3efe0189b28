"""Running an agent, and connecting to one.

Owns the two entry points of the drop-in surface and re-exports what it has under this name. No
logic of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acp._given import require_asyncio
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.connection import Connection, JsonValue, MethodHandler
from acp.exceptions import RequestError
from acp.interfaces import Agent, Client

if TYPE_CHECKING:
    from acp._transports.base import Transport

__all__ = [
    "DEFAULT_STDIO_BUFFER_LIMIT_BYTES",
    "Agent",
    "AgentSideConnection",
    "Client",
    "ClientSideConnection",
    "Connection",
    "JsonValue",
    "MethodHandler",
    "RequestError",
    "connect_to_agent",
    "run_agent",
]

DEFAULT_STDIO_BUFFER_LIMIT_BYTES = 50 * 1024 * 1024
"""Bytes; see `run_agent`."""


async def run_agent(
    agent: Agent,
    input_stream: Any = None,
    output_stream: Any = None,
    *,
    use_unstable_protocol: bool = False,
    stdio_buffer_limit_bytes: int = DEFAULT_STDIO_BUFFER_LIMIT_BYTES,
    **connection_kwargs: Any,
) -> None:
    """Serves an agent until its input ends.

    Args:
        agent: The agent.
        input_stream: The client's input: a StreamWriter, or one transport for both directions,
            also of messages (`acp.transports.MessageTransport`). None for the standard streams of
            this process, which then are the connection's alone: `print` goes to stderr.
        output_stream: The client's output: a StreamReader.
        use_unstable_protocol: Whether unstable methods reach the agent.
        stdio_buffer_limit_bytes: Longest message read from the standard streams, in bytes, where
            it is given and that is more than `Limits.max_message_bytes`. `limits=` wins.
        **connection_kwargs: The fields of `ConnectionOptions`, `observers`, `receive_timeout`.

    It runs on asyncio, and raises RuntimeError on trio.
    """
    require_asyncio("run_agent")
    if input_stream is None and output_stream is None:
        input_stream = _stdio(stdio_buffer_limit_bytes, connection_kwargs)
    connection = AgentSideConnection(
        agent,
        input_stream,
        output_stream,
        listening=False,
        use_unstable_protocol=use_unstable_protocol,
        **connection_kwargs,
    )
    try:
        await connection.listen()
    finally:
        await connection.close()


def _stdio(limit: int, options: dict[str, Any]) -> Transport:
    from acp._limits import Limits
    from acp._transports.stdio import stdio_transport

    # The default is what the official SDK has, and says nothing about what this program wants.
    if limit != DEFAULT_STDIO_BUFFER_LIMIT_BYTES:
        limits = Limits.from_environment()
        longest = max(limit, limits.max_message_bytes)
        options.setdefault("limits", replace(limits, max_message_bytes=longest))
    return stdio_transport()


def connect_to_agent(
    client: Client,
    input_stream: Any,
    output_stream: Any = None,
    *,
    use_unstable_protocol: bool = False,
    **connection_kwargs: Any,
) -> ClientSideConnection:
    """Connects a client to an agent whose streams are open already.

    Args:
        client: The client.
        input_stream: The agent's input: a StreamWriter, or one transport for both directions,
            also of messages (`acp.transports.MessageTransport`).
        output_stream: The agent's output: a StreamReader.
        use_unstable_protocol: Whether unstable methods reach the client.
        **connection_kwargs: The fields of `ConnectionOptions`, `observers`, `receive_timeout`.
    """
    return ClientSideConnection(
        client,
        input_stream,
        output_stream,
        use_unstable_protocol=use_unstable_protocol,
        **connection_kwargs,
    )
