"""How the handlers of requests are called, and what a failure is answered with."""

from __future__ import annotations

import copy
import logging
import pickle
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import schema
from acp.agent.connection import AgentSideConnection
from tests.raw_peer import agent_under_test, chunk, client_under_test, within
from tests.sides import Nothing, Prompted, Silent

NEW = {"cwd": "/", "mcpServers": []}


async def error_of(agent: Any, method: str, params: Any, **options: Any) -> dict[str, Any]:
    """The error that an agent answers a request with."""
    async with agent_under_test(agent, **options) as (peer, _):
        await peer.request(1, method, params)
        answer = await peer.receive()
        assert answer["id"] == 1
        return answer["error"]


# How handlers are called.


async def test_a_handler_gets_one_keyword_per_field_also_for_what_was_not_sent() -> None:
    class Agent(acp.Agent):
        async def new_session(self, **kwargs: Any) -> Any:
            assert kwargs == {"cwd": "/", "additional_directories": [], "mcp_servers": []} or (
                kwargs == {"cwd": "/", "additional_directories": None, "mcp_servers": []}
            )
            return acp.NewSessionResponse(session_id="s")

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/new", NEW)
        assert (await peer.receive())["result"] == {"sessionId": "s"}


async def test_a_handler_without_further_keywords_gets_what_it_declares() -> None:
    class Agent:
        async def new_session(self, cwd: str) -> Any:
            return acp.NewSessionResponse(session_id=cwd)

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/new", {**NEW, "_meta": {"other": 1}})
        assert (await peer.receive())["result"] == {"sessionId": "/"}


async def test_meta_arrives_as_keywords_and_never_in_place_of_a_declared_parameter() -> None:
    seen: dict[str, Any] = {}

    class Agent(acp.Agent):
        async def new_session(self, cwd: str, *, trusted: bool = False, **kwargs: Any) -> Any:
            seen.update(kwargs, cwd=cwd, trusted=trusted)
            return acp.NewSessionResponse(session_id="s")

    meta = {"cwd": "/etc", "trusted": True, "self": 1, "mcp_servers": [1], "trace": "x"}
    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/new", {**NEW, "_meta": meta})
        assert "result" in await peer.receive()
    assert (seen["cwd"], seen["trusted"], seen["mcp_servers"]) == ("/", False, [])
    assert seen["trace"] == "x"
    assert "self" not in seen


async def test_a_handler_may_be_a_plain_function_and_may_return_a_dict_or_nothing() -> None:
    class Agent:
        def new_session(self, cwd: str, **kwargs: Any) -> Any:
            return {"sessionId": cwd}

        async def authenticate(self, method_id: str, **kwargs: Any) -> None:
            return None

    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "session/new", NEW)
        assert (await peer.receive())["result"] == {"sessionId": "/"}
        await peer.request(2, "authenticate", {"methodId": "m"})
        assert (await peer.receive())["result"] in (None, {})


async def test_methods_outside_the_protocol_reach_their_handlers_without_the_underscore() -> None:
    class Agent(acp.Agent):
        def __init__(self) -> None:
            self.notified: list[Any] = []

        async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            return {"method": method, "params": params, "notified": self.notified}

        async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
            self.notified.append([method, params])

    async with agent_under_test(Agent()) as (peer, _):
        await peer.notify("_my/note", {"a": 1})
        await peer.request(1, "_my/call", {"b": [None]})
        assert (await peer.receive())["result"] == {
            "method": "my/call",
            "params": {"b": [None]},
            "notified": [["my/note", {"a": 1}]],
        }


async def test_calls_outside_the_protocol_go_out_with_the_underscore() -> None:
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.ext_method("my/call", {"a": 1}))
        request = await peer.receive()
        assert (request["method"], request["params"]) == ("_my/call", {"a": 1})
        await peer.answer(request["id"], {"b": 2})
        assert await within(calling) == {"b": 2}


