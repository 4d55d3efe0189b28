"""The names of `acp.contrib`, and what loading them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from acp import contrib
from acp.contrib import permissions, session_state, tool_calls

NAMES = """
PermissionBroker SessionAccumulator SessionSnapshot ToolCallTracker ToolCallView
TrackedToolCallView default_permission_options
"""


def test_the_names_of_the_official_sdk_are_there() -> None:
    assert sorted(contrib.__all__) == sorted(NAMES.split())
    assert all(hasattr(contrib, name) for name in contrib.__all__)
    assert issubclass(permissions.MissingPermissionOptionsError, permissions.PermissionBrokerError)
    assert str(permissions.MissingPermissionOptionsError())
    assert issubclass(session_state.SessionSnapshotUnavailableError, RuntimeError)


@pytest.mark.parametrize(
    ("function", "names", "keywords"),
    [
        (
            permissions.PermissionBroker,
            ["session_id", "requester"],
            ["tracker", "default_options"],
        ),
        (
            permissions.PermissionBroker.request_for,
            ["self", "external_id"],
            ["description", "options", "content", "tool_call"],
        ),
        (session_state.SessionAccumulator, [], ["auto_reset_on_session_change"]),
        (session_state.SessionAccumulator.subscribe, ["self", "callback"], []),
        (session_state.SessionAccumulator.apply, ["self", "notification"], []),
        (
            session_state.SessionSnapshot,
            [],
            [
                *("session_id", "tool_calls", "plan_entries", "current_mode_id"),
                *("available_commands", "user_messages", "agent_messages", "agent_thoughts"),
            ],
        ),
        *(
            (
                kind,
                [],
                [
                    *("tool_call_id", "title", "kind", "status", "content", "locations"),
                    *("raw_input", "raw_output"),
                ],
            )
            for kind in (session_state.ToolCallView, tool_calls.TrackedToolCallView)
        ),
        (tool_calls.ToolCallTracker, [], ["id_factory"]),
        *(
            (
                getattr(tool_calls.ToolCallTracker, name),
                ["self", "external_id"],
                [
                    *("title", "kind", "status", "content", "locations"),
                    *("raw_input", "raw_output"),
                ],
            )
            for name in ("start", "progress")
        ),
        (
            tool_calls.ToolCallTracker.append_stream_text,
            ["self", "external_id", "text"],
            ["title", "status"],
        ),
    ],
)
def test_parameters_have_the_names_order_and_kinds_of_the_official_sdk(
    function: object, names: list[str], keywords: list[str]
) -> None:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == names
    assert [p.name for p in parameters if p.kind is p.KEYWORD_ONLY] == keywords


def test_neither_acp_loads_them_nor_they_pydantic_or_asyncio() -> None:
    code = (
        "import sys, acp; print('acp.contrib' in sys.modules); import acp.contrib; "
        "print(*(n for n in ('pydantic', 'asyncio', 'anyio', 'acp.v2') if n in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["False"]
