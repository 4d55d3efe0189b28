"""Stderr that is read when the process has ended: the last 64 KiB that nobody read are there."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sniffio

import acp
from acp._transports.stderr import StderrPipe
from tests.raw_peer import within
from tests.sides import Silent, until

KEPT = 64 * 1024
SIZES = [0, 1, 6, 8_000, KEPT - 1, KEPT, KEPT + 1, 200_000]
Read = Callable[[Any], Awaitable[bytes]]


def written(size: int) -> bytes:
    """Lines that all differ, the last one without an end unless `size` ends it."""
    return b"".join(b"%07d\n" % number for number in range(size // 8 + 1))[:size]


async def by_pieces(stream: Any) -> bytes:
    read = stream.receive_some if sniffio.current_async_library() == "trio" else stream.read
    got = b""
    while data := await read(999):
        assert len(data) <= 999
        got += data
    return got


async def by_iteration(stream: Any) -> bytes:
    return b"".join([data async for data in stream])


async def whole(stream: Any) -> bytes:
    return await stream.read()


async def by_lines(stream: Any) -> bytes:
    got = b""
    while line := await stream.readline():
        assert line.count(b"\n") == line.endswith(b"\n")
        got += line
    return got


async def until_separators(stream: Any) -> bytes:
    got = b""
    try:
        while True:
            got += await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        return got + end.partial


async def exactly_more_than_there_is(stream: Any) -> bytes:
    with pytest.raises(asyncio.IncompleteReadError) as caught:
        await stream.readexactly(1_000_000)
    return caught.value.partial


async def a_line_and_the_rest(stream: Any) -> bytes:
    return await stream.readline() + await stream.read(3) + await stream.read()


ANYWHERE: list[Read] = [by_pieces, by_iteration]
ON_ASYNCIO: list[Read] = [
    *(whole, by_lines, until_separators, exactly_more_than_there_is, a_line_and_the_rest)
]


async def ended_pipe(data: bytes, path: Path) -> Any:
    """The stream of what was written, all of which was taken before anybody reads."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    pipe = StderrPipe(fd)
    await until(lambda: pipe._fd < 0)
    return pipe.reader


async def assert_the_rest_is_read(read: Read, path: Path) -> None:
    for size in SIZES:
        stream = await ended_pipe(written(size), path)
        assert await within(read(stream)) == written(size)[-KEPT:], size
        # The end stays the end.
        assert await within(by_pieces(stream)) == b""
        assert stream.tail.encode() == written(size)[-KEPT:]


@pytest.mark.parametrize("read", ANYWHERE)
async def test_what_is_unread_at_the_end_is_read_behind_it(read: Read, tmp_path: Path) -> None:
    await assert_the_rest_is_read(read, tmp_path / "stderr")


@pytest.mark.asyncio_only
@pytest.mark.parametrize("read", ON_ASYNCIO)
async def test_each_way_to_read_a_stream_of_asyncio_works_behind_the_end(
    read: Read, tmp_path: Path
) -> None:
    await assert_the_rest_is_read(read, tmp_path / "stderr")


@pytest.mark.asyncio_only
async def test_the_end_is_told_when_all_is_read_and_not_before(tmp_path: Path) -> None:
    stream = await ended_pipe(b"one\ntwo\n", tmp_path / "stderr")
    assert not stream.at_eof()
    assert await within(stream.readline()) == b"one\n"
    assert not stream.at_eof()
    assert await within(stream.read()) == b"two\n"
    assert stream.at_eof()


@pytest.mark.parametrize("closed_by", ["its writer", "us"])
async def test_what_was_read_before_the_end_does_not_come_again(closed_by: str) -> None:
    """Both when the pipe ends and when it is closed with bytes in it."""
    read_end, write_end = os.pipe()
    pipe = StderrPipe(read_end)
    stream: Any = pipe.reader
    read = stream.receive_some if sniffio.current_async_library() == "trio" else stream.read
    os.write(write_end, b"begin ")
    assert await within(read(6)) == b"begin "
    os.write(write_end, b"middle ")
    await until(lambda: stream.tail.endswith("middle "))
    os.write(write_end, b"end")
    if closed_by == "us":
        pipe.close()
    os.close(write_end)
    await until(lambda: pipe._fd < 0)
    assert await within(by_iteration(stream)) == b"middle end"


PROGRAM = "import sys; sys.stderr.buffer.write(b''.join(b'%07d\\n' % n for n in range({})))"
COUNTS = [0, 1, KEPT // 8, 25_000]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("inside", [True, False], ids=["while it is open", "when it is closed"])
async def test_the_last_words_of_a_process_that_has_ended_can_be_read(
    inside: bool, count: int
) -> None:
    said = written(count * 8)
    transport = acp.process_transport(sys.executable, "-I", "-S", "-c", PROGRAM.format(count))
    got = b""
    async with transport:
        stream: Any = transport.process.stderr
        await within(transport.process.wait())
        if inside:
            got = await within(by_iteration(stream))
    if not inside:
        got = await within(by_iteration(stream))
    assert said.endswith(got)
    assert len(got) >= min(len(said), KEPT)
    assert await within(by_pieces(stream)) == b""


@pytest.mark.asyncio_only
@pytest.mark.parametrize("inside", [True, False], ids=["in the block", "behind the block"])
async def test_a_client_reads_what_an_agent_wrote_before_it_failed(inside: bool) -> None:
    program = "import sys; sys.stderr.write('hello\\n'); sys.exit(3)"
    got = b""
    spawned = acp.spawn_agent_process(Silent(), sys.executable, "-I", "-S", "-c", program)
    async with spawned as (_, process):
        assert process.stderr is not None
        assert await within(process.wait()) == 3
        if inside:
            got = await within(process.stderr.read())
    got += await within(process.stderr.read())
    assert got == b"hello\n"
    assert await within(process.stderr.readline()) == b""
