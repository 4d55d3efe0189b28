"""msgspec, with Structs that hold what the schema's classes hold: the same unions and members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from benches import wire
from benches.sides.reading import BUILD_TEXT, by_attribute

NAME = "msgspec"

Meta = dict[str, Any] | None


class Base(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    field_meta: Meta = msgspec.field(name="_meta", default=None)


class Annotations(Base):
    audience: list[str] | None = None
    last_modified: str | None = None
    priority: float | None = None


class Text(Base, tag="text", tag_field="type"):
    text: str
    annotations: Annotations | None = None


class Image(Base, tag="image", tag_field="type"):
    data: str
    mime_type: str
    uri: str | None = None
    annotations: Annotations | None = None


class Audio(Base, tag="audio", tag_field="type"):
    data: str
    mime_type: str
    annotations: Annotations | None = None


class ResourceLink(Base, tag="resource_link", tag_field="type"):
    name: str
    uri: str
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    title: str | None = None
    annotations: Annotations | None = None


class Resource(Base, tag="resource", tag_field="type"):
    resource: dict[str, Any]
    annotations: Annotations | None = None


Content = Text | Image | Audio | ResourceLink | Resource


class ToolContent(Base, tag="content", tag_field="type"):
    content: Content


class ToolDiff(Base, tag="diff", tag_field="type"):
    path: str
    new_text: str
    old_text: str | None = None


class ToolTerminal(Base, tag="terminal", tag_field="type"):
    terminal_id: str


class Location(Base):
    path: str
    line: int | None = None


class PlanEntry(Base):
    content: str
    priority: str
    status: str


class Chunk(Base, tag_field="sessionUpdate"):
    content: Content
    message_id: str | None = None


class UserChunk(Chunk, tag="user_message_chunk", tag_field="sessionUpdate"):
    pass


class AgentChunk(Chunk, tag="agent_message_chunk", tag_field="sessionUpdate"):
    pass


class ThoughtChunk(Chunk, tag="agent_thought_chunk", tag_field="sessionUpdate"):
    pass


class ToolFields(Base):
    tool_call_id: str
    content: list[ToolContent | ToolDiff | ToolTerminal] | None = None
    kind: str | None = None
    locations: list[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None
    status: str | None = None


class ToolCall(ToolFields, tag="tool_call", tag_field="sessionUpdate", kw_only=True):
    title: str


class ToolUpdate(ToolFields, tag="tool_call_update", tag_field="sessionUpdate"):
    title: str | None = None


class Plan(Base, tag="plan", tag_field="sessionUpdate"):
    entries: list[PlanEntry]


class Params(Base):
    session_id: str
    update: UserChunk | AgentChunk | ThoughtChunk | ToolCall | ToolUpdate | Plan


class Message(msgspec.Struct):
    jsonrpc: str
    method: str
    params: Params


_decode = msgspec.json.Decoder(Message).decode
_encode = msgspec.json.Encoder().encode


def decode(frame: bytes) -> Any:
    return _decode(frame).params.update


def decode_stream(stream: bytes) -> list[Any]:
    return [decode(line) for line in stream.splitlines()]


def facts(update: Any) -> Any:
    return by_attribute(update, update.__struct_config__.tag)


def encoder(kind: str) -> Callable[[], bytes]:
    message = _decode(wire.FRAMES[kind])

    def encode() -> bytes:
        return _encode(message) + b"\n"

    return encode


def build() -> Any:
    return AgentChunk(content=Text(text=BUILD_TEXT))
