"""What agents write to stderr, given on line by line while they run."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import acp
from acp._transports.lines import Lines
from acp._transports.stderr import StderrPipe
from acp.client.connection import ClientSideConnection
from tests.field.children import ANSWERING, python
from tests.raw_peer import serving, within
from tests.sides import Nothing, Silent, until

SECRET = "secret-51d0"


async def talk(agent: Any) -> None:
    assert (await within(agent.initialize(1))).protocol_version == 1
    assert (await within(agent.new_session("/"))).session_id == "s"


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


async def test_each_line_is_given_when_it_is_written() -> None:
    """C03: in the thread of the loop, while the agent runs, and before its exit is told."""
    lines: list[str] = []
    threads: set[int] = set()

    def take(line: str) -> None:
        lines.append(line)
        threads.add(threading.get_ident())

    program = (
        "for n, r in enumerate(requests()):\n"
        "    os.write(2, b'line %d\\n' % n)\n"
        "    answer(r, **RESULTS[r['method']])\n"
        "os.write(2, b'the end')"
    )
    transport = python(program, on_stderr=take)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        await talk(agent)
        await until(lambda: lines == ["line 0", "line 1"])
    assert lines == ["line 0", "line 1", "the end"]
    assert threads == {threading.get_ident()}
    assert transport.closed_error().stderr_tail == "line 0\nline 1\nthe end"


async def test_the_last_lines_are_there_when_the_call_fails() -> None:
    """C03, C06."""
    lines: list[str] = []
    program = "next(requests())\nos.write(2, b'fatal: no key\\n')\nos._exit(3)"
    transport = python(program, on_stderr=lines.append)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
    assert lines == ["fatal: no key"]
    assert caught.value.stderr_tail == "fatal: no key\n"


@pytest.mark.asyncio_only
async def test_the_stream_can_be_read_beside_the_function() -> None:
    """C03: each gets all of it."""
    lines: list[str] = []
    program = "os.write(2, b'one\\ntwo\\n')\nserve()"
    transport = python(program, on_stderr=lines.append)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        await talk(agent)
        stderr = transport.process.stderr
        assert [await within(stderr.readline()) for _ in range(2)] == [b"one\n", b"two\n"]
    assert lines == ["one", "two"]


@pytest.mark.parametrize("failing", ["always", "at first"])
async def test_a_function_that_fails_costs_one_warning_and_nothing_else(
    failing: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C03: it is called on; neither its text nor the line is in the log."""
    lines: list[str] = []

    def take(line: str) -> None:
        lines.append(line)
        if failing == "always" or len(lines) == 1:
            raise ValueError(SECRET + line)

    program = "os.write(2, b'a\\n' * 1000)\nserve()"
    transport = python(program, on_stderr=take)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        await talk(agent)
        await until(lambda: len(lines) == 1000)
    assert transport.process.returncode == 0
    assert transport.closed_error().stderr_tail == "a\n" * 1000
    assert warnings_in(caplog) == ["on_stderr failed with ValueError; this is told once"]
    assert SECRET not in caplog.text


async def test_what_cannot_get_lines_is_refused_at_once() -> None:
    """C03: nobody would await what a coroutine function returns."""

    async def take(line: str) -> None: ...

    wrong: list[Any] = [take, "forwards", 7]
    for given in wrong:
        with pytest.raises(TypeError, match="on_stderr"):
            acp.process_transport("agent", on_stderr=given)
    for stderr in (None, subprocess.DEVNULL, 2):
        with pytest.raises(ValueError, match="on_stderr"):
            acp.process_transport("agent", stderr=stderr, on_stderr=print)


async def test_stderr_can_be_forwarded_to_our_own(capsys: pytest.CaptureFixture[str]) -> None:
    """C03: and its tail is kept all the same."""
    program = "os.write(2, b'one\\r\\ntwo\\nthree')\nserve()"
    transport = python(program, on_stderr="forward")
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        await talk(agent)
    assert capsys.readouterr().err == "one\ntwo\nthree\n"
    assert transport.closed_error().stderr_tail == "one\r\ntwo\nthree"


