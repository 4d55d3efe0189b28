"""Runs our agents and our client of version 2 against the examples of the Rust SDK.

Owns building them from the crate as it is published, in a folder of its own outside the tree, and
what has to come of a session in either direction.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import acp
from acp import v2
from tools import bounded
from tools.rust_peer import ROOT, cache, cargo

CRATE = "agent-client-protocol"
VERSION = "5.2.0"
THEIR_AGENT, THEIR_CLIENT = "simple_agent_v2", "v2_one_shot_client"
FEATURES = "process,stdio,unstable_protocol_v2"
SECONDS = 30.0
"""For one session, from its start to its end."""

EXAMPLES = ROOT / "examples"


# Building.


def build() -> Path:
    """Builds the examples, unless that was done, and returns their folder.

    Raises RuntimeError that tells why they cannot be built.
    """
    folder = cache() / "rust-v2"
    programs = folder / "target" / "debug" / "examples"
    stamp, wanted = folder / "built", f"{CRATE} {VERSION} {FEATURES}"
    are_there = all((programs / name).exists() for name in (THEIR_AGENT, THEIR_CLIENT))
    if are_there and stamp.exists() and stamp.read_text("utf-8") == wanted:
        return programs
    print(f"building {CRATE} {VERSION} in {folder}; this takes minutes once", flush=True)
    crate = folder / "crate"
    shutil.rmtree(crate, ignore_errors=True)
    # A dependency's examples are not built: they are in a copy, which cargo may write to. Its lock
    # file may name what was withdrawn since.
    ignored = shutil.ignore_patterns("Cargo.lock")
    shutil.copytree(published(folder / "fetched"), crate, ignore=ignored)
    ended = cargo(
        *("build", "--quiet", "--features", FEATURES),
        *("--example", THEIR_AGENT, "--example", THEIR_CLIENT),
        cwd=crate,
        target=folder / "target",
    )
    stamp.write_text(wanted, "utf-8")
    print(f"built in {ended.seconds:.0f} s", flush=True)
    return programs


def published(folder: Path) -> Path:
    """Where cargo has put the sources of the crate, once a package in `folder` depends on it."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").write_text("", "utf-8")
    manifest = (
        '[package]\nname = "fetched"\nversion = "0.0.0"\nedition = "2021"\n\n'
        f'[dependencies]\n{CRATE} = "={VERSION}"\n\n[workspace]\n'
    )
    (folder / "Cargo.toml").write_text(manifest, "utf-8")
    told = cargo("metadata", "--format-version", "1", cwd=folder, target=folder / "target")
    for package in json.loads(told.out)["packages"]:
        if (package["name"], package["version"]) == (CRATE, VERSION):
            return Path(package["manifest_path"]).parent
    message = f"cargo did not find {CRATE} {VERSION}"
    raise RuntimeError(message)


# Their client, our agents.


def ours(program: str, *arguments: str) -> list[str]:
    """The command of one of our programs."""
    if program.endswith(".py"):
        return [sys.executable, str(EXAMPLES / program), *arguments]
    return [sys.executable, "-m", program, *arguments]


def client_against(program: Path, agent: list[str], prompt: str, answer: str) -> list[str]:
    """What is wrong with a run of their client, which has to print an answer."""
    command = [str(program), "--command", shlex.join(agent), prompt]
    return faults_of_client(bounded.run(command, SECONDS, cwd=ROOT), answer)


def faults_of_client(ended: bounded.Ended, answer: str) -> list[str]:
    """What is wrong with how their client has ended, and with what it has printed."""
    if ended.code != 0:
        reason = "no end in time" if ended.code is None else f"exit code {ended.code}"
        return [reason, *ended.err.splitlines()[-20:]]
    faults = [] if ended.out.strip() == answer else [f"it printed {ended.out!r}"]
    expected = ("Prompt accepted", "Session is idle: Some(EndTurn)")
    return faults + [f"it did not say: {words}" for words in expected if words not in ended.err]


# Our client, their agent.


def example_against(agent: Path) -> list[str]:
    """What is wrong with our example of a client, against their agent."""
    ended = bounded.run(ours("v2_one_shot.py", "Hello", str(agent)), SECONDS, cwd=ROOT)
    is_idle = ended.err.splitlines()[-1:] == ["accepted as user-message-1, idle: end_turn"]
    if ended.code == 0 and ended.out == "Echo: Hello\n" and is_idle:
        return []
    return [f"exit code {ended.code}, and it printed {ended.out!r}", *ended.err.splitlines()[-20:]]


