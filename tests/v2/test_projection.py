"""A projection against a model: an agent with its own state tells of it live, and once more.

Owns the walks of many random steps. Whatever an agent does, in several sessions at once, the
projection of each session equals the agent's own state of it, and so does the projection of a
replay, however the agent tells it.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from acp.v2 import SessionProjection
from tests.v2.agent_model import RENAMED, Json, Session
from tests.v2.agent_replay import Replay
from tests.v2.projected import projected
from tests.v2.wire import params

SEEDS = 20
STEPS = 500
"""Of all sessions together; 20 walks of 500 are ten thousand."""


def fed(projections: list[SessionProjection], session: str, update: Json) -> None:
    """Hands the params to every projection; only that of the session takes them."""
    message = params(update, session)
    took = [projection.session_id for projection in projections if projection.apply(message)]
    assert took == [session]


def shuffled(streams: dict[str, list[Json]], random: Random) -> list[tuple[str, Json]]:
    """Updates of several sessions in one stream, each session's in its order."""
    turns = [name for name, updates in streams.items() for _ in updates]
    random.shuffle(turns)
    left = {name: iter(updates) for name, updates in streams.items()}
    return [(name, next(left[name])) for name in turns]


def without_new_ids(state: Json, kinds: set[str]) -> Json:
    timeline: list[Any] = [
        (kind, "" if kind in kinds else name, members) for kind, name, members in state["timeline"]
    ]
    return {**state, "timeline": timeline}


def replayed(
    sessions: list[Session], random: Random, *, into: list[SessionProjection] | None
) -> list[SessionProjection]:
    """Projections after a replay of all sessions at once, fresh ones unless given."""
    projections = into or [SessionProjection(session.name) for session in sessions]
    streams = {
        session.name: Replay(session, random, keep_ids=into is not None).updates()
        for session in sessions
    }
    for name, update in shuffled(streams, random):
        fed(projections, name, update)
    return projections


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_projection_equals_the_agents_state_live_and_in_every_replay(seed: int) -> None:
    """C-232, C-241, C-243, C-245: through chunks, patches and whole messages of interleaved
    sessions, and through replays of other shapes."""
    random = Random(seed)
    sessions = [Session(f"s{number}", random) for number in range(3)]
    live = [SessionProjection(session.name) for session in sessions]
    for step in range(1, STEPS + 1):
        at = random.randrange(len(sessions))
        session = sessions[at]
        if random.random() < 0.02:
            live[at].cancel_active_work()
            updates = session.cancel()
            # What the client marks by itself is what the agent then says.
            assert projected(live[at]) == session.expected()
        else:
            updates = session.step()
        for update in updates:
            fed(live, session.name, update)
        assert projected(live[at])["timeline"] == session.expected()["timeline"], step
        if step % 50:
            continue
        for projection, one in zip(live, sessions, strict=True):
            assert projected(projection) == one.expected(), step
            assert projection.completions == one.completions
        fresh = replayed(sessions, random, into=None)
        for projection, one in zip(fresh, sessions, strict=True):
            seen = without_new_ids(projected(projection), RENAMED)
            assert seen == without_new_ids(one.expected(), RENAMED), step
            assert projection.stats().replays == 1
        # With the same ids, a replay on top of what is there changes nothing.
        replayed(sessions, random, into=live)
        for projection, one in zip(live, sessions, strict=True):
            assert projected(projection) == one.expected(), step
            assert projection.completions == one.completions
    stats = [projection.stats() for projection in live]
    assert sum(one.messages for one in stats) > STEPS
    assert [(one.dropped, one.refused, one.malformed, one.late) for one in stats] == [(0,) * 4] * 3
