"""The log of messages: what a line shows, which files there are, and that it breaks nothing.

Owns files and what is in them. Which values of a message are covered is `test_redaction`'s.
"""

from __future__ import annotations

import io
import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import acp
from acp import telemetry, v1, v2
from tests.log_lines import BELOW_KEYS, SECRET
from tests.raw_peer import agent_under_test, client_under_test, prompt, within
from tests.sides import Recorder, Silent
from tests.test_wire_log import talk_to_agent, talk_to_client

posix = pytest.mark.skipif(sys.platform == "win32", reason="files of this system")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def without(line: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in names}


async def test_a_line_has_time_process_connection_direction_head_and_message(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log"
    with telemetry.log_to(file):
        async with agent_under_test(Recorder()) as (peer, _):
            await peer.request("a", "_no", {"k": 1.50})
            await peer.receive()
            await peer.notify("_told")
            await peer.send_text("noise\n")
            assert (await peer.receive())["error"]["code"] == -32700
    found = lines(file)
    assert all(line["pid"] == os.getpid() and line["time"].endswith("Z") for line in found)
    assert len({line["connection"] for line in found}) == 1
    head = {"method": "_no", "id": "a"}
    error = {"code": -32601, "message": "Method not found", "data": {"method": "_no"}}
    answer = {"jsonrpc": "2.0", "id": "a", "error": error}
    rejected = {"code": -32700, "message": "Parse error"}
    assert [without(line, "time", "pid", "connection", "bytes") for line in found] == [
        {
            "direction": "received",
            "kind": "request",
            **head,
            "message": {**head, "params": {"k": 1.5}},
        },
        {"direction": "sent", "kind": "error", "id": "a", "code": -32601, "message": answer},
        {
            "direction": "received",
            "kind": "notification",
            "method": "_told",
            "message": {"method": "_told"},
        },
        {"direction": "received", "kind": "malformed", "reason": "parse"},
        {
            "direction": "sent",
            "kind": "error",
            "id": None,
            "code": -32700,
            "message": {"jsonrpc": "2.0", "id": None, "error": rejected},
        },
    ]
    # Letter by letter, as it was written.
    assert '"params":{"k": 1.5}' in file.read_text()


@pytest.mark.parametrize("show", ["messages", "heads"])
@pytest.mark.parametrize("talk", [talk_to_agent, talk_to_client])
async def test_what_is_below_env_and_headers_is_covered_in_both_directions(
    talk: Any, show: Any, tmp_path: Path
) -> None:
    """C-148."""
    file = tmp_path / "log"
    with telemetry.log_to(file, show=show):
        await talk()
    text = file.read_text()
    assert all(value not in text for value in BELOW_KEYS)
    assert {line["direction"] for line in lines(file)} == {"sent", "received"}
    if show == "heads":
        assert SECRET not in text
    else:
        assert "[REDACTED]" in text
        assert f"{SECRET}session" in text


@pytest.mark.parametrize("version", [v1, v2], ids=["v1", "v2"])
async def test_connections_of_either_version_are_in_it_and_have_numbers(
    version: Any, tmp_path: Path
) -> None:
    schema, file = version.schema, tmp_path / "log"
    agent = version.Agent()

    @agent.new_session
    def new_session(request: Any) -> Any:
        headers = {"headers": {"A": "secret-header"}}
        return schema.NewSessionResponse(session_id="s", field_meta=headers)

    params = {
        "cwd": "/",
        "mcpServers": [],
        "_meta": {"env": [{"name": "A", "value": "secret-env"}]},
    }
    here, there = acp.memory_pair()
    with telemetry.log_to(file):
        async with agent.connect(there), version.Client().connect(here) as connection:
            await within(connection.initialize())
            await within(connection.request("session/new", params, unchecked=True))
    text = file.read_text()
    assert all(value not in text for value in BELOW_KEYS)
    seen = [(line["connection"], line["direction"], line["kind"]) for line in lines(file)[-4:]]
    client, agent_number = seen[0][0], seen[1][0]
    assert seen == [
        (client, "sent", "request"),
        (agent_number, "received", "request"),
        (agent_number, "sent", "result"),
        (client, "received", "result"),
    ]
    assert abs(client - agent_number) == 1


async def test_replies_to_a_batch_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "log"
    with telemetry.log_to(file):
        async with agent_under_test(Recorder()) as (peer, _):
            await peer.send_text('[{"id":1,"method":"_a"},{"id":2,"method":"_b"}]\n')
            assert len(await peer.receive()) == 2
    *asked, answered = lines(file)
    assert [line["id"] for line in asked] == [1, 2]
    assert answered["kind"] == "batch"
    assert len(answered["message"]) == 2


async def flood(count: int = 200, text: str = "é" * 100) -> None:
    async with client_under_test(Silent()) as (connection, peer):
        for _ in range(count):
            await connection.notify("_told", {"text": text})
        await connection.notify("_end", {})
        while (await peer.receive())["method"] != "_end":
            pass


async def test_files_are_bounded_in_size_and_number_and_hold_the_newest(tmp_path: Path) -> None:
    most = 8 * 1024
    with telemetry.log_to(tmp_path / "log", max_bytes=most, files=3):
        await flood()
        await flood(1, "x" * (2 * most))
    found = sorted(file.name for file in files_in(tmp_path))
    assert found == ["log", "log.1", "log.2"]
    assert all((tmp_path / name).stat().st_size <= most + 1024 for name in found)
    numbers = [line["message"] for name in reversed(found) for line in lines(tmp_path / name)]
    # The one that is longer than a file is told by its size.
    assert numbers[-2:] == [None, {"jsonrpc": "2.0", "method": "_end", "params": {}}]
    assert lines(tmp_path / "log")[-2]["bytes"] > 2 * most


@posix
async def test_files_are_this_users_alone_and_stay_so(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("")
    file.chmod(0o644)
    with telemetry.log_to(file, max_bytes=4096, files=2):
        await flood()
    modes = {stat.S_IMODE(each.stat().st_mode) for each in files_in(tmp_path)}
    assert modes == {0o600}


async def test_a_closed_log_is_written_no_more_and_leaves_the_logger_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    stream = io.StringIO()
    both = telemetry.log_to(tmp_path / "log"), telemetry.log_to(stream, show="heads")
    await flood(1)
    both[0].close()
    both[0].close()
    size = (tmp_path / "log").stat().st_size
    await flood(1)
    both[1].close()
    await flood(1)
    assert (tmp_path / "log").stat().st_size == size
    assert len(stream.getvalue().splitlines()) == 4
    # Nothing of it is anywhere else; the runner of tests looks at this logger itself.
    assert {record.name for record in caplog.records} <= {"acp.messages"}
    assert not logging.getLogger("acp").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("acp.messages").isEnabledFor(logging.DEBUG)


class Full(io.StringIO):
    """A stream that takes nothing more."""

    def write(self, text: str) -> int:
        raise OSError(28, "secret")


async def test_a_log_that_takes_nothing_more_is_told_once_and_breaks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with telemetry.log_to(Full()):
        await flood(3)
    (record,) = [each for each in caplog.records if each.name == "acp"]
    told = f"The log of messages cannot be written: {os.strerror(28)}; this is told once"
    assert record.getMessage() == told


def not_there(folder: Path) -> Path:
    return folder / "no" / "log"


def a_folder(folder: Path) -> Path:
    return folder


def a_link(folder: Path) -> Path:
    (folder / "other").write_text("")
    (folder / "log").symlink_to(folder / "other")
    return folder / "log"


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "log")
    return folder / "log"


def a_device(folder: Path) -> Path:
    return Path(os.devnull)


WRONG = [not_there, a_folder, a_link, a_pipe, a_device]


@posix
@pytest.mark.parametrize("make", WRONG)
def test_a_path_that_is_no_file_of_this_users_is_refused(make: Any, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r".+"):
        telemetry.log_to(make(tmp_path))
    assert logging.getLogger("acp.messages").level == logging.NOTSET


@pytest.mark.parametrize("bounds", [{"files": 1}, {"max_bytes": 0}, {"show": "all"}])
def test_bounds_that_are_none_are_refused(bounds: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has to be"):
        telemetry.log_to(tmp_path / "log", **bounds)
    assert list(tmp_path.iterdir()) == []


# The environment is asked once in a process.

TALK = """
import sys
import anyio
import acp
from acp import v1

async def main():
    served, asking = v1.Agent(), v1.Client()
    served.on_request("_ask")(lambda params: {})
    here, there = acp.memory_pair()
    async with served.connect(there), asking.connect(here) as connection:
        await connection.initialize()
        for _ in range(50):
            assert await connection.request("_ask", {}) == {}

"""


def run(program: str, **variables: str) -> list[str]:
    """Runs a program with these variables: the lines of its standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={**os.environ, **variables},
    )
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr.splitlines()


def test_without_the_variable_nothing_of_it_is_loaded() -> None:
    loaded = "assert not {'acp._message_log', 'logging.handlers', 'acp._wire_log'} & {*sys.modules}"
    assert run(TALK + "anyio.run(main)\n" + loaded, ACP_LOG="") == []


def test_the_variable_names_a_file_of_each_process(tmp_path: Path) -> None:
    for _ in range(2):
        assert run(TALK + "anyio.run(main)", ACP_LOG=f"{tmp_path}/log-{{pid}}") == []
    found = list(tmp_path.iterdir())
    assert len(found) == 2
    for file in found:
        assert {f"log-{line['pid']}" for line in lines(file)} == {file.name}


def test_a_program_that_sets_up_its_own_logging_has_it_all_the_same(tmp_path: Path) -> None:
    own = "import logging.config\nv1.Agent().connect\nlogging.config.dictConfig({'version': 1})\n"
    file = tmp_path / "log"
    assert run("import acp._connection\n" + TALK + own + "anyio.run(main)", ACP_LOG=str(file)) == []
    assert len(lines(file)) == 204


def test_the_variable_can_ask_for_standard_error_and_for_heads() -> None:
    told = run(TALK + "anyio.run(main)", ACP_LOG="stderr", ACP_LOG_SHOW="heads")
    assert len(told) == 204
    assert all("message" not in json.loads(line) for line in told)


@posix
@pytest.mark.parametrize("make", WRONG)
def test_a_file_that_cannot_be_opened_is_one_warning(make: Any, tmp_path: Path) -> None:
    (line,) = run(TALK + "anyio.run(main)\n" * 2, ACP_LOG=str(make(tmp_path)))
    assert line.startswith("The log of messages cannot be written: ")
    assert line.endswith("; this is told once")


def test_a_variable_that_says_nothing_known_is_one_warning(tmp_path: Path) -> None:
    file = str(tmp_path / "log")
    (line,) = run(TALK + "anyio.run(main)", ACP_LOG=file, ACP_LOG_SHOW="all")
    assert line == "The log of messages cannot be written: ValueError; this is told once"


@posix
def test_a_disk_that_is_full_is_one_warning(tmp_path: Path) -> None:
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    (line,) = run(full + TALK + "anyio.run(main)", ACP_LOG=str(tmp_path / "log"))
    assert line.startswith("The log of messages cannot be written: File too large")
    assert (tmp_path / "log").stat().st_size == 2000


AGENT = """
import asyncio
import acp

class Agent(acp.Agent):
    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=1)

    async def prompt(self, session_id, prompt, **kwargs):
        return acp.PromptResponse(stop_reason="end_turn")

asyncio.run(acp.run_agent(Agent()))
"""


@pytest.mark.asyncio_only
@pytest.mark.parametrize("target", ["file", "stderr"])
async def test_the_standard_output_of_an_agent_is_for_the_protocol_alone(
    target: str, tmp_path: Path
) -> None:
    told: list[str] = []
    file = tmp_path / "log"
    log = str(file) if target == "file" else "stderr"
    transport = acp.process_transport(
        sys.executable,
        "-c",
        AGENT,
        env={"ACP_LOG": log},
        allow=["PYTHONPATH"],
        on_stderr=told.append,
    )
    client = v1.Client()
    with anyio.fail_after(50):
        async with client.connect(transport) as connection:
            await connection.initialize()
            await connection.request("session/prompt", prompt("hello"))
        await connection.wait_closed()
        counters = connection.stats().counters
    assert not any(value for name, value in counters.items() if name.startswith("rejected"))
    found = lines(file) if target == "file" else [json.loads(line) for line in told]
    assert [(line["direction"], line["kind"]) for line in found] == [
        ("received", "request"),
        ("sent", "result"),
    ] * 2
    assert (target == "file") is (told == [])
