"""Transports of messages that users bring: any object with `send`, `receive` and `close`."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

import acp
from acp._transport import Transport as TransportOfTheSdk
from acp._transports.messages import LineTransport
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.transports import MessageTransport
from tests.message_transports.links import Ends, Link, client_over, nested
from tests.raw_peer import beside, chunk, prompt, serving, within
from tests.sides import Nothing, Recorder, until


class Talkative:
    """Says 300 numbers and asks for a permission in each turn."""

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        for number in range(300):
            await self.client.session_update(session_id, acp.update_agent_message_text(str(number)))
        answer = await self.client.ext_method("may_I", {"n": 10**30, "t": "é\ud800"})
        assert answer == {"n": 10**30, "t": "é\ud800"}
        return acp.PromptResponse(stop_reason="end_turn")


class Listening(acp.Client):
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.texts.append(update.content.text)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return params


async def talk(agent: Any, client: Listening) -> None:
    assert (await within(agent.initialize(1))).protocol_version == 1
    turn = await within(agent.prompt("s", [acp.text_block("x")]))
    assert turn.stop_reason == "end_turn"
    assert client.texts == [str(number) for number in range(300)]


async def test_an_agent_and_a_client_talk_over_transports_of_messages(
    ends: Ends,
) -> None:
    """Both directions at once, more than either end takes before it waits."""
    ours, theirs = ends
    client = Listening()
    async with (
        serving(AgentSideConnection, Talkative(), theirs),
        client_over(ours, client) as (agent, _),
    ):
        await talk(agent, client)
    assert (ours.closed, theirs.closed) == (1, 1)


@pytest.mark.asyncio_only
async def test_the_entry_points_take_a_transport_of_messages(ends: Ends) -> None:
    ours, theirs = ends
    client, served = Listening(), cast("acp.Agent", Talkative())
    running = asyncio.ensure_future(acp.run_agent(served, theirs))
    agent = acp.connect_to_agent(client, ours)
    await talk(agent, client)
    await within(agent.close())
    await within(running)
    assert (ours.closed, theirs.closed) == (1, 1)


@pytest.mark.asyncio_only
async def test_a_transport_of_asyncio_queues_is_one() -> None:
    """The plainest one there is, as programs for the official SDK have it."""

    class Queues:
        def __init__(self) -> None:
            self.sent: asyncio.Queue[Any] = asyncio.Queue()
            self.given: asyncio.Queue[Any] = asyncio.Queue()

        async def send(self, message: dict[str, Any]) -> None:
            self.sent.put_nowait(message)

        async def receive(self) -> dict[str, Any] | None:
            return await self.given.get()

        async def close(self) -> None:
            self.given.put_nowait(None)

    queues = Queues()
    async with client_over(queues) as (agent, _):
        answer = asyncio.ensure_future(agent.initialize(1))
        request = await within(queues.sent.get())
        assert request["method"] == "initialize"
        assert request["params"]["protocolVersion"] == 1
        queues.given.put_nowait(
            {"jsonrpc": "2.0", "id": request["id"], "result": {"protocolVersion": 1}}
        )
        assert (await within(answer)).protocol_version == 1


def test_both_names_stand_for_the_same_contract_which_objects_can_be_checked_for() -> None:
    assert TransportOfTheSdk is MessageTransport
    assert isinstance(Link(None, None), MessageTransport)
    assert not isinstance(object(), MessageTransport)


@pytest.mark.asyncio_only
@pytest.mark.parametrize("kind", [AgentSideConnection, ClientSideConnection])
async def test_an_object_without_all_three_methods_is_refused(kind: Any, ends: Ends) -> None:
    class Half:
        async def send(self, message: dict[str, Any]) -> None: ...

        async def receive(self) -> None: ...

    for given in ((Half(),), (Half(), Half()), ends, (None,)):
        with pytest.raises(TypeError, match=f"{kind.__name__} requires asyncio StreamWriter"):
            kind(Nothing(), *given, listening=False)


async def test_messages_of_any_size_and_depth_pass_whole(ends: Ends) -> None:
    """3 MB, and as deep as a line may be."""
    ours, theirs = ends
    async with (
        client_over(ours, Listening()) as (agent, group),
        anyio.create_task_group() as tasks,
    ):
        for params in ({"text": "x\n" * 1_500_000}, {"deep": nested(1000)}):
            asking = beside(group or tasks, agent.ext_method("x", params))
            request = await within(theirs.receive())
            # Comparing values of that depth is more than Python does.
            assert acp._core.encode(request["params"]) == acp._core.encode(params)
            await within(theirs.send({"id": request["id"], "result": params}))
            assert acp._core.encode(await within(asking)) == acp._core.encode(params)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
async def test_lines_that_are_sent_in_pieces_become_the_same_messages(size: int) -> None:
    sent: list[Any] = []

    class Sink(Link):
        async def send(self, message: dict[str, Any]) -> None:
            sent.append(message)

    made = [{"id": number, "result": "é" * number} for number in range(40)]
    text = b"".join(acp._core.encode(message) + b"\n" for message in made)
    lines = LineTransport(Sink(None, None))
    for at in range(0, len(text), size):
        await within(lines.send(text[at : at + size]))
    assert sent == made


async def test_a_batch_is_a_list_both_ways(ends: Ends) -> None:
    ours, theirs = ends
    async with serving(AgentSideConnection, Nothing(), ours):
        batch: Any = [{"id": 1, "method": "x"}, {"method": "_x/note"}, {"id": "b", "method": "y"}]
        await within(theirs.send(batch))
        answers: Any = await within(theirs.receive())
        assert [answer["id"] for answer in answers] == [1, "b"]


async def test_updates_that_no_task_is_waiting_for_keep_their_order(
    ends: Ends,
) -> None:
    """More than the transport holds, sent while a handler is held up."""
    ours, theirs = ends
    recorder = Recorder()
    async with client_over(ours, recorder), anyio.create_task_group() as tasks:

        async def send_all() -> None:
            for number in range(50):
                await theirs.send({"jsonrpc": "2.0", **chunk(str(number))})

        tasks.start_soon(send_all)
        await until(lambda: recorder.started == ["0"])
        recorder.go.set()
        await until(lambda: len(recorder.texts) == 50)
    assert recorder.texts == [str(number) for number in range(50)]


async def test_a_cancelled_request_is_told_over_a_transport_of_messages(
    ends: Ends,
) -> None:
    ours, theirs = ends
    async with client_over(ours) as (agent, group), anyio.create_task_group() as tasks:
        calling = beside(group or tasks, agent.request("session/prompt", prompt()))
        request = await within(theirs.receive())
        calling.cancel()
        notice = await within(theirs.receive())
        assert notice["method"] == "$/cancel_request"
        assert notice["params"] == {"requestId": request["id"]}
