"""Runs the measurements in both environments, one after the other in turn.

Owns starting the processes and collecting their numbers; judges nothing. A measurement of one side
stands right beside that of the other, so that a machine that slows down does so for both. What
takes two processes is in `benches.whole_path`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benches import probes, wire

__all__ = ("Numbers", "Side", "measure", "output")

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "benches" / "programs"
AGENT = PROGRAMS / "agent.py"
MODULES = ("acp", "acp.schema")
HOSTING = {
    "dispatch": ("dispatch", "1", "20000"),
    "100 sessions": ("sessions", "100", "100"),
    "100 connections": ("connections", "100", "100"),
}
IDLE = ("200", "1000")
# Longer than any measurement takes on a slow machine.
SECONDS = 180
INITIALIZE = wire.frame(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {}},
    }
)


@dataclass(frozen=True)
class Side:
    """An environment with one `acp` in it."""

    name: str
    python: Path


@dataclass
class Numbers:
    """Work to side to the value of each run."""

    values: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def add(self, work: str, side: str, value: float) -> None:
        self.values[work][side].append(value)


def output(side: Side, *arguments: str, cwd: Path = ROOT) -> str:
    """What the side's interpreter prints when it is run with `arguments`."""
    done = subprocess.run(
        [side.python, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{side.name}: {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


def codec(side: Side, numbers: Numbers) -> None:
    """The pytest-benchmark cases, in nanoseconds."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        output(
            side,
            *("-m", "pytest", "-q", "-c", "benches/pytest.ini", "benches"),
            *("--benchmark-max-time=0.3", "--benchmark-warmup=on"),
            f"--benchmark-json={report}",
        )
        for case in json.loads(report.read_text())["benchmarks"]:
            named = case["extra_info"]
            each = case["stats"]["median"] / named.get("operations", 1)
            numbers.add(named["work"], named["side"], each * 1e9)


def imports(side: Side, numbers: Numbers) -> None:
    """Milliseconds and MiB of each import, in an interpreter that has just started."""
    for module in MODULES:
        program = probes.IMPORT.format(module=module)
        found = json.loads(output(side, "-c", program, cwd=Path(tempfile.gettempdir())))
        numbers.add(f"import {module}", side.name, found["seconds"] * 1e3)
        numbers.add(f"import {module}, memory", side.name, found["bytes"] / 2**20)


def start(side: Side, numbers: Numbers) -> None:
    """Milliseconds from starting an agent's process to the answer to `initialize`."""
    started = time.perf_counter()
    with subprocess.Popen(
        [side.python, AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(INITIALIZE)
        agent.stdin.flush()
        answer = json.loads(agent.stdout.readline())
        seconds = time.perf_counter() - started
        agent.stdin.close()
        agent.wait(SECONDS)
    assert answer["result"]["protocolVersion"] == 1
    numbers.add("start", side.name, seconds * 1e3)


def kept(side: Side, numbers: Numbers) -> None:
    found = json.loads(output(side, "-m", "benches.probes", "kept"))
    numbers.add("kept chunk", side.name, found["bytes"])


def hosting(side: Side, numbers: Numbers) -> None:
    """Microseconds for each update: out of a buffer, of many sessions, of many connections."""
    for work, arguments in HOSTING.items():
        found = json.loads(output(side, str(PROGRAMS / "hosting.py"), *arguments))
        numbers.add(work, side.name, found["update"])


def idle(side: Side, numbers: Numbers) -> None:
    found = json.loads(output(side, str(PROGRAMS / "idle.py"), *IDLE))
    for work, name in (
        ("idle connection", "heap"),
        ("idle connection, resident", "resident"),
        ("idle connection, tasks", "tasks"),
        ("idle session", "session"),
    ):
        numbers.add(work, side.name, found[name])


def linear(side: Side, numbers: Numbers) -> None:
    """Nanoseconds per byte for each size of frame."""
    for size in probes.SIZES:
        found = json.loads(output(side, "-m", "benches.probes", "linear", str(size)))
        numbers.add(f"linear {size}", side.name, found["seconds"] / size * 1e9)


Measurement = Callable[[Side, Numbers], None]


def in_turn(measurement: Measurement, sides: list[Side], runs: int, numbers: Numbers) -> None:
    """Takes the measurement `runs` times on each side, alternately."""
    for _ in range(runs):
        for side in sides:
            measurement(side, numbers)


def measure(ours: Side, official: Side, runs: int, tell: Callable[[str], None]) -> Numbers:
    """All measurements of one process, `runs` of each; more of those that are short and noisy."""
    numbers = Numbers()
    sides = [ours, official]
    plan: list[tuple[str, Measurement, list[Side], int]] = [
        ("decode, encode, build", codec, sides, runs),
        ("memory of a kept chunk", kept, sides, max(3, runs // 2)),
        ("import", imports, sides, 2 * runs),
        ("start", start, sides, 2 * runs),
        ("linearity", linear, [ours], runs),
        ("many sessions and connections", hosting, sides, runs),
        ("at rest", idle, sides, 1),
    ]
    # Writes the byte code and fills the disk cache, so that no run pays for it.
    in_turn(imports, sides, 1, Numbers())
    in_turn(start, sides, 1, Numbers())
    for title, measurement, chosen, times in plan:
        tell(f"{title}: {times} runs")
        in_turn(measurement, chosen, times, numbers)
    return numbers
