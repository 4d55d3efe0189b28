"""Defaults that users' subclasses give to fields of the protocol: read, kept, dumped and sent."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Annotated, Any, Literal

import pydantic
import pytest

import acp
import acp.schema as schema
import acp.v2.schema as v2


class Hello(schema.TextContentBlock):
    type: Literal["text"] = "text"
    text: str = "hello"


class Here(schema.NewSessionRequest):
    cwd: str = pydantic.Field(default="/here", alias="cwd")
    mcp_servers: Annotated[list[Any], pydantic.Field(alias="mcpServers")] = []  # noqa: RUF012
    additional_directories: list[str] | None = pydantic.Field(
        default_factory=lambda: ["/there"], alias="additionalDirectories"
    )
    note: str = "n"


def sent(value: Any) -> Any:
    return json.loads(acp._core.encode(value))


def made_in_every_way(cls: Any, **members: Any) -> list[Any]:
    one = cls(**members)
    return [
        one,
        cls.model_validate(members),
        cls.model_validate_json(json.dumps(members)),
        cls.model_construct(**members),
        one.model_copy(),
        copy.copy(one),
        copy.deepcopy(one),
        pickle.loads(pickle.dumps(one)),
    ]


def test_a_default_for_a_required_field_is_read_dumped_and_sent() -> None:
    for one in made_in_every_way(Hello):
        assert one.text == "hello"
        assert one.model_dump(exclude_none=True) == {"type": "text", "text": "hello"}
        assert sent(one) == {"type": "text", "text": "hello"}


def test_an_object_with_such_a_default_is_dumped_and_sent_within_another() -> None:
    request = schema.PromptRequest(session_id="s", prompt=[Hello()])
    wire = {"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]}
    assert request.model_dump(mode="json", by_alias=True, exclude_none=True) == wire
    assert json.loads(request.model_dump_json(by_alias=True, exclude_none=True)) == wire
    assert sent(request) == wire


def test_defaults_and_factories_for_any_kind_of_field_are_kept() -> None:
    wire = {"cwd": "/here", "mcpServers": [], "additionalDirectories": ["/there"]}
    for one in made_in_every_way(Here):
        assert (one.cwd, one.additional_directories, one.note) == ("/here", ["/there"], "n")
        assert sent(one) == wire
    assert Here().additional_directories is not Here().additional_directories


def test_what_was_not_given_is_not_among_the_set_fields() -> None:
    for one in made_in_every_way(Here, cwd="/c"):
        assert one.model_fields_set == {"cwd"}
        assert one.model_dump(exclude_unset=True) == {"cwd": "/c"}
    assert Hello().model_dump(exclude_defaults=True) == {}


def test_assigning_or_updating_such_a_field_sets_it() -> None:
    one = Here()
    one.cwd = "/c"
    assert one.model_fields_set == {"cwd"}
    assert Here().model_copy(update={"cwd": "/c", "note": "o"}).model_fields_set == {"cwd", "note"}
    assert one == Here(cwd="/c")
    assert sent(one)["cwd"] == "/c"


def test_a_given_value_wins_also_one_that_equals_a_default() -> None:
    assert sent(Hello(text="given")) == {"type": "text", "text": "given"}
    assert Hello(text="hello").model_fields_set == {"text", "type"}
    assert sent(Here(additional_directories=None)) == {"cwd": "/here", "mcpServers": []}


def test_a_default_is_inherited_and_given_anew() -> None:
    class Louder(Hello):
        note: str = "n"

    class Loudest(Louder):
        text: str = "HELLO"

    assert sent(Louder())["text"] == "hello"
    assert sent(Loudest())["text"] == "HELLO"
    assert sent(Loudest(text="t"))["text"] == "t"


def test_a_default_of_the_protocol_may_be_changed_to_none_or_another() -> None:
    class Changed(schema.InitializeRequest):
        protocol_version: int = pydantic.Field(default=1, alias="protocolVersion")
        client_capabilities: schema.ClientCapabilities | None = pydantic.Field(
            default=schema.ClientCapabilities(terminal=True), alias="clientCapabilities"
        )

    assert sent(Changed())["protocolVersion"] == 1
    assert sent(Changed())["clientCapabilities"]["terminal"] is True


def test_a_default_of_version_2_is_kept_and_what_is_absent_stays_so() -> None:
    class Titled(v2.TextContentBlock):
        text: str = "hello"
        field_meta: dict[str, Any] | None = pydantic.Field(default=None, alias="_meta")

    assert sent(Titled(type="text")) == {"type": "text", "text": "hello"}


def test_a_default_that_needs_validation_is_validated() -> None:
    class Checked(schema.TextContentBlock):
        model_config = pydantic.ConfigDict(validate_default=True)
        text: str = 5  # type: ignore[assignment]

    with pytest.raises(pydantic.ValidationError):
        Checked(type="text")
