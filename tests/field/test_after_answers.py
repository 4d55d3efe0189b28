"""What an agent sends about a session that its client does not know yet."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits, schema, v1
from tests.endpoint_peer import agent, endpoint_under_test
from tests.field.wires import each_wire, wired
from tests.raw_peer import within
from tests.sides import turns, until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Handle = Callable[["Opening"], Awaitable[None]]

NEW: dict[str, Any] = {"cwd": "/", "mcpServers": []}
TEXT = acp.update_agent_message_text
HELD: dict[str, Any] = {"hold_early_updates": True}


class Opening:
    """An agent that does something while it opens a session."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def tell(self, text: str) -> None:
        await self.conn.session_update("s", TEXT(text))

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        await self.handle(self)
        return acp.NewSessionResponse(session_id="s")

    async def fork_session(self, cwd: str, session_id: str, **kwargs: Any) -> Any:
        await self.handle(self)
        return schema.ForkSessionResponse(session_id="s")

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> Any:
        await self.handle(self)

    async def ext_notification(self, method: str, params: Any) -> None:
        await self.handle(self)


async def story(peer: Any, count: int) -> list[Any]:
    """What is received: texts of updates, ids of answers, and methods of all else."""
    told: list[Any] = []
    for _ in range(count):
        message = await peer.receive()
        if message.get("method") == "session/update":
            told.append(message["params"]["update"]["content"]["text"])
        else:
            told.append(message.get("method", message.get("id")))
    return told


# After the answer.


@each_wire
async def test_what_is_to_follow_an_answer_is_sent_behind_it_in_the_order_given(wire: str) -> None:
    """C37: by functions of either kind; each may take its time."""
    called: list[Any] = []

    async def handle(side: Opening) -> None:
        side.conn.after_answer(called.append, "sync")
        await side.tell("0")
        for number in range(1, 4):
            side.conn.after_answer(side.tell, str(number))
        await anyio.lowlevel.checkpoint()

    async with wired("agent", Opening(handle), wire=wire) as (_, peer):
        for number in range(10):
            await peer.request(number, "session/new", NEW)
            assert await story(peer, 5) == ["0", number, "1", "2", "3"]
        assert called == ["sync"] * 10


async def test_a_context_has_it_too_and_the_client_may_be_asked() -> None:
    """C37: the same name in both layers."""
    endpoint = agent()

    @endpoint.new_session
    async def _(request: Any, ctx: v1.Context) -> Any:
        async def ask(question: str) -> None:
            answer = await ctx.connection.request("_ask", {"question": question})
            await ctx.connection.notify("_told", answer)

        ctx.after_answer(ask, "what?")
        return v1.schema.NewSessionResponse(session_id="s")

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request(1, "session/new", NEW)
        assert (await peer.receive())["result"] == {"sessionId": "s"}
        asked = await peer.receive()
        assert asked["params"] == {"question": "what?"}
        assert [each.method for each in connection.handlers()] == ["session/new"]
        await peer.answer(asked["id"], {"a": 1})
        assert (await peer.receive())["params"] == {"a": 1}
        await until(lambda: connection.handlers() == [])


async def test_it_follows_an_error_and_the_answer_of_a_responder_as_well() -> None:
    """C37: whatever the answer is, and whoever gives it."""
    responders: list[acp.Responder] = []

    async def fails(side: Opening) -> None:
        side.conn.after_answer(side.tell, "behind")
        raise ValueError

    async def defers(side: Opening) -> None:
        side.conn.after_answer(side.tell, "behind")
        responders.append(side.conn.defer())

    class Late(Opening):
        async def new_session(self, cwd: str, **kwargs: Any) -> Any:
            await self.handle(self)

    side = Late(fails)
    async with wired("agent", side) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 2) == [1, "behind"]
        side.handle = defers
        await peer.request(2, "session/new", NEW)
        await until(lambda: len(responders) == 1)
        await turns()
        responders[0].respond({"sessionId": "s"})
        assert await story(peer, 2) == [2, "behind"]


