"""Input that no good peer sends, and what an agent answers to each: exactly that, nothing else.

Owns the table for what is measured through whole connections; the core's own tests have theirs,
written apart from this one.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ("LONGEST", "OVERSIZED", "TABLE", "Hostile")

LONGEST = 4900
"""What `max_message_bytes` has to be for the frames of `OVERSIZED`."""


class Hostile(NamedTuple):
    """A frame without its newline, and the line that answers it; empty when nothing does."""

    frame: bytes
    answer: bytes


def _error(code: int, message: str, request_id: str = "null") -> bytes:
    error = f'{{"code":{code},"message":"{message}"}}'
    return f'{{"jsonrpc":"2.0","id":{request_id},"error":{error}}}\n'.encode()


PARSE = _error(-32700, "Parse error")
INVALID = _error(-32600, "Invalid request")


def _each(answer: bytes, frames: bytes) -> list[Hostile]:
    """One for each line."""
    return [Hostile(line.strip(), answer) for line in frames.strip().splitlines()]


def _deep(head: bytes, tail: bytes) -> bytes:
    return head + b"[" * 1025 + b"]" * 1025 + tail


def _wide(head: bytes, tail: bytes) -> bytes:
    return head + b"a" * 5000 + tail


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
    *(Hostile(noise, PARSE) for noise in (b"\0", b"\0\0\0\0", b"\x0b", b"\xc2\xa0")),
    *(Hostile(noise, PARSE) for noise in (b"\xe2\x80\xa8", b"POST / HTTP/1.1\r", b"\xff\xfe{\0")),
    *(Hostile(blank, b"") for blank in (b"", b"\r\r", b" \t ")),
    # JSON, but no message.
    *_each(
        INVALID, b'"hello"\n42\n-0\nnull\ntrue\n{}\n[]\n{"jsonrpc":"2.0"}\n{"id":7}\n{"id":"0"}'
    ),
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
    Hostile(b'{"id":7,"method":"m","params":{"t":"\x01"}}', PARSE),
    Hostile(b'\xef\xbb\xbf{"id":7,"method":"m"}', PARSE),
    Hostile(b'{"id":7,"method":"m","params":[' + b"9" * 4301 + b"]}", PARSE),
    # Bytes that are no UTF-8.
    *(
        Hostile(b'{"id":7,"method":"' + bad + b'"}', PARSE)
        for bad in (
            b"\xff",
            b"\xc0\xaf",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xe2\x82",
            b"\x80",
        )
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
    # Answers that are nobody's, though request 0 waits for one.
    *_each(
        b"",
        b"""
{"id":1,"result":{}}
{"id":-1,"result":{}}
{"id":"0","result":{}}
{"id":0.0,"result":{}}
{"id":0e0,"result":{}}
{"id":false,"result":{}}
{"id":[0],"result":{}}
{"id":{"a":0},"error":1}
{"id":null,"error":{"code":-32700,"message":"Parse error"}}
{"result":{}}
{"error":null}
""",
    ),
    # Notifications that mean nothing.
    *_each(
        b"",
        b"""
{"method":"$/cancel_request"}
{"method":"$/cancel_request","params":{"requestId":{}}}
{"method":"$/cancel_request","params":{"requestId":99}}
{"method":""}
{"method":"nothing/like/it"}
""",
    ),
    # Arrays.
    Hostile(b"[1]", b"[" + INVALID.strip() + b"]\n"),
    Hostile(b'[null,{"method":""}]', b"[" + INVALID.strip() + b"]\n"),
    Hostile(b"[" + b",".join([b"1"] * 1025) + b"]", INVALID),
]

OVERSIZED: list[Hostile] = [
    Hostile(_wide(b"", b""), INVALID),
    Hostile(_wide(b'"', b'"'), INVALID),
    Hostile(
        _wide(b'{"id":7,"method":"m","params":["', b'"]}'), _error(-32600, "Invalid request", "7")
    ),
    Hostile(
        _wide(b'{"params":["', b'"],"method":"m","id":"x"}'),
        _error(-32600, "Invalid request", '"x"'),
    ),
    Hostile(_wide(b'{"id":7,"method":"m","params":["', b""), INVALID),
    Hostile(_wide(b'{"id":"', b'","method":"m"}'), INVALID),
    Hostile(_wide(b'{"method":"m","params":["', b'"]}'), b""),
    Hostile(_wide(b'{"id":5,"result":"', b'"}'), b""),
    Hostile(b" " * 6000, b""),
    Hostile(_deep(b'{"id":7,"method":"m","params":', b"}"), _error(-32600, "Invalid request", "7")),
    Hostile(_deep(b'{"method":"m","params":', b"}"), b""),
    Hostile(_deep(b'{"id":', b',"method":"m"}'), INVALID),
    Hostile(b"[" * 4000, INVALID),
]
