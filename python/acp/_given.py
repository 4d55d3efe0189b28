"""What users may give to a connection as a transport, and on which loop.

Owns the forms of the former and the refusal of trio where a name is asyncio's. It makes no
connection.
"""

from __future__ import annotations

from typing import Any

from acp._runtime import is_on_trio
from acp._transports.base import Transport

__all__ = ("as_transport", "require_asyncio")


def require_asyncio(name: str) -> None:
    """Raises RuntimeError on trio, where what has this name cannot be used."""
    if is_on_trio():
        message = (
            f"{name} runs on asyncio; on trio, make the connection with "
            f"listening=False and run its listen() in a nursery"
        )
        raise RuntimeError(message)


def as_transport(name: str, input_stream: Any, output_stream: Any) -> Transport:
    """What a user gave to a connection, as a transport: one of ours, one of messages, or two
    asyncio streams.

    `input_stream` is the peer's input, and so the StreamWriter.
    """
    if output_stream is None:
        if isinstance(input_stream, Transport):
            return input_stream
        from acp._transports.messages import LineTransport, MessageTransport

        if isinstance(input_stream, MessageTransport):
            return LineTransport(input_stream)
    # The names alone: the streams of other loops and of tests are no subclasses.
    elif hasattr(input_stream, "write") and hasattr(output_stream, "read"):
        from acp._transports.streams import StreamTransport

        return StreamTransport(input_stream, output_stream)
    message = (
        f"{name} requires asyncio StreamWriter/StreamReader, a transport of this package, or an "
        f"object with async send(dict), receive() and close()"
    )
    raise TypeError(message)
