"""Callbacks of requests: they take the answer's place in its session, and hold up nothing else."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from acp import Limits, v1
from tests.endpoint_peer import client, endpoint_under_test, prompt_request
from tests.raw_peer import chunk, within
from tests.sides import until
from tests.story import Story, answer, note, send_batch

if TYPE_CHECKING:
    import acp

s = v1.schema


# Their place.


async def test_a_callback_begins_behind_the_updates_before_its_answer_and_holds_those_behind() -> (
    None
):
    """C-079: in the stream of its session."""
    story = Story()
    story.gate("1", "callback")
    async with endpoint_under_test(story.client()) as (connection, peer):
        connection.request(prompt_request()).on_result(story.callback("callback"))
        request = await peer.receive()
        await peer.send(chunk("1"), answer(request), chunk("2"), chunk("3"))
        await story.is_still("1 begins")
        story.open("1")
        await story.is_still("1 begins", "1 ends", "callback begins")
        story.open("callback")
        await story.comes_to("1 begins", "1 ends", "callback begins", "callback ends", "2", "3")


async def test_a_callback_holds_its_own_session_and_nothing_else() -> None:
    """C-079: other sessions, the connection's own stream, other answers and requests go on."""
    story = Story()
    story.gate("callback")
    endpoint = story.client()
    endpoint.read_text_file(lambda request: s.ReadTextFileResponse(content="text"))
    async with endpoint_under_test(endpoint) as (connection, peer):
        connection.request(prompt_request()).on_result(story.callback("callback"))
        request = await peer.receive()
        listing = peer.start(connection.request(s.ListSessionsRequest()))
        listed = await peer.receive()
        await peer.send(
            answer(request),
            chunk("held"),
            chunk("other", "other"),
            note("own"),
            answer(listed, {"sessions": []}),
            {"id": 9, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/f"}},
        )
        assert (await peer.receive())["result"] == {"content": "text"}
        assert (await within(listing)).sessions == []
        await story.is_still("callback begins", "other", "own")
        story.open("callback")
        await story.comes_to("callback begins", "other", "own", "callback ends", "held")


async def test_a_callback_of_a_request_without_a_session_keeps_the_connections_own_stream() -> None:
    story = Story()
    story.gate("callback")
    async with endpoint_under_test(story.client()) as (connection, peer):
        connection.request(s.ListSessionsRequest()).on_result(story.callback("callback"))
        request = await peer.receive()
        await peer.send(answer(request, {"sessions": []}), note("held"), chunk("of a session"))
        await story.is_still("callback begins", "of a session")
        story.open("callback")
        await story.comes_to("callback begins", "of a session", "callback ends", "held")


async def test_a_callback_of_a_new_session_is_in_the_stream_of_the_session_that_it_names() -> None:
    story = Story()
    story.gate("callback", "early")
    async with endpoint_under_test(story.client()) as (connection, peer):
        new = s.NewSessionRequest(cwd="/", mcp_servers=[])
        connection.request(new).on_result(story.callback("callback"))
        request = await peer.receive()
        await peer.send(chunk("early", "n"), answer(request, {"sessionId": "n"}), chunk("2", "n"))
        await story.is_still("early begins")
        story.open("early")
        await story.is_still("early begins", "early ends", "callback begins")
        story.open("callback")
        await story.comes_to("early begins", "early ends", "callback begins", "callback ends", "2")


@pytest.mark.parametrize("params", [prompt_request(), {"sessionId": "s", "prompt": []}])
async def test_a_request_made_of_json_data_has_its_place_as_well(params: Any) -> None:
    story = Story()
    story.gate("1")
    async with endpoint_under_test(story.client()) as (connection, peer):
        connection.request("session/prompt", params).on_result(story.callback("callback"))
        request = await peer.receive()
        assert connection.in_turn("s")
        await peer.send(chunk("1"), answer(request), chunk("2"))
        await story.is_still("1 begins")
        story.open("1")
        await story.comes_to("1 begins", "1 ends", "callback", "2")
        assert not connection.in_turn("s")


async def test_callbacks_of_one_session_are_called_in_the_order_of_the_answers() -> None:
    """C-079: each begins once the one before has ended."""
    story = Story()
    story.gate("first", "second")
    async with endpoint_under_test(story.client()) as (connection, peer):
        for name in ("first", "second", "third"):
            connection.request(prompt_request()).on_result(story.callback(name))
        one, two, three = [await peer.receive() for _ in range(3)]
        await peer.send(answer(one), chunk("1"), answer(two), chunk("2"), answer(three))
        await story.is_still("first begins")
        story.open("first")
        await story.is_still("first begins", "first ends", "1", "second begins")
        story.open("second")
        await story.comes_to(
            "first begins", "first ends", "1", "second begins", "second ends", "2", "third"
        )


async def test_callbacks_that_never_suspend_keep_the_order_in_a_long_stream() -> None:
    seen: list[str] = []
    endpoint = client()

    @endpoint.session_update
    def _(message: Any) -> None:
        seen.append(message.update.content.text)

    async with endpoint_under_test(endpoint) as (connection, peer):
        for number in range(300):
            connection.request(prompt_request()).on_result(
                lambda ended, number=number: seen.append(f"answer {number}")
            )
        requests = [await peer.receive() for _ in range(300)]
        messages: list[dict[str, Any]] = []
        for number, request in enumerate(requests):
            messages += [chunk(f"before {number}"), answer(request)]
        await peer.send(*messages)
        expected: list[str] = []
        for number in range(300):
            expected += [f"before {number}", f"answer {number}"]
        await until(lambda: len(seen) == 600)
        assert seen == expected


async def test_what_a_callback_registers_is_there_for_the_next_message() -> None:
    """C-079: what it changes is seen by the handler of what comes right behind its answer."""
    known: dict[str, str] = {}
    seen: list[str | None] = []
    endpoint = client()

    @endpoint.session_update
    async def _(message: Any) -> None:
        seen.append(known.get(message.session_id))

    async with endpoint_under_test(endpoint) as (connection, peer):

        async def register(ended: acp.Outcome[Any]) -> None:
            await anyio.lowlevel.checkpoint()
            known[ended.result().session_id] = "registered"

        connection.request(s.NewSessionRequest(cwd="/", mcp_servers=[])).on_result(register)
        request = await peer.receive()
        await peer.send(answer(request, {"sessionId": "n"}), chunk("1", "n"))
        await until(lambda: len(seen) == 1)
        assert seen == ["registered"]


# Inside batches.


async def test_in_a_batch_what_follows_an_answer_in_its_session_waits_for_the_callback() -> None:
    """C-064: it holds the entries of its own session, and no others."""
    story = Story()
    story.gate("callback")
    async with endpoint_under_test(story.client()) as (connection, peer):
        connection.request(prompt_request()).on_result(story.callback("callback"))
        request = await peer.receive()
        ask = {"id": 5, "method": "_unknown"}
        await send_batch(
            peer, chunk("1"), answer(request), chunk("2"), chunk("other", "other"), ask, chunk("3")
        )
        await story.is_still("1", "callback begins", "other")
        story.open("callback")
        await story.comes_to("1", "callback begins", "other", "callback ends", "2", "3")
        # An array is answered once its notifications, too, were handled.
        (reply,) = await peer.receive()
        assert (reply["id"], reply["error"]["code"]) == (5, -32601)


async def test_in_a_batch_callbacks_of_one_session_are_called_in_the_order_of_the_entries() -> None:
    """C-064."""
    story = Story()
    story.gate("second")
    async with endpoint_under_test(story.client()) as (connection, peer):
        for name in ("first", "second"):
            connection.request(prompt_request()).on_result(story.callback(name))
        one, two = [await peer.receive() for _ in range(2)]
        await send_batch(peer, answer(two), answer(one), chunk("1"))
        await story.is_still("second begins")
        story.open("second")
        await story.comes_to("second begins", "second ends", "first", "1")


# Where they wait for the peer.


async def test_a_callback_may_await_the_peer_in_its_own_session() -> None:
    """C-081: its lane yields meanwhile: answers and the session's requests pass, updates wait."""
    story = Story()
    endpoint = story.client()
    endpoint.request_permission(
        lambda request: s.RequestPermissionResponse(outcome=s.DeniedOutcome())
    )
    async with endpoint_under_test(endpoint) as (connection, peer):

        async def again(ended: acp.Outcome[Any]) -> None:
            story.seen.append("callback begins")
            second = await connection.request(prompt_request())
            story.seen.append(f"callback ends with {second.stop_reason}")

        connection.request(prompt_request()).on_result(again)
        request = await peer.receive()
        await peer.send(answer(request), chunk("behind"))
        second = await peer.receive()
        asking: dict[str, Any] = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
        await peer.request(7, "session/request_permission", asking)
        assert (await peer.receive())["id"] == 7
        await story.is_still("callback begins")
        await peer.send(answer(second, {"stopReason": "refusal"}))
        await story.comes_to("callback begins", "callback ends with refusal", "behind")


async def test_a_callback_does_not_wait_for_a_handler_that_awaits_the_peer() -> None:
    """What comes behind it waits for both, and begins behind the later one."""
    story = Story()
    story.gate("callback")
    endpoint = story.client()

    async with endpoint_under_test(endpoint) as (connection, peer):

        @endpoint.on_notification("_ask")
        async def _(message: Any, ctx: v1.Context) -> None:
            story.seen.append("ask begins")
            await ctx.connection.request("_question", {})
            story.seen.append("ask ends")

        connection.request(prompt_request()).on_result(story.callback("callback"))
        request = await peer.receive()
        ask = {"method": "_ask", "params": {"sessionId": "s"}}
        await peer.send(ask, answer(request), chunk("behind"))
        question = await peer.receive()
        await story.is_still("ask begins", "callback begins")
        await peer.send(answer(question, {}))
        await story.is_still("ask begins", "callback begins", "ask ends")
        story.open("callback")
        await story.comes_to("ask begins", "callback begins", "ask ends", "callback ends", "behind")


async def test_a_callback_that_waits_in_its_lane_is_released_when_the_handler_asks_the_peer() -> (
    None
):
    """And what comes behind it waits for both all the same."""
    story = Story()
    story.gate("ask", "callback")
    endpoint = story.client()

    @endpoint.on_notification("_ask")
    async def _(message: Any, ctx: v1.Context) -> None:
        await story.tell("ask")
        await ctx.connection.request("_question", {})
        story.seen.append("answered")

    async with endpoint_under_test(endpoint) as (connection, peer):
        connection.request(prompt_request()).on_result(story.callback("callback"))
        request = await peer.receive()
        ask = {"method": "_ask", "params": {"sessionId": "s"}}
        await peer.send(ask, answer(request), chunk("behind"))
        await story.is_still("ask begins")
        story.open("ask")
        question = await peer.receive()
        await story.is_still("ask begins", "ask ends", "callback begins")
        story.open("callback")
        await story.is_still("ask begins", "ask ends", "callback begins", "callback ends")
        await peer.send(answer(question, {}))
        await until(lambda: story.seen[-1] == "behind")
        assert story.seen[-2] == "answered"


async def test_a_callback_beside_a_handler_yields_the_lane_as_that_does() -> None:
    """The handler does not wait for the peer any more, but the callback does."""
    story = Story()
    story.gate("answered", "callback")
    endpoint = story.client()

    @endpoint.on_notification("_ask")
    async def _(message: Any, ctx: v1.Context) -> None:
        await ctx.connection.request("_question", {})
        await story.tell("answered")

    async with endpoint_under_test(endpoint) as (connection, peer):

        async def again(ended: acp.Outcome[Any]) -> None:
            await story.tell("callback")
            await connection.request(prompt_request())
            story.seen.append("again")

        connection.request(prompt_request()).on_result(again)
        request = await peer.receive()
        ask = {"method": "_ask", "params": {"sessionId": "s"}}
        await peer.send(ask, answer(request), chunk("behind"))
        await peer.send(answer(await peer.receive(), {}))
        await until(lambda: len(story.seen) == 2)
        story.open("callback")
        await peer.send(answer(await peer.receive()))
        await until(lambda: story.seen[-1] == "again")
        story.open("answered")
        await until(lambda: story.seen[-1] == "behind")
        assert story.seen[-2] == "answered ends"


async def test_a_callback_that_does_not_end_is_passed_by_answers_and_not_by_updates(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """When patience with it ends; the log tells once, and the counter counts it once."""
    story = Story()
    story.gate("callback", "other")
    endpoint = story.client(limits=Limits(lane_patience=0.05))
    async with endpoint_under_test(endpoint) as (connection, peer):
        connection.request(prompt_request()).on_result(story.callback("callback"))
        request = await peer.receive()
        second = peer.start(connection.request(prompt_request()))
        asked = await peer.receive()
        await peer.send(answer(request), chunk("1"), answer(asked), chunk("2"))
        assert (await within(second)).stop_reason == "end_turn"
        await peer.send(chunk("3"))
        # Patience with the handler of another session ends later than this one could once more.
        other = peer.start(connection.request(prompt_request("other")))
        asked = await peer.receive()
        await peer.send(chunk("other", "other"), answer(asked))
        await within(other)
        assert story.seen == ["callback begins", "other begins"]
        assert connection.stats().counters["overtaken"] == 2
        story.open("other")
        story.open("callback")
        await until(lambda: len(story.seen) == 7)
        of_the_session = [each for each in story.seen if not each.startswith("other")]
        assert of_the_session == ["callback begins", "callback ends", "1", "2", "3"]
    warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warned) == 2
    assert "session/prompt" in warned[0]
    assert "session/update" in warned[1]