async def test_it_runs_in_the_context_of_the_handler() -> None:
    """C37."""
    variable = ContextVar("variable", default="outside")
    seen: list[str] = []

    async def note() -> None:
        seen.append(variable.get())
        await anyio.lowlevel.checkpoint()
        seen.append(variable.get())

    async def handle(side: Opening) -> None:
        variable.set("of the handler")
        side.conn.after_answer(note)
        variable.set("later")

    async with wired("agent", Opening(handle)) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 1) == [1]
        await until(lambda: seen == ["of the handler"] * 2)


async def test_its_failure_is_logged_and_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        raise ValueError("secret")

    async def handle(side: Opening) -> None:
        side.conn.after_answer(fails)
        side.conn.after_answer(side.tell, "next")

    async with wired("agent", Opening(handle)) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 2) == [1, "next"]
        assert (await peer.exchange(2, "nobody"))["id"] == 2
    messages = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert messages == ["What was to follow 'session/new' failed with ValueError"]


async def test_it_does_not_keep_the_connection_from_closing() -> None:
    """C37: it has the time that handlers have."""
    ended: list[str] = []

    async def never() -> None:
        try:
            await anyio.Event().wait()
        finally:
            ended.append("cancelled")

    async def handle(side: Opening) -> None:
        side.conn.after_answer(never)

    async with wired("agent", Opening(handle), limits=Limits(closing=0.05)) as (connection, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 1) == [1]
        await until(lambda: len(connection.handlers()) == 1)
        await within(connection.close())
        assert ended == ["cancelled"]


async def test_what_is_to_follow_is_still_sent_when_the_input_ends() -> None:
    """C37."""
    go = anyio.Event()

    async def handle(side: Opening) -> None:
        async def later() -> None:
            await go.wait()
            await side.tell("late")

        side.conn.after_answer(later)

    async with wired("agent", Opening(handle), limits=Limits(closing=None)) as (connection, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 1) == [1]
        closing = peer.start(connection.close())
        await turns()
        go.set()
        assert await story(peer, 1) == ["late"]
        await within(closing)


async def test_where_there_is_no_answer_to_follow_it_is_refused() -> None:
    """C37: in a notification, outside of handlers, and once the answer is there."""
    refused: list[str] = []

    async def handle(side: Opening) -> None:
        with pytest.raises(RuntimeError, match="no handler of a request") as caught:
            side.conn.after_answer(side.tell, "never")
        refused.append(str(caught.value))

    async def answers(side: Opening) -> None:
        side.conn.defer().respond({"sessionId": "s"})
        with pytest.raises(RuntimeError, match="answered already") as caught:
            side.conn.after_answer(side.tell, "never")
        refused.append(str(caught.value))

    side = Opening(handle)
    async with wired("agent", side) as (connection, peer):
        with pytest.raises(RuntimeError, match="no handler of a request"):
            connection.after_answer(side.tell, "never")
        await peer.notify("_x", {})
        await until(lambda: len(refused) == 1)
        side.handle = answers
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 1) == [1]
        await until(lambda: len(refused) == 2)
        assert (await peer.exchange(2, "nobody"))["id"] == 2


# Held until the answer.


async def two_texts(side: Opening) -> None:
    await side.tell("1")
    await anyio.lowlevel.checkpoint()
    await side.tell("2")


@each_wire
@pytest.mark.parametrize("method", ["session/new", "session/fork"])
async def test_updates_of_a_session_that_is_being_opened_can_be_held_until_the_answer(
    wire: str, method: str
) -> None:
    """C37: the session whose id only the answer tells."""
    options: dict[str, Any] = {"use_unstable_protocol": True}
    params = {**NEW, "sessionId": "old"}
    async with wired("agent", Opening(two_texts), wire=wire, **options) as (_, peer):
        await peer.request(1, method, params)
        assert await story(peer, 3) == ["1", "2", 1]
    async with wired("agent", Opening(two_texts), wire=wire, **options, **HELD) as (_, peer):
        for number in range(3):
            await peer.request(number, method, params)
            assert await story(peer, 3) == [number, "1", "2"]


