"""Single lines of the log: what is told of a message or a failure, how often, and at what cost.

Owns what `test_wire_log`, which looks at whole conversations, does not reach.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import anyio
import pytest
import trio

import acp
from acp._runtime import Runtime
from acp._transports.descriptors import DescriptorTransport
from acp.client.connection import ClientSideConnection
from tests.log_lines import TRACE, Lines
from tests.raw_peer import RawPeer, agent_under_test, client_under_test, serving, within
from tests.sides import Nothing, Recorder, Silent, turns
from tests.test_transports import over_pipes


async def test_a_method_of_the_peer_cannot_look_like_a_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-146, C-147."""
    caplog.set_level(logging.DEBUG)
    forged = "_raises\nERROR acp: all is lost \ud800\u2028" + "x" * 10_000

    class Failing(acp.Agent):
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            raise KeyError

    async with agent_under_test(Failing()) as (peer, _):
        await peer.request(forged, forged, {})
        await peer.receive()
    for record in caplog.records:
        first = record.getMessage().split("\n")[0]
        assert len(first) < 600
        first.encode("utf-8")
    assert "\nERROR acp" not in caplog.text


async def test_requests_that_are_cancelled_are_told_in_both_directions(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-147, C-148."""
    caplog.set_level(TRACE)
    started = anyio.Event()

    class Waiting(acp.Agent):
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            started.set()
            await anyio.Event().wait()

    async with agent_under_test(Waiting()) as (peer, _):
        await peer.request("a", "_wait", {})
        await within(started.wait())
        await peer.notify("$/cancel_request", {"requestId": "a"})
        await peer.receive()
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.list_sessions())
        await peer.receive()
        calling.cancel()
        assert (await peer.receive())["method"] == "$/cancel_request"
    lines = Lines(caplog)
    assert "Received cancellation of the request with id 'a'" in lines.at(logging.DEBUG)
    assert "Sending notification '$/cancel_request'" in lines.at(logging.DEBUG)
    assert '{"method":"$/cancel_request","params":{"requestId":"a"}}' in lines.at(TRACE, TRACE)


async def test_every_answer_of_a_batch_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """C-147."""
    caplog.set_level(TRACE)
    async with agent_under_test(Nothing()) as (peer, _):
        await peer.send_text('[{"id":1,"method":"a"},{"id":"b","method":"b","params":{"x":[]}}]\n')
        assert len(await peer.receive()) == 2
    told = Lines(caplog).at(logging.DEBUG)
    assert "Sending error -32601 for id 1 " in told
    assert "Sending error -32601 for id 'b' " in told


async def test_what_the_other_end_takes_slowly_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-147."""
    caplog.set_level(logging.DEBUG)
    async with agent_under_test(Nothing()) as (peer, connection):
        text = acp.update_agent_message_text("x" * 300_000)
        sending = [peer.start(connection.session_update("s", text)) for _ in range(3)]
        await turns()
        sending += [peer.start(connection.session_update("s", text)) for _ in range(3)]
        for _ in range(6):
            assert (await peer.receive())["method"] == "session/update"
        for one in sending:
            await within(one)
    told = [record.getMessage() for record in caplog.records]
    assert told.count("Sending notification 'session/update'") == 6


async def test_answers_that_are_taken_where_they_arrive_are_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-147."""
    caplog.set_level(logging.DEBUG)
    ours, theirs = over_pipes(DescriptorTransport)
    async with theirs, serving(ClientSideConnection, Silent(), ours) as (agent, group):
        peer = RawPeer(theirs, group)
        for number in range(3):
            calling = peer.start(agent.list_sessions())
            await peer.receive()
            await turns()
            await peer.answer(number, {"sessions": []})
            await within(calling)
    told = [record.getMessage() for record in caplog.records]
    for number in range(3):
        assert told.count(f"Received result for 'session/list', id {number}") == 1


@pytest.mark.asyncio_only
async def test_what_ends_a_connection_is_told_by_its_type(caplog: pytest.LogCaptureFixture) -> None:
    """C-146, C-147."""
    caplog.set_level(logging.DEBUG)

    class Fatal(BaseException):
        pass

    class Failing(acp.Agent):
        async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
            raise Fatal("secret-text")

    async with agent_under_test(Failing()) as (peer, connection):
        await peer.notify("_fails", {})
        await within(connection._connection._closed.wait())
    lines = Lines(caplog)
    lines.check()
    assert "The connection failed with " in lines.at(logging.ERROR)
    assert "Fatal" in lines.at(logging.DEBUG)


def test_a_call_that_fails_in_the_loop_of_trio_is_told_by_its_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-146, C-147."""
    caplog.set_level(logging.DEBUG)

    def fail() -> None:
        raise ValueError("secret-text")

    async def main() -> None:
        Runtime().soon(fail)
        await turns()

    trio.run(main)
    lines = Lines(caplog)
    lines.check()
    assert "A call in the loop failed with ValueError" in lines.at(logging.ERROR)
    assert "in fail" in lines.at(logging.DEBUG)


async def test_a_message_with_more_digits_than_python_reads_is_told_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(TRACE)
    before = sys.get_int_max_str_digits()
    async with client_under_test(Silent()) as (agent, peer):
        calling = peer.start(agent.list_sessions())
        await peer.receive()
        sys.set_int_max_str_digits(640)
        try:
            error = f'{{"code":1,"message":"m","data":{"9" * 1000}}}'
            await peer.send_text(f'{{"id":0,"error":{error}}}\n')
            with pytest.raises(ValueError, match="digits"):
                await within(calling)
        finally:
            sys.set_int_max_str_digits(before)
        listing = peer.start(agent.list_sessions())
        await peer.answer((await peer.receive())["id"], {"sessions": []})
        await within(listing)


def test_a_connection_whose_level_is_off_does_not_load_what_writes_messages() -> None:
    program = (
        "import asyncio, sys, acp\n"
        "from acp.agent.connection import AgentSideConnection as Side\n"
        "async def main():\n"
        "    ours, theirs = acp.memory_pair()\n"
        "    async with Side(object(), ours):\n"
        '        await theirs.send(b\'{"id":1,"method":"x"}\\n\')\n'
        "        await asyncio.wait_for(theirs.receive(), 10)\n"
        "asyncio.run(main())\n"
        "print('acp._wire_log' in sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == ["False"]


def test_the_level_of_whole_messages_has_a_name_that_another_may_have_given_before() -> None:
    program = (
        "import logging, sys\n"
        "if sys.argv[1:]: logging.addLevelName(5, *sys.argv[1:])\n"
        "import acp._wire_log\n"
        "print(logging.getLevelName(5))\n"
    )
    for given, shown in (((), "TRACE"), (("FINE",), "FINE")):
        run = subprocess.run(
            [sys.executable, "-c", program, *given],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert run.stdout.split() == [shown]


async def test_notifications_that_fail_again_and_again_do_not_flood_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with client_under_test(Recorder()) as (_, peer):
        bad = {"method": "session/update", "params": {"sessionId": "s", "update": {}}}
        await peer.send(*([bad] * 1000))
        await peer.request(1, "_end")
        await peer.receive()
    told = [record for record in caplog.records if "could not be handled" in record.getMessage()]
    assert len(told) == 10
    assert told[-1].getMessage().endswith("(512 by now)")


async def test_requests_that_do_not_fit_again_and_again_do_not_flood_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Prompted(acp.Agent):
        async def prompt(self, prompt: list[Any], session_id: str, **kwargs: Any) -> Any: ...

    async with agent_under_test(Prompted()) as (peer, _):
        for number in range(1000):
            await peer.request(number, "session/prompt", {"prompt": "secret"})
            assert (await peer.receive())["error"]["code"] == -32602
    told = [record for record in caplog.records if "was refused" in record.getMessage()]
    assert len(told) == 10
    assert told[-1].getMessage().endswith("(512 by now)")
