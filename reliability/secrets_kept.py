"""Secrets in every place of a conversation, and a search for them where they must not be.

Owns the search: log records of every level, texts of exceptions, error objects on the wire. What
is said with them is `reliability.indiscretions`'s.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from reliability.figures import Form, Values
from reliability.indiscreet import Scenario
from reliability.indiscretions import SCENARIOS
from tests.raw_peer import RawPeer

PLACES = ("log records", "exceptions", "errors on the wire")


class Watch(logging.Handler):
    """Looks for one secret."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.secret = ""
        self.scenario = ""
        self.hits: Counter[tuple[str, str]] = Counter()
        self.looked_at: Counter[str] = Counter()

    def look(self, place: str, text: str) -> None:
        self.looked_at[place] += 1
        # Parts of it tell, too, and so does another spelling.
        if not self.secret:
            return
        if self.secret[4:20] in text or self.secret[4:20].encode().hex() in text:
            self.hits[place, self.scenario] += 1

    def emit(self, record: logging.LogRecord) -> None:
        text = logging.Formatter().format(record)
        self.look("log records", f"{record.levelname} {text} {record.args!r}")

    def raised(self, exc: BaseException) -> None:
        """An exception that a user of the library gets."""
        self.look("exceptions", f"{exc!r} {exc}")
        chain = traceback.TracebackException.from_exception(exc, capture_locals=False)
        self.look("exceptions", "".join(chain.format()))

    def received(self, message: Any) -> None:
        """A message that the library sent."""
        for entry in message if isinstance(message, list) else [message]:
            if "error" in entry:
                self.look("errors on the wire", json.dumps(entry["error"], ensure_ascii=False))

    @contextmanager
    def on_everything(self) -> Iterator[None]:
        """Sees what is logged on any level, and what the hand at the other end receives."""
        loggers = [logging.getLogger(), logging.getLogger("acp")]
        levels = [logger.level for logger in loggers]
        receive = RawPeer.receive

        async def seen(peer: RawPeer) -> Any:
            message = await receive(peer)
            if message is not None:
                self.received(message)
            return message

        loggers[0].addHandler(self)
        RawPeer.receive = seen
        for logger in loggers:
            logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            RawPeer.receive = receive
            loggers[0].removeHandler(self)
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


async def everything(watch: Watch, scenarios: Iterable[tuple[str, Scenario]], seed: int) -> int:
    """Goes through scenarios, each with a secret of its own. How many there were."""
    done = 0
    choose = random.Random(seed)
    for name, scenario in scenarios:
        watch.scenario = name
        watch.secret = f"sk-{choose.getrandbits(64):016x}-canary"
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for exc in await scenario(watch.secret):
                watch.raised(exc)
        for warning in warned:
            watch.look("log records", str(warning.message))
        done += 1
    return done


def nowhere(form: Form) -> Values:
    """H1."""
    watch = Watch()
    with watch.on_everything():
        done = asyncio.run(everything(watch, SCENARIOS, form.seed), debug=True)
    for (place, scenario), count in watch.hits.items():
        print(f"{scenario}: {count} in {place}", file=sys.stderr)
    found: Values = {"scenarios": done, "texts searched": watch.looked_at.total()}
    for place in PLACES:
        assert watch.looked_at[place] > 0
        found[f"in {place}"] = sum(count for (at, _), count in watch.hits.items() if at == place)
    return found