def faults_of_agent(agent: Path) -> list[str]:
    """What is wrong with a session at their agent, as our client sees it."""
    try:
        return asyncio.run(asyncio.wait_for(_drive(str(agent)), SECONDS))
    except asyncio.TimeoutError:
        return ["no end in time"]
    except (OSError, RuntimeError, ValueError, acp.RequestError) as exc:
        return [f"{type(exc).__name__}: {exc}"]


async def _drive(command: str) -> list[str]:
    faults: list[str] = []

    def equal(what: str, found: Any, expected: Any) -> None:
        if found != expected:
            faults.append(f"{what}: {found!r}")

    async def refused(what: str, call: Any, code: int) -> None:
        try:
            faults.append(f"{what} was answered with {await call!r}")
        except acp.RequestError as error:
            equal(what, error.code, code)

    client = v2.Client("rust-v2", "1")
    projections: dict[str, v2.SessionProjection] = {}

    @client.session_update
    def updated(note: v2.schema.UpdateSessionNotification) -> None:
        projection = projections.setdefault(note.session_id, v2.SessionProjection(note.session_id))
        projection.apply(note)

    transport = acp.process_transport(command, stderr=None)
    async with client.connect(transport) as connection:
        opened = await connection.initialize()
        equal("name", opened.info.name, "simple-agent-v2")
        session, _ = await connection.new_session("/tmp")
        idle = await session.wait_idle(session.send_prompt("one"))
        equal("stop reason", idle.stop_reason, "end_turn")

        # Two at once: the second is held until the first has ended.
        sent = [session.send_prompt(text) for text in ("two", "three")]
        last = session.wait_idle(sent[1])
        accepted = [(await each).message_id for each in sent]
        await last
        live = said(projections[session.session_id])
        asked = [("user_message", text) for text in ("one", "two", "three")]
        answers = [("agent_message", f"Echo: {text}") for _, text in asked]
        expected = [each for pair in zip(asked, answers, strict=True) for each in pair]
        equal("what was said", live, expected)
        ids = projections[session.session_id].ids("user_message")
        equal("the ids that prompts were answered with", ids[1:], accepted)

        await refused("an empty prompt", session.send_prompt([]), -32602)
        prompt = {"sessionId": "nope", "prompt": [{"type": "text", "text": "hi"}]}
        await refused("an unknown session", connection.request("session/prompt", prompt), -32002)
        listed = await connection.request(v2.schema.ListSessionsRequest())
        found = [each.session_id for each in listed.sessions]
        equal("the list of sessions", found, [session.session_id])

        await session.close()
        projections.clear()
        start = v2.schema.ReplayFromStart()
        again, _ = await connection.resume_session(session.session_id, "/tmp", replay_from=start)
        equal("what was said, replayed", said(projections[again.session_id]), live)
        equal("idle behind the replay", projections[again.session_id].is_idle, True)
        await again.close()
    equal("the agent's exit code", transport.process.returncode, 0)
    return faults


def said(projection: v2.SessionProjection) -> list[tuple[str, str]]:
    """Who has said what, of what was only said in text."""
    found: list[tuple[str, str]] = []
    for entry in projection.timeline():
        content = getattr(entry, "content", None) or ()
        text = "".join(block.text for block in content)
        found.append((getattr(entry, "session_update", ""), text))
    return found


def run() -> int:
    """Runs all, prints a line for each and returns the exit code."""
    try:
        programs = build()
    except (OSError, RuntimeError) as exc:
        print(f"Rust SDK, version 2: {exc}")
        return 1
    agent, client = programs / THEIR_AGENT, programs / THEIR_CLIENT
    started = time.monotonic()
    interop = ours("tests.interop.agent_v2")
    both = ours("two_versions_agent.py", "--v2")
    results = {
        "Rust SDK's client, our example of an agent": client_against(
            client, ours("v2_agent.py"), "Hello", "Hello"
        ),
        "Rust SDK's client, our agent of both versions": client_against(
            client, both, "Hello", "You said: Hello"
        ),
        "Rust SDK's client, our agent that asks": client_against(
            client, interop, "permission", "permission:no"
        ),
        "our example of a client, Rust SDK's agent": example_against(agent),
        "our client, Rust SDK's agent": faults_of_agent(agent),
    }
    for name, faults in results.items():
        print(f"{'FAIL' if faults else 'ok  '} {name}", *faults, sep="\n     ", flush=True)
    print(f"Rust SDK, version 2: {time.monotonic() - started:.1f} s")
    return 1 if any(results.values()) else 0


if __name__ == "__main__":
    sys.exit(run())
