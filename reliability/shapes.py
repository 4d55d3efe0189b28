"""Frames made to cost more than they should, at two sizes.

Owns the shapes and the clock around receiving and decoding them. A shape is a repeated piece, so
that twice the size is twice the work and nothing else.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import acp.schema  # noqa: F401 (the classes that params are decoded into)
from acp import _core
from reliability.figures import Form, Values
from reliability.footprint import MIB

SMALL, LARGE = MIB, 8 * MIB
GOOD_ENOUGH = 9.0
# Of `mallopt`, in glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


@dataclass(frozen=True)
class Shape:
    """`head`, as often `piece` as fits, `tail`."""

    name: str
    head: bytes
    piece: bytes | Callable[[int], bytes]
    tail: bytes

    @property
    def has_many_names(self) -> bool:
        """Whether no two members of it have one name."""
        return not isinstance(self.piece, bytes)

    def text(self, size: int) -> bytes:
        room = size - len(self.head) - len(self.tail)
        if isinstance(self.piece, bytes):
            body = self.piece * (room // len(self.piece))
        else:
            body = b"".join(self.piece(at) for at in range(room // len(self.piece(10**6))))
        return self.head + body + self.tail


def value(name: str, piece: bytes | Callable[[int], bytes], start: bytes, end: bytes) -> Shape:
    """Somewhere in open params."""
    return Shape(name, b'{"method":"_m","params":{"v":' + start, piece, end + b"}}\n")


def update(name: str, piece: bytes | Callable[[int], bytes], head: bytes, tail: bytes) -> Shape:
    """Somewhere in a `session/update` of `head` and `tail`."""
    start = b'{"method":"session/update","params":{"sessionId":"s","update":{'
    return Shape(name, start + head, piece, tail + b"}}}\n")


CHUNK = b'"sessionUpdate":"agent_message_chunk","content":{"type":'
TOOL = b'"sessionUpdate":"tool_call","toolCallId":"c","title":"t",'
PLAN_ENTRY = b'{"content":"x","priority":"high","status":"pending"},'
CONTENT = b'{"type":"content","content":{"type":"text","text":"x"}},'

SHAPES = (
    update("text", b"a", CHUNK + b'"text","text":"', b'"}'),
    update("image", b"QUJD", CHUNK + b'"image","mimeType":"image/png","data":"', b'"}'),
    value("escapes", b"\\n", b'"', b'"'),
    value("unicode escapes", b"\\u00e9", b'"', b'"'),
    value("surrogate pairs", b"\\ud83d\\ude00", b'"', b'"'),
    value("lone surrogates", b"\\ud800", b'"', b'"'),
    value("four-byte characters", "😀".encode(), b'"', b'"'),
    value("one number", b"7", b"", b""),
    value("long integers", b"9" * 4300 + b",", b"[", b"0]"),
    value("fractions", b"1.7976931348623157e308,", b"[", b"0]"),
    value("denormals", b"4.9406564584124654e-324,", b"[", b"0]"),
    value("empty arrays", b"[],", b"[", b"0]"),
    value("towers", b"[" * 1000 + b"]" * 1000 + b",", b"[", b"0]"),
    value("members", lambda at: b'"%07d":0,' % at, b"{", b'"":0}'),
    value("one member again and again", b'"k":0,', b"{", b'"k":1}'),
    value("blanks", b" ", b"[", b"]"),
    update("unknown members", lambda at: b'"x%07d":{},' % at, TOOL, b'"kind":"read"'),
    update("a known member again and again", b'"title":"t",', TOOL, b'"kind":"read"'),
    update("content", CONTENT, TOOL + b'"content":[', CONTENT[:-1] + b"]"),
    update("plan", PLAN_ENTRY, b'"sessionUpdate":"plan","entries":[', PLAN_ENTRY[:-1] + b"]"),
    update("bad content", b"{},", TOOL + b'"content":[', b"{}]"),
    Shape("members of the envelope", b"{", lambda at: b'"x%07d":0,' % at, b'"method":"_m"}\n'),
    Shape("a string without end", b'{"method":"_m","params":["', b"\\\\", b"\n"),
    Shape("brackets", b"", b"[", b"\n"),
    Shape("brackets that alternate", b"", b'[{"":', b"\n"),
    Shape("an array of numbers as a batch", b"[", b"1,", b"1]\n"),
    Shape("empty lines", b"", b"\n", b"\n"),
    Shape("noise", b"", b"x\n", b"\n"),
    Shape("a name with escapes", b'{"method":"', b"\\u006d", b'"}\n'),
    Shape("cancellations", b"", b'{"method":"$/cancel_request","params":{"requestId":1}}\n', b"\n"),
)  # fmt: skip


def seconds(text: bytes) -> float:
    """How long it takes to receive the text and to decode what is in it."""
    connection = _core.Connection("client", batches="accept")
    started = time.process_time()
    for event in connection.receive(text):
        if isinstance(event, _core.NotificationReceived):
            try:
                event.params()
            except _core.ValidationError:
                continue
    return time.process_time() - started


def seconds_of_json(text: bytes) -> float:
    """The same for Python's json module."""
    started = time.process_time()
    json.loads(text)
    return time.process_time() - started


def growth(shape: Shape, clock: Callable[[bytes], float]) -> float:
    """Time for the large one over time for the small one, each the best of some."""
    small, large = shape.text(SMALL), shape.text(LARGE)
    clock(small)
    quick = min(clock(small) for _ in range(6))
    slow = min(clock(large) for _ in range(2))
    return slow / quick * (len(small) / len(large)) * (LARGE / SMALL)


def ratio(shape: Shape, rounds: int) -> float:
    """The growth in the quietest of some rounds: other programs make it larger, never smaller.

    A dict of many different names leaves the caches whoever fills it: there it is the growth beside
    that of Python's own json module.
    """
    found: list[float] = []
    while len(found) < rounds and (not found or min(found) > GOOD_ENOUGH):
        ours = growth(shape, seconds)
        if shape.has_many_names:
            ours *= min(1.0, LARGE / SMALL / growth(shape, seconds_of_json))
        found.append(ours)
    return min(found)


def linear(form: Form) -> Values:
    """A10."""
    # Both sizes take fresh memory from the system, so that the large one is not the only one that
    # pays for it; and the collector, which looks at more the more there is, has its turn elsewhere.
    libc = ctypes.CDLL(None)
    if not (libc.mallopt(M_MMAP_THRESHOLD, 1 << 16) and libc.mallopt(M_TRIM_THRESHOLD, 0)):
        raise OSError("the allocator takes no settings")
    gc.disable()
    rounds = form.count(8, 4)
    ratios = {shape.name: ratio(shape, rounds) for shape in SHAPES}
    worst = max(ratios, key=lambda name: ratios[name])
    print(f"worst: {worst}", file=sys.stderr)
    return {"shapes": len(ratios), "worst ratio": ratios[worst]}
