"""What a program can see of its connections, and how long it lets them take."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import acp
from acp import Limits, RequestError, RequestTimeout
from tests.raw_peer import agent_under_test, chunk, client_under_test, prompt, within
from tests.sides import Nothing, Prompted, Recorder, Silent, turns, until


async def test_a_handler_that_runs_is_listed_with_its_method_session_and_age() -> None:
    client = Recorder()
    async with client_under_test(client) as (connection, peer):
        assert connection.handlers() == []
        await peer.send(chunk("a", "one"), chunk("b", "one"), chunk("c", "two"))
        await until(lambda: len(connection.handlers()) == 2)
        first, second = connection.handlers()
        assert (first.method, first.session) == ("session/update", "one")
        assert second.session == "two"
        assert first.seconds >= second.seconds >= 0
        assert not first.awaits_peer
        stats = connection.stats()
        assert (stats.lanes, stats.handlers, stats.waiting_messages) == (2, 2, 1)
        assert stats.waiting_bytes > 50
        client.go.set()
        await until(lambda: connection.handlers() == [])
        stats = connection.stats()
        assert (stats.lanes, stats.handlers, stats.waiting_messages) == (0, 0, 0)
        assert stats.waiting_bytes == 0
        assert stats.counters["notifications"] == 3


async def test_a_handler_that_awaits_the_peer_is_seen_to() -> None:
    class Asking(acp.Agent):
        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            await self.client.read_text_file(session_id=session_id, path="/a")
            return acp.PromptResponse(stop_reason="end_turn")

    async with agent_under_test(Asking()) as (peer, connection):
        await peer.request(1, "session/prompt", prompt())
        request = await peer.receive()
        (handler,) = connection.handlers()
        assert handler.awaits_peer
        assert (connection.stats().calls, connection.stats().unanswered) == (1, 1)
        await peer.answer(request["id"], {"content": ""})
        assert (await peer.receive())["id"] == 1
        await until(lambda: connection.stats().unanswered == 0)
        assert connection.stats().calls == 0


async def test_what_is_counted_is_told_to_the_hook_as_it_grows() -> None:
    told: list[tuple[str, int]] = []
    agent = Prompted()
    hook = {"on_count": lambda name, grown: told.append((name, grown))}
    async with agent_under_test(agent, **hook) as (peer, connection):
        await peer.send_text("no json\n[]\n17\n")
        for _ in range(3):
            await peer.receive()
        await peer.request(1, "session/prompt", prompt())
        await agent.started.wait()
        await peer.notify("$/cancel_request", {"requestId": 1})
        await peer.receive()
        await peer.notify("$/cancel_request", {"requestId": 1})
        await peer.notify("_unknown", {})
        await until(lambda: ("notifications", 1) in told and ("idle_cancellations", 1) in told)
        counters = connection.stats().counters
    assert {name: sum(each for key, each in told if key == name) for name, _ in told} == {
        name: value for name, value in counters.items() if value
    }
    assert counters["rejected_parse"] == counters["rejected_batch"] == counters["cancelled"] == 1


async def test_a_hook_that_fails_costs_no_message(caplog: pytest.LogCaptureFixture) -> None:
    def hook(name: str, grown: int) -> None:
        raise ZeroDivisionError("secret")

    async with agent_under_test(Nothing(), on_count=hook) as (peer, _):
        await peer.request(1, "_nothing")
        assert (await peer.receive())["id"] == 1
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


async def test_an_overtaken_handler_is_counted() -> None:
    client = Recorder()
    async with client_under_test(client, limits=Limits(lane_patience=0.01)) as (connection, peer):
        await peer.send(chunk("a"), chunk("b"))
        await until(lambda: connection.stats().counters["overtaken"] == 1)
        client.go.set()


async def test_a_request_without_an_answer_ends_after_its_time_and_is_cancelled() -> None:
    """C-088."""
    async with client_under_test(Silent()) as (connection, peer):
        asking = peer.start(connection.request("_slow", {"a": 1}, timeout=0.02))
        request = await peer.receive()
        with pytest.raises(
            RequestTimeout, match=r"_slow was not answered within 0\.02 s"
        ) as caught:
            await within(asking)
        assert isinstance(caught.value, TimeoutError)
        cancel = await peer.receive()
        assert cancel["method"] == "$/cancel_request"
        assert cancel["params"] == {"requestId": request["id"]}
        await peer.answer(request["id"], {"late": True})
        # The late answer is nobody's, and the next call gets its own.
        asking = peer.start(connection.request("_next", timeout=10))
        request = await peer.receive()
        await peer.answer(request["id"], {"ok": True})
        assert await within(asking) == {"ok": True}
        assert connection.stats().counters["swallowed_responses"] == 1


async def test_an_answer_in_time_is_the_result_or_the_error() -> None:
    async with client_under_test(Silent()) as (connection, peer):
        asking = peer.start(connection.request("_a", timeout=10))
        await peer.send(
            {"id": (await peer.receive())["id"], "error": {"code": -1, "message": "no"}}
        )
        with pytest.raises(RequestError) as caught:
            await within(asking)
        assert caught.value.code == -1


async def test_a_send_that_waits_for_a_peer_that_takes_nothing_fails_with_the_connection() -> None:
    """The message that was to be sent is not lost in silence."""
    async with agent_under_test(Nothing(), limits=Limits(write_stall=0.05)) as (_, connection):
        await turns()
        with pytest.raises(acp.ConnectionClosed), anyio.fail_after(10):
            text = acp.update_agent_message_text("x" * 3_000_000)
            await connection.session_update("s", text)


async def test_another_thread_enters_by_the_way_for_it_and_by_no_other() -> None:
    async with client_under_test(Silent()) as (connection, peer):
        await turns()

        def beside() -> Any:
            with pytest.raises(RuntimeError, match="from_thread"):
                connection._connection.post("_tell")
            return connection.from_thread(connection.request, "_ask", {"a": 1})

        asking = peer.start(anyio.to_thread.run_sync(beside))
        request = await peer.receive()
        assert (request["method"], request["params"]) == ("_ask", {"a": 1})
        await peer.answer(request["id"], {"b": 2})
        assert await within(asking) == {"b": 2}
        with pytest.raises(RuntimeError, match="await it here"):
            connection.from_thread(connection.request, "_ask")


async def test_a_thread_gets_what_the_function_raises_and_the_end_of_the_connection() -> None:
    async with client_under_test(Silent()) as (connection, peer):
        await turns()

        async def fail() -> None:
            raise KeyError("mine")

        with pytest.raises(KeyError):
            await anyio.to_thread.run_sync(connection.from_thread, fail)

        def wait() -> None:
            connection.from_thread(anyio.Event().wait)

        waiting = peer.start(anyio.to_thread.run_sync(wait))
        await turns(100)
        await within(connection.close())
        with pytest.raises(acp.ConnectionClosed):
            await within(waiting)
        with pytest.raises(acp.ConnectionClosed):
            await anyio.to_thread.run_sync(connection.from_thread, fail)


def test_limits_come_from_the_environment_where_none_are_given() -> None:
    given = {"ACP_LIMIT_WAITING_MESSAGES": "7", "ACP_LIMIT_WRITE_STALL": "none", "PATH": "/bin"}
    assert Limits.from_environment(given) == Limits(waiting_messages=7, write_stall=None)
    assert Limits.from_environment({}) == Limits()


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("ACP_LIMIT_WAITING_MESSAGES", "many"),
        ("ACP_LIMIT_WAITING_MESSAGES", "none"),
        ("ACP_LIMIT_WAITING_MESSAGES", "1.5"),
        ("ACP_LIMIT_WAITING_MESSAGES", "-1"),
        ("ACP_LIMIT_WRITE_STALL", "inf"),
        ("ACP_LIMIT_WRITE_STALL", "nan"),
        ("ACP_LIMIT_NOTHING", "1"),
    ],
)
def test_a_limit_in_the_environment_that_is_none_is_named(variable: str, text: str) -> None:
    with pytest.raises(ValueError, match=variable):
        Limits.from_environment({variable: text})
