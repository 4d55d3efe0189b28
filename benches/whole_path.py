"""The whole path, from end to end over pipes, of every SDK that is here.

Owns which program of which SDK runs against which program without one, and reading what they
print. Each SDK stands on one end; the other end costs next to nothing and is the same for all.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benches.peers import Peer
from benches.runs import AGENT, PROGRAMS, SECONDS, Numbers, Side

__all__ = ("measure",)

OURS = "native"
UPDATES, ROUND_TRIPS = "100000", "2000"
RAW_AGENT = (sys.executable, str(PROGRAMS / "raw_agent.py"))
RAW_CLIENT = (sys.executable, str(PROGRAMS / "raw_client.py"))


def run(*command: str, one_core: bool = False) -> list[dict[str, float]]:
    """What a program prints, a JSON object a line. With `one_core`, all of it shares one."""

    def pin() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    done = subprocess.run(
        command,
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=pin if one_core else None,
    )
    if done.returncode != 0:
        message = f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        raise RuntimeError(message)
    return [json.loads(line) for line in done.stdout.splitlines()]


def client(side: Side | Peer, *, one_core: bool) -> dict[str, float]:
    """Microseconds of each work of a client."""
    if isinstance(side, Side):
        program = (str(side.python), str(PROGRAMS / "client.py"))
        (found,) = run(*program, UPDATES, ROUND_TRIPS, *RAW_AGENT, one_core=one_core)
        return found
    lines = run(*side.client, UPDATES, *RAW_AGENT, one_core=one_core)
    assert all(line["updates"] == int(UPDATES) for line in lines if "updates" in line)
    (alone,) = (line["roundtrips_per_s"] for line in lines if "roundtrips_per_s" in line)
    (together,) = (line["roundtrips_64_per_s"] for line in lines if "roundtrips_64_per_s" in line)
    rounds = [1e6 / line["per_s"] for line in lines if "per_s" in line]
    return {
        "update": statistics.median(rounds),
        "round_trip": 1e6 / alone,
        "together": 1e6 / together,
    }


def agent(side: Side | Peer) -> dict[str, float]:
    """Microseconds of each update that an agent sends."""
    program = (str(side.python), str(AGENT)) if isinstance(side, Side) else side.agent
    (found,) = run(*RAW_CLIENT, UPDATES, *program)
    return found


def endpoints(side: Side | Peer, numbers: Numbers) -> None:
    """Updates read by the endpoints of each version, and by those of others for version 2."""
    if isinstance(side, Peer):
        if side.client_v2 is not None:
            (found,) = run(*side.client_v2, UPDATES, *RAW_AGENT, "2")
            numbers.add("client update, version 2", side.name, found["update"])
    elif side.name == OURS:
        program = (str(side.python), str(PROGRAMS / "endpoint_client.py"))
        for version, name in (("1", "acp.v1"), ("2", OURS)):
            (found,) = run(*program, version, UPDATES, *RAW_AGENT, version)
            numbers.add("client update, version 2", name, found["update"])


def once(side: Side | Peer, numbers: Numbers) -> None:
    """Takes every measurement of one SDK."""
    found = client(side, one_core=False)
    numbers.add("client update", side.name, found["update"])
    numbers.add("round trip", side.name, found["round_trip"])
    numbers.add("64 at once", side.name, found["together"])
    if "together_work" in found:
        numbers.add("64 at once, work", side.name, found["together_work"])
    if hasattr(os, "sched_setaffinity"):
        shared = client(side, one_core=True)
        numbers.add("round trip, one core", side.name, shared["round_trip"])
    numbers.add("agent update", side.name, agent(side)["update"])
    endpoints(side, numbers)


def without_any(numbers: Numbers) -> None:
    """Round trips between two programs without an SDK: what the machine itself takes."""
    for work, one_core in (("round trip", False), ("round trip, one core", True)):
        (found,) = run(*RAW_CLIENT, "0", *RAW_AGENT, one_core=one_core)
        numbers.add(work, "plain", found["round_trip"])


def measure(
    sides: list[Side | Peer], runs: int, numbers: Numbers, tell: Callable[[str], None]
) -> None:
    """`runs` of every measurement on each side, alternately."""
    tell(f"whole path, {', '.join(side.name for side in sides)}: {runs} runs")
    for _ in range(runs):
        for side in sides:
            once(side, numbers)
        without_any(numbers)
