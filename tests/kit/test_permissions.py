"""Answering permission requests by what the options mean."""

from __future__ import annotations

from typing import Any

import pytest

from acp import kit, v1, v2


def request(version: Any, *kinds: str) -> Any:
    schema = version.schema
    options = [
        schema.PermissionOption(option_id=f"{at}-{kind}", name="Allow once", kind=kind)
        for at, kind in enumerate(kinds)
    ]
    if version is v1:
        subject: dict[str, Any] = {"tool_call": schema.ToolCallUpdate(tool_call_id="t")}
    else:
        subject = {"title": "Run it?", "subject": {"type": "command", "command": "ls", "cwd": "/"}}
    return schema.RequestPermissionRequest(session_id="s", options=options, **subject)


CANCELLED = {"outcome": {"outcome": "cancelled"}}


def selected(option_id: str) -> Any:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


@pytest.mark.parametrize("version", [v1, v2])
async def test_options_are_chosen_by_kind_and_never_by_place_or_name(version: Any) -> None:
    asked = request(version, "reject_once", "allow_always", "allow_once")
    assert await kit.PermissionPolicy("allow_once")(asked) == selected("2-allow_once")
    preferred = kit.PermissionPolicy("reject_always", "allow_always", "allow_once")
    assert await preferred(asked) == selected("1-allow_always")


async def test_without_an_option_of_these_kinds_the_request_is_cancelled() -> None:
    asked = request(v1, "allow_always", "allow_once")
    assert await kit.PermissionPolicy("reject_once", "reject_always")(asked) == CANCELLED
    assert await kit.PermissionPolicy()(asked) == CANCELLED
    assert await kit.PermissionPolicy("allow_once")(request(v1)) == CANCELLED


async def test_somebody_may_be_asked_first() -> None:
    asked = request(v1, "allow_once", "reject_once")
    answers: list[Any] = [("reject_once",), None, ("id", "0-allow_once"), ("allow_always",)]

    async def ask(request: Any) -> Any:
        assert request is asked
        return answers.pop(0)

    policy = kit.PermissionPolicy("allow_once", ask=ask)
    assert await policy(asked) == selected("1-reject_once")
    assert await policy(asked) == selected("0-allow_once")
    assert await policy(asked) == selected("0-allow_once")
    assert await policy(asked) == CANCELLED