async def test_an_unstable_method_is_served_only_when_asked_for() -> None:
    class Agent(acp.Agent):
        async def fork_session(self, session_id: str, cwd: str, **kwargs: Any) -> Any:
            return schema.ForkSessionResponse(session_id="fork")

    params = {"sessionId": "s", "cwd": "/", "mcpServers": []}
    with pytest.warns(UserWarning, match="session/fork"):
        error = await error_of(Agent(), "session/fork", params)
    assert error["code"] == -32601
    async with agent_under_test(Agent(), use_unstable_protocol=True) as (peer, _):
        await peer.request(1, "session/fork", params)
        assert (await peer.receive())["result"]["sessionId"] == "fork"


async def test_on_connect_is_called_once_with_the_connection_and_a_factory_gets_it_before() -> None:
    seen: list[tuple[str, Any]] = []

    class Agent(acp.Agent):
        def on_connect(self, conn: Any) -> None:
            seen.append(("connect", conn))

    def make(conn: Any) -> Agent:
        seen.append(("factory", conn))
        return Agent()

    async with agent_under_test(make) as (_, connection):
        assert seen == [("factory", connection), ("connect", connection)]


def test_what_is_no_stream_is_refused() -> None:
    with pytest.raises(TypeError, match="requires asyncio StreamWriter/StreamReader"):
        AgentSideConnection(Nothing(), object(), object())


# What a failure is answered with.


@pytest.mark.parametrize("method", ["session/list", "no/such", "_no/ext", "session/load"])
async def test_a_method_that_nobody_serves_is_not_found(method: str) -> None:
    params = {"sessionId": "s", "cwd": "/", "mcpServers": []}
    error = await error_of(Prompted(), method, params)
    assert (error["code"], error["data"]) == (-32601, {"method": method})


async def test_params_that_do_not_fit_are_told_by_place_and_rule_and_never_by_value() -> None:
    error = await error_of(Prompted(), "session/prompt", {"sessionId": "s", "prompt": "secret"})
    assert error["code"] == -32602
    faults = error["data"]["errors"]
    assert faults
    for fault in faults:
        assert set(fault) == {"loc", "type", "msg"}
    assert faults[0]["loc"] == ["prompt"]
    assert "secret" not in str(error)


async def test_a_request_error_of_a_handler_is_the_answer_as_it_is() -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            raise acp.RequestError(-5, "No room", {"rooms": 0})

    error = await error_of(Agent(), "session/new", NEW)
    assert error == {"code": -5, "message": "No room", "data": {"rooms": 0}}


async def test_a_request_error_without_data_has_no_such_member() -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            raise acp.RequestError.auth_required()

    assert await error_of(Agent(), "session/new", NEW) == {
        "code": -32000,
        "message": "Authentication required",
    }


