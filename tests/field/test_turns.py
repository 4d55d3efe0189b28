"""Updates and the turns that they belong to: marked for the client, in order for the agent."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v1, v2
from tests.endpoint_peer import endpoint_under_test, prompt_request
from tests.field.wires import each_cut, each_wire, wired
from tests.raw_peer import chunk, prompt, within
from tests.sides import turns, until

END = {"stopReason": "end_turn"}
NEXT = acp.update_agent_message_text


class Marking(acp.Client):
    """Notes each update with whether it is of a turn; what it is told waits for `go` first."""

    agent: Any

    def __init__(self, *waits: str) -> None:
        self.seen: list[tuple[str, bool]] = []
        self.waits = waits
        self.go = anyio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        text = update.content.text
        self.seen.append((text, self.agent.in_turn(session_id)))
        if text in self.waits:
            await self.go.wait()
        elif text == "asks":
            await self.agent.set_session_mode(session_id, "mode")


@each_wire
@each_cut
async def test_updates_before_in_and_after_a_turn_are_told_apart(
    wire: str, cut: int | None
) -> None:
    """C38: all are delivered; those after the end are marked."""
    client = Marking()
    async with wired("client", client, wire=wire, cut=cut) as (agent, peer):
        client.agent = agent
        await peer.send(chunk("before"))
        await until(lambda: len(client.seen) == 1)
        for _ in range(2):
            turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
            request = await peer.receive()
            assert agent.in_turn("s")
            answer = {"id": request["id"], "result": END}
            await peer.send(chunk("in"), chunk("other", "other"), chunk("in"), answer)
            await peer.send(chunk("after"))
            assert (await within(turn)).stop_reason == "end_turn"
            await until(lambda: client.seen[-1][0] == "after")
            assert not agent.in_turn("s")
        of_a_turn = [("in", True), ("other", False), ("in", True), ("after", False)]
        assert client.seen == [("before", False), *of_a_turn, *of_a_turn]


async def test_a_turn_ends_for_updates_where_its_answer_stands_and_not_when_it_is_read() -> None:
    """C38: the handler of an update holds the answer and what comes behind."""
    client = Marking("slow")
    async with wired("client", client) as (agent, peer):
        client.agent = agent
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        answer = {"id": request["id"], "result": END}
        await peer.send(chunk("slow"), chunk("in"), answer, chunk("after"))
        await turns()
        assert agent.in_turn("s")
        client.go.set()
        await within(turn)
        await until(lambda: len(client.seen) == 3)
        assert client.seen == [("slow", True), ("in", True), ("after", False)]


async def test_updates_that_wait_for_a_handler_that_asks_the_agent_stay_those_of_the_turn() -> None:
    """C38: the answer of the turn goes past them; they came before it all the same."""
    client = Marking()
    async with wired("client", client) as (agent, peer):
        client.agent = agent
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        answer = {"id": request["id"], "result": END}
        await peer.send(chunk("asks"), chunk("in"), chunk("in"), answer, chunk("after"))
        asked = await peer.receive()
        assert (await within(turn)).stop_reason == "end_turn"
        assert client.seen == [("asks", True)]
        await peer.answer(asked["id"], {})
        await until(lambda: len(client.seen) == 4)
        assert client.seen[1:] == [("in", True), ("in", True), ("after", False)]
        assert not agent.in_turn("s")


async def test_a_turn_that_is_cancelled_goes_on_until_it_is_answered() -> None:
    """C38, C19: what it says on its way out is of the turn."""
    client = Marking()
    async with wired("client", client) as (agent, peer):
        client.agent = agent
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        await agent.cancel("s")
        answer = {"id": request["id"], "result": {"stopReason": "cancelled"}}
        await peer.send(chunk("way out"), answer, chunk("after"))
        await within(turn)
        await until(lambda: len(client.seen) == 2)
        assert client.seen == [("way out", True), ("after", False)]


async def test_a_turn_that_nobody_waits_for_any_more_is_none() -> None:
    """C38: the client has given it up."""
    client = Marking()
    async with wired("client", client) as (agent, peer):
        client.agent = agent
        turn = peer.start(agent.prompt("s", [acp.text_block("x")]))
        request = await peer.receive()
        turn.cancel()
        assert (await peer.receive())["method"] == "$/cancel_request"
        await peer.send(chunk("late"), {"id": request["id"], "result": END})
        await until(lambda: client.seen == [("late", False)])


async def test_an_update_knows_by_its_context_whether_it_is_of_a_turn() -> None:
    """C38."""
    endpoint = v1.Client()
    seen: list[tuple[Any, bool]] = []

    @endpoint.session_update
    async def _(message: Any, ctx: v1.Context) -> None:
        seen.append((message.update.content.text, ctx.in_turn))

    async with endpoint_under_test(endpoint) as (connection, peer):
        connection.request(prompt_request()).detach()
        request = await peer.receive()
        await peer.send(chunk("in"), {"id": request["id"], "result": END}, chunk("after"))
        await until(lambda: len(seen) == 2)
        assert seen == [("in", True), ("after", False)]


async def test_in_version_2_the_answer_of_a_prompt_is_no_end_and_nothing_is_marked() -> None:
    """C38: work goes on in the background there."""
    endpoint = v2.Client(version_guard=False)
    seen: list[bool] = []

    @endpoint.session_update
    async def _(message: Any, ctx: v2.Context) -> None:
        seen.append(ctx.in_turn)

    async with endpoint_under_test(endpoint) as (connection, peer):
        connection.request("session/prompt", {"sessionId": "s", "prompt": []}).detach()
        request = await peer.receive()
        text: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "messageId": "m"}
        text["content"] = {"type": "text", "text": "x"}
        update = {"method": "session/update", "params": {"sessionId": "s", "update": text}}
        await peer.send(update, {"id": request["id"], "result": {"messageId": "m"}}, update)
        await until(lambda: seen == [False, False])


# The agent's side: what it has begun to send goes out before the end of the turn.


class Leaving(acp.Agent):
    """Leaves the last updates of a turn to tasks of its own, and returns."""

    def __init__(self, *, suspends: bool = False, waits: bool = False) -> None:
        self.suspends = suspends
        self.waits = waits

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        if self.suspends:
            await anyio.lowlevel.checkpoint()
        try:
            if self.waits:
                await anyio.Event().wait()
        finally:
            self.tasks = [
                asyncio.ensure_future(self.conn.session_update(session_id, NEXT(str(number))))
                for number in range(3)
            ]
        return acp.PromptResponse(stop_reason="end_turn")


async def texts_and_end(peer: Any) -> tuple[list[str], Any]:
    """What is received up to the end of the turn."""
    texts: list[str] = []
    while "id" not in (message := await peer.receive()):
        texts.append(message["params"]["update"]["content"]["text"])
    return texts, message


@each_wire
@pytest.mark.asyncio_only
@pytest.mark.parametrize("suspends", [False, True])
async def test_updates_that_tasks_are_about_to_send_go_out_before_the_end_of_the_turn(
    wire: str, suspends: bool
) -> None:
    """C38: `asyncio.create_task(conn.session_update(…))` right before the return."""
    async with wired("agent", Leaving(suspends=suspends), wire=wire) as (_, peer):
        for number in range(20):
            await peer.request(number, "session/prompt", prompt())
            texts, end = await texts_and_end(peer)
            assert (texts, end["id"], end["result"]) == (["0", "1", "2"], number, END)


@pytest.mark.asyncio_only
async def test_so_do_those_of_a_turn_that_is_cancelled() -> None:
    """C38, C19."""
    async with wired("agent", Leaving(waits=True)) as (connection, peer):
        await peer.request(1, "session/prompt", prompt())
        await until(lambda: connection.stats().handlers == 1)
        await peer.notify("session/cancel", {"sessionId": "s"})
        texts, end = await texts_and_end(peer)
        assert (texts, end["result"]) == (["0", "1", "2"], {"stopReason": "cancelled"})


async def test_so_do_those_of_tasks_on_any_loop() -> None:
    """C38: also where ready tasks run in no fixed order."""
    async with anyio.create_task_group() as group:
        endpoint = v1.Agent(version_guard=False)

        @endpoint.prompt
        async def _(message: Any, ctx: v1.Context) -> Any:
            for number in range(5):
                update = v1.schema.SessionNotification(session_id="s", update=NEXT(str(number)))
                group.start_soon(ctx.connection.notify, update)
            return v1.schema.PromptResponse(stop_reason="end_turn")

        async with endpoint_under_test(endpoint) as (connection, peer):
            for number in range(20):
                await peer.request(number, "session/prompt", prompt())
                texts, end = await texts_and_end(peer)
                assert (sorted(texts), end["id"]) == (list("01234"), number)
            assert connection.stats().unanswered == 0


@each_wire
async def test_the_end_of_a_turn_is_not_lost_when_the_connection_ends_with_it(wire: str) -> None:
    """C38: the answer is due in the next turn of the loop, and closing waits for that."""

    class Closing(acp.Agent):
        peer: Any

        def on_connect(self, conn: Any) -> None:
            self.conn = conn

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            self.closing = self.peer.start(self.conn.close())
            return acp.PromptResponse(stop_reason="end_turn")

    for _ in range(10):
        agent = Closing()
        async with wired("agent", agent, wire=wire) as (_, agent.peer):
            await agent.peer.request(1, "session/prompt", prompt())
            assert (await agent.peer.receive())["result"] == END
            assert await agent.peer.receive() is None
            await within(agent.closing)


@pytest.mark.asyncio_only
async def test_a_cancellation_between_the_return_and_the_answer_changes_nothing() -> None:
    """I12: the turn has its result."""
    async with wired("agent", Leaving()) as (_, peer):
        for number in range(20):
            cancels = [
                {"method": "$/cancel_request", "params": {"requestId": number}},
                {"method": "session/cancel", "params": {"sessionId": "s"}},
            ]
            request = {"id": number, "method": "session/prompt", "params": prompt()}
            await peer.send(request, *cancels)
            _, end = await texts_and_end(peer)
            assert (end["id"], end["result"]) == (number, END)
        assert (await peer.exchange("last", "nobody"))["id"] == "last"


async def test_a_result_of_a_turn_that_cannot_be_written_is_an_internal_error() -> None:
    class Wrong(acp.Agent):
        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            return object()

    async with wired("agent", Wrong()) as (_, peer):
        await peer.request(1, "session/prompt", prompt())
        assert (await peer.receive())["error"]["code"] == -32603
        assert (await peer.exchange(2, "nobody"))["id"] == 2
