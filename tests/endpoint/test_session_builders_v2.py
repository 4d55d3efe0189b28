"""Builders of sessions of version 2."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v2
from acp.v2 import schema
from tests.endpoint.session_peers import (
    answer_setup,
    client_of,
    each_wire,
    new,
    open_session,
    opened,
    served,
    text,
)
from tests.raw_peer import within

if TYPE_CHECKING:
    from acp.v2 import Connection


SYSTEM = {"mode": "override", "content": [{"type": "text", "text": "Be brief"}]}
WHOLE: dict[str, Any] = {
    "cwd": "/work",
    "additionalDirectories": ["/more"],
    "mcpServers": [
        {"type": "stdio", "name": "tools", "command": "/bin/tools", "args": [], "env": []}
    ],
    "systemPrompt": SYSTEM,
    "_meta": {"trace": [1, None]},
}
OF_A_SESSION = {**WHOLE, "sessionId": "s0"}
FROM: dict[str, tuple[str, dict[str, Any]]] = {
    "session/new": ("NewSessionRequest", WHOLE),
    "session/resume": (
        "ResumeSessionRequest",
        {**OF_A_SESSION, "replayFrom": {"type": "start", "_meta": {"a": 1}}},
    ),
    "session/fork": ("ForkSessionRequest", {**OF_A_SESSION, "cursorId": "c"}),
}


def from_request(connection: Connection, method: str) -> Any:
    name, members = FROM[method]
    builders: dict[str, Any] = {
        "session/new": connection.new_session_from,
        "session/resume": connection.resume_session_from,
        "session/fork": connection.fork_session_from,
    }
    return builders[method](getattr(schema, name).model_validate(members))


@pytest.mark.parametrize("method", list(FROM))
async def test_a_request_that_is_given_whole_is_sent_as_it_is(method: str) -> None:
    """C-212."""
    async with opened(client_of(2, features={"session_fork"})) as (connection, peer):
        starting = peer.start(from_request(connection, method))
        request = await answer_setup(peer)
        assert (request["method"], request["params"]) == (method, FROM[method][1])
        setup = await within(starting)
        assert setup.session.session_id == ("s0" if method == "session/resume" else "s1")


@pytest.mark.parametrize("method", list(FROM))
@pytest.mark.parametrize(
    ("offered", "missing"),
    [
        ({"additionalDirectories": {}}, "session.system_prompt"),
        (
            {"additionalDirectories": {}, "systemPrompt": {}},
            "session.system_prompt.mode.override",
        ),
        ({"systemPrompt": {"mode": {"override": {}}}}, "session.additional_directories"),
    ],
)
async def test_what_the_agent_cannot_read_of_a_request_is_not_sent(
    method: str, offered: dict[str, Any], missing: str
) -> None:
    """C-212: and it is sent when the caller insists."""
    capabilities: dict[str, Any] = {"session": {"fork": {}, **offered}}
    client = client_of(2, features={"session_fork"})
    async with opened(client, capabilities=capabilities) as (connection, peer):
        builder = from_request(connection, method)
        with pytest.raises(acp.UnsupportedByPeer) as caught:
            await builder
        assert (caught.value.method, caught.value.capability) == (method, missing)
        await served(peer)
        waiting = peer.start(builder.start_session(unchecked=True))
        assert (await answer_setup(peer))["params"] == FROM[method][1]
        await within(waiting)


async def test_the_short_forms_say_what_their_arguments_say() -> None:
    """C-212."""
    async with opened(client_of(2, features={"all"})) as (connection, peer):
        prompt = schema.SystemPrompt.model_validate(SYSTEM)
        start = schema.ReplayFromStart()
        for builder, params in [
            (connection.new_session("/a"), {"cwd": "/a"}),
            (connection.new_session("C:\\a"), {"cwd": "C:\\a"}),
            (
                connection.new_session("/a", field_meta={"k": 1}, additional_directories=["/b"]),
                {"cwd": "/a", "additionalDirectories": ["/b"], "_meta": {"k": 1}},
            ),
            (
                connection.resume_session("s0", "/a", replay_from=start, system_prompt=prompt),
                {
                    "sessionId": "s0",
                    "cwd": "/a",
                    "replayFrom": {"type": "start"},
                    "systemPrompt": SYSTEM,
                },
            ),
            (
                connection.fork_session("s0", Path("/a"), cursor_id="c"),
                {"sessionId": "s0", "cwd": "/a", "cursorId": "c"},
            ),
        ]:
            waiting = peer.start(builder)
            request = await answer_setup(peer)
            assert {k: v for k, v in request["params"].items() if v != []} == params
            await within(waiting)


async def test_the_directory_of_the_process_is_that_of_a_session_unless_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-213."""
    monkeypatch.chdir(tmp_path)
    async with opened(client_of(2)) as (connection, peer):
        for builder, wanted in [
            (connection.new_session(), str(tmp_path)),
            (connection.resume_session("s0"), str(tmp_path)),
            (connection.new_session(Path("below")), str(tmp_path / "below")),
        ]:
            waiting = peer.start(builder)
            assert (await answer_setup(peer))["params"]["cwd"] == wanted
            await within(waiting)


