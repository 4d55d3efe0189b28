"""What does not fit is pydantic's own exception, in its words; a peer is told no more."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import anyio
import pydantic
import pytest

import acp
import acp.schema as schema
import acp.v2.schema as v2
from acp._errors import wire_error
from acp.client.connection import ClientSideConnection

SECRET = "hunter2"


def refused(cls: Any, /, **members: Any) -> pydantic.ValidationError:
    with pytest.raises(pydantic.ValidationError) as caught:
        cls(**members)
    return caught.value


def rows(error: pydantic.ValidationError) -> list[tuple[Any, ...]]:
    return [(row["type"], row["loc"], row["input"]) for row in error.errors()]


def test_a_constructor_tells_each_fault_by_type_place_message_input_and_address() -> None:
    error = refused(schema.PromptRequest, prompt=[{"type": "text"}], session_id=3)
    assert error.title == "PromptRequest"
    assert error.error_count() == 2
    assert rows(error) == [
        ("string_type", ("session_id",), 3),
        ("missing", ("prompt", 0, "text", "text"), {"type": "text"}),
    ]
    assert error.errors()[0]["msg"] == "Input should be a valid string"
    assert error.errors()[0]["url"].endswith("/v/string_type")


def test_what_a_rule_was_about_is_in_the_context() -> None:
    error = refused(schema.PlanEntry, content="c", priority="nope", status="pending")
    assert rows(error) == [("literal_error", ("priority",), "nope")]
    assert error.errors()[0]["ctx"] == {"expected": "'high', 'medium' or 'low'"}
    error = refused(schema.UsageUpdate, session_update="usage_update", used=-1, size=2)
    assert rows(error) == [("greater_than_equal", ("used",), -1)]
    assert error.errors()[0]["ctx"] == {"ge": 0}


def test_a_union_names_its_discriminator_or_each_of_its_classes() -> None:
    error = refused(schema.PromptRequest, session_id="s", prompt=[{"type": "smell"}, {"x": 1}])
    assert rows(error) == [
        ("union_tag_invalid", ("prompt", 0), {"type": "smell"}),
        ("union_tag_not_found", ("prompt", 1), {"x": 1}),
    ]
    resource = {"type": "resource", "resource": {"uri": "u"}}
    error = refused(schema.PromptRequest, session_id="s", prompt=[resource])
    place = ("prompt", 0, "resource", "resource")
    assert rows(error) == [
        ("missing", (*place, "TextResourceContents", "text"), {"uri": "u"}),
        ("missing", (*place, "BlobResourceContents", "blob"), {"uri": "u"}),
    ]


@pytest.mark.parametrize(
    ("given", "kind"), [(5, "model_type"), ([], "model_type"), ({"sessionId": 1}, "string_type")]
)
def test_validation_of_data_is_refused_in_the_same_words(given: Any, kind: str) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        schema.PromptRequest.model_validate(given)
    assert caught.value.errors()[0]["type"] == kind


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("{", "json_invalid"),
        ("5", "model_type"),
        ('{"prompt":[]}', "missing"),
        (b"\xff", "json_invalid"),
    ],
)
def test_validation_of_json_is_refused_in_the_same_words(given: Any, kind: str) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        schema.PromptRequest.model_validate_json(given)
    assert caught.value.errors()[0]["type"] == kind


def test_a_rule_that_only_the_class_knows_is_told_in_our_words() -> None:
    error = refused(schema.CreateOtherElicitationRequest, mode="form", message="m", session_id="s")
    assert rows(error) == [("known_variant", ("mode",), "form")]


def test_objects_of_version_2_are_refused_the_same_way() -> None:
    error = refused(v2.PlanEntry, content=5, priority="high", status="pending")
    assert rows(error) == [("string_type", ("content",), 5)]


def test_a_list_that_drops_bad_items_and_a_member_that_falls_back_are_no_faults() -> None:
    made = schema.NewSessionResponse(
        session_id="s", field_meta=5, modes={"availableModes": [{"id": 1}], "currentModeId": "m"}
    )
    assert made.field_meta is None
    error = refused(schema.NewSessionResponse, session_id=5, field_meta=5)
    assert rows(error) == [("string_type", ("session_id",), 5)]


def test_it_is_a_value_error_with_our_own_as_its_cause() -> None:
    error = refused(schema.PlanEntry, content=5, priority="high", status="pending")
    assert isinstance(error, ValueError)
    assert isinstance(error.__cause__, acp.ValidationError)
    assert "5" not in str(error.__cause__)


def test_a_peer_gets_the_answer_that_it_gets_without_pydantic() -> None:
    error = refused(schema.PlanEntry, content={SECRET: SECRET}, priority=SECRET, status="pending")
    answer = wire_error(error, method="session/prompt", expose=True, official=True)
    assert answer.code == -32602
    assert [(row["loc"], row["type"]) for row in answer.data["errors"]] == [
        (row["loc"] and list(row["loc"]), row["type"]) for row in error.__cause__.errors()
    ]
    assert SECRET not in repr(answer)


def test_on_endpoints_an_object_that_a_handler_makes_wrong_is_its_own_fault() -> None:
    error = refused(schema.PlanEntry, content={SECRET: SECRET}, priority=SECRET, status="pending")
    answer = wire_error(error, method="session/prompt")
    assert (answer.code, answer.data) == (-32603, {"type": "ValidationError"})


async def answered_with(result: dict[str, Any]) -> Exception:
    """What the caller of `session/new` on a drop-in connection gets for a result."""
    ours, theirs = acp.memory_pair()
    client = ClientSideConnection(object(), ours)
    try:
        calling = asyncio.ensure_future(client.new_session(cwd="/"))
        request = json.loads(await theirs.receive())
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        await theirs.send(json.dumps(answer).encode() + b"\n")
        with pytest.raises(ValueError, match="session") as caught:
            await calling
        return caught.value
    finally:
        await client.close()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_result_that_does_not_fit_raises_the_error_of_pydantic(anyio_backend: str) -> None:
    with anyio.fail_after(10):
        error = await answered_with({"sessionId": 5})
    assert isinstance(error, pydantic.ValidationError)
    assert isinstance(error.__cause__, acp.ValidationError)
    (row,) = error.errors()
    assert (row["type"], row["loc"][-1]) == ("string_type", "sessionId")


def test_an_exception_of_pydantic_for_anything_else_is_no_fault_of_the_params() -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        pydantic.TypeAdapter(int).validate_python(SECRET)
    answer = wire_error(caught.value, method="m")
    assert answer.code == -32603
    assert SECRET not in repr(answer)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_bad_params_and_a_handler_that_builds_badly_tell_no_values(
    anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    agent = acp.v1.Agent("agent", "1")

    @agent.new_session
    async def new_session(params: Any) -> Any:
        return schema.NewSessionResponse(session_id={SECRET: SECRET})

    ours, theirs = acp.memory_pair()
    with anyio.fail_after(10):
        async with agent.connect(ours), acp.v1.Client().connect(theirs) as connection:
            await connection.initialize()
            await ask(connection)
    assert SECRET not in caplog.text


async def ask(connection: Any) -> None:
    asked = {-32603: {"cwd": "/", "mcpServers": []}, -32602: {"cwd": {SECRET: SECRET}}}
    for code, params in asked.items():
        with pytest.raises(acp.RequestError) as caught:
            await connection.request("session/new", params)
        assert caught.value.code == code
        assert SECRET not in repr((caught.value.message, caught.value.data))