@pytest.mark.asyncio_only
@pytest.mark.parametrize("before", [["before"], []])
async def test_what_tasks_of_the_handler_send_is_held_as_well(before: list[str]) -> None:
    """C37: and nothing is, once the answer is there."""
    go = asyncio.Event()

    async def handle(side: Opening) -> None:
        async def task() -> None:
            for text in before:
                await side.tell(text)
            await go.wait()
            await side.tell("after")

        tasks.append(asyncio.create_task(task()))
        await turns()

    tasks: list[Any] = []
    async with wired("agent", Opening(handle), **HELD) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 1 + len(before)) == [1, *before]
        go.set()
        assert await story(peer, 1) == ["after"]
        await within(tasks[0])


async def test_what_other_code_sends_is_not_held_nor_what_the_handler_asks() -> None:
    """C37: other sessions go on; a request that waited would never be answered."""
    go = anyio.Event()

    async def handle(side: Opening) -> None:
        await side.tell("held")
        await side.conn.ext_method("ask", {})
        await go.wait()

    side = Opening(handle)
    async with wired("agent", side, **HELD) as (connection, peer):
        await peer.request(1, "session/new", NEW)
        asked = await peer.receive()
        assert asked["method"] == "_ask"
        await connection.session_update("other", TEXT("of another"))
        assert await story(peer, 1) == ["of another"]
        await peer.answer(asked["id"], {})
        go.set()
        assert await story(peer, 2) == [1, "held"]


async def test_the_history_of_a_session_that_is_loaded_comes_before_the_answer() -> None:
    """C37: its id is known."""
    async with wired("agent", Opening(two_texts), **HELD) as (_, peer):
        await peer.request(1, "session/load", {**NEW, "sessionId": "s"})
        assert await story(peer, 3) == ["1", "2", 1]


async def test_what_is_held_is_what_it_was_when_it_was_sent() -> None:
    """C37."""

    async def handle(side: Opening) -> None:
        update: Any = TEXT("before")
        await side.conn.session_update("s", update)
        update.content.text = "after"
        data: dict[str, Any] = {"deep": [1]}
        await side.conn.ext_notification("x", data)
        data["deep"].append(2)

    async with wired("agent", Opening(handle), **HELD) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 2) == [1, "before"]
        assert (await peer.receive())["params"] == {"deep": [1]}


async def test_what_cannot_be_written_is_refused_where_it_is_sent() -> None:
    """C37."""
    refused: list[str] = []

    async def handle(side: Opening) -> None:
        with pytest.raises(acp.ValidationError):
            await side.conn.notify("_x", {"x": object()})
        with pytest.raises(acp.LocalProtocolError):
            await side.conn.notify("_x", 5)
        refused.append("both")
        await side.tell("held")

    async with wired("agent", Opening(handle), **HELD) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 2) == [1, "held"]
        assert refused == ["both"]


async def test_what_is_held_follows_an_error_too_and_goes_before_what_is_to_follow_it() -> None:
    """C37: nothing is lost."""

    async def fails(side: Opening) -> None:
        side.conn.after_answer(side.tell, "behind")
        await side.tell("held")
        raise ValueError

    async with wired("agent", Opening(fails), **HELD) as (_, peer):
        await peer.request(1, "session/new", NEW)
        assert await story(peer, 3) == [1, "held", "behind"]


@pytest.mark.parametrize(
    "limits", [Limits(early_messages=3), Limits(early_bytes=350)], ids=["messages", "bytes"]
)
async def test_more_than_the_limits_allow_is_not_held_and_keeps_its_order(limits: Limits) -> None:
    """C37: from the first too many on, all goes out as it is sent."""

    async def many(side: Opening) -> None:
        for number in range(6):
            await side.tell(str(number))

    async with wired("agent", Opening(many), limits=limits, **HELD) as (_, peer):
        for number in range(2):
            await peer.request(number, "session/new", NEW)
            assert await story(peer, 7) == ["0", "1", "2", "3", "4", "5", number]
