"""Runs our agent and our client against peers that are built on the TypeScript SDK.

Owns the list of pairs and the time that they have; what is checked is in the programs of
`tests/interop`. Each prints one JSON object per line, the last of which tells what failed.
`python -m tools.interop` prints one line per pair and exits with 1 when any failed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from tools import bounded

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "tests" / "interop" / "peers"
SECONDS = 150.0
"""For the whole run."""
SECONDS_PER_PAIR = 40.0
SECONDS_TO_INSTALL = 90.0


def ours(program: str, *arguments: str) -> list[str]:
    """The command of a program of ours."""
    return [sys.executable, "-m", f"tests.interop.{program}", *arguments]


def peer(program: str, *arguments: str) -> list[str]:
    """The command of a peer."""
    return ["node", str(PEERS / program), *arguments]


def rules(version: int, agent: list[str]) -> list[str]:
    """The command that checks the raw lines of an agent."""
    return peer("wire_rules.mjs", f"--protocol={version}", "--rules=acp", *agent)


def unstable(version: int) -> dict[str, list[str]]:
    """The pairs for the unstable methods of a version."""
    number = str(version)
    agent, client = ours("agent_unstable", number), ours("unstable", number)
    without_mcp = (f"--protocol={version}", "--skip=mcp,mcp-http,mcp-gone")
    theirs = peer("agent_unstable.mjs", number)
    return {
        f"TypeScript client, our agent, unstable version {version}": peer(
            "client_unstable.mjs", *without_mcp, *agent
        ),
        f"our client, TypeScript agent, unstable version {version}": [*client, *theirs],
        f"our client, our agent, unstable version {version}": [*client, *agent],
    }


V1_AGENT = ours("on_v1", "agent")
V1_CLIENT = ours("on_v1", "client")
V2_AGENT = ours("agent_v2")
V2_CLIENT = ours("client_v2")
ROUTER = ours("router")

PAIRS = {
    "TypeScript client, our agent": peer("client_v1.mjs", *ours("agent_v1")),
    "raw lines, our agent": rules(1, ours("agent_v1")),
    "our client, TypeScript agent": [*ours("client_v1"), *peer("agent_v1.mjs")],
    "our client, TypeScript router": [*ours("client_v1"), *peer("agent_router.mjs")],
    "our client, our agent": [*ours("client_v1"), *ours("agent_v1")],
    "TypeScript client, our agent on acp.v1": peer("client_v1.mjs", *V1_AGENT),
    "raw lines, our agent on acp.v1": rules(1, V1_AGENT),
    "our client on acp.v1, TypeScript agent": [*V1_CLIENT, *peer("agent_v1.mjs")],
    "TypeScript client, our agent on acp.v2": peer("client_v2.mjs", *V2_AGENT),
    "raw lines, our agent on acp.v2": rules(2, V2_AGENT),
    "our client on acp.v2, TypeScript agent": [*V2_CLIENT, *peer("agent_v2.mjs")],
    "our client on acp.v2, TypeScript router": [*V2_CLIENT, *peer("agent_router.mjs")],
    "our client on acp.v2, our agent on acp.v2": [*V2_CLIENT, *V2_AGENT],
    **unstable(1),
    **unstable(2),
    "TypeScript client of version 1, our router": peer("client_v1.mjs", *ROUTER),
    "TypeScript client of version 2, our router": peer("client_v2.mjs", *ROUTER),
    "raw lines of version 1, our router": rules(1, ROUTER),
    # With an agent of version 1 behind it there is no older version to refuse.
    "raw lines of version 2, our router without version 1": rules(2, ours("router", "2")),
    "our connector, TypeScript agent of version 1": ours("connector", "1", *peer("agent_v1.mjs")),
    "our connector, TypeScript agent of version 2": ours("connector", "2", *peer("agent_v2.mjs")),
    "our connector, TypeScript router": ours("connector", "2", *peer("agent_router.mjs")),
    "our connector, our router": ours("connector", "2", *ROUTER),
    "our connector, our router without version 2": ours("connector", "1", *ours("router", "1")),
}


class Verdict(NamedTuple):
    """What came of one pair."""

    holds: bool
    summary: str
    details: list[str]


def verdict(ended: bounded.Ended) -> Verdict:
    """Judges a run by its exit code and by what it printed; silence is no success."""
    lines = [found for line in ended.out.splitlines() if (found := _object(line)) is not None]
    done = lines[-1] if lines and lines[-1].get("kind") == "done" else {}
    passed = done.get("passed", 0)
    holds = ended.code == 0 and passed > 0 and done.get("failed") == []
    left_out = f", {len(done['skipped'])} left out" if done.get("skipped") else ""
    summary = f"{passed} checks{left_out} ({ended.seconds:.1f} s)"
    if holds:
        return Verdict(True, summary, [])
    reason = "no end in time" if ended.code is None else f"exit code {ended.code}"
    failed = [json.dumps(line) for line in lines if line.get("ok") is False]
    return Verdict(False, f"{summary}: {reason}", [*failed, *ended.err.splitlines()[-20:]])


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def install() -> str | None:
    """Installs what the peers need, once for each lock file. What is wrong; None when nothing."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "Node is needed (node and npm)"
    lock = hashlib.sha256((PEERS / "package-lock.json").read_bytes()).hexdigest()
    stamp = PEERS / "node_modules" / ".installed"
    if stamp.exists() and stamp.read_text("utf-8") == lock:
        return None
    print("installing the packages of the peers", flush=True)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    ended = bounded.run(command, SECONDS_TO_INSTALL, cwd=PEERS)
    if ended.code != 0:
        return f"npm ci failed\n{ended.out}{ended.err}"
    stamp.write_text(lock, "utf-8")
    return None


def main() -> int:
    deadline = time.monotonic() + SECONDS
    if fault := install():
        print(f"interop: {fault}")
        return 1
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="acp-interop-") as folder:
        for name, command in PAIRS.items():
            seconds = min(SECONDS_PER_PAIR, deadline - time.monotonic())
            ended = bounded.run(command, seconds, cwd=ROOT, env={"TMPDIR": folder})
            found = verdict(ended)
            print(f"{'ok  ' if found.holds else 'FAIL'} {name}: {found.summary}", flush=True)
            if not found.holds:
                failed.append(name)
                print(*found.details, sep="\n", flush=True)
    if failed:
        print("interop failed: " + "; ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
