"""Methods of version 1 that came after the official SDK's release: how they are served and asked.

Handlers of those that `acp.interfaces` does not have are found by the name that
`docs/reference/methods.md` gives.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import acp
from acp import schema
from acp._schema.v1.methods import METHODS
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.raw_peer import agent_under_test, client_under_test, prompt, within
from tests.sides import Nothing, Prompted, Silent

pytestmark = pytest.mark.asyncio_only

FORM = schema.ElicitationSchema(
    properties={"name": schema.ElicitationStringPropertySchema(title="Name")}, required=["name"]
)
FORM_ON_THE_WIRE = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name"}},
    "required": ["name"],
}
URL = {"elicitation_id": "e", "url": "https://example.org/"}


@asynccontextmanager
async def answered(call: Coroutine[Any, Any, Any]) -> AsyncGenerator[asyncio.Task[Any]]:
    """A call that waits while the body plays the other end."""
    task = asyncio.create_task(call)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


# Handlers by name.


async def test_a_stable_method_without_a_place_in_the_interface_is_served() -> None:
    seen: list[Any] = []

    class Agent(acp.Agent):
        async def logout(self, **kwargs: Any) -> None:
            seen.append(kwargs)

        async def delete_session(self, session_id: str, **kwargs: Any) -> Any:
            seen.append((session_id, kwargs))
            return schema.DeleteSessionResponse()

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "logout", {"_meta": {"a": 1}})
        assert "result" in await peer.receive()
        await peer.request(2, "session/delete", {"sessionId": "s"})
        assert (await peer.receive())["result"] == {}
    assert seen == [{"a": 1}, ("s", {})]


async def test_a_handler_gets_the_fields_of_such_a_method_as_keywords() -> None:
    seen: list[Any] = []

    class Agent:
        async def set_provider(self, provider_id: str, headers: Any, **kwargs: Any) -> Any:
            seen.append((provider_id, headers, kwargs))

    params = {"providerId": "p", "apiType": "openai", "baseUrl": "http://localhost"}
    async with agent_under_test(Agent(), use_unstable_protocol=True) as (peer, _):
        await peer.request(1, "providers/set", params)
        assert "result" in await peer.receive()
    assert seen == [("p", None, {"api_type": "openai", "base_url": "http://localhost"})]


class WithStatus:
    """An agent that serves an unstable method."""

    async def session_status(self, session_id: str) -> Any:
        return schema.SessionStatusResponse(status="open")


async def test_an_unstable_method_of_that_kind_is_served_when_asked_for() -> None:
    async with agent_under_test(WithStatus(), use_unstable_protocol=True) as (peer, _):
        await peer.request(1, "session/status", {"sessionId": "s"})
        assert (await peer.receive())["result"] == {"status": "open"}


async def test_otherwise_it_is_not_found_and_a_warning_tells_why() -> None:
    async def ask() -> Any:
        async with agent_under_test(WithStatus()) as (peer, _):
            await peer.request(1, "session/status", {"sessionId": "s"})
            return await peer.receive()

    with pytest.warns(UserWarning, match="session/status"):
        answer = await ask()
    assert answer["error"]["code"] == -32601


async def test_where_warnings_are_errors_the_connection_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with agent_under_test(WithStatus()) as (peer, _):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for number in range(2):
                await peer.request(number, "session/status", {"sessionId": "s"})
                assert (await peer.receive())["error"]["code"] == -32601
    assert "session/status is not stable" in caplog.text


async def test_an_attribute_that_cannot_be_called_is_no_handler() -> None:
    class Agent:
        def __init__(self) -> None:
            self.logout = "pressed"

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "logout", {})
        assert (await peer.receive())["error"]["code"] == -32601


@pytest.mark.parametrize("side", ["agent", "client"])
def test_a_connection_has_a_method_for_whatever_the_other_side_handles(side: str) -> None:
    """All but MCP over ACP, which has a part of its own."""
    connection = {"agent": ClientSideConnection, "client": AgentSideConnection}[side]
    names = {method.name for method in METHODS if method.side == side} - {"mcp_message"}
    assert {name for name in names if not hasattr(connection, name)} == set()


# Asking for them.


async def test_what_is_asked_for_has_the_form_of_the_schema() -> None:
    async with client_under_test(Silent()) as (agent, peer):
        session = {"sessionId": "s"}
        calls = [
            (agent.logout(), "logout", {}, {}),
            (agent.auth_status(), "auth/status", {}, {"state": "unknown"}),
            (agent.list_providers(), "providers/list", {}, {"providers": []}),
            (
                agent.set_provider("p", "openai", "http://localhost", {"a": "b"}),
                "providers/set",
                {
                    "providerId": "p",
                    "apiType": "openai",
                    "baseUrl": "http://localhost",
                    "headers": {"a": "b"},
                },
                {},
            ),
            (agent.disable_provider("p"), "providers/disable", {"providerId": "p"}, {}),
            (agent.delete_session("s"), "session/delete", session, {}),
            (agent.archive_session("s"), "session/archive", session, {}),
            (agent.unarchive_session("s"), "session/unarchive", session, {}),
            (agent.session_status("s"), "session/status", session, {"status": "open"}),
            (agent.session_options("/"), "session/options", {"cwd": "/"}, {}),
            (
                agent.set_session_title("s", "t", trace=1),
                "session/set_title",
                {"sessionId": "s", "title": "t", "_meta": {"trace": 1}},
                {"title": "t"},
            ),
        ]
        for call, method, params, result in calls:
            async with answered(call) as waiting:
                request = await peer.receive()
                assert (request["method"], request["params"]) == (method, params)
                await peer.answer(request["id"], result)
                assert (await within(waiting)).model_dump(mode="json", by_alias=True)


async def test_deleting_a_session_that_the_agent_does_not_know_succeeds() -> None:
    async with client_under_test(Silent()) as (agent, peer):
        for code in (-32002, -32603):
            async with answered(agent.delete_session("s")) as waiting:
                request = await peer.receive()
                await peer.send({"id": request["id"], "error": {"code": code, "message": "no"}})
                if code == -32002:
                    assert isinstance(await within(waiting), schema.DeleteSessionResponse)
                else:
                    with pytest.raises(acp.RequestError):
                        await within(waiting)


# Elicitation: a message and a mode.


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (
            {"session_id": "s", "tool_call_id": "c", "requested_schema": FORM},
            {"mode": "form", "sessionId": "s", "toolCallId": "c"},
        ),
        ({"request_id": 3, "requested_schema": FORM}, {"mode": "form", "requestId": 3}),
        ({"session_id": "s", **URL}, {"mode": "url", "sessionId": "s"}),
        ({"request_id": "r", **URL}, {"mode": "url", "requestId": "r"}),
    ],
)
@pytest.mark.parametrize("as_object", [False, True])
async def test_an_elicitation_is_made_of_a_message_and_a_mode(
    mode: dict[str, Any], expected: dict[str, Any], as_object: bool
) -> None:
    async with agent_under_test(Nothing()) as (peer, client):
        given = SimpleNamespace(**mode) if as_object else mode
        async with answered(client.create_elicitation("Who?", given, trace=1)) as waiting:
            request = await peer.receive()
            rest = (
                {"requestedSchema": FORM_ON_THE_WIRE}
                if "requested_schema" in mode
                else {"elicitationId": "e", "url": URL["url"]}
            )
            assert request["method"] == "elicitation/create"
            assert request["params"] == {
                "message": "Who?",
                "_meta": {"trace": 1},
                **expected,
                **rest,
            }
            answer = {"action": "accept", "content": {"name": "Ada"}}
            await peer.answer(request["id"], answer)
            assert await within(waiting) == schema.AcceptElicitationResponse(
                content={"name": "Ada"}
            )


async def test_a_mode_of_a_kind_not_known_here_is_sent_with_all_its_members() -> None:
    mode = schema.CreateOtherElicitationRequest(
        mode="_voice", message="", session_id="s", loudness=3
    )
    async with (
        agent_under_test(Nothing()) as (peer, client),
        answered(client.create_elicitation("Who?", mode)) as waiting,
    ):
        request = await peer.receive()
        expected = {"mode": "_voice", "message": "Who?", "sessionId": "s", "loudness": 3}
        assert request["params"] == expected
        await peer.answer(request["id"], {"action": "cancel"})
        assert (await within(waiting)).action == "cancel"


@pytest.mark.parametrize("mode", [{}, {"session_id": "s"}, {"session_id": "s", "url": "x"}])
async def test_a_mode_that_lacks_something_is_refused_before_it_is_sent(mode: Any) -> None:
    async with agent_under_test(Nothing()) as (_, client):
        with pytest.raises(acp.ValidationError):
            await client.create_elicitation("Who?", mode)


async def test_a_client_gets_the_message_and_a_mode_with_the_rest() -> None:
    seen: list[Any] = []

    class Client(acp.Client):
        async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> Any:
            seen.append((message, mode, kwargs))
            return schema.DeclineElicitationResponse()

    params = {
        "mode": "form",
        "message": "Who?",
        "sessionId": "s",
        "requestedSchema": FORM_ON_THE_WIRE,
        "_meta": {"mode": "url", "trace": 1},
    }
    async with client_under_test(Client(), use_unstable_protocol=True) as (_, peer):
        await peer.request(1, "elicitation/create", params)
        assert (await peer.receive())["result"] == {"action": "decline"}
    mode = schema.ElicitationFormSessionMode(session_id="s", requested_schema=FORM)
    assert seen == [("Who?", mode, {"trace": 1})]


@pytest.mark.parametrize(
    "params",
    [
        {"mode": "_secret", "message": "Who?", "sessionId": "s"},
        {
            "mode": "form",
            "message": "Who?",
            "sessionId": "s",
            "requestedSchema": {"properties": "_secret"},
        },
        {"mode": "url", "message": "Who?"},
    ],
)
async def test_an_elicitation_that_a_client_cannot_show_is_answered_as_bad_params(
    params: dict[str, Any],
) -> None:
    class Client(acp.Client):
        async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> Any:
            raise AssertionError

    async with client_under_test(Client(), use_unstable_protocol=True) as (_, peer):
        await peer.request(1, "elicitation/create", params)
        error = (await peer.receive())["error"]
    assert error["code"] == -32602
    assert {*error["data"]["errors"][0]} == {"loc", "type", "msg"}
    assert "_secret" not in str(error)


# What the log says.


async def test_params_that_do_not_fit_are_no_failure_of_a_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with agent_under_test(Prompted()) as (peer, _):
        await peer.request(1, "session/prompt", {**prompt(), "prompt": "secret"})
        assert (await peer.receive())["error"]["code"] == -32602
    told = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert told == ["A request 'session/prompt' was refused (-32602): its params do not fit"]
