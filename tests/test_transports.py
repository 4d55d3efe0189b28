"""Moving bytes: memory, pipes, threads, standard streams, child processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import sniffio

import acp
from acp._transports.descriptors import DescriptorTransport
from acp._transports.threads import ThreadTransport
from tests.raw_peer import beside, within

if TYPE_CHECKING:
    from acp import Transport

Pair = tuple["Transport", "Transport"]


def memory() -> Pair:
    return acp.memory_pair()


def over_pipes(kind: Callable[[int, int], Transport]) -> Pair:
    read_one, write_other = os.pipe()
    read_other, write_one = os.pipe()
    return kind(read_one, write_one), kind(read_other, write_other)


def pipes() -> Pair:
    return over_pipes(DescriptorTransport)


def threads() -> Pair:
    return over_pipes(ThreadTransport)


@asynccontextmanager
async def opened(make: Callable[[], Pair]) -> AsyncGenerator[Pair, None]:
    one, other = make()
    async with one, other:
        yield one, other


every_kind = pytest.mark.parametrize("make", [memory, pipes, threads])


async def receive_exactly(transport: Transport, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = await within(transport.receive())
        assert part
        data += part
    return data


@every_kind
async def test_bytes_arrive_in_both_directions(make: Callable[[], Pair]) -> None:
    async with opened(make) as (one, other):
        await within(one.send(b"to the other"))
        await within(other.send(b"to the one"))
        assert await receive_exactly(other, 12) == b"to the other"
        assert await receive_exactly(one, 10) == b"to the one"


@every_kind
async def test_closing_one_end_ends_the_input_of_the_other(make: Callable[[], Pair]) -> None:
    async with opened(make) as (one, other):
        await within(one.send(b"last"))
        await one.close()
        assert await within(other.receive()) == b"last"
        assert await within(other.receive()) == b""
        assert await within(other.receive()) == b""


@every_kind
async def test_a_megabyte_passes_while_both_ends_send(make: Callable[[], Pair]) -> None:
    data = bytes(range(256)) * 4096
    async with opened(make) as (one, other), anyio.create_task_group() as group:
        receiving = [beside(group, receive_exactly(end, len(data))) for end in (one, other)]
        sending = [beside(group, end.send(data)) for end in (one, other)]
        for part in receiving:
            assert await within(part) == data
        for part in sending:
            await within(part)


@every_kind
async def test_a_cancelled_receive_loses_nothing(make: Callable[[], Pair]) -> None:
    async with opened(make) as (one, other), anyio.create_task_group() as group:
        waiting = beside(group, other.receive())
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await within(one.send(b"kept"))
        assert await receive_exactly(other, 4) == b"kept"


@every_kind
async def test_a_send_that_waits_fails_when_its_end_is_closed(make: Callable[[], Pair]) -> None:
    async with opened(make) as (one, _other), anyio.create_task_group() as group:
        sending = beside(group, one.send(bytes(1 << 20)))
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        assert not sending.done()
        await one.close()
        with pytest.raises((anyio.ClosedResourceError, anyio.BrokenResourceError)):
            await within(sending)


@pytest.mark.parametrize("make", [memory, pipes])
async def test_what_cannot_go_at_once_is_told(make: Callable[[], Pair]) -> None:
    async with opened(make) as (one, other):
        taken = 0
        while part := one.send_nowait(bytes(100_000)):
            taken += part
        assert one.send_nowait(b"more") == 0
        assert len(await receive_exactly(other, taken)) == taken
        assert one.send_nowait(b"more") == 4


@every_kind
async def test_sending_to_an_end_that_is_gone_breaks(make: Callable[[], Pair]) -> None:
    async with opened(make) as (one, other):
        await other.close()
        with pytest.raises(anyio.BrokenResourceError):
            await within(one.send(bytes(1 << 20)))


async def test_a_pipe_gets_its_flags_back() -> None:
    read_fd, write_fd = os.pipe()
    kept = os.dup(read_fd)
    try:
        async with DescriptorTransport(read_fd, write_fd):
            assert not os.get_blocking(kept)
        assert os.get_blocking(kept)
    finally:
        os.close(kept)


@pytest.mark.parametrize("kind", ["pipe", "file"])
async def test_standard_streams_are_kept_from_prints_and_children(
    kind: str, tmp_path: Path
) -> None:
    program = f"""
import {sniffio.current_async_library()} as loop
import os, subprocess, sys
import acp
print("before", flush=True)
async def main():
    async with acp.stdio_transport() as transport:
        data = await transport.receive()
        print("a print")
        os.system("echo a child")
        assert sys.stdin.read() == ""
        await transport.send(b"got " + data)
for _ in range(2):
    loop.run(main() if "asyncio" in loop.__name__ else main)
    print("after", flush=True)
