"""Two connections of the core, joined by two streams of bytes, against a model of them.

Owns the model: what each side has sent, what waits, and so what each piece of a stream has to be
read as. Which steps are taken, and where the streams are cut, is Hypothesis's choice.
"""

from __future__ import annotations

import traceback
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import hypothesis
import hypothesis.strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from acp import _core
from reliability.figures import Form, Values

STEPS = 40
Seen = tuple[Any, ...]


@dataclass
class Group:
    """The entries of an array that are not answered yet."""

    size: int
    left: int


@dataclass
class Asked:
    """A request that was received."""

    token: int
    id: Any
    group: Group | None
    answered: bool = False
    cancelled: bool = False


@dataclass
class Side:
    """One connection, and what the model knows of it."""

    core: _core.Connection
    answers_garbage: bool
    ids: int = 0
    pending: dict[int, str] = field(default_factory=dict)
    cancelled: set[int] = field(default_factory=set)
    given_up: set[int] = field(default_factory=set)
    asked: list[Asked] = field(default_factory=list)
    stream: bytearray = field(default_factory=bytearray)
    """What it has sent and the other side has not received."""
    expected: deque[Seen] = field(default_factory=deque)
    """What the lines of the stream are, the first of which may be partly received."""

    def wrote(self, *messages: Seen) -> None:
        """The core has to have queued these, one line each, and nothing else."""
        output = self.core.take_output()
        assert output.count(b"\n") == len(messages), (output, messages)
        self.inject(output, *messages)

    def inject(self, lines: bytes, *messages: Seen) -> None:
        self.stream += lines
        self.expected += messages


sides = st.integers(0, 1)
picks = st.integers(0, 1 << 30)