@pytest.mark.parametrize("ours", ["missing", "closed", "of a kind that cannot be written"])
async def test_forwarding_harms_nobody_when_our_own_stderr_is_gone(
    ours: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C03."""
    closed = io.StringIO()
    closed.close()
    transport = python("os.write(2, b'x\\n' * 100)\nserve()", on_stderr="forward")
    stream = {"missing": None, "closed": closed}.get(ours, object())
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
            await talk(agent)
    assert transport.process.returncode == 0
    assert len(warnings_in(caplog)) == (ours != "missing")


@pytest.mark.asyncio_only
@pytest.mark.parametrize("role", ["agent", "client"])
async def test_both_ways_to_start_a_process_give_lines_on(role: str) -> None:
    """C03."""
    lines: list[str] = []
    spawn: Any = acp.spawn_agent_process if role == "agent" else acp.spawn_client_process
    handlers = Silent() if role == "agent" else Nothing()
    command = (sys.executable, "-I", "-S", "-c", "import os; os.write(2, b'up\\n'); input()")
    async with spawn(handlers, *command, on_stderr=lines.append):
        await until(lambda: bool(lines))
    assert lines[0] == "up"


# Lines out of bytes.


def lines_of(*parts: bytes) -> list[str]:
    lines: list[str] = []
    cut = Lines(lines.append, "on_stderr")
    for part in parts:
        cut.add(part)
    cut.end()
    return lines


TEXTS: dict[str, tuple[bytes, list[str]]] = {
    "nothing": (b"", []),
    "line ends": (b"a\nb\r\n\nc\rd\r\n\r\n", ["a", "b", "", "c\rd", ""]),
    "no last end": (b"a\nb", ["a", "b"]),
    "characters": ("é\n\U0001f600é".encode(), ["é", "\U0001f600é"]),
    "no text": (b"\xff\xfea\xc3\nb\xe2\x82", ["\ufffd\ufffda\ufffd", "b\ufffd"]),
    "colours": (b"\x1b[31mred\x1b[0m\n", ["\x1b[31mred\x1b[0m"]),
}


@pytest.mark.parametrize("text", list(TEXTS))
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_the_same_however_the_bytes_arrive(text: str, size: int) -> None:
    """C03."""
    data, expected = TEXTS[text]
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    assert lines_of(*parts) == expected


@pytest.mark.parametrize("size", [1000, 65_536, 1 << 20])
def test_a_line_without_end_comes_in_pieces_that_lose_nothing(size: int) -> None:
    """C03: a character at a border stays whole."""
    text = "é" * 150_001
    data = b"a" + text.encode() + b"\nb\n"
    *pieces, last = lines_of(*[data[at : at + size] for at in range(0, len(data), size)])
    assert last == "b"
    assert "".join(pieces) == "a" + text
    assert len(pieces) == 5
    assert all(len(piece.encode()) <= 64 * 1024 + 3 for piece in pieces)


# Memory.


def test_a_function_that_is_slow_takes_no_memory_of_the_host() -> None:
    """C03: 60 MB without a line end and with, while each call keeps the loop for a time."""
    agent = ANSWERING + (
        "for r in requests():\n"
        "    if r['method'] == '_flood':\n"
        "        for n in range(60):\n"
        "            os.write(2, (b'x' * 999_999 + b'\\n') if n % 2 else b'y' * 1_000_000)\n"
        "    answer(r, **RESULTS.get(r['method'], {}))"
    )
    program = f"""
import asyncio, resource, sys, time, acp

class Client(acp.Client):
    pass

size = 0

def slow(line):
    global size
    size += len(line)
    time.sleep(0.0005)

async def main():
    command = (sys.executable, "-I", "-S", "-c", {agent!r})
    async with acp.spawn_agent_process(Client(), *command, on_stderr=slow) as (agent, process):
        await agent.initialize(1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await agent.ext_method("flood", {{}})
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(grown, size)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    grown, size = map(int, done.stdout.split())
    assert size == 60_000_000 - 30
    assert grown < 8 * 1024


async def test_a_thread_that_reads_stderr_waits_for_the_loop(tmp_path: Path) -> None:
    """C03, C30: where no loop can watch the pipe, such as on Windows. What the loop has not had
    stays there.
    """
    written = tmp_path / "stderr"
    written.write_bytes(b"x" * 1_000_000 + b"\nthe end")
    lines: list[str] = []
    read: list[int] = []
    fd = os.open(written, os.O_RDONLY)

    def take(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            # The thread has time to go on, if it would.
            time.sleep(0.05)
            read.append(os.lseek(fd, 0, os.SEEK_CUR))

    pipe = StderrPipe(fd, take)
    await until(lambda: lines[-1:] == ["the end"])
    assert sum(map(len, lines)) == 1_000_007
    # A piece is more than 64 KiB, so that two reads make the first.
    assert read == [2 * 64 * 1024]
    assert pipe.reader.tail.endswith("x\nthe end")


async def test_closing_ends_a_thread_that_waits_for_the_loop(tmp_path: Path) -> None:
    """C03, C30: and what it read before that is given on no more."""
    written = tmp_path / "stderr"
    written.write_bytes(b"x\n" * 1_000_000)
    lines: list[str] = []
    pipe = StderrPipe(os.open(written, os.O_RDONLY), lines.append)
    await until(lambda: bool(lines))
    pipe.close()
    count = len(lines)
    await until(lambda: "acp_stderr" not in {thread.name for thread in threading.enumerate()})
    assert len(lines) == count
