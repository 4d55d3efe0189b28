"""What is asked of the two versions side by side: what is modelled, served and written.

One test for each sentence of the second list of wishes that says how versions are told apart; the
sentence is the docstring.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

import acp
import acp.v1.schema as v1
import acp.v2
import acp.v2.schema as v2
from acp import _core
from acp._core import ValidationError, encode
from acp._schema.base import BaseModel
from acp._schema.v1.methods import METHODS as V1
from acp._schema.v2.methods import METHODS as V2
from tests.raw_peer import agent_under_test, client_under_test
from tests.sides import Nothing
from tests.test_exports import modules_after
from tests.v2.wire import BOTH

Side = Literal["agent", "client"]
REQUESTS = {
    version: {(m.side, m.wire) for m in methods if m.kind == "request" and m.side in Side.__args__}
    for version, methods in ((1, V1), (2, V2))
}
ONLY_1 = sorted(REQUESTS[1] - REQUESTS[2])
ONLY_2 = sorted(REQUESTS[2] - REQUESTS[1])


# Modelled and served.


def test_the_highest_version_that_is_modelled_is_the_highest_that_has_objects() -> None:
    """The highest modelled version is only the highest whose wire contracts are modelled."""
    folders = (Path(acp.__file__).parent / "_schema").glob("v*")
    assert acp.HIGHEST_MODELED == max(int(folder.name[1:]) for folder in folders) == 2
    assert set(BOTH) == set(range(1, acp.HIGHEST_MODELED + 1))


def test_what_is_modelled_is_not_what_is_served() -> None:
    """Modelling is not serving: the two have names of their own, and the draft is not served
    by endpoints that nobody asked for it."""
    assert acp.SERVED == (acp.PROTOCOL_VERSION,) == (1,)
    assert acp.HIGHEST_MODELED not in acp.SERVED


async def test_an_endpoint_that_serves_one_version_answers_with_that_one() -> None:
    """One version is negotiated per connection, and an endpoint is compliant serving exactly one:
    asked for the draft, it answers what it serves."""

    class Agent:
        async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
            return acp.InitializeResponse(protocol_version=protocol_version)

    draft = {
        "protocolVersion": acp.HIGHEST_MODELED,
        "info": {"name": "n", "version": "1"},
        "capabilities": {},
    }
    async with agent_under_test(Agent()) as (peer, _):
        await peer.request(1, "initialize", draft)
        answer = await peer.receive()
        assert answer["result"]["protocolVersion"] in acp.SERVED


def test_importing_the_library_does_not_reach_the_draft() -> None:
    """Draft types are not on the surface that is reached without asking: neither by import nor
    through a name of version 1."""
    loaded = modules_after("import acp, acp.schema, acp.v1.schema; dir(acp)")
    assert not {name for name in loaded if name.startswith(("acp.v2", "acp._schema.v2"))}
    drafts = {id(each) for each in vars(v2).values() if is_schema_class(each)}
    assert len(drafts) > 250
    reachable = {id(each) for each in vars(v1).values() if is_schema_class(each)}
    assert not drafts & reachable


def is_schema_class(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, BaseModel) and found is not BaseModel


def test_importing_the_draft_is_the_consent_to_it_and_says_that_it_is_one() -> None:
    """The draft is marked where it is reached: by its package, whose text says so."""
    assert "draft" in (acp.v2.__doc__ or "")


def test_importing_the_draft_package_loads_no_object_until_one_is_used() -> None:
    """Naming the draft costs nothing; using it does."""
    assert "acp._core" not in modules_after("import acp.v2; dir(acp.v2)")
    loaded = modules_after("import acp.v2; acp.v2.apply_meta_update; acp.v2.schema")
    assert "acp._schema.v2" in loaded
    assert not {"asyncio", "anyio", "pydantic"} & loaded


def test_every_name_of_the_draft_package_is_there() -> None:
    """The names are those of `__all__`, each once."""
    assert [name for name in acp.v2.__all__ if not hasattr(acp.v2, name)] == []
    assert len(set(acp.v2.__all__)) == len(acp.v2.__all__)
    assert {*acp.v2.__all__, "schema"} <= set(dir(acp.v2))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = acp.v2.no_such_name  # type: ignore[attr-defined]


# Methods of one version only.


def is_known(version: int, side: Side, method: str) -> bool:
    """Whether a connection knows a request: it then refuses params that are none."""
    connection = _core.Connection(side, version=version, guard=False)
    line: Any = {"jsonrpc": "2.0", "id": 1, "method": method, "params": []}
    (event,) = connection.receive(json.dumps(line).encode() + b"\n")
    assert isinstance(event, _core.RequestReceived)
    try:
        return event.params() != []
    except ValidationError:
        return True


@pytest.mark.parametrize(("side", "method"), ONLY_1)
def test_a_request_of_version_1_is_unknown_to_version_2(side: Side, method: str) -> None:
    """Methods that only version 1 has are unknown to version 2."""
    assert is_known(1, side, method)
    assert not is_known(2, side, method)


@pytest.mark.parametrize(("side", "method"), ONLY_2)
def test_a_request_of_version_2_is_unknown_to_version_1(side: Side, method: str) -> None:
    """Methods that only version 2 has are unknown to version 1."""
    assert is_known(2, side, method)
    assert not is_known(1, side, method)


def test_the_methods_of_one_version_are_those_that_moved() -> None:
    """The client of version 2 has neither files nor terminals; its agent has no loading, modes or
    authentication of the old names."""
    assert {method for side, method in ONLY_1 if side == "client"} == {
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/release",
        "terminal/wait_for_exit",
        "terminal/kill",
    }
    assert {method for side, method in ONLY_1 if side == "agent"} == {
        "authenticate",
        "logout",
        "session/load",
        "session/set_mode",
    }
    assert ONLY_2 == [
        ("agent", "auth/login"),
        ("agent", "auth/logout"),
        ("agent", "terminal/cancel"),
        ("agent", "tool_call/cancel"),
    ]


@pytest.mark.parametrize("method", [method for side, method in ONLY_2 if side == "agent"])
async def test_an_agent_of_version_1_answers_that_it_has_no_such_method(method: str) -> None:
    """Methods that only version 2 has are answered -32601 on version 1."""
    async with agent_under_test(Nothing()) as (peer, _):
        await peer.request(1, method, {"sessionId": "s"})
        assert (await peer.receive())["error"]["code"] == -32601


async def test_a_client_of_version_1_serves_what_version_2_has_no_method_for() -> None:
    """The requests of version 1 clients stay: there they are answered by handlers, not by the
    table."""

    class Client:
        async def read_text_file(self, **kwargs: Any) -> acp.ReadTextFileResponse:
            return acp.ReadTextFileResponse(content="here")

    async with client_under_test(Client()) as (_, peer):
        await peer.request(1, "fs/read_text_file", {"sessionId": "s", "path": "/x"})
        assert (await peer.receive())["result"] == {"content": "here"}


# Writing.

STATE = v2.RunningStateUpdate()
MIXED: dict[str, tuple[str, Any]] = {
    "an update of the other version": (
        "session/update",
        v1.SessionNotification.model_construct(session_id="s", update=STATE),
    ),
    "params of the other version": (
        "session/update",
        v2.UpdateSessionNotification(session_id="s", update=STATE),
    ),
    "params of a method that the version does not have": (
        "auth/login",
        v2.LoginAuthRequest(method_id="m"),
    ),
    "an item of a list": (
        "session/request_permission",
        v1.RequestPermissionRequest.model_construct(
            session_id="s",
            tool_call=v1.ToolCallUpdate(
                tool_call_id="c",
                content=[v1.ContentToolCallContent.model_construct(content=STATE)],
            ),
            options=[],
        ),
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_an_object_without_a_form_in_the_negotiated_version_is_not_written(name: str) -> None:
    """C-172: writing is fail-closed, since it would put a field on the wire that the peer has no
    contract for. Nothing is queued, and the connection goes on."""
    method, message = MIXED[name]
    connection = _core.Connection("agent", version=1, guard=False)
    for send in (connection.notify, connection.request):
        with pytest.raises(TypeError, match="another protocol version"):
            send(method, message)
    assert connection.take_output() == b""
    assert connection.pending == []
    assert connection.request("session/request_permission", {"sessionId": "s"}) == 0


def test_a_result_without_a_form_in_the_negotiated_version_leaves_the_request_open() -> None:
    """C-172: writing is fail-closed, and the request can still be answered."""
    connection = _core.Connection("agent", version=2, guard=False)
    line = b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/"}}\n'
    (event,) = connection.receive(line)
    assert isinstance(event, _core.RequestReceived)
    with pytest.raises(TypeError, match="another protocol version"):
        connection.respond(event.token, v1.NewSessionResponse(session_id="s"))
    assert connection.respond(event.token, v2.NewSessionResponse(session_id="s"))
    assert json.loads(connection.take_output())["result"]["sessionId"] == "s"


def test_the_place_of_such_an_object_is_told_and_nothing_of_what_it_holds() -> None:
    """Writing is fail-closed, and says where."""
    prompt = v1.PromptRequest.model_construct(
        session_id="s", prompt=[v1.TextContentBlock(text="a"), v2.TextContentBlock(text="secret")]
    )
    with pytest.raises(TypeError, match=r"^prompt\.1 is an object of another") as caught:
        encode(prompt, version=1, type_name="PromptRequest")
    assert "secret" not in str(caught.value)


def test_what_is_outside_of_the_protocol_may_hold_objects_of_any_version() -> None:
    """Only where the version has a type is there a form to miss: extensions and open values hold
    what their authors agree on."""
    connection = _core.Connection("agent", version=1, guard=False)
    whole = v2.UpdateSessionNotification(session_id="s", update=STATE)
    connection.notify("_acme/saw", whole)
    connection.notify("_acme/saw", {"it": STATE})
    meta = v1.SessionNotification(
        session_id="s",
        update=v1.AgentMessageChunk(content=v1.TextContentBlock(text="t")),
        field_meta={"acme": STATE},
    )
    connection.notify("session/update", meta)
    lines = [json.loads(line)["params"] for line in connection.take_output().splitlines()]
    assert lines[0] == {
        "sessionId": "s",
        "update": {"sessionUpdate": "state_update", "state": "running"},
    }
    assert lines[1] == {"it": {"state": "running"}}
    assert lines[2]["_meta"] == {"acme": {"state": "running"}}


def test_behind_an_open_value_the_version_counts_again() -> None:
    """Writing is fail-closed also after an object of another version where one may stand."""
    open_value = v1.ToolCallUpdate(tool_call_id="c", raw_input=STATE)
    assert encode(open_value, version=1, type_name="ToolCallUpdate") == (
        b'{"toolCallId":"c","rawInput":{"state":"running"}}'
    )
    request = v1.RequestPermissionRequest.model_construct(
        session_id="s", tool_call=open_value, options=[STATE]
    )
    with pytest.raises(TypeError, match=r"^options\.0 is"):
        encode(request, version=1, type_name="RequestPermissionRequest")


def test_an_object_that_is_written_by_itself_is_written_as_its_own_version_has_it() -> None:
    """Where nothing was negotiated there is no form to miss."""
    assert encode(STATE) == b'{"state":"running"}'
    assert encode({"a": STATE}, version=1) == b'{"a":{"state":"running"}}'


def test_a_class_of_a_users_own_counts_as_the_one_it_extends() -> None:
    """Writing is fail-closed for objects of derived classes, too."""

    class Mine(v2.TextContentBlock):
        pass

    prompt = v1.PromptRequest.model_construct(session_id="s", prompt=[Mine(text="t")])
    with pytest.raises(TypeError, match=r"^prompt\.0 is"):
        encode(prompt, version=1, type_name="PromptRequest")
    own = v2.PromptRequest.model_construct(session_id="s", prompt=[Mine(text="t")])
    assert b'"text":"t"' in encode(own, version=2, type_name="PromptRequest")
