"""JSON texts: the public collection, cuttings of a stream, nesting, members that come twice.

Owns what is fed to the codec and to one connection of the core, without any input or output.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import acp.schema
from acp import _core
from benches import wire
from reliability import footprint
from reliability.figures import Form, Values
from reliability.hostile_frames import TABLE
from tests.core.test_connection_chunks import LIMIT, call
from tests.core.test_connection_chunks import run as received
from tools import jsontestsuite

ROOT = Path(__file__).resolve().parent.parent
LEVELS = 1024
BRACKETS = 10_000_000
PIECE = 64 * 1024
LONGEST_STREAM = 1600
INVALID = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}\n'


def test_suite(form: Form) -> Values:
    """A1: the verdicts of JSONTestSuite that are right."""
    del form
    shared = Path(os.environ.get("ACP_SHARED", ROOT.parent / "shared"))
    folder = shared / "data" / "jsontestsuite" / "test_parsing"
    if not folder.is_dir():
        raise FileNotFoundError(f"JSONTestSuite is not at {folder}; set ACP_SHARED")
    tally = jsontestsuite.run(folder)
    return {
        "right where the standard decides": tally.musts,
        "as committed where it is free": tally.free,
        "wrong": len(tally.faults),
    }


# A5: cuttings.


def frame(choose: random.Random) -> bytes:
    """A line that a stream is made of: good, hostile, too long, or a batch of such."""
    match choose.randrange(6):
        case 0:
            return choose.choice(TABLE).frame
        case 1:
            return wire.FRAMES["chunk"].strip()[: choose.choice((None, None, 150))]
        case 2:
            lane = choose.choice(("s", "é", "\ud800"))
            return call(choose.choice(("_x", "session/prompt")), {"sessionId": lane}, 7).encode()
        case 3:
            answered = choose.randrange(5)
            return b'{"id":%d,"result":{"sessionId":"s"}}' % answered
        case 4:
            return b'{"id":1,"method":"' + b"x" * choose.randrange(2 * LIMIT) + b'"}'
        case _:
            entries = [b'{"id":%d,"method":"_x"}' % at for at in range(choose.randrange(4))]
            return b"[" + b",".join([*entries, b"1"]) + b"]"


def stream(choose: random.Random) -> bytes:
    lines = b""
    while len(lines) < LONGEST_STREAM and (not lines or choose.random() < 0.85):
        lines += frame(choose) + choose.choice((b"\n", b"\r\n"))
    return lines + choose.choice((b"", b'{"id":3,"method":"_last"}', b"{"))


def seen(text: bytes, places: list[int]) -> tuple[list[tuple[Any, ...]], list[bytes]]:
    """The events, and the answers without their order.

    An array is answered when its notifications are handled, which here is at the end of each piece.
    """
    events, output = received(text, places)
    return events, sorted(output.splitlines())


def cuttings(form: Form) -> Values:
    """A5: each stream whole, cut at random, at each single place, and into single bytes."""
    choose = random.Random(form.seed)
    differing = done = 0
    for number in range(form.count(8000, 1500)):
        text = stream(choose)
        whole = seen(text, [])
        cuts = [
            [choose.randrange(len(text) + 1) for _ in range(choose.randrange(1, 9))]
            for _ in range(5)
        ]
        cuts.append(list(range(len(text))))
        if number % 40 == 0:
            cuts += [[place] for place in range(len(text))]
        done += len(cuts)
        differing += sum(seen(text, places) != whole for places in cuts)
    return {"cuttings": done, "with other events or answers": differing}


# A6: nesting.


def nested_text(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def nested(levels: int) -> Any:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def reads(line: bytes) -> bool:
    """Whether both sides take a frame, and decode what it holds."""
    verdicts = set[bool]()
    for role in ("agent", "client"):
        (event,) = _core.Connection(role).receive(line + b"\n")
        taken = not isinstance(event, _core.FrameRejected)
        if isinstance(event, (_core.RequestReceived, _core.NotificationReceived)):
            event.params()
        verdicts.add(taken)
    (verdict,) = verdicts
    return verdict


def tool_call(raw_input: bytes) -> bytes:
    return (
        b'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
        b'"tool_call","toolCallId":"c","title":"t","rawInput":' + raw_input + b"}}}"
    )


def writes(send: Callable[[_core.Connection, int, Any], object], value: Any) -> bool:
    """Whether something with `value` in it can be sent on a connection with a request open."""
    connection = _core.Connection("agent")
    (event,) = connection.receive(b'{"id":1,"method":"_m"}\n')
    assert isinstance(event, _core.RequestReceived)
    try:
        send(connection, event.token, value)
    except ValueError:
        assert connection.output_size == 0
        return False
    assert connection.output_size > 0
    return True


# Each place: how many levels are around the value there, within what is counted; and the question.
PLACES_IN: dict[str, tuple[int, Callable[[int], bool]]] = {
    "envelope": (0, lambda n: reads(b'{"id":1,"method":"_m","x":' + nested_text(n) + b"}")),
    "params": (0, lambda n: reads(b'{"id":1,"method":"_m","params":' + nested_text(n) + b"}")),
    "result": (0, lambda n: answered(nested_text(n))),
    "_meta": (
        2,
        lambda n: reads(
            b'{"method":"session/cancel","params":{"sessionId":"s","_meta":{"m":'
            + nested_text(n)
            + b"}}}"
        ),
    ),
    "rawInput": (2, lambda n: reads(tool_call(nested_text(n)))),
}
PLACES_OUT: dict[str, tuple[int, Callable[[int], bool]]] = {
    "params": (0, lambda n: writes(lambda c, _, v: c.request("_m", v), nested(n))),
    "notification": (0, lambda n: writes(lambda c, _, v: c.notify("_m", v), nested(n))),
    "result": (0, lambda n: writes(lambda c, token, v: c.respond(token, v), nested(n))),
    "error data": (
        0,
        lambda n: writes(lambda c, token, v: c.respond_error(token, 1, "m", v), nested(n)),
    ),
    "_meta": (
        2,
        lambda n: writes(
            lambda c, _, v: c.notify(
                "session/cancel",
                acp.schema.CancelNotification(session_id="s", field_meta={"m": v}),
            ),
            nested(n),
        ),
    ),
    "rawInput": (
        2,
        lambda n: writes(
            lambda c, _, v: c.notify(
                "session/update",
                acp.schema.SessionNotification(
                    session_id="s",
                    update=acp.schema.ToolCallStart(
                        session_update="tool_call", tool_call_id="c", title="t", raw_input=v
                    ),
                ),
            ),
            nested(n),
        ),
    ),
}


def answered(result: bytes) -> bool:
    connection = _core.Connection("client")
    connection.request("_m")
    (event,) = connection.receive(b'{"id":0,"result":' + result + b"}\n")
    assert isinstance(event, (_core.ResponseReceived, _core.ResponseRejected))
    if isinstance(event, _core.ResponseRejected) or event.outcome != "result":
        return False
    event.result()
    return True


def deepest(around: int, takes: Callable[[int], bool]) -> int:
    """The most levels that a place takes, counted from where the library counts."""
    found = [levels for levels in range(LEVELS - 8, LEVELS + 9) if takes(levels - around)]
    assert found == list(range(LEVELS - 8, found[-1] + 1)), "deeper passes, less deep does not"
    assert not takes(20 * LEVELS)
    return found[-1]


def grown(pieces: list[bytes]) -> float:
    """MiB that the process needs at most while a connection receives the pieces."""
    connection = _core.Connection("agent")
    footprint.forget_peak()
    before = footprint.peak()
    events = [event for piece in pieces for event in connection.receive(piece)]
    after = footprint.peak()
    (event,) = events
    assert isinstance(event, _core.FrameRejected)
    assert connection.take_output() == INVALID
    return (after - before) / footprint.MIB


def nesting(form: Form) -> Values:
    """A6: the deepest that passes in each place; ten million brackets."""
    del form
    inward = [deepest(*place) for place in PLACES_IN.values()]
    outward = [deepest(*place) for place in PLACES_OUT.values()]
    line = b"[" * BRACKETS + b"\n"
    pieces = [line[at : at + PIECE] for at in range(0, len(line), PIECE)]
    return {
        "fewest levels in": min(inward),
        "most levels in": max(inward),
        "fewest levels out": min(outward),
        "most levels out": max(outward),
        "growth, brackets in one piece": grown([line]),
        "growth, brackets in pieces": grown(pieces),
    }


# A8: members twice.


def spellings(name: str) -> Iterator[str]:
    """Ways to write a name in JSON: as it is, and with an escape in each place."""
    yield name
    for at, letter in enumerate(name):
        yield f"{name[:at]}\\u{ord(letter):04x}{name[at + 1 :]}"


def doubled() -> Iterator[bytes]:
    """Envelopes in which one member comes twice, in every order and spelling."""
    kinds = (
        {"jsonrpc": '"2.0"', "id": "7", "method": '"m"', "params": "{}"},
        {"jsonrpc": '"2.0"', "method": '"m"', "params": "[1]"},
        {"jsonrpc": '"2.0"', "id": "0", "result": "{}"},
        {"jsonrpc": '"2.0"', "id": "0", "error": '{"code":1,"message":"m"}'},
    )
    for kind in kinds:
        for name, value in kind.items():
            members = [f'"{other}":{text}' for other, text in kind.items()]
            others = {"id": "8", "method": '"evil"', "jsonrpc": '"2.0"'}
            for spelling, second in itertools.product(
                spellings(name), (value, others.get(name, "null"))
            ):
                for at in range(len(members) + 1):
                    again = f'"{spelling}":{second}'
                    yield f"{{{','.join([*members[:at], again, *members[at:]])}}}".encode()


def is_refused(text: bytes) -> bool:
    """Whether a request or notification is answered -32600, and a response settles no call."""
    agent = _core.Connection("agent")
    agent.request("ours")
    agent.take_output()
    (event,) = agent.receive(text + b"\n")
    sent = agent.take_output()
    match event:
        case _core.FrameRejected():
            answer = b"" if event.reason == "response" else INVALID
            return sent == answer and len(agent.pending) == 1
        case _core.ResponseRejected():
            return sent == b""
        case _:
            return False


def twice(form: Form) -> Values:
    """A8: envelopes in which a member comes twice."""
    del form
    texts = list(doubled())
    return {"envelopes": len(texts), "not refused": sum(not is_refused(text) for text in texts)}
