"""Builders of sessions of version 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import acp
from acp import v1
from acp.v1 import schema
from tests.endpoint.session_peers import (
    END,
    answer_setup,
    client_of,
    each_wire,
    new,
    opened,
    permission,
    read,
    served,
    text,
)
from tests.raw_peer import within
from tests.sides import until

if TYPE_CHECKING:
    from acp.v1 import ActiveSession
    from tests.raw_peer import RawPeer

OF_A_SESSION: dict[str, Any] = {
    "sessionId": "s0",
    "cwd": "/work",
    "mcpServers": [{"name": "tools", "command": "/bin/tools", "args": [], "env": []}],
    "additionalDirectories": ["/more"],
    "systemPrompt": {"mode": "append", "content": [{"type": "text", "text": "Be brief"}]},
    "_meta": {"trace": [1, None]},
}
WHOLE = {name: value for name, value in OF_A_SESSION.items() if name != "sessionId"}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "new_session": ("NewSessionRequest", WHOLE),
    "load_session": ("LoadSessionRequest", OF_A_SESSION),
    "resume_session": ("ResumeSessionRequest", OF_A_SESSION),
}
FORMS = ["await", "handle", "block", "callback"]


async def open_by(form: str, builder: Any, peer: RawPeer, *before: Any, behind: Any = ()) -> Any:
    """Opens a session in one of the ways that there are; the session and the request."""
    found: list[Any] = []
    if form == "callback":

        async def use(session: Any) -> None:
            found.append(session)

        builder.on_session_start(use)
        request = await answer_setup(peer, *before, behind=behind)
        await until(lambda: bool(found))
        return found[0], request
    if form == "await":
        waiting = peer.start(builder)
    elif form == "handle":
        waiting = peer.start(builder.start_session())
    else:
        waiting = peer.start(builder.__aenter__())
    request = await answer_setup(peer, *before, behind=behind)
    return await within(waiting), request


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("form", FORMS)
async def test_a_request_that_is_given_whole_is_sent_as_it_is(method: str, form: str) -> None:
    """C-259: in each of the forms."""
    name, members = METHODS[method]
    async with opened(client_of(1)) as (connection, peer):
        request = getattr(schema, name).model_validate(members)
        builder = getattr(connection, f"{method}_from")(request)
        session, sent = await open_by(form, builder, peer)
        assert sent["method"] == "session/" + method.removesuffix("_session")
        assert sent["params"] == members
        assert session.session_id == ("s1" if method == "new_session" else "s0")
        assert isinstance(session, v1.ActiveSession)


@pytest.mark.parametrize("method", list(METHODS))
async def test_the_short_forms_say_what_their_arguments_say(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-259."""
    monkeypatch.chdir(tmp_path)
    ids = () if method == "new_session" else ("s0",)
    async with opened(client_of(1)) as (connection, peer):
        server = schema.McpServerStdio(name="t", command="/bin/t", args=[], env=[])
        for arguments, members, wanted in [
            ((), {}, {"cwd": str(tmp_path)}),
            (("/a", [server]), {"field_meta": {"k": 1}}, {"cwd": "/a", "_meta": {"k": 1}}),
            ((Path("b"),), {}, {"cwd": str(tmp_path / "b")}),
        ]:
            builder = getattr(connection, method)(*ids, *arguments, **members)
            waiting = peer.start(builder)
            params = (await answer_setup(peer))["params"]
            await within(waiting)
            assert len(params.pop("mcpServers")) == len(arguments[1:])
            assert params == {**({"sessionId": "s0"} if ids else {}), **wanted}


@pytest.mark.parametrize("method", ["load_session", "resume_session"])
async def test_what_the_agent_does_not_offer_is_not_sent(method: str) -> None:
    """C-259."""
    async with opened(client_of(1), capabilities={}) as (connection, peer):
        with pytest.raises(acp.UnsupportedByPeer):
            await getattr(connection, method)("s0", "/")
        with pytest.raises(acp.UnsupportedByPeer) as caught:
            await connection.new_session("/", additional_directories=["/b"])
        assert caught.value.capability == "session_capabilities.additional_directories"
        await served(peer)


@each_wire
@pytest.mark.parametrize("form", FORMS)
async def test_what_comes_right_behind_the_answer_reaches_the_session(form: str, wire: str) -> None:
    """C-260: a request, too, which would not be found without the session."""
    async with opened(client_of(1), wire=wire) as (connection, peer):
        behind = [text("a"), permission(1), text("b")]
        session, _ = await open_by(form, connection.new_session("/"), peer, behind=behind)
        assert await read(session, 3) == ["a", "session/request_permission", "b"]


async def test_what_runs_when_a_session_has_started_can_read_what_comes_later() -> None:
    """C-260: it is no handler that others wait for."""
    texts: list[str] = []

    async def use(session: ActiveSession[Any]) -> None:
        session.send_prompt("hi")
        texts.append(await session.read_to_string())

    async with opened(client_of(1)) as (connection, peer):
        connection.new_session("/").on_session_start(use)
        await answer_setup(peer, text("early"))
        request = await peer.receive()
        await peer.send(text(", late"), {"id": request["id"], "result": END})
        await until(lambda: texts == ["early, late"])


@pytest.mark.parametrize("method", ["load_session", "resume_session"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_replay_is_on_the_stream_before_the_answer(method: str, form: str) -> None:
    """C-261: requests, too."""
    async with opened(client_of(1)) as (connection, peer):
        builder = getattr(connection, method)("s0", "/")
        replay = [text("a", "s0"), text("x", "s1"), permission(1, "s0"), text("b", "s0")]
        behind = [text("live", "s0")]
        session, _ = await open_by(form, builder, peer, *replay, behind=behind)
        assert await read(session, 4) == ["a", "session/request_permission", "b", "live"]


@pytest.mark.parametrize("method", ["new_session", "load_session", "resume_session"])
async def test_a_refused_setup_is_an_error_of_that_setup_alone(method: str) -> None:
    """C-262, C-261: what comes behind the error is of no session."""
    async with opened(client_of(1)) as (connection, peer):
        ids = () if method == "new_session" else ("s1",)
        waiting = peer.start(getattr(connection, method)(*ids, "/").start_session())
        request = await peer.receive()
        error = {"code": -32000, "message": "Log in"}
        await peer.send({"id": request["id"], "error": error}, permission(1))
        assert (await peer.receive())["error"]["code"] == -32601
        with pytest.raises(acp.RequestError, match="Log in"):
            await within(waiting)
        assert (await new(connection, peer)).session_id == "s1"


async def test_a_setup_that_is_refused_ends_the_connection_in_the_form_with_a_callback() -> None:
    """C-262."""
    called: list[Any] = []

    async def use(session: Any) -> None:
        called.append(session)

    async with opened(client_of(1), fails=True) as (connection, peer):
        connection.new_session("/").on_session_start(use)
        request = await peer.receive()
        await peer.send({"id": request["id"], "error": {"code": -32000, "message": "Log in"}})
        await within(connection.wait_closed())
        assert called == []
        with pytest.raises(acp.ConnectionClosed) as caught:
            await connection.new_session("/")
        assert isinstance(caught.value.__cause__, acp.RequestError)
