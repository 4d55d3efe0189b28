"""orjson: dicts, nothing typed and nothing checked. The least that reading JSON costs in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from benches import wire
from benches.sides.reading import BUILD_TEXT, by_member

NAME = "orjson"


def decode(frame: bytes) -> Any:
    return orjson.loads(frame)["params"]["update"]


def decode_stream(stream: bytes) -> list[Any]:
    return [decode(line) for line in stream.splitlines()]


def facts(update: Any) -> Any:
    return by_member(update)


def encoder(kind: str) -> Callable[[], bytes]:
    message = wire.KINDS[kind]

    def encode() -> bytes:
        return orjson.dumps(message) + b"\n"

    return encode


def build() -> Any:
    return {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": BUILD_TEXT},
    }
