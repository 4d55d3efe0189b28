"""UTF-8, compared with Python's strict decoder byte sequence by byte sequence.

Owns the set of bytes at which a decoder decides: the ends of every range that the standard names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from acp import _core
from reliability.figures import Form, Values

# Both ends of each range, and what lies beside them. No quote, backslash or control character:
# JSON has rules of its own for those.
BOUNDARY = bytes(
    [
        *(0x20, 0x41, 0x7F),  # ASCII
        *(0x80, 0x81, 0x8F, 0x90, 0x91, 0x9F, 0xA0, 0xA1, 0xBE, 0xBF),  # continuations
        *(0xC0, 0xC1, 0xC2, 0xDF),  # of two bytes; the first two only ever too long
        *(0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF),  # of three
        *(0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7),  # of four; the last two beyond the end
        *(0xF8, 0xFE, 0xFF),  # never
    ]
)
ANY_VALUE = "ExtRequest"
BLOCK = 4096


def sequences() -> Iterator[bytes]:
    for length in range(1, 5):
        yield from map(bytes, itertools.product(BOUNDARY, repeat=length))


def expected(sequence: bytes) -> str | None:
    try:
        return sequence.decode("utf-8", "strict")
    except UnicodeDecodeError:
        return None


def as_value(sequence: bytes) -> str | None:
    """What the decoder makes of the sequence as a string; None when it refuses it."""
    try:
        return _core.decode(1, ANY_VALUE, b'"' + sequence + b'"')
    except _core.ValidationError:
        return None


def as_methods(block: list[bytes]) -> list[str | None]:
    """What a connection makes of each as the name of a notification."""
    frames = b"".join(b'{"method":"%b"}\n' % sequence for sequence in block)
    events = _core.Connection("client").receive(frames)
    assert len(events) == len(block)
    return [
        event.method if isinstance(event, _core.NotificationReceived) else None for event in events
    ]


def boundary_bytes(form: Form) -> Values:
    """A9."""
    del form
    count = values = frames = 0
    every = sequences()
    while block := list(itertools.islice(every, BLOCK)):
        right = [expected(sequence) for sequence in block]
        count += len(block)
        values += sum(as_value(each) != text for each, text in zip(block, right, strict=True))
        found = as_methods(block)
        frames += sum(each != text for each, text in zip(found, right, strict=True))
    return {
        "sequences": count,
        "read differently as a value": values,
        "read differently in a frame": frames,
    }
