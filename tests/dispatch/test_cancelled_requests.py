"""Requests of ours that are cancelled: who can, how often it is told, and when no more."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import acp
from acp import v1
from tests.deferring import collected_elsewhere, in_a_cycle
from tests.endpoint_peer import (
    agent,
    client,
    endpoint_under_test,
    prompt_request,
    says_nothing_more,
    told_of,
)
from tests.raw_peer import chunk, within
from tests.sides import turns, until
from tests.story import END, Story, answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.raw_peer import RawPeer

s = v1.schema


# Once, by whichever comes first.


async def _handle(sent: Any, peer: RawPeer) -> None:
    assert sent.cancel()


async def _cancel_handle(sent: Any, peer: RawPeer) -> None:
    assert sent.cancel_handle().cancel()


async def _awaiting(sent: Any, peer: RawPeer) -> None:
    waiting = peer.start(sent)
    await turns()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(waiting)


async def _timeout(sent: Any, peer: RawPeer) -> None:
    with anyio.move_on_after(0):
        await sent


async def _block(sent: Any, peer: RawPeer) -> None:
    async with sent:
        pass


WAYS: dict[str, Callable[[Any, RawPeer], Any]] = {
    "handle": _handle,
    "cancel handle": _cancel_handle,
    "awaiting": _awaiting,
    "timeout": _timeout,
    "block": _block,
}


@pytest.mark.parametrize("first", WAYS)
async def test_a_cancellation_is_told_once_by_whichever_comes_first(first: str) -> None:
    """C-095."""
    async with endpoint_under_test(client()) as (connection, peer):
        sent = connection.request(prompt_request())
        handles = [sent.cancel_handle() for _ in range(3)]
        request = await peer.receive()
        await WAYS[first](sent, peer)
        assert await peer.receive() == told_of(request)
        assert not sent.cancel()
        assert not any(handle.cancel() for handle in [*handles, sent.cancel_handle()])
        del sent
        gc.collect()
        await says_nothing_more(connection, peer)
        await peer.send(answer(request))
        await says_nothing_more(connection, peer)


async def test_a_cancelled_request_still_gives_what_the_peer_answers() -> None:
    """C-096: a result is a result, and -32800 an error like any other."""
    async with endpoint_under_test(client()) as (connection, peer):
        for reply in ({"result": END}, {"error": {"code": -32800, "message": "Request cancelled"}}):
            sent = connection.request(prompt_request())
            request = await peer.receive()
            assert sent.cancel()
            assert await peer.receive() == told_of(request)
            assert connection.stats().calls == 1
            await peer.send({"id": request["id"], **reply})
            if "result" in reply:
                assert (await within(sent)).stop_reason == "end_turn"
            else:
                with pytest.raises(acp.RequestError) as caught:
                    await within(sent)
                assert caught.value.code == -32800


async def test_a_cancelled_request_with_a_callback_calls_it_once_with_the_answer() -> None:
    """C-096."""
    outcomes: list[acp.Outcome[Any]] = []
    async with endpoint_under_test(client()) as (connection, peer):
        handle = connection.request(prompt_request()).on_result(outcomes.append)
        request = await peer.receive()
        assert handle.cancel()
        assert await peer.receive() == told_of(request)
        await turns()
        assert outcomes == []
        await peer.send(answer(request, {"stopReason": "cancelled"}))
        await until(lambda: len(outcomes) == 1)
        assert outcomes[0].result().stop_reason == "cancelled"


# Not any more.


async def test_an_answer_that_is_here_disarms_the_cancellation() -> None:
    """C-097: taken or not, held in its lane or not."""
    story = Story()
    story.gate("1")
    async with endpoint_under_test(story.client()) as (connection, peer):
        buffered = connection.request(s.ListSessionsRequest())
        held = connection.request(prompt_request())
        called = connection.request(prompt_request("other")).on_result(lambda ended: None)
        requests = [await peer.receive() for _ in range(3)]
        await peer.send(
            chunk("1"),
            answer(requests[0], {"sessions": []}),
            answer(requests[1]),
            answer(requests[2]),
        )
        await until(lambda: connection.stats().calls == 0)
        assert not buffered.cancel()
        assert not held.cancel_handle().cancel()
        assert not called.cancel()
        with anyio.move_on_after(0.01):
            await held
        del buffered
        gc.collect()
        await turns()
        await says_nothing_more(connection, peer)
        story.open("1")


async def test_the_end_of_the_connection_disarms_the_cancellation() -> None:
    """C-097."""
    go = anyio.Event()
    endpoint = client()

    @endpoint.on_notification("_wait")
    async def _(message: Any) -> None:
        await go.wait()

    async with endpoint_under_test(endpoint) as (connection, peer):
        sent = connection.request(prompt_request())
        detached = connection.request(prompt_request()).detach()
        await peer.receive()
        await peer.receive()
        await peer.notify("_wait", {})
        await until(lambda: connection.stats().handlers == 1)
        closing = peer.start(connection.close())
        await until(lambda: connection.raw.is_closing)
        await turns()
        assert not sent.cancel()
        assert not detached.cancel()
        with pytest.raises(acp.ConnectionClosed):
            await within(sent)
        go.set()
        await within(closing)
        assert await peer.receive() is None


async def test_dropping_a_handle_of_a_cancellation_does_nothing() -> None:
    """C-098."""
    async with endpoint_under_test(client()) as (connection, peer):
        sent = connection.request(prompt_request())
        handle = sent.cancel_handle()
        request = await peer.receive()
        del handle
        gc.collect()
        await says_nothing_more(connection, peer)
        await peer.send(answer(request))
        await within(sent)


# Nobody has it any more.


async def test_a_request_that_is_dropped_is_cancelled_and_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-095: also where such warnings are errors, as they are here."""
    async with endpoint_under_test(client()) as (connection, peer):
        connection.request(prompt_request())
        request = await peer.receive()
        assert await peer.receive() == told_of(request)
        await says_nothing_more(connection, peer)
        assert connection.stats().calls == 0
        await peer.send(answer(request))
        await says_nothing_more(connection, peer)
    messages = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert messages == ["A request 'session/prompt' was dropped unanswered, and cancelled"]