"""
    given = tmp_path / "input"
    given.write_bytes(b"hello\n")
    taken = tmp_path / "output"
    with given.open("rb") as source, taken.open("wb") as sink:
        command = [sys.executable, "-c", program]
        if kind == "pipe":
            run = anyio.run_process(command, input=b"hello\n", check=False)
        else:
            run = anyio.run_process(command, stdin=source, stdout=sink, check=False)
        process = await within(run)
    output = process.stdout if kind == "pipe" else taken.read_bytes()
    errors = process.stderr
    assert output == b"before\ngot hello\nafter\ngot after\n", (output, errors)
    assert (errors.count(b"a print\n"), errors.count(b"a child\n")) == (2, 2)
    assert process.returncode == 0


def python(program: str, **options: object) -> acp.Transport:
    return acp.process_transport(sys.executable, "-c", program, **options)


async def test_a_process_gets_our_bytes_and_we_get_its_own() -> None:
    program = "import sys; sys.stdout.write(sys.stdin.readline().upper())"
    async with python(program) as transport:
        await within(transport.send(b"hello\n"))
        assert await receive_exactly(transport, 6) == b"HELLO\n"
        assert await within(transport.receive()) == b""


async def test_a_process_inherits_a_few_variables_and_gets_those_that_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    program = "import os; print(os.environ.get('SECRET_TOKEN'), os.environ['GIVEN'])"
    async with python(program, env={"GIVEN": "yes"}) as transport:
        assert await receive_exactly(transport, 9) == b"None yes\n"


async def test_a_command_that_does_not_exist_fails_to_open_and_leaves_nothing_open() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        await within(acp.process_transport("/no/such/command").open())
    assert len(set(os.listdir("/proc/self/fd"))) == len(before)


async def test_a_megabyte_of_stderr_blocks_nobody_and_its_end_is_kept() -> None:
    program = """
import sys
sys.stderr.write("x" * (1 << 20) + "the end")
sys.stderr.flush()
print("done", flush=True)
sys.stdin.read()
sys.exit(3)
"""
    transport = acp.process_transport(sys.executable, "-c", program)
    async with transport:
        assert await receive_exactly(transport, 5) == b"done\n"
    error = transport.closed_error()
    assert error.exit_code == 3
    assert error.stderr_tail.endswith("xthe end")
    assert len(error.stderr_tail) == 64 * 1024
    assert "3" in str(error)
    assert "x" * 10 not in str(error)


@pytest.mark.asyncio_only
async def test_the_stderr_of_a_process_can_be_read_line_by_line() -> None:
    program = """
import sys
print("one", file=sys.stderr, flush=True)
sys.stdin.readline()
print("two", file=sys.stderr, flush=True)
"""
    transport = acp.process_transport(sys.executable, "-c", program)
    async with transport:
        stderr = transport.process.stderr
        assert stderr is not None
        assert await within(stderr.readline()) == b"one\n"
        reading = asyncio.ensure_future(stderr.readline())
        await transport.send(b"go\n")
        assert await within(reading) == b"two\n"
        assert await within(stderr.read()) == b""
        assert stderr.at_eof()


async def test_the_stderr_of_a_process_can_be_read_as_a_stream_of_the_loop() -> None:
    program = """
import sys
print("one", file=sys.stderr, flush=True)
sys.stdin.readline()
print("two", file=sys.stderr, flush=True)
"""
    transport = acp.process_transport(sys.executable, "-c", program)
    async with transport, anyio.create_task_group() as group:
        stderr: Any = transport.process.stderr
        read = stderr.receive_some if sniffio.current_async_library() == "trio" else stderr.read
        assert await within(read(2)) == b"on"
        assert await within(read(10)) == b"e\n"
        reading = beside(group, read(10))
        await transport.send(b"go\n")
        assert await within(reading) == b"two\n"
        assert await within(read(10)) == b""


async def test_a_process_that_reads_its_input_ends_by_itself() -> None:
    transport = acp.process_transport(sys.executable, "-c", "import sys; sys.stdin.read()")
    async with transport:
        process = transport.process
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("ignored", "ended_by"),
    [("", signal.SIGTERM), ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", signal.SIGKILL)],
)
async def test_a_process_that_does_not_end_is_terminated_and_then_killed(
    ignored: str, ended_by: signal.Signals
) -> None:
    program = f"import signal, time; {ignored}\nprint('up', flush=True)\nwhile True: time.sleep(60)"
    transport = acp.process_transport(sys.executable, "-c", program, shutdown_timeout=0.2)
    async with transport:
        await receive_exactly(transport, 3)
        process = transport.process
        started = time.monotonic()
    assert process.returncode == -ended_by
    assert time.monotonic() - started < 5


async def test_what_a_process_started_ends_with_it(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    program = f"""
import subprocess, sys
program = "import time; held = open({str(held)!r}, 'w'); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", program])
sys.stdin.read()
"""
    async with acp.process_transport(sys.executable, "-c", program):
        # Opening waits for the other process to open its end, reading for the end of that process.
        source = await within(anyio.to_thread.run_sync(held.open, "rb"))
    with source:
        assert await within(anyio.to_thread.run_sync(source.read)) == b""


async def test_closing_twice_at_once_waits_for_the_one_end() -> None:
    transport = acp.process_transport(sys.executable, "-c", "import sys; sys.stdin.read()")
    await transport.open()
    async with anyio.create_task_group() as group:
        for closing in [beside(group, transport.close()) for _ in range(2)]:
            await within(closing)
            assert transport.process.returncode == 0
    assert transport.process.returncode == 0


async def test_the_default_environment_leaves_out_exported_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "() { :; }")
    monkeypatch.setenv("HOME", "/home/x")
    found = acp.default_environment()
    assert "TERM" not in found
    assert found["HOME"] == "/home/x"
