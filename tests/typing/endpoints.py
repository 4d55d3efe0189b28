"""What a type checker has to find in code that uses endpoints, and what it must not.

Each line with an error ends in `# error: <rule>`; `tests/typing/test_types.py` compares them. It is
never run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from typing_extensions import assert_type

import acp
from acp import v1, v2


@dataclass
class Point:
    x: int


agent1 = v1.Agent("agent", "1")
agent2 = v2.Agent("agent", "1", features={"session_fork"})
client1 = v1.Client()
client2 = v2.Client()


# Handlers of the right types.


@agent1.prompt
async def prompt1(request: v1.schema.PromptRequest, ctx: v1.Context) -> v1.schema.PromptResponse:
    assert_type(ctx.connection, v1.Connection)
    return v1.schema.PromptResponse(stop_reason="end_turn")


@agent2.prompt
async def prompt2(request: v2.schema.PromptRequest, ctx: v2.Context) -> v2.schema.PromptResponse:
    assert_type(ctx.connection, v2.Connection)
    return v2.schema.PromptResponse(message_id="m")


@agent2.new_session
def new_session(request: v2.schema.NewSessionRequest) -> v2.schema.NewSessionResponse:
    return v2.schema.NewSessionResponse(session_id="s")


@agent2.close_session
async def declines(
    request: v2.schema.CloseSessionRequest,
) -> v2.schema.CloseSessionResponse | acp.Unhandled:
    return acp.unhandled(retry=True) if request.session_id else acp.UNHANDLED


@agent2.resume_session
async def defers(request: v2.schema.ResumeSessionRequest, ctx: v2.Context) -> None:
    assert_type(ctx.defer(), acp.Responder)


@client2.session_update
def updated(notification: v2.schema.UpdateSessionNotification) -> None: ...


@client1.on_request(v1.schema.ReadTextFileRequest)
def read(request: v1.schema.ReadTextFileRequest) -> v1.schema.ReadTextFileResponse:
    return v1.schema.ReadTextFileResponse(content="")


@agent2.on_request("_x/point", params=Point)
async def point(request: Point, ctx: v2.Context) -> Point:
    return request


@agent2.on_request("_x/any")
async def anything(request: dict[str, Any]) -> Any:
    return request


@agent2.on_notification("_x/point", params=Point)
def noted(notification: Point) -> None: ...


@agent2.fallback_request
async def fallback(params: Any, ctx: v2.Context) -> Any: ...


@agent2.on_close
async def closed(connection: v2.Connection) -> None: ...


@agent2.background
async def beside(connection: v2.Connection) -> None: ...


# Handlers of the wrong types.


@agent2.prompt  # error: reportArgumentType
async def of_other_version(request: v1.schema.PromptRequest) -> v2.schema.PromptResponse: ...


@agent2.prompt  # error: reportArgumentType
async def result_of_other_version(request: v2.schema.PromptRequest) -> v1.schema.PromptResponse: ...


@agent1.prompt  # error: reportArgumentType
async def wrong_result(request: v1.schema.PromptRequest) -> v1.schema.NewSessionResponse: ...


@agent1.prompt  # error: reportArgumentType
async def wrong_request(request: v1.schema.NewSessionRequest) -> v1.schema.PromptResponse: ...


@agent1.prompt  # error: reportArgumentType
async def wrong_context(
    request: v1.schema.PromptRequest, ctx: v2.Context
) -> v1.schema.PromptResponse: ...


@client1.session_update  # error: reportArgumentType
async def of_other_update(notification: v2.schema.UpdateSessionNotification) -> None: ...


@client2.session_update  # error: reportArgumentType
async def with_result(notification: v2.schema.UpdateSessionNotification) -> int: ...


@agent2.on_request(v2.schema.PromptRequest)  # error: reportArgumentType
async def by_wrong_type(request: v2.schema.NewSessionRequest) -> v2.schema.PromptResponse: ...


@agent2.on_request("_x/point", params=Point)  # error: reportArgumentType
async def by_other_type(request: str) -> None: ...


# Methods that do not exist.

agent2.on_request(v1.schema.PromptRequest)  # error: reportCallIssue, reportArgumentType
agent1.on_request(v1.schema.ReadTextFileRequest)  # error: reportCallIssue, reportArgumentType
client2.on_notification(v2.schema.PromptRequest)  # error: reportCallIssue, reportArgumentType
agent1.no_such_method(print)  # error: reportAttributeAccessIssue, reportUnknownMemberType
client1.prompt(print)  # error: reportAttributeAccessIssue, reportUnknownMemberType
agent2.set_session_mode(print)  # error: reportAttributeAccessIssue, reportUnknownMemberType
client2.read_text_file(print)  # error: reportAttributeAccessIssue, reportUnknownMemberType


# Connections, requests and their results.


async def connected(transport: acp.Transport) -> None:
    async with client1.connect(transport) as one:
        assert_type(one, v1.Connection)
        request = v1.schema.PromptRequest(session_id="s", prompt=[])
        assert_type(await one.request(request), v1.schema.PromptResponse)
        assert_type(one.request(request), acp.SentRequest[v1.schema.PromptResponse])
        assert_type(one.prepare(request), acp.PreparedRequest[v1.schema.PromptResponse])
        assert_type(one.request(request).map(lambda r: r.stop_reason == "end_turn"), Sent)
        assert_type(await one.request("_x/point", Point(1), result=Point), Point)
        assert_type(await one.wait_closed(), acp.Termination)
        other = v2.schema.PromptRequest(session_id="s", prompt=[])
        one.request(other)  # error: reportCallIssue, reportArgumentType
        one.request(one.peer_info)
        one.request(Point(1))  # error: reportCallIssue, reportArgumentType
    async with client2.connect(transport) as two:
        assert_type(two, v2.Connection)
        asked = v2.schema.PromptRequest(session_id="s", prompt=[])
        assert_type(await two.request(asked), v2.schema.PromptResponse)
        result: v1.schema.PromptResponse = await two.request(asked)  # error: reportAssignmentType
        assert_type(result, v1.schema.PromptResponse)
        assert_type(two.spawn_connection(agent1, transport), v1.Connection)
        assert_type(two.spawn_connection(client2, transport), v2.Connection)
        with two.handler(Low()) as guard:
            assert_type(guard, acp.HandlerGuard)
    async with agent2.connect(transport) as three:
        assert_type(three, v2.Connection)


Sent = acp.SentRequest[bool]


class Low:
    async def handle(self, message: acp.Message, ctx: v2.Context) -> Any:
        assert_type(message.method, str)
        return acp.unhandled(message.replace(params={}))

    async def handle_response(self, response: acp.Response) -> Any:
        assert_type(response.route(), bool)
        return acp.UNHANDLED
