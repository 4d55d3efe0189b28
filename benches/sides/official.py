"""The official Python SDK, in the way that it reads and writes messages itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from acp.schema import AgentMessageChunk, SessionNotification, TextContentBlock
from benches import wire
from benches.sides.reading import BUILD_TEXT, by_attribute

NAME = "official"


def notification(frame: bytes) -> Any:
    return SessionNotification.model_validate(json.loads(frame)["params"])


def decode(frame: bytes) -> Any:
    return SessionNotification.model_validate(json.loads(frame)["params"]).update


def decode_stream(stream: bytes) -> list[Any]:
    return [decode(line) for line in stream.splitlines()]


def facts(update: Any) -> Any:
    return by_attribute(update, update.session_update)


def encoder(kind: str) -> Callable[[], bytes]:
    note = SessionNotification.model_validate(wire.KINDS[kind]["params"])

    def encode() -> bytes:
        params = note.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude_defaults=True
        )
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"

    return encode


def build() -> Any:
    return AgentMessageChunk(
        session_update="agent_message_chunk",
        content=TextContentBlock(type="text", text=BUILD_TEXT),
    )
