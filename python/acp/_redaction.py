"""JSON text, and the values in it that the log covers.

Owns reading the text token by token, and which values are secret: those below the keys `env` and
`headers`. It knows no message and writes no line.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("redacted", "tokens")

_SECRET_KEYS = frozenset({"env", "headers"})
_COVER = '"[REDACTED]"'

# JSON text, read without making anything of it: what is shown stays as it was written, to the last
# digit, and nesting takes no stack.

_TOKEN = re.compile(r'[\[\]{}:,"]|[^\s\[\]{}:,"]+')
_MAY_HOLD_SECRETS = re.compile(r'"(?:env|headers)"|\\u00')


class _Token(NamedTuple):
    """A scalar, or a bracket."""

    depth: int
    """Containers around it."""
    key: str | None
    """Its name, in an object."""
    start: int
    end: int


def tokens(text: str) -> Iterator[_Token]:
    """The values of valid JSON text in their order, brackets one by one, keys with their values."""
    keys: list[str | None] = []
    """For each container that is open: None in an array, the last key in an object."""
    is_key = False
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        start, at = found.span()
        first = text[start]
        if first == '"':
            at = _end_of_string(text, start)
        if first == ":":
            is_key = False
        elif first == ",":
            is_key = bool(keys) and keys[-1] is not None
        elif first in "]}":
            is_key = False
            keys.pop()
            yield _Token(len(keys), None, start, at)
        elif is_key:
            keys[-1] = _string(text, start, at)
        else:
            yield _Token(len(keys), keys[-1] if keys else None, start, at)
            if first in "[{":
                is_key = first == "{"
                keys.append("" if is_key else None)


def _end_of_string(text: str, start: int) -> int:
    end = start
    while True:
        end = text.find('"', end + 1)
        if end < 0:
            return len(text)
        before = end
        while text[before - 1] == "\\":
            before -= 1
        if (end - before) % 2 == 0:
            return end + 1


def _string(text: str, start: int, end: int) -> str:
    inside = text[start + 1 : end - 1]
    return json.loads(text[start:end]) if "\\" in inside else inside


_Treatment = Literal["shown", "list", "entry", "map", "covered"]
"""How a value is shown; of a container, how what is in it is.

Below the keys in question, `list` is one of names and values, `entry` an object of it, and `map` an
object whose keys are the names.
"""


def _treatment(around: _Treatment, key: str | None, first: str) -> _Treatment:
    """How a value is shown that begins with `first` and is in a container shown as `around`."""
    if around == "shown":
        if key not in _SECRET_KEYS:
            return "shown"
        return "list" if first == "[" else "map" if first == "{" else "covered"
    if around == "list" and first == "{":
        return "entry"
    if around == "entry" and key == "name" and first == '"':
        return "shown"
    return "covered"


def redacted(text: str) -> str:
    """JSON text in which the values below the keys `env` and `headers` are covered.

    Either is a list of objects with `name` and `value`, of which the names stay, or a map, of which
    the keys stay. Everything else, null too, stays as it is written.
    """
    if _MAY_HOLD_SECRETS.search(text) is None:
        return text
    pieces: list[str] = []
    copied = 0
    around: list[_Treatment] = ["shown"]
    covered: _Token | None = None
    """The bracket that opened the container which is covered as a whole."""
    for token in tokens(text):
        first = text[token.start]
        start = token.start
        if first in "]}":
            around.pop()
            if covered is None or token.depth != covered.depth:
                continue
            start, covered = covered.start, None
        else:
            treatment = _treatment(around[-1], token.key, first)
            if first in "[{":
                around.append(treatment)
                if treatment == "covered" and covered is None:
                    covered = token
                continue
            if treatment != "covered" or covered is not None or first == "n":
                continue
        pieces += (text[copied:start], _COVER)
        copied = token.end
    return "".join(pieces) + text[copied:]
