"""What prompts of version 2 may hold, by what the agent has offered, and for which sessions."""

from __future__ import annotations

from typing import Any

import pytest

from acp import v2
from tests.endpoint.v2_client import (
    accepted,
    agent_of,
    failed,
    schema,
    served,
    session_of,
    update,
)

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///y", "text": "y"}}
SKILL = {"type": "skill", "name": "x", "uri": "file:///x"}
LINK = {"type": "resource_link", "uri": "file:///x", "name": "x"}
TEXT = {"type": "text", "text": "t"}
OWN = {"type": "_test.example/block", "payload": {"keep": ["me", None]}}
ALL = schema.PromptCapabilities(
    image=schema.PromptImageCapabilities(),
    audio=schema.PromptAudioCapabilities(),
    embedded_context=schema.PromptEmbeddedContextCapabilities(),
)


def refusal(request_id: int, *loc: str | int) -> dict[str, Any]:
    message = "is no content that this agent has offered to take"
    fault = {"loc": [*loc], "type": "unsupported", "message": message}
    return failed(request_id, -32602, "Invalid params", [fault])


def offering(prompt: Any) -> schema.AgentCapabilities:
    return schema.AgentCapabilities(session=schema.SessionCapabilities(prompt=prompt))


def taking(seen: list[list[str]]) -> Any:
    async def on_prompt(request: schema.PromptRequest, ctx: v2.Context) -> None:
        seen.append([block.type for block in request.prompt])
        ctx.accept("m1")

    return on_prompt


async def test_an_empty_prompt_is_refused_without_asking_the_handler() -> None:
    """C-236."""
    seen: list[list[str]] = []
    async with session_of(agent_of(taking(seen))) as peer:
        await peer.request(1, "session/prompt", {"sessionId": "s1", "prompt": []})
        fault = {"loc": ["prompt"], "type": "too_short", "message": "must not be empty"}
        await peer.expect(failed(1, -32602, "Invalid params", [fault]))
        await peer.quiet()
    assert seen == []


@pytest.mark.parametrize("block", [IMAGE, AUDIO, RESOURCE, {"type": "video", "data": "x"}])
async def test_content_that_the_agent_has_not_offered_to_take_is_refused(
    block: dict[str, Any],
) -> None:
    """C-236."""
    seen: list[list[str]] = []
    async with session_of(agent_of(taking(seen))) as peer:
        await peer.request(1, "session/prompt", {"sessionId": "s1", "prompt": [TEXT, block]})
        await peer.expect(refusal(1, "prompt", 1, "type"))
        await peer.quiet()
    assert seen == []


async def test_content_that_was_offered_and_content_of_ones_own_kind_is_taken() -> None:
    """C-236."""
    seen: list[list[str]] = []
    agent = agent_of(taking(seen), capabilities=offering(ALL))
    agent.resume_session(lambda request: schema.ResumeSessionResponse())
    blocks = [TEXT, LINK, IMAGE, AUDIO, RESOURCE, OWN]
    async with session_of(agent) as peer:
        await peer.request(1, "session/prompt", {"sessionId": "s1", "prompt": blocks})
        message = {"sessionUpdate": "user_message", "messageId": "m1", "content": blocks}
        await peer.expect(update(message), accepted(1, "m1"))
        await peer.quiet()
    assert seen == [[block["type"] for block in blocks]]


@pytest.mark.parametrize("as_data", [False, True])
async def test_what_was_offered_is_what_the_answer_of_initialize_said(as_data: bool) -> None:
    """C-236."""
    seen: list[list[str]] = []
    agent = agent_of(taking(seen))

    @agent.initialize
    async def _(request: schema.InitializeRequest) -> Any:
        answer = schema.InitializeResponse(
            protocol_version=2,
            info=schema.Implementation(name="a", version="1"),
            capabilities=offering(
                schema.PromptCapabilities(image=schema.PromptImageCapabilities())
            ),
        )
        return answer.model_dump(by_alias=True, exclude_none=True) if as_data else answer

    agent.resume_session(lambda _: schema.ResumeSessionResponse())
    async with session_of(agent) as peer:
        await peer.request(1, "session/prompt", {"sessionId": "s1", "prompt": [IMAGE]})
        message = {"sessionUpdate": "user_message", "messageId": "m1", "content": [IMAGE]}
        await peer.expect(update(message), accepted(1, "m1"))
        await peer.request(2, "session/prompt", {"sessionId": "s1", "prompt": [AUDIO]})
        await peer.expect(refusal(2, "prompt", 0, "type"))
    assert seen == [["image"]]


async def test_a_prompt_for_a_session_that_is_not_open_is_refused() -> None:
    seen: list[list[str]] = []
    async with session_of(agent_of(taking(seen))) as peer:
        await peer.prompt(1, session="nope")
        await peer.expect(failed(1, -32002, "Session not found", {"sessionId": "nope"}))
        await peer.quiet()
    assert seen == []


async def test_an_included_agent_brings_that_its_sessions_are_kept() -> None:
    seen: list[list[str]] = []
    agent = v2.Agent("outer").include(agent_of(taking(seen)))
    async with served(agent) as peer:
        await peer.prompt(1)
        await peer.expect(failed(1, -32002, "Session not found", {"sessionId": "s1"}))
    assert seen == []
