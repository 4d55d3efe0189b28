"""This library: the core takes the frame, finds what it is, and decodes the params on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acp import _core
from acp.schema import AgentMessageChunk, SessionNotification, TextContentBlock
from benches import wire
from benches.sides.reading import BUILD_TEXT, by_attribute

NAME = "native"

_client = _core.Connection("client")
_agent = _core.Connection("agent")
_receive = _client.receive


def notification(frame: bytes) -> Any:
    return _receive(frame)[0].params()


def decode(frame: bytes) -> Any:
    return _receive(frame)[0].params().update


def decode_stream(stream: bytes) -> list[Any]:
    return [event.params().update for event in _receive(stream)]


def facts(update: Any) -> Any:
    return by_attribute(update, update.session_update)


def encoder(kind: str) -> Callable[[], bytes]:
    note = SessionNotification.model_validate(wire.KINDS[kind]["params"])
    notify, take_output = _agent.notify, _agent.take_output

    def encode() -> bytes:
        notify("session/update", note)
        return take_output()

    return encode


def build() -> Any:
    return AgentMessageChunk(
        session_update="agent_message_chunk",
        content=TextContentBlock(type="text", text=BUILD_TEXT),
    )