@pytest.mark.parametrize("expose", [False, True])
async def test_any_other_exception_shows_its_type_and_its_text_only_when_asked_for(
    expose: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            raise KeyError("secret")

    error = await error_of(Agent(), "session/new", NEW, expose_internal_errors=expose)
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    assert error["data"] == ({"details": "'secret'"} if expose else {"type": "KeyError"})
    shown = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "secret" not in str([record.getMessage() for record in shown])


async def test_a_handler_that_is_not_implemented_is_not_found() -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            raise NotImplementedError

    error = await error_of(Agent(), "session/new", NEW)
    assert (error["code"], error["data"]) == (-32601, {"method": "session/new"})


@pytest.mark.parametrize("result", [object(), {"a": object()}, float("nan")])
async def test_a_result_that_cannot_be_written_is_an_internal_error(result: Any) -> None:
    class Agent(acp.Agent):
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            return result

    assert (await error_of(Agent(), "_x", {}))["code"] == -32603


class Bare(acp.RequestError):
    """Sets no more than it needs."""

    def __init__(self) -> None:
        Exception.__init__(self, "said")
        self.code = -5
        self.data = {"x": 1}


class Shown(acp.RequestError):
    def __str__(self) -> str:
        return "shown"


class Told(acp.RequestError):
    def to_error_obj(self) -> dict[str, Any]:
        return {"code": -7, "message": "told"}


class Odd(acp.RequestError):
    told: Any = None

    def to_error_obj(self) -> dict[str, Any]:
        return self.told() if callable(self.told) else self.told


@pytest.mark.parametrize(
    ("raised", "answer"),
    [
        (Bare(), {"code": -5, "message": "said", "data": {"x": 1}}),
        (Shown(-5, "No", 1), {"code": -5, "message": "shown", "data": 1}),
        (Told(-5, "No", 1), {"code": -7, "message": "told"}),
    ],
)
async def test_a_request_error_of_the_users_own_kind_says_what_the_answer_is(
    raised: Exception, answer: dict[str, Any]
) -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            raise raised

    assert await error_of(Agent(), "session/new", NEW) == answer


@pytest.mark.parametrize(
    "told",
    [None, 5, {}, {"code": 1}, {"code": "1", "message": "m"}, {"code": 1, "message": 5}, dict.pop],
)
async def test_a_request_error_that_says_nothing_right_is_an_internal_error(told: Any) -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            error = Odd(-5, "secret")
            error.told = told
            raise error

    error = await error_of(Agent(), "session/new", NEW)
    assert error == {"code": -32603, "message": "Internal error", "data": {"type": "Odd"}}


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
@pytest.mark.parametrize(
    "error", [Bare(), Shown(-5, "No", 1), Told(-5, "No"), acp.RequestError(1, "m", [2])]
)
def test_request_errors_of_any_constructor_can_be_copied_and_pickled(
    error: Any, again: Any
) -> None:
    other = again(error)
    assert type(other) is type(error)
    assert vars(other) == vars(error)
    assert other.to_error_obj() == error.to_error_obj()


async def test_error_data_that_cannot_be_written_is_left_out() -> None:
    class Agent(acp.Agent):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            raise acp.RequestError(-5, "No", {"a": object()})

    assert await error_of(Agent(), "session/new", NEW) == {"code": -5, "message": "No"}


async def test_a_failing_notification_handler_costs_nothing_else() -> None:
    class Client(acp.Client):
        texts: list[str]

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            self.texts.append(update.content.text)
            if update.content.text == "suspends":
                await anyio.lowlevel.checkpoint()
            raise ValueError

    client = Client()
    client.texts = []
    async with client_under_test(client) as (_, peer):
        await peer.send(
            chunk("at once"),
            chunk("suspends"),
            {"method": "session/update", "params": {"sessionId": 5}},
            chunk("last"),
            {"id": 1, "method": "x"},
        )
        await peer.receive()
        while "last" not in client.texts:
            await anyio.lowlevel.checkpoint()
    assert client.texts == ["at once", "suspends", "last"]


async def test_an_error_answer_raises_request_error_with_its_members() -> None:
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.new_session("/"))
        request = await peer.receive()
        error = {"code": -32000, "message": "Log in", "data": {"how": "x"}}
        await peer.send({"id": request["id"], "error": error})
        with pytest.raises(acp.RequestError) as caught:
            await within(calling)
        assert caught.value.to_error_obj() == error


async def test_a_result_that_does_not_fit_raises_validation_error_and_the_next_call_works() -> None:
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.new_session("/"))
        await peer.answer((await peer.receive())["id"], {"sessionId": 5})
        with pytest.raises(acp.ValidationError):
            await within(calling)
        calling = peer.start(agent.new_session("/"))
        await peer.answer((await peer.receive())["id"], {"sessionId": "s"})
        assert (await within(calling)).session_id == "s"


async def test_an_answer_that_is_neither_result_nor_error_fails_its_caller_alone() -> None:
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.new_session("/"))
        listing = peer.start(agent.list_sessions())
        ids = {request["method"]: request["id"] for request in [await peer.receive() for _ in "12"]}
        await peer.send(
            {"id": ids["session/new"]}, {"id": ids["session/list"], "result": {"sessions": []}}
        )
        with pytest.raises(acp.RemoteProtocolError):
            await within(calling)
        assert (await within(listing)).sessions == []


async def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_handled() -> None:
    async with agent_under_test(Prompted()) as (peer, _):
        await peer.send_text("what?\n")
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        await peer.request(1, "unknown")
        assert (await peer.receive())["id"] == 1
