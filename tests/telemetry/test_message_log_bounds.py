"""The log of messages under odd messages and programs: sizes, threads, other logging, targets."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import os
import time
from pathlib import Path
from typing import Any

import pytest

from acp import telemetry
from tests.raw_peer import agent_under_test, client_under_test, within
from tests.sides import Recorder, Silent
from tests.telemetry.test_message_log import flood, lines

MOST = 10_000


def sizes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.iterdir()}


@pytest.mark.parametrize("text", ["x", "\u00e9", "\u20ac", "\U0001f600", "\ud800"])
@pytest.mark.parametrize("count", [100, 2_400, 4_000, 9_000, 20_000])
async def test_no_file_gets_longer_than_it_may_whatever_the_letters(
    text: str, count: int, tmp_path: Path
) -> None:
    with telemetry.log_to(tmp_path / "log", max_bytes=MOST, files=3):
        await flood(4 if count > 3_000 else 40, text * count)
    found = sizes(tmp_path)
    assert found.keys() <= {"log", "log.1", "log.2"}
    assert all(0 < size <= MOST for size in found.values())


@pytest.mark.parametrize("show", ["messages", "heads"])
@pytest.mark.parametrize("long", ["method", "id"])
async def test_what_a_peer_chooses_makes_no_line_longer_than_a_file(
    show: Any, long: str, tmp_path: Path
) -> None:
    text = "_" + "m" * 1_000_000
    with telemetry.log_to(tmp_path / "log", show=show, max_bytes=MOST, files=2):
        async with agent_under_test(Recorder()) as (peer, _):
            await peer.request(text if long == "id" else 1, text if long == "method" else "_m")
            await peer.receive()
    assert all(0 < size <= MOST for size in sizes(tmp_path).values())
    received = lines(tmp_path / "log")[0]
    assert received[long] == text[:200]


async def test_an_id_that_is_a_number_is_told_to_the_last_digit(tmp_path: Path) -> None:
    with telemetry.log_to(tmp_path / "log", show="heads"):
        async with agent_under_test(Recorder()) as (peer, _):
            await peer.request(2**62, "_m")
            await peer.receive()
    assert [line["id"] for line in lines(tmp_path / "log")] == [2**62, 2**62]


async def test_a_log_that_was_closed_is_not_opened_again_by_who_was_about_to_write(
    tmp_path: Path,
) -> None:
    from acp._messages import MESSAGES

    path = tmp_path / "log"
    log = telemetry.log_to(path)
    (handler,) = MESSAGES.handlers
    log.close()
    path.unlink()
    # What another thread does that was on its way to the handler.
    record = logging.LogRecord("acp.messages", 5, "", 0, "%s", ("{}",), None)
    assert handler.handle(record)
    assert not path.exists()


@pytest.mark.parametrize(
    "configuration",
    [
        {"version": 1},
        {"version": 1, "disable_existing_loggers": True, "root": {"level": "ERROR"}},
        {"version": 1, "loggers": {"acp": {"level": "WARNING"}}},
        {"version": 1, "loggers": {"acp.messages": {"level": "CRITICAL"}}},
    ],
)
async def test_a_program_that_sets_up_its_logging_later_on_turns_it_not_off(
    configuration: Any, tmp_path: Path
) -> None:
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = [(each, each.disabled, each.level, each.propagate) for each in loggers]
    handlers, level = list(logging.root.handlers), logging.root.level
    try:
        with telemetry.log_to(tmp_path / "log"):
            await flood(1)
            logging.config.dictConfig(configuration)
            await flood(1)
    finally:
        for each, disabled, own, propagates in before:
            each.disabled, each.propagate = disabled, propagates
            each.setLevel(own)
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
    assert len(lines(tmp_path / "log")) == 4


class Somewhere(os.PathLike[str]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


async def test_any_path_is_one(tmp_path: Path) -> None:
    with telemetry.log_to(Somewhere(tmp_path / "log")):
        await flood(1)
    assert len(lines(tmp_path / "log")) == 2


@pytest.mark.parametrize("target", [b"log", 5, None, object()])
def test_what_is_neither_path_nor_stream_is_refused(target: Any) -> None:
    with pytest.raises(TypeError, match="a path or a stream of text"):
        telemetry.log_to(target)


async def test_heads_are_read_without_what_a_message_holds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A long message costs a line of its head, in the log and in a file, not its length."""
    entries = {"numbers": list(range(400_000)), "env": {"A": "secret"}}
    caplog.set_level(logging.DEBUG, "acp")
    told = io.StringIO()
    async with client_under_test(Silent()) as (connection, peer):
        without = await spent(connection, peer, entries)
        with telemetry.log_to(told, show="heads"):
            with_heads = await spent(connection, peer, entries)
    assert with_heads - without < 0.3
    (line,) = told.getvalue().splitlines()
    assert json.loads(line)["bytes"] > 2_000_000
    assert "secret" not in caplog.text + told.getvalue()


async def spent(connection: Any, peer: Any, params: Any) -> float:
    """Seconds of this thread for one long notification."""
    before = time.thread_time()
    sending = peer.start(connection.notify("_told", params))
    assert (await peer.receive())["method"] == "_told"
    await within(sending)
    return time.thread_time() - before