async def test_a_directory_that_cannot_be_read_is_an_internal_error_and_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C-213."""

    def gone() -> str:
        raise FileNotFoundError(2, "No such directory", "/secret")

    async with opened(client_of(2)) as (connection, peer):
        monkeypatch.setattr(os, "getcwd", gone)
        for make in (connection.new_session, lambda: connection.resume_session("s0")):
            with pytest.raises(acp.RequestError) as caught:
                make()
            assert caught.value.to_error_obj() == {
                "code": -32603,
                "message": "Internal error",
                "data": {"type": "FileNotFoundError"},
            }
        await served(peer)


@each_wire
async def test_starting_a_session_gives_the_handle_and_the_answer(wire: str) -> None:
    """C-214."""
    async with opened(client_of(2), wire=wire) as (connection, peer):
        sent = connection.new_session("/").start_session()
        waiting = peer.start(sent)
        request = await answer_setup(peer, _meta={"k": 1})
        assert (request["method"], request["id"]) == ("session/new", sent.id)
        setup = await within(waiting)
        session, response = setup
        assert session is setup.session
        assert response is setup.response
        assert isinstance(session, v2.Session)
        assert response == schema.NewSessionResponse(session_id="s1", field_meta={"k": 1})


async def test_the_handle_of_a_setup_is_one_of_a_request() -> None:
    """C-214: it can be cancelled, and its outcome be had in the answer's place."""
    async with opened(client_of(2)) as (connection, peer):
        found: list[str] = []

        def note(ended: acp.Outcome[v2.SessionSetup[schema.NewSessionResponse]]) -> None:
            found.append(ended.result().session.session_id)

        sent = connection.new_session("/").start_session()
        sent.on_result(note)
        await answer_setup(peer, behind=[text("x")])
        await served(peer)
        assert found == ["s1"]
        sent = connection.new_session("/").start_session()
        assert sent.cancel()
        request = await peer.receive()
        assert (await peer.receive())["method"] == "$/cancel_request"
        await peer.send({"id": request["id"], "error": {"code": -32800, "message": "Cancelled"}})
        with pytest.raises(acp.RequestError, match="Cancelled"):
            await within(sent)


async def test_a_refused_setup_is_an_error_of_that_setup_alone() -> None:
    """C-215."""
    async with opened(client_of(2)) as (connection, peer):
        for method in ("new", "resume"):
            builder = (
                connection.new_session("/")
                if method == "new"
                else connection.resume_session("s1", "/")
            )
            waiting = peer.start(builder)
            error = {"code": -32000, "message": "Log in", "data": {"how": "web"}}
            await peer.send({"id": (await peer.receive())["id"], "error": error})
            with pytest.raises(acp.RequestError) as caught:
                await within(waiting)
            assert caught.value.to_error_obj() == error
        assert (await new(connection, peer)).session_id == "s1"


async def test_a_builder_that_is_not_used_sends_nothing() -> None:
    """C-216."""
    async with opened(client_of(2, features={"session_fork"})) as (connection, peer):
        connection.new_session("/").updates()
        connection.resume_session("s1", "/").wait_idle()
        connection.fork_session("s1", "/")
        gc.collect()
        await served(peer)
        assert connection.stats().calls == 0


async def test_a_builder_can_be_used_once() -> None:
    async with opened(client_of(2)) as (connection, peer):
        builder = connection.new_session("/")
        await open_session(builder, peer)
        for again in (builder.start_session, builder.updates, builder.wait_idle):
            with pytest.raises(RuntimeError, match="started already"):
                again()
        await served(peer)


async def test_forking_is_on_by_name_and_gives_the_session_of_the_answer() -> None:
    """C-212: never the one that it began as."""
    async with opened(client_of(2)) as (connection, peer):
        with pytest.raises(RuntimeError, match="session_fork"):
            await connection.fork_session("s0", "/")
        await served(peer)
    async with opened(client_of(2, features={"session_fork"})) as (connection, peer):
        setup = await open_session(connection.fork_session("s0", "/"), peer, session="s9")
        assert setup.session.session_id == setup.response.session_id == "s9"
    lacking: dict[str, Any] = {"session": {}}
    client = client_of(2, features={"session_fork"})
    async with opened(client, capabilities=lacking) as (connection, peer):
        with pytest.raises(acp.UnsupportedByPeer):
            await connection.fork_session("s0", "/")
        await served(peer)


async def test_a_session_of_a_block_is_closed_at_its_end() -> None:
    async with opened(client_of(2)) as (connection, peer):
        opening = anyio.Event()

        async def use(failure: Exception | None) -> None:
            async with connection.new_session("/") as session:
                assert session.session_id == "s1"
                opening.set()
                if failure is not None:
                    raise failure

        for failure in (None, ValueError("mine")):
            using = peer.start(use(failure))
            await answer_setup(peer)
            request = await peer.receive()
            assert (request["method"], request["params"]) == (
                "session/close",
                {"sessionId": "s1"},
            )
            if failure is None:
                await peer.answer(request["id"], {})
                await within(using)
            else:
                with pytest.raises(ValueError, match="mine"):
                    await within(using)
                await peer.answer(request["id"], {})
            await served(peer)
