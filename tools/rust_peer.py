"""Runs our agent and our client against programs that are built on the Rust SDK.

Owns building them, in a folder of its own outside the tree, and what has to come of a run. Their
sources are not part of this project: they are looked for under `$ACP_SHARED/bench/rust`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import acp
from tools import bounded

ROOT = Path(__file__).resolve().parent.parent
OUR_AGENT = ROOT / "benches" / "programs" / "agent.py"
SECONDS_TO_BUILD = 850.0
SECONDS = 60.0
"""For one client, from its start to its end."""
UPDATES = 1000
# What the client of the Rust SDK prints: rounds with updates, then round trips alone and together.
ROUNDS = 3


def cache() -> Path:
    """Where the programs are built."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "acp-compat"


def build(sources: Path) -> Path:
    """Builds the programs, unless that was done, and returns their folder.

    Raises RuntimeError that tells why they cannot be built.
    """
    if not (sources / "Cargo.toml").is_file():
        message = f"{sources} is not there; set ACP_SHARED"
        raise RuntimeError(message)
    files = sorted(path for path in sources.rglob("*") if path.suffix in (".rs", ".toml"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    copy = cache() / "rust"
    programs = copy / "target" / "release"
    stamp = cache() / "rust-built"
    if stamp.exists() and stamp.read_text("utf-8") == digest and (programs / "client").exists():
        return programs
    print(f"building the programs of the Rust SDK in {copy}; this takes minutes once", flush=True)
    for path in files:
        target = copy / path.relative_to(sources)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    ended = cargo("build", "--release", "--quiet", cwd=copy, target=copy / "target")
    stamp.write_text(digest, "utf-8")
    print(f"built in {ended.seconds:.0f} s", flush=True)
    return programs


def cargo(command: str, *arguments: str, cwd: Path, target: Path) -> bounded.Ended:
    """Runs cargo in a folder outside of the tree, with a target folder that is not the project's.

    Raises RuntimeError that tells why it has failed.
    """
    whole = [os.environ.get("CARGO", "cargo"), command, *arguments]
    # What is not asked for here takes time and room: nobody debugs these programs.
    env = {"CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_DEV_DEBUG": "0"}
    ended = bounded.run(whole, SECONDS_TO_BUILD, cwd=cwd, env=env)
    if ended.code != 0:
        reason = "no end in time" if ended.code is None else f"exit code {ended.code}"
        message = f"cargo {command} failed ({reason})\n{ended.err}"
        raise RuntimeError(message)
    return ended


# Their client, our agent.


def faults_of_client(ended: bounded.Ended, updates: int) -> list[str]:
    """What is wrong with a run of the client of the Rust SDK."""
    if ended.code != 0:
        reason = "no end in time" if ended.code is None else f"exit code {ended.code}"
        return [reason, *ended.err.splitlines()[-20:]]
    lines = [json.loads(line) for line in ended.out.splitlines()]
    rounds = [line["updates"] for line in lines if "updates" in line]
    faults = [] if rounds == [updates] * ROUNDS else [f"updates seen in the rounds: {rounds}"]
    expected = ("roundtrips_per_s", "roundtrips_64_per_s")
    missing = [name for name in expected if not any(line.get(name) for line in lines)]
    return faults + [f"{name} is missing" for name in missing]


# Our client, their agent.


class CountingClient(acp.Client):
    """Counts the updates and keeps their texts apart by session."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.texts.append(update.content.text)


def faults_of_agent(command: str) -> list[str]:
    """What is wrong with the agent of the Rust SDK, as our client sees it."""
    try:
        return asyncio.run(asyncio.wait_for(_drive(command), SECONDS))
    except asyncio.TimeoutError:
        return ["no end in time"]
    except (OSError, acp.RequestError, acp.ValidationError, acp.RemoteProtocolError) as exc:
        return [f"{type(exc).__name__}: {exc}"]


async def _drive(command: str) -> list[str]:
    faults: list[str] = []
    client = CountingClient()
    options = {"stderr": None}
    async with acp.spawn_agent_process(client, command, transport_kwargs=options) as (agent, child):
        opened = await agent.initialize(acp.PROTOCOL_VERSION)
        if opened.protocol_version != acp.PROTOCOL_VERSION:
            faults.append(f"protocol version {opened.protocol_version}")
        session = (await agent.new_session("/tmp")).session_id

        async def turn(updates: int) -> None:
            response = await agent.prompt(session, [acp.text_block(str(updates))])
            if response.stop_reason != "end_turn":
                faults.append(f"stop reason {response.stop_reason}")

        for count in (0, 1, UPDATES):
            client.texts.clear()
            await turn(count)
            if len(client.texts) != count or len(set(client.texts)) > 1:
                faults.append(f"{len(client.texts)} of {count} updates before the answer")
        await asyncio.gather(*(turn(0) for _ in range(64)))
    if child.returncode != 0:
        faults.append(f"the agent's exit code is {child.returncode}")
    return faults


def run(sources: Path) -> int:
    """Runs both, prints a line for each and returns the exit code."""
    try:
        programs = build(sources)
    except (OSError, RuntimeError) as exc:
        print(f"Rust SDK: {exc}")
        return 1
    started = time.monotonic()
    command = [str(programs / "client"), str(UPDATES), sys.executable, str(OUR_AGENT)]
    results = {
        "Rust SDK's client, our agent": faults_of_client(
            bounded.run(command, SECONDS, cwd=ROOT), UPDATES
        ),
        "our client, Rust SDK's agent": faults_of_agent(str(programs / "agent")),
    }
    for name, faults in results.items():
        print(f"{'FAIL' if faults else 'ok  '} {name}", *faults, sep="\n     ", flush=True)
    print(f"Rust SDK: {time.monotonic() - started:.1f} s")
    return 1 if any(results.values()) else 0


if __name__ == "__main__":
    sys.exit(run(Path(os.environ.get("ACP_SHARED", ROOT.parent / "shared")) / "bench" / "rust"))
