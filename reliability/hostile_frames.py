"""Input that no good peer sends, and what is answered to each: exactly that, nothing else.

Owns the table for what is measured through whole connections; the core's own tests have theirs,
written apart from this one.
"""

from __future__ import annotations

from collections.abc import Mapping

from reliability.hostile_calls import CALLS
from reliability.hostile_rows import INVALID, NOTHING, PARSE, SILENT_CLIENT, Hostile, error

__all__ = ("LONGEST", "OVERSIZED", "TABLE", "nobodys_answers")

LONGEST = 4900
"""What `max_message_bytes` has to be for the frames of `OVERSIZED`."""


def _each(
    answer: bytes, frames: bytes, otherwise: Mapping[str, bytes] = SILENT_CLIENT
) -> list[Hostile]:
    """One for each line."""
    return [Hostile(line.strip(), answer, otherwise) for line in frames.strip().splitlines()]


def _noise(answer: bytes, *frames: bytes) -> list[Hostile]:
    """One for each frame, to which a client says nothing."""
    return [Hostile(frame, answer, SILENT_CLIENT) for frame in frames]


def _deep(head: bytes, tail: bytes) -> bytes:
    return head + b"[" * 1025 + b"]" * 1025 + tail


def _wide(head: bytes, tail: bytes) -> bytes:
    return head + b"a" * 5000 + tail


TOO_LARGE = error(-32600, "Invalid request", "7")
TABLE: list[Hostile] = [
    # What ends up on a standard output that should be the protocol's alone.
    *_each(
        PARSE,
        b"""
Loaded credentials.
[agent] thinking...
Traceback (most recent call last):
GET / HTTP/1.1
Content-Length: 52
\x1b]0;title\x07
""",
    ),
    *_noise(PARSE, b"\0", b"\0\0\0\0", b"\x0b", b"\xc2\xa0"),
    *_noise(PARSE, b"\xe2\x80\xa8", b"POST / HTTP/1.1\r", b"\xff\xfe{\0"),
    *(Hostile(blank, b"") for blank in (b"", b"\r\r", b" \t ")),
    # JSON, but no message.
    *_each(INVALID, b'"hello"\n42\n-0\nnull\ntrue\n[]\n{"id":7}\n{"id":"0"}'),
    # What neither asks nor answers anything.
    *_each(INVALID, b'{}\n{"jsonrpc":"2.0"}', {**SILENT_CLIENT, "drop-in": b""}),
    # Almost JSON.
    *_each(
        PARSE,
        b"""
{
}
{bad
[1,2
{"id":7,"method":"m"
{"id":7,"method":"m"}}
{"id":7,"method":"m"}{"id":8,"method":"m"}
{"id":7,"method":"m",}
{"jsonrpc":"2.0",
{'id':7,'method':'m'}
{id:7,method:"m"}
{"id":7,"method":"m" /* no */}
{"id":7,"method":"m"} // no
{"id":07,"method":"m"}
{"id":+7,"method":"m"}
{"id":7 "method":"m"}
{"id":NaN,"method":"m"}
{"id":-Infinity,"method":"m"}
{"id":7,"method":"m","params":[1e400]}
{"id":7,"method":"m","params":{"v":NaN}}
{"id":7,"method":"m","params":{"v":tru}}
{"id":7,"method":"\\x"}
{"id":7,"method":"\\ud8"}
""",
    ),
    *_noise(
        PARSE,
        b'{"id":7,"method":"m","params":{"t":"\x01"}}',
        b'\xef\xbb\xbf{"id":7,"method":"m"}',
        b'{"id":7,"method":"m","params":[' + b"9" * 4301 + b"]}",
    ),
    # Bytes that are no UTF-8.
    *_noise(
        PARSE,
        *(
            b'{"id":7,"method":"' + bad + b'"}'
            for bad in (
                *(b"\xff", b"\xc0\xaf", b"\xed\xa0\x80"),
                *(b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"),
            )
        ),
    ),
    # Envelopes that break the rules.
    *_each(
        INVALID,
        b"""
{"jsonrpc":"1.0","id":7,"method":"m"}
{"jsonrpc":2,"id":7,"method":"m"}
{"jsonrpc":null,"id":7,"method":"m"}
{"id":7,"method":{}}
{"id":7,"method":5}
{"id":7,"method":null}
{"id":7,"method":"m","params":1}
{"method":"m","params":"x"}
{"id":7,"method":"m","result":{}}
{"id":7,"method":"m","error":{}}
{"id":7,"Method":"m"}
{"id":7,"method":"good","method":"evil"}
{"id":7,"method":"good","m\\u0065thod":"evil"}
{"id":7,"id":8,"method":"m"}
{"method":"m","params":{},"params":{}}
{"id":1.5,"method":"m"}
{"id":1.0,"method":"m"}
{"id":1e0,"method":"m"}
{"id":-0,"method":"m"}
{"id":true,"method":"m"}
{"id":[1],"method":"m"}
{"id":{"a":1},"method":"m"}
{"id":9223372036854775808,"method":"m"}
""",
    ),
    # Notifications that mean nothing.
    *_each(
        b"",
        b"""
{"method":"$/cancel_request"}
{"method":"$/cancel_request","params":{"requestId":{}}}
{"method":"$/cancel_request","params":{"requestId":99}}
""",
    ),
    *CALLS,
]
"""All but answers and what is too long or too deep."""


def nobodys_answers(waiting: int) -> list[Hostile]:
    """Answers that are nobody's, while a request `waiting` waits for one and no other does."""
    frames = f"""
{{"id":{waiting + 1},"result":{{}}}}
{{"id":{-waiting - 1},"result":{{}}}}
{{"id":"{waiting}","result":{{}}}}
{{"id":{waiting}.0,"result":{{}}}}
{{"id":{waiting}e0,"result":{{}}}}
{{"id":false,"result":{{}}}}
{{"id":true,"result":{{}}}}
{{"id":[{waiting}],"result":{{}}}}
{{"id":{{"a":{waiting}}},"error":1}}
{{"id":null,"error":{{"code":-32700,"message":"Parse error"}}}}
{{"id":null,"result":{{}}}}
{{"result":{{}}}}
{{"error":null}}
[{{"id":{waiting + 1},"result":{{}}}},{{"id":"{waiting}","result":{{}}}}]
"""
    return _each(b"", frames.encode(), NOTHING)


OVERSIZED: list[Hostile] = [
    *_noise(
        INVALID,
        _wide(b"", b""),
        _wide(b'"', b'"'),
        _wide(b'{"id":7,"method":"m","params":["', b""),
        _wide(b'{"id":"', b'","method":"m"}'),
        _deep(b'{"id":', b',"method":"m"}'),
        b"[" * 4000,
    ),
    # The one who asked waits for an answer, also where nothing else is answered.
    Hostile(_wide(b'{"id":7,"method":"m","params":["', b'"]}'), TOO_LARGE),
    Hostile(_deep(b'{"id":7,"method":"m","params":', b"}"), TOO_LARGE),
    Hostile(
        _wide(b'{"params":["', b'"],"method":"m","id":"x"}'),
        error(-32600, "Invalid request", '"x"'),
    ),
    Hostile(_wide(b'{"id":null,"method":"m","params":["', b'"]}'), INVALID, {"v2 client": b""}),
    *(
        Hostile(frame, b"")
        for frame in (
            _wide(b'{"method":"m","params":["', b'"]}'),
            _deep(b'{"method":"m","params":', b"}"),
            _wide(b'{"id":5,"result":"', b'"}'),
            b" " * 6000,
        )
    ),
]
