"""camelCase names, and one object of the schema in place of keywords, on both sides."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import acp
from acp import schema
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.utils import param_models, to_camel_case
from tests.raw_peer import agent_under_test, client_under_test, prompt, within
from tests.sides import Nothing, Silent, until


def old_names(kind: type) -> dict[str, str]:
    """The names in camelCase that a connection has, and those of today."""
    marked = ("__param_model__", "__param_models__")
    names = [name for name in vars(kind) if any(hasattr(getattr(kind, name), m) for m in marked)]
    return {to_camel_case(name): name for name in names if "_" in name}


@pytest.mark.parametrize(("kind", "count"), [(AgentSideConnection, 10), (ClientSideConnection, 8)])
def test_each_method_with_an_underscore_has_a_twin(kind: type, count: int) -> None:
    names = old_names(kind)
    assert len(names) == count
    assert all(callable(getattr(kind, name)) for name in names)


async def test_a_call_in_the_old_form_sends_what_the_new_one_does_and_warns() -> None:
    meta: dict[str, Any] = {"trace": 1, "cwd": "/evil"}
    request = acp.NewSessionRequest(cwd="/a", mcp_servers=[], field_meta=meta)
    async with client_under_test(Silent()) as (connection, peer):
        with pytest.warns(DeprecationWarning, match="new_session with NewSessionRequest") as told:
            calling = peer.start(connection.newSession(request))  # type: ignore[attr-defined]
        assert len(told) == 1
        params = (await peer.receive())["params"]
        await peer.answer(0, {"sessionId": "s"})
        await within(calling)
    assert params == {"cwd": "/a", "mcpServers": [], "_meta": {"trace": 1}}


async def test_a_method_of_one_word_takes_either_form() -> None:
    block = acp.text_block("hi")
    request: Any = acp.PromptRequest(session_id="s", prompt=[block])
    sent: list[Any] = []
    async with client_under_test(Silent()) as (connection, peer):
        with pytest.warns(DeprecationWarning, match="prompt with PromptRequest"):
            calls = [connection.prompt(request), connection.prompt(params=request)]  # type: ignore[call-arg]
        calls.append(connection.prompt("s", [block]))
        for number, call in enumerate(calls):
            calling = peer.start(call)
            sent.append((await peer.receive())["params"])
            await peer.answer(number, {"stopReason": "end_turn"})
            await within(calling)
    assert sent == [prompt("hi")] * 3


async def test_a_method_for_several_types_takes_each() -> None:
    boolean = schema.SetSessionConfigOptionBooleanRequest(
        config_id="c", session_id="s", type="boolean", value=True
    )
    select = schema.SetSessionConfigOptionSelectRequest(config_id="c", session_id="s", value="v")
    async with client_under_test(Silent()) as (connection, peer):
        for number, request in enumerate((boolean, select)):
            with pytest.warns(DeprecationWarning, match="BooleanRequest | .*SelectRequest"):
                call = connection.setConfigOption(request)  # type: ignore[attr-defined]
            calling = peer.start(call)
            assert (await peer.receive())["params"]["value"] == request.value
            await peer.answer(number, {"configOptions": []})
            await within(calling)


async def test_the_new_form_warns_of_nothing() -> None:
    async with agent_under_test(Nothing()) as (peer, agent):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await agent.session_update("s", acp.update_agent_message_text("a"))
        assert (await peer.receive())["method"] == "session/update"


def test_a_mark_needs_a_class() -> None:
    with pytest.raises(ValueError, match="at least one"):
        param_models()


# Handlers.


class OldAgent:
    """The old form: camelCase, and one object."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def initialize(self, params: Any) -> Any:
        self.seen.append(params)
        return acp.InitializeResponse(protocol_version=params.protocol_version)

    async def newSession(self, params: Any) -> Any:  # noqa: N802 - the old form
        self.seen.append(params)
        return acp.NewSessionResponse(session_id="s")

    async def setConfigOption(self, params: Any) -> Any:  # noqa: N802 - the old form
        self.seen.append(params)
        return acp.SetSessionConfigOptionResponse(config_options=[])

    async def cancel(self, params: Any) -> None:
        self.seen.append(params)


REQUESTS = [
    ("initialize", {"protocolVersion": 1}, "InitializeRequest"),
    ("session/new", {"cwd": "/", "mcpServers": []}, "NewSessionRequest"),
    (
        "session/set_config_option",
        {"sessionId": "s", "configId": "c", "type": "boolean", "value": True},
        "SetSessionConfigOptionBooleanRequest",
    ),
]


@pytest.mark.parametrize(("method", "params", "kind"), REQUESTS)
@pytest.mark.parametrize("base", [object, acp.Agent])
@pytest.mark.filterwarnings("always::DeprecationWarning")
async def test_a_handler_in_the_old_form_gets_the_object_and_is_warned_of(
    method: str, params: dict[str, Any], kind: str, base: type, recwarn: pytest.WarningsRecorder
) -> None:
    class Agent(OldAgent, base):  # type: ignore[misc]
        pass

    agent = Agent()
    async with agent_under_test(agent) as (peer, _):
        for number in range(2):
            await peer.request(number, method, params)
            assert "result" in await peer.receive()
    # Python shows what comes of one place once, or each time.
    assert {"old style method Agent." in str(told.message) for told in recwarn} == {True}
    assert [type(seen).__name__ for seen in agent.seen] == [kind] * 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_an_old_handler_of_a_notification_is_called_and_cancels_still() -> None:
    agent = OldAgent()
    async with agent_under_test(agent) as (peer, _):
        await peer.notify("session/cancel", {"sessionId": "s"})
        await until(lambda: bool(agent.seen))
    assert agent.seen[0].session_id == "s"


async def test_a_parameter_named_params_beside_others_is_no_old_form() -> None:
    seen: list[Any] = []

    class Agent:
        async def cancel(self, session_id: str, params: Any = None) -> None:
            seen.append((session_id, params))

    async with agent_under_test(Agent()) as (peer, _):
        await peer.notify("session/cancel", {"sessionId": "s"})
        await until(lambda: bool(seen))
    assert seen == [("s", None)]
