"""The programs of `tests/interop` together, and how the runs against peers are judged.

The peers themselves need Node and a Rust build; `make interop` and `make compat` run them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import acp
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from tests.interop import agent_unstable, agent_v2, client_v2, router, scenarios_v2, unstable
from tests.interop.agent_v1 import InteropAgent
from tests.interop.checks import Checks
from tests.interop.client_v1 import InteropClient
from tests.interop.scenarios_v1 import Scenarios
from tests.interop.updates_v1 import every_update
from tools import bounded, interop, rust_peer, rust_v2

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.asyncio_only
async def test_our_client_and_our_agent_hold_every_check_on_every_loop() -> None:
    theirs, ours = acp.memory_pair()
    checks, client = Checks(), InteropClient()
    agent = AgentSideConnection(
        InteropAgent(), theirs, require_initialize=True, use_unstable_protocol=True
    )
    async with agent, ClientSideConnection(client, ours, use_unstable_protocol=True) as connection:
        await asyncio.wait_for(Scenarios(checks, connection, client).run(), 50)
    assert checks.failed == []
    assert checks.passed == 64


def agents_of_version_2() -> dict[str, Any]:
    """What serves version 2."""
    return {"alone": agent_v2.InteropAgent().endpoint, "routed": router.router_of(1, 2)}


@asynccontextmanager
async def connected(serving: Any, endpoint: Any) -> AsyncGenerator[Any]:
    """A connection of a client to what serves, over memory."""
    theirs, ours = acp.memory_pair()
    with anyio.fail_after(50):
        async with anyio.create_task_group() as group:
            group.start_soon(serving.serve, theirs)
            async with endpoint.connect(ours) as connection:
                yield connection


@pytest.mark.asyncio_only
@pytest.mark.parametrize("how", list(agents_of_version_2()))
async def test_our_client_and_our_agent_of_version_2_hold_every_check_on_every_loop(
    how: str,
) -> None:
    checks, client = Checks(), client_v2.InteropClient()
    async with connected(agents_of_version_2()[how], client.endpoint) as connection:
        await scenarios_v2.Scenarios(checks, connection, client).run()
    assert checks.failed == []
    assert checks.passed == 72


@pytest.mark.asyncio_only
@pytest.mark.parametrize("version", [1, 2])
async def test_unstable_methods_hold_every_check_on_every_loop(version: int) -> None:
    checks, client = Checks(), unstable.UnstableClient(version)
    agent = agent_unstable.made(version).endpoint
    async with connected(agent, client.endpoint) as connection:
        await client.run(checks, connection)
    assert checks.failed == []
    assert checks.passed == 26


def test_every_stable_kind_of_update_is_sent_once_at_least() -> None:
    kinds = {update.session_update for update in every_update()}
    assert kinds == set(
        """
        user_message_chunk agent_message_chunk agent_thought_chunk tool_call tool_call_update plan
        available_commands_update current_mode_update config_option_update session_info_update
        usage_update notice compaction_update compaction_summary_chunk
        """.split()
    )


# The judges.


def ended(code: int | None, *lines: object) -> bounded.Ended:
    """A run that printed these lines."""
    return bounded.Ended(code, "".join(json.dumps(line) + "\n" for line in lines), "why\n", 1.0)


DONE = {"kind": "done", "passed": 3, "failed": []}
BROKEN = {"kind": "check", "name": "order", "ok": False}


def test_a_run_holds_only_when_it_says_so_itself_and_exits_with_0() -> None:
    assert interop.verdict(ended(0, {"kind": "check", "ok": True}, DONE)).holds
    for run in (
        ended(0),
        ended(0, {"kind": "check", "ok": True}),
        ended(0, {**DONE, "passed": 0}),
        ended(0, {**DONE, "failed": ["order"]}),
        ended(1, DONE),
        ended(None, DONE),
        ended(0, DONE, {"kind": "check", "ok": True}),
    ):
        assert not interop.verdict(run).holds


def test_what_failed_is_told_with_the_check_and_what_was_written_to_stderr() -> None:
    found = interop.verdict(ended(1, BROKEN, {**DONE, "failed": ["order"]}))
    assert found.details == [json.dumps(BROKEN), "why"]
    assert "exit code 1" in found.summary


def test_the_client_of_the_rust_sdk_has_to_see_every_update_and_to_finish() -> None:
    rounds = [{"updates": 7, "per_s": 1}] * 3
    rest = [{"roundtrips_per_s": 1}, {"roundtrips_64_per_s": 1}]
    assert rust_peer.faults_of_client(ended(0, *rounds, *rest), 7) == []
    assert rust_peer.faults_of_client(ended(0, *rounds, *rest), 8)
    assert rust_peer.faults_of_client(ended(0, *rounds[:2], *rest), 7)
    assert rust_peer.faults_of_client(ended(0, *rounds, rest[0]), 7)
    assert rust_peer.faults_of_client(ended(1, *rounds, *rest), 7)
    assert rust_peer.faults_of_client(ended(None, *rounds, *rest), 7)


def test_the_example_of_the_rust_sdk_has_to_tell_acceptance_answer_and_the_end() -> None:
    told = "Prompt accepted; waiting\nSession is idle: Some(EndTurn)\n"
    good = bounded.Ended(0, "Hello\n", told, 1.0)
    assert rust_v2.faults_of_client(good, "Hello") == []
    assert rust_v2.faults_of_client(good, "Hello!")
    for change in (
        {"code": 1},
        {"code": None},
        {"out": ""},
        {"err": told.replace("EndTurn", "Cancelled")},
        {"err": ""},
    ):
        assert rust_v2.faults_of_client(good._replace(**change), "Hello")


def test_a_command_whose_time_is_up_is_killed_with_what_it_started() -> None:
    waits = "import os; os.read(os.pipe()[0], 1)"
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {waits!r}])"
    for code in (waits, starts):
        run = bounded.run([sys.executable, "-c", code], 0.3, cwd=ROOT)
        assert run.code is None
        assert run.seconds < 30


def test_the_output_of_a_command_is_kept_apart_by_stream() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    run = bounded.run([sys.executable, "-c", code], 30, cwd=ROOT)
    assert (run.code, run.out, run.err) == (3, "out\n", "err\n")