class TwoPeers(RuleBasedStateMachine):
    """An agent and a client that talk."""

    runs = 0
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        TwoPeers.runs += 1
        self.sides = (
            Side(_core.Connection("agent"), True),
            Side(_core.Connection("client"), False),
        )
        self.arrays = 0

    @rule(at=sides)
    def request(self, at: int) -> None:
        side = self.sides[at]
        method = f"_m{side.ids % 3}"
        assert side.core.request(method, {}) == side.ids
        side.pending[side.ids] = method
        side.wrote(("request", side.ids, method))
        side.ids += 1

    @rule(at=sides)
    def notify(self, at: int) -> None:
        self.sides[at].core.notify("_n", {"x": 1})
        self.sides[at].wrote(("notification", "_n"))

    @rule(at=sides, pick=picks)
    def cancel(self, at: int, pick: int) -> None:
        side = self.sides[at]
        request_id = pick % (side.ids + 1)
        sends = request_id in side.pending and request_id not in side.cancelled
        assert side.core.cancel(request_id) is sends
        if sends:
            side.cancelled.add(request_id)
            side.wrote(("cancel", request_id))

    @rule(at=sides, pick=picks)
    def forget(self, at: int, pick: int) -> None:
        side = self.sides[at]
        request_id = pick % (side.ids + 1)
        waits = request_id in side.pending
        assert side.core.forget(request_id) is waits
        if waits:
            del side.pending[request_id]
            side.given_up.add(request_id)
        side.wrote()

    @precondition(lambda self: any(side.asked for side in self.sides))
    @rule(at=sides, pick=picks, fails=st.booleans())
    def answer(self, at: int, pick: int, fails: bool) -> None:
        side = self.sides[at]
        if side.asked:
            self.answered(side, side.asked[pick % len(side.asked)], fails)

    def answered(self, side: Side, asked: Asked, fails: bool) -> None:
        if fails:
            done = side.core.respond_error(asked.token, -32000, "no")
        else:
            done = side.core.respond(asked.token, {"y": 1})
        assert done is not asked.answered
        if asked.answered:
            side.wrote()
            return
        asked.answered = True
        outcome = "error" if fails else "result"
        if asked.group is None:
            side.wrote(("response", asked.id, outcome))
            return
        asked.group.left -= 1
        side.wrote(*[("array of answers", asked.group.size)] * (asked.group.left == 0))

    @rule(at=sides, line=st.sampled_from([b"noise", b"{}", b"\xff", b'{"id":1.5,"method":"m"}']))
    def garbage(self, at: int, line: bytes) -> None:
        self.sides[at].inject(line + b"\n", ("garbage",))

    @rule(at=sides, size=st.integers(1, 3))
    def array(self, at: int, size: int) -> None:
        self.arrays += 1
        ids = [f"{self.arrays}-{number}" for number in range(size)]
        entries = ",".join(f'{{"id":"{each}","method":"_b"}}' for each in ids)
        self.sides[at].inject(f"[{entries}]\n".encode(), ("array", tuple(ids)))

    @rule(at=sides, pick=picks)
    def deliver(self, at: int, pick: int) -> None:
        """Some of what one side has sent arrives at the other."""
        sender, receiver = self.sides[at], self.sides[1 - at]
        piece = bytes(sender.stream[: pick % (len(sender.stream) + 1)])
        del sender.stream[: len(piece)]
        expected: list[Seen] = []
        queued: list[Seen] = []
        events = deque(receiver.core.receive(piece))
        for _ in range(piece.count(b"\n")):
            self.arrived(sender.expected.popleft(), receiver, events, expected, queued)
        assert not events, (list(events), expected)
        receiver.wrote(*queued)

    def arrived(
        self,
        message: Seen,
        side: Side,
        events: deque[Any],
        expected: list[Seen],
        queued: list[Seen],
    ) -> None:
        """Compares the events of one line with what the model makes of it."""
        expected.append(message)
        match message:
            case ("request", request_id, method):
                self.is_request(side, events.popleft(), request_id, method, None)
            case ("array", ids):
                group = Group(len(ids), len(ids))
                for request_id in ids:
                    self.is_request(side, events.popleft(), request_id, "_b", group)
            case ("notification", method):
                event = events.popleft()
                assert isinstance(event, _core.NotificationReceived)
                assert event.method == method
            case ("cancel", request_id):
                for asked in side.asked:
                    if asked.id == request_id and not asked.answered:
                        event = events.popleft()
                        assert isinstance(event, _core.RequestCancelled)
                        assert (event.token, event.id) == (asked.token, asked.id)
                        assert not asked.cancelled
                        asked.cancelled = True
            case ("response", request_id, outcome) if request_id in side.pending:
                event = events.popleft()
                assert isinstance(event, _core.ResponseReceived)
                method = side.pending.pop(request_id)
                assert (event.id, event.method, event.outcome) == (request_id, method, outcome)
            case ("response", request_id, _):
                # Swallowed; no other answer to it can come.
                side.given_up.remove(request_id)
            case ("array of answers", size):
                for _ in range(size):
                    self.is_rejected(events.popleft(), answered=False)
            case ("garbage",):
                self.is_rejected(events.popleft(), answered=side.answers_garbage)
                if side.answers_garbage:
                    queued.append(("answer to garbage",))
            case _:
                self.is_rejected(events.popleft(), answered=False)

    def is_request(
        self, side: Side, event: Any, request_id: Any, method: str, group: Group | None
    ) -> None:
        assert isinstance(event, _core.RequestReceived)
        assert (event.id, event.method) == (request_id, method)
        assert all(asked.token != event.token for asked in side.asked)
        side.asked.append(Asked(event.token, event.id, group))

    def is_rejected(self, event: Any, *, answered: bool) -> None:
        assert isinstance(event, _core.FrameRejected)
        assert event.answered is answered

    @invariant()
    def knows_what_waits(self) -> None:
        TwoPeers.steps += 1
        for side in self.sides:
            assert dict(side.core.pending) == side.pending
            assert side.core.in_flight == sum(not asked.answered for asked in side.asked)
            assert side.core.output_size == 0

    def teardown(self) -> None:
        """Everything arrives and is answered: nothing is left."""
        for _ in range(2):
            # Requests; what garbage was answered with, and the answers; the same of the other side.
            for at in (0, 1, 0):
                self.deliver(at, len(self.sides[at].stream))
            for side in self.sides:
                for asked in side.asked:
                    if not asked.answered:
                        self.answered(side, asked, fails=False)
        for side in self.sides:
            assert side.core.pending == []
            assert side.core.in_flight == 0
            assert not side.given_up
            assert not side.stream


def against_model(form: Form) -> Values:
    """B9."""
    runs = form.count(2000, 1000)
    settings = hypothesis.settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=form.short,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    departures = 0
    try:
        run_state_machine_as_test(TwoPeers, settings=settings)
    except Exception:  # noqa: BLE001 - whatever the core or a comparison with it raises is one
        departures = 1
        traceback.print_exc()
    return {"runs": TwoPeers.runs, "steps": TwoPeers.steps, "departures": departures}
