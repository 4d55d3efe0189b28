"""The names of `acp.contrib`, and what loading them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

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
    ("view", "members"),
    [
        (
            session_state.SessionSnapshot,
            [
                *("session_id", "tool_calls", "plan_entries", "current_mode_id"),
                *("available_commands", "user_messages", "agent_messages", "agent_thoughts"),
            ],
        ),
        *(
            (
                kind,
                [
                    *("tool_call_id", "title", "kind", "status", "content", "locations"),
                    *("raw_input", "raw_output"),
                ],
            )
            for kind in (session_state.ToolCallView, tool_calls.TrackedToolCallView)
        ),
    ],
)
def test_views_have_the_members_of_the_official_sdk_and_need_all(
    view: type[Any], members: list[str]
) -> None:
    parameters = inspect.signature(view).parameters.values()
    assert [p.name for p in parameters] == members
    assert {(p.kind, p.default) for p in parameters} == {
        (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty)
    }


def test_neither_acp_loads_them_nor_they_pydantic_or_asyncio() -> None:
    code = (
        "import sys, acp; print('acp.contrib' in sys.modules); import acp.contrib; "
        "print(*(n for n in ('pydantic', 'asyncio', 'anyio', 'acp.v2') if n in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["False"]
