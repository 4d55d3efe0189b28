"""Shared sessions against an agent that knows what may be asked of it, with loads that are given up
at every step.
"""

from __future__ import annotations

import itertools
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v2
from tests.endpoint.session_peers import client_of, text
from tests.endpoint.shared_peers import Agent, Party, said
from tests.raw_peer import BOUND
from tests.sides import turns, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.abc import TaskGroup

STEPS = 40
"""Turns of the loop within which each of these loads has certainly ended."""


class StrictAgent(Agent):
    """Answers resumes and closes, after a while. It fails the test when it is asked to resume what
    is open or to close what is not, or anything about a session that it is being asked about.
    """

    def __init__(self, transport: Any, group: TaskGroup, chance: random.Random) -> None:
        super().__init__(transport, group)
        self.chance = chance
        self.fails = False
        """Whether it refuses some of what it is asked."""
        self.open: dict[str, str] = {}
        """Everything that it has said in each open session, from the beginning of its replay."""
        self.begun: dict[str, int] = {}
        """How often each was resumed."""
        self.closed_again = 0
        self.blocked: set[str] = set()
        self.busy: set[str] = set()

    async def serve(self) -> None:
        """Answers until the input ends."""
        await self.initialized()
        while (message := await self.receive()) is not None:
            session = message["params"]["sessionId"]
            assert session not in self.busy, f"{message['method']} beside another request"
            assert session not in self.blocked, f"{message['method']} of a blocked session"
            assert (session in self.open) is (message["method"] == "session/close")
            self.busy.add(session)
            answer = self._close if session in self.open else self._resume
            self.group.start_soon(answer, message["id"], session)

    async def _wait(self) -> None:
        await turns(self.chance.randrange(5))

    async def say(self, session: str, words: str) -> None:
        """Says something in a session."""
        self.open[session] += words
        await self.send(text(words, session))

    async def _resume(self, request_id: int, session: str) -> None:
        count = self.begun[session] = self.begun.get(session, 0) + 1
        self.open[session] = ""
        for number in range(self.chance.randrange(3)):
            await self._wait()
            await self.say(session, f"[{count}.{number}]")
        await self._wait()
        self.busy.discard(session)
        if self.fails and self.chance.random() < 0.2:
            del self.open[session]
            await self.refuse(request_id, -32603)
        else:
            await self.say(session, f"[{count}]")
            await self.answer(request_id, {})

    async def _close(self, request_id: int, session: str) -> None:
        await self._wait()
        await self.say(session, "late")
        self.busy.discard(session)
        del self.open[session]
        how = self.chance.random() if self.fails else 1
        if how < 0.1:
            self.blocked.add(session)
            await self.refuse(request_id, -32603)
        elif how < 0.3:
            await self.refuse(request_id, -32002)
        else:
            self.closed_again += 1
            await self.answer(request_id, {})

    async def resumes(self, session: str) -> None:
        """Returns when a session is about to be open."""
        await until(lambda: session in self.open and session not in self.busy)

    async def rests(self) -> None:
        """Returns when nothing is open any more."""
        await until(lambda: not self.open and not self.busy)


@asynccontextmanager
async def strict(seed: int) -> AsyncGenerator[tuple[v2.SharedSessions, StrictAgent], None]:
    """Shared sessions and a strict agent."""
    ours, theirs = acp.memory_pair()
    await theirs.open()
    with anyio.fail_after(2 * BOUND):
        async with anyio.create_task_group() as group:
            agent = StrictAgent(theirs, group, random.Random(seed))
            group.start_soon(agent.serve)
            async with v2.SharedSessions(client_of(2), ours) as shared:
                yield shared, agent
            await theirs.close()
            group.cancel_scope.cancel()


def has_seen_one_opening(view: v2.SessionView, agent: StrictAgent) -> bool:
    """Whether a projection is the replay of this opening and what was said since."""
    shown, session = said(view), view.session_id
    count = agent.begun[session]
    return agent.open[session].startswith(shown) and shown.count(f"[{count}]") == 1


