"""The public names: what `acp` offers, and what importing it costs."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings

import pytest

import acp

_NAMES = """
AGENT_METHODS Agent CLIENT_METHODS Client InitializeRequest InitializeResponse NewSessionRequest
NewSessionResponse PROTOCOL_VERSION PromptRequest PromptResponse RequestError SessionNotification
RequestPermissionRequest RequestPermissionResponse audio_block connect_to_agent default_environment
embedded_blob_resource embedded_text_resource image_block plan_entry resource_block
resource_link_block run_agent session_notification spawn_agent_process spawn_client_process
start_edit_tool_call start_read_tool_call start_tool_call stdio_streams text_block tool_content
tool_diff_content tool_terminal_ref update_agent_message update_agent_message_text
update_agent_thought update_agent_thought_text update_plan update_tool_call update_user_message
update_user_message_text
"""
OF_THE_SDK = _NAMES.split()


def modules_after(program: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after `program`."""
    program += "; import json, sys; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=60
    )
    return set(json.loads(run.stdout))


def test_every_public_name_is_there() -> None:
    missing = [name for name in acp.__all__ if not hasattr(acp, name)]
    assert not missing
    assert len(set(acp.__all__)) == len(acp.__all__)


@pytest.mark.parametrize("name", OF_THE_SDK)
def test_a_name_of_the_official_sdk_is_public(name: str) -> None:
    assert name in acp.__all__


def test_what_were_wrapper_classes_once_is_not_there_for_programs_that_look_for_them() -> None:
    import acp.schema
    import acp.v1.schema

    left_out = {*acp.v1.schema.__all__} - {*acp.schema.__all__}
    assert {"AuthMethod", "SessionConfigOption", "ToolCallContent"} <= left_out
    assert not any(hasattr(acp.schema, name) for name in left_out)
    # A class that the wire has is in both.
    assert not any(isinstance(getattr(acp.v1.schema, name), type) for name in left_out)


def test_dir_lists_names_and_submodules_without_loading_them() -> None:
    assert {"schema", "helpers", "text_block", "Agent"} <= set(dir(acp))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = acp.no_such_name  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["schema", "helpers", "interfaces", "exceptions", "transports"])
def test_a_submodule_is_an_attribute_without_being_imported(name: str) -> None:
    loaded = modules_after(f"import acp; acp.{name}")
    assert f"acp.{name}" in loaded


def test_importing_acp_loads_neither_asyncio_nor_pydantic_nor_a_schema() -> None:
    loaded = modules_after("import acp")
    heavy = {"asyncio", "pydantic", "anyio", "acp._schema", "acp._core", "acp.v2", "ssl", "logging"}
    assert not heavy & loaded


def test_the_schema_loads_neither_asyncio_nor_the_draft_version() -> None:
    loaded = modules_after("import acp.schema")
    assert not {"asyncio", "pydantic", "anyio", "acp.v2", "acp._schema.v2"} & loaded


def test_running_an_agent_loads_neither_pydantic_nor_the_draft_version() -> None:
    loaded = modules_after("import acp; acp.run_agent; acp.spawn_agent_process")
    assert not {"pydantic", "trio", "acp._schema.v2"} & loaded


@pytest.mark.parametrize("name", ["AgentSideConnection", "ClientSideConnection"])
def test_the_connection_classes_at_top_level_are_deprecated(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = getattr(acp, name)
    assert found.__name__ == name
    assert [warning.category for warning in caught] == [DeprecationWarning]


def test_the_package_and_the_core_have_one_version() -> None:
    from acp import _core

    assert acp.__version__ == _core.__version__


def test_a_request_error_carries_the_members_of_the_wire_error() -> None:
    error = acp.RequestError.method_not_found("x/y")
    assert error.to_error_obj() == {
        "code": -32601,
        "message": "Method not found",
        "data": {"method": "x/y"},
    }
    assert str(error) == "Method not found"


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (acp.RequestError.parse_error(), -32700),
        (acp.RequestError.invalid_request(), -32600),
        (acp.RequestError.invalid_params({"a": 1}), -32602),
        (acp.RequestError.internal_error(), -32603),
        (acp.RequestError.auth_required(), -32000),
        (acp.RequestError.resource_not_found("file:///x"), -32002),
        (acp.RequestError.request_cancelled(), -32800),
    ],
)
def test_each_constructor_of_request_error_has_its_code(made: acp.RequestError, code: int) -> None:
    assert made.code == code
    assert made.message


def test_the_helpers_make_the_objects_that_they_name() -> None:
    call = acp.start_edit_tool_call("1", "Edit", "/a", "new", extra_options=[])
    assert (call.kind, call.status, call.raw_input) == (
        "edit",
        "pending",
        {"path": "/a", "content": "new"},
    )
    assert call.locations is not None
    assert call.locations[0].path == "/a"
    block = acp.resource_block(acp.embedded_text_resource("file:///x", "text"))
    assert block.resource.uri == "file:///x"
    plan = acp.update_plan([acp.plan_entry("a"), acp.plan_entry("b", status="completed")])
    assert [entry.status for entry in plan.entries] == ["pending", "completed"]
    message = acp.session_notification("s", acp.update_user_message_text("hi"))
    assert message.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "sessionId": "s",
        "update": {
            "sessionUpdate": "user_message_chunk",
            "content": {"type": "text", "text": "hi"},
        },
    }


def test_what_was_not_given_to_a_helper_does_not_count_as_set() -> None:
    news = acp.update_tool_call("1", status="failed")
    assert news.model_fields_set == {"session_update", "tool_call_id", "status"}
    assert acp.image_block("AA==", "image/png").model_fields_set == {"type", "data", "mime_type"}