@pytest.mark.filterwarnings("default:a request:ResourceWarning")
async def test_the_warning_names_the_method() -> None:
    async with endpoint_under_test(client()) as (connection, peer):
        sent = connection.request(prompt_request())
        await peer.receive()
        del sent
        with pytest.warns(ResourceWarning, match="'session/prompt' was dropped"):
            assert (await peer.receive())["method"] == "$/cancel_request"


async def test_a_request_that_is_mapped_and_dropped_is_cancelled() -> None:
    """C-095."""
    async with endpoint_under_test(client()) as (connection, peer):
        sent = connection.request(prompt_request())
        request = await peer.receive()
        mapped = sent.map(str)
        del sent
        gc.collect()
        await turns()
        await says_nothing_more(connection, peer)
        del mapped
        assert await peer.receive() == told_of(request)


async def test_another_thread_may_drop_it() -> None:
    """C-095: it is told in the loop."""
    async with endpoint_under_test(client()) as (connection, peer):
        kept = [connection.request(prompt_request()) for _ in range(20)]
        requests = [await peer.receive() for _ in kept]
        thread = collected_elsewhere(kept)
        told = [await peer.receive() for _ in requests]
        thread.join()
        expected = sorted(request["id"] for request in requests)
        assert sorted(each["params"]["requestId"] for each in told) == expected
        assert connection.stats().calls == 0


@pytest.mark.asyncio_only
async def test_what_waits_for_the_answer_may_be_collected_anywhere() -> None:
    """C-095: a coroutine that is never gone on with, in this thread and in another."""
    async with endpoint_under_test(client()) as (connection, peer):
        for elsewhere in (False, True):
            waiting = connection.request(prompt_request()).__await__()
            waiting.send(None)
            request = await peer.receive()
            in_a_cycle(waiting)
            del waiting
            if elsewhere:
                thread = threading.Thread(target=gc.collect)
                thread.start()
                thread.join()
            else:
                gc.collect()
            assert await peer.receive() == told_of(request)
            await says_nothing_more(connection, peer)
            assert connection.stats().calls == 0


@pytest.mark.asyncio_only
async def test_what_would_wait_for_the_answer_may_be_dropped_before_it_does() -> None:
    """C-095."""
    async with endpoint_under_test(client()) as (connection, peer):
        task = asyncio.ensure_future(connection.request(prompt_request()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        gc.collect()
        request = await peer.receive()
        assert await peer.receive() == told_of(request)


# Any id.


@pytest.mark.parametrize("request_id", [77, "any", -1])
async def test_a_cancellation_of_any_id_can_be_sent(request_id: int | str) -> None:
    """C-102: nothing is looked up for it."""
    async with endpoint_under_test(client()) as (connection, peer):
        connection.cancel_request(request_id)
        assert await peer.receive() == told_of({"id": request_id})
        connection.cancel_request(request_id)
        assert await peer.receive() == told_of({"id": request_id})


async def test_what_forwards_every_notification_never_gets_a_cancellation() -> None:
    """C-101: ids belong to one connection; what is forwarded is cancelled by its own handle."""
    seen: list[str] = []
    endpoint = agent()

    @endpoint.fallback_notification
    async def _(message: Any, ctx: v1.Context) -> None:
        seen.append(ctx.method)

    @endpoint.on_request("_up")
    async def _(message: Any) -> Any:
        await anyio.Event().wait()

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request(1, "_up", {})
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["error"]["code"] == -32800
        await peer.notify("$/cancel_request", {"requestId": 99})
        await peer.notify("_other", {})
        await until(lambda: seen == ["_other"])
        assert connection.stats().counters["idle_cancellations"] == 1