async def test_a_load_may_be_given_up_at_any_step_alone() -> None:
    """C-278: the next load has a resume of its own or a share in this one, and all ends closed."""
    async with strict(1) as (shared, agent):
        for step in range(STEPS):
            session = f"s{step}"
            first = Party(agent, shared, session)
            await turns(step)
            await first.cancel()
            second = Party(agent, shared, session)
            assert has_seen_one_opening(await second.loaded(), agent)
            assert first.view is None or first.view.is_released
            await second.leave()
            await agent.rests()
        assert max(agent.begun.values()) == 2
        assert min(agent.begun.values()) == 1


async def test_a_load_may_be_given_up_at_any_step_beside_others() -> None:
    """C-278: who waits with it notices nothing."""
    async with strict(2) as (shared, agent):
        for step, first in itertools.product(range(STEPS), (True, False)):
            session = f"s{step}{first}"
            parties = [Party(agent, shared, session) for _ in range(2)]
            await turns(step)
            await parties[not first].cancel()
            assert has_seen_one_opening(await parties[first].loaded(), agent)
            await parties[first].leave()
            await agent.rests()
        assert set(agent.begun.values()) == {1}


async def test_a_load_may_be_given_up_at_any_step_of_the_close_before_it() -> None:
    """C-279: whether the close is answered or not."""
    async with strict(3) as (shared, agent):
        for step in range(STEPS):
            session = f"s{step}"
            opener = Party(agent, shared, session)
            await opener.loaded()
            await opener.leave()
            given_up = Party(agent, shared, session)
            await turns(step)
            await given_up.cancel()
            last = Party(agent, shared, session)
            assert has_seen_one_opening(await last.loaded(), agent)
            await last.leave()
            await agent.rests()
        assert max(agent.begun.values()) == 3


async def test_a_load_may_be_given_up_in_the_turn_in_which_it_has_its_lease() -> None:
    """C-277: the lease that nobody takes is given back, and the session is closed."""
    async with strict(4) as (shared, agent):
        for step in range(STEPS):
            session = f"s{step}"
            party = Party(agent, shared, session)
            await agent.resumes(session)
            for _ in range(step % 8):
                await anyio.lowlevel.checkpoint()
            party.cancel_soon()
            await agent.rests()
        assert agent.closed_again == STEPS


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_the_agent_is_asked_only_for_what_makes_sense(seed: int) -> None:
    """C-276 to C-280 together: loads, leases that are shared, refusals, in any order."""
    chance = random.Random(1000 + seed)
    failures: list[int] = []

    async def give_up(scope: anyio.CancelScope, after: int) -> None:
        await turns(after)
        scope.cancel()

    async def visit(shared: v2.SharedSessions, agent: StrictAgent) -> None:
        for _ in range(12):
            session = chance.choice(["a", "b", "c", "d"])
            with anyio.CancelScope() as scope:
                if chance.random() < 0.5:
                    agent.group.start_soon(give_up, scope, chance.randrange(STEPS))
                try:
                    async with shared.load(session, "/") as view:
                        assert has_seen_one_opening(view, agent)
                        await turns(chance.randrange(8))
                        if chance.random() < 0.3:
                            await agent.say(session, "more")
                        with view.share() as more:
                            await turns(chance.randrange(4))
                            assert has_seen_one_opening(more, agent)
                except acp.RequestError as exc:
                    failures.append(exc.code)
                    await turns(1)

    async with strict(seed) as (shared, agent):
        agent.fails = True
        async with anyio.create_task_group() as visitors:
            for _ in range(5):
                visitors.start_soon(visit, shared, agent)
        await until(lambda: not shared.connection.stats().calls)
        await agent.rests()
        assert not shared.connection.stats().calls
    assert set(failures) <= {-32603}


async def test_a_task_that_loads_again_and_again_lets_others_run() -> None:
    """C-276: also where the session is there already."""
    async with strict(5) as (shared, agent):
        async with shared.load("s", "/"):
            counted: list[int] = []

            async def count() -> None:
                for number in range(10):
                    counted.append(number)
                    await anyio.lowlevel.checkpoint()

            async with anyio.create_task_group() as group:
                group.start_soon(count)
                while len(counted) < 10:
                    async with shared.load("s", "/"):
                        pass
        await agent.rests()
        assert agent.begun == {"s": 1}
