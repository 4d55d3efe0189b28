"""Agents that die, and agents that keep silent."""

from __future__ import annotations

import time
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import Limits
from acp.client.connection import ClientSideConnection
from tests.field.children import python
from tests.raw_peer import beside, serving, within
from tests.sides import Silent, turns

SOON = 1.0
"""Seconds from the death of an agent to the failure of a call, with room for a busy machine."""

FATAL = "sys.stderr.write('fatal: no key\\n'); sys.stderr.flush()\n"
DEATHS = {
    "at once": (FATAL + "os._exit(3)", 3),
    "at the first request": ("next(requests())\n" + FATAL + "os._exit(3)", 3),
    "cleanly": ("next(requests())\n" + FATAL + "sys.exit(0)", 0),
    "by an exception": ("next(requests())\nraise SystemExit('fatal: no key')", 1),
    "by a signal": ("next(requests())\n" + FATAL + "os.kill(os.getpid(), signal.SIGKILL)", -9),
    "within its answer": (
        'r = next(requests())\nos.write(1, b\'{"jsonrpc":"2.0","id":0,"resu\')\n'
        + FATAL
        + "os._exit(3)",
        3,
    ),
    "behind other messages": (
        "next(requests())\nfor n in range(500): update(str(n))\n" + FATAL + "os._exit(3)",
        3,
    ),
    "having read nothing": (
        FATAL + "os.close(0)\nos.write(1, b'noise\\n')\nos._exit(3)",
        3,
    ),
}


@pytest.mark.parametrize("death", list(DEATHS))
async def test_the_death_of_an_agent_fails_the_call_soon_with_its_code_and_last_words(
    death: str,
) -> None:
    """C06."""
    program, code = DEATHS[death]
    async with serving(ClientSideConnection, Silent(), python(program)) as (agent, _):
        started = time.monotonic()
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
        # The start of an interpreter is in this, too.
        assert time.monotonic() - started < 2 * SOON
        assert caught.value.exit_code == code
        assert caught.value.stderr_tail.strip() == "fatal: no key"
        assert str(code) in str(caught.value)
        with pytest.raises(ConnectionError):
            await within(agent.new_session("/"))


@pytest.mark.parametrize("count", [2, 50])
async def test_every_call_fails_when_the_agent_dies(count: int) -> None:
    """C06: also notifications that are sent from then on."""
    program = f"for _ in range({count}): next(requests())\nos._exit(3)"
    async with (
        serving(ClientSideConnection, Silent(), python(program)) as (agent, group),
        anyio.create_task_group() as tasks,
    ):
        calls = [beside(group or tasks, agent.ext_method("x", {})) for _ in range(count)]
        for call in calls:
            with pytest.raises(acp.ConnectionClosed) as caught:
                await within(call)
            assert caught.value.exit_code == 3
        with pytest.raises(acp.ConnectionClosed):
            await within(agent.cancel("s"))


@pytest.mark.parametrize("ending", ["", "\\n", "\\r\\n", " "])
async def test_an_answer_right_before_the_end_counts_without_its_newline(ending: str) -> None:
    """C06."""
    program = f"""
request = next(requests())
next(requests())
text = json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": {{"protocolVersion": 1}}}})
sys.stdout.write(text + "{ending}")
sys.stdout.flush()
os._exit(4)
"""
    async with (
        serving(ClientSideConnection, Silent(), python(program)) as (agent, group),
        anyio.create_task_group() as tasks,
    ):
        answered = beside(group or tasks, agent.initialize(1))
        await turns()
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.new_session("/"))
        assert (await within(answered)).protocol_version == 1
        assert caught.value.exit_code == 4


class Reader(acp.Client):
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.texts.append(update.content.text)


async def test_updates_before_a_crash_are_delivered() -> None:
    """C06, C08: the tail of what a turn said is what tells why it ended."""
    reader = Reader()
    program = "next(requests())\nfor n in range(300): update(str(n))\nos._exit(3)"
    async with serving(ClientSideConnection, reader, python(program)) as (agent, _):
        with pytest.raises(acp.ConnectionClosed):
            await within(agent.prompt("s", [acp.text_block("x")]))
    assert reader.texts == [str(number) for number in range(300)]


async def test_the_start_can_be_given_a_time_and_a_late_answer_disturbs_nobody() -> None:
    """C43: the first request is answered behind the second."""
    program = """
first = None
for request in requests():
    if first is None:
        first = request
        continue
    answer(first, protocolVersion=1)
    answer(request, sessionId="s")
"""
    async with serving(ClientSideConnection, Silent(), python(program)) as (agent, _):
        with pytest.raises(TimeoutError):
            with anyio.fail_after(0.05):
                await agent.initialize(1)
        assert (await within(agent.new_session("/"))).session_id == "s"


async def test_an_agent_that_never_answers_is_closed_in_time() -> None:
    """C43, C16."""
    program = "for line in sys.stdin: pass"
    transport = python(program)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        with pytest.raises(TimeoutError):
            with anyio.fail_after(0.05):
                await agent.initialize(1)
    assert transport.process.returncode == 0


async def test_silence_is_not_the_end_of_a_turn() -> None:
    """C43: no limit of ours counts the time in which an agent works and says nothing."""
    program = "for r in requests():\n    time.sleep(0.5)\n    answer(r, **RESULTS[r['method']])"
    limits = Limits(lane_patience=0.05, write_stall=0.05, closing=0.05, draining=0.05)
    transport = python(program)
    async with serving(ClientSideConnection, Silent(), transport, limits=limits) as (agent, _):
        turn = await within(agent.prompt("s", [acp.text_block("x")]))
        assert turn.stop_reason == "end_turn"


async def test_a_permission_may_take_longer_than_every_limit() -> None:
    """C43: the turn waits for a person."""

    class Slow(acp.Client):
        async def request_permission(self, session_id: str, **kwargs: Any) -> Any:
            await anyio.sleep(0.3)
            return {"outcome": {"outcome": "selected", "optionId": "y"}}

    program = """
turn = next(requests())
option = {"optionId": "y", "name": "Y", "kind": "allow_once"}
params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [option]}
request = {"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params}
print(json.dumps(request), flush=True)
reply = json.loads(sys.stdin.readline())
answer(turn, stopReason="end_turn" if reply["result"]["outcome"]["optionId"] == "y" else "refusal")
"""
    limits = Limits(lane_patience=0.05, write_stall=0.05, closing=0.05, draining=0.05)
    async with serving(ClientSideConnection, Slow(), python(program), limits=limits) as (agent, _):
        turn = await within(agent.prompt("s", [acp.text_block("x")]))
        assert turn.stop_reason == "end_turn"
