"""A row of the table of hostile input, and the lines that its rows are answered with.

Owns what a row says, and what refusals look like on the wire. It has no row. Where a frame arrives
is said in words, which `reliability.places` gives: `agent` or `client`, `v1` or `v2`, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = (
    "INVALID",
    "NOTHING",
    "PARSE",
    "SILENT_CLIENT",
    "Hostile",
    "array",
    "error",
    "not_first",
    "not_found",
    "result",
    "too_early",
)

NOTHING: Mapping[str, bytes] = MappingProxyType({})


class Hostile(NamedTuple):
    """A frame without its newline, and the line that answers it; empty when nothing does."""

    frame: bytes
    answer: bytes
    otherwise: Mapping[str, bytes] = NOTHING
    """Where the answer is another: some words of a place to the line. The first counts whose words
    the place all has.
    """
    is_call: bool = False
    """It is a request or a notification, with which a router begins with version 1."""

    def answer_at(self, words: frozenset[str]) -> bytes:
        """The answer in a place that has these words."""
        for condition, line in self.otherwise.items():
            if words.issuperset(condition.split()):
                return line
        return self.answer


def error(code: int, message: str, request_id: str = "null", data: str = "") -> bytes:
    """The line that refuses; `request_id` and `data` are JSON text."""
    inner = f'"code":{code},"message":"{message}"' + f',"data":{data}' * bool(data)
    return f'{{"jsonrpc":"2.0","id":{request_id},"error":{{{inner}}}}}\n'.encode()


PARSE = error(-32700, "Parse error")
INVALID = error(-32600, "Invalid request")
SILENT_CLIENT = {"client": b""}
"""A client says nothing to what is no message: there is nobody to understand it."""


def too_early(method: str, request_id: str) -> bytes:
    """What refuses a request that comes before initialization."""
    data = f'"ACP initialization must complete before `{method}` can be used"'
    return error(-32600, "Invalid request", request_id, data)


def not_first(request_id: str) -> bytes:
    """The same where a router of version 2 alone refuses it."""
    data = '"first ACP request must be `initialize`"'
    return error(-32600, "Invalid request", request_id, data)


def not_found(method: str, request_id: str) -> bytes:
    """What refuses a request that nobody serves."""
    return error(-32601, "Method not found", request_id, f'{{"method":"{method}"}}')


def array(*lines: bytes) -> bytes:
    """The array of what these lines hold."""
    return b"[" + b",".join(line.strip() for line in lines) + b"]\n"


def result(request_id: str, value: str = "{}") -> bytes:
    """The line that answers a request; both are JSON text."""
    return f'{{"jsonrpc":"2.0","id":{request_id},"result":{value}}}\n'.encode()
