"""Which values of a message the log covers: those below the keys `env` and `headers`.

Owns JSON text in and JSON text out; that the log of a connection looks like this is
`test_wire_log`'s.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp._redaction import redacted

COVER = "[REDACTED]"


def entry(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "value": value}


@pytest.mark.parametrize("key", ["env", "headers"])
def test_the_values_of_a_list_of_names_and_values_are_covered_and_the_names_are_not(
    key: str,
) -> None:
    """C-148."""
    text = json.dumps({key: [entry("A", "secret"), entry("B", "secret")], "cwd": "/"})
    assert redacted(text) == json.dumps({key: [entry("A", COVER), entry("B", COVER)], "cwd": "/"})


@pytest.mark.parametrize("key", ["env", "headers"])
def test_the_values_of_a_map_are_covered_and_the_keys_are_not(key: str) -> None:
    """C-148."""
    text = json.dumps({key: {"A": "secret", "name": "secret", "value": {"deep": ["secret"]}}})
    assert redacted(text) == json.dumps({key: {"A": COVER, "name": COVER, "value": COVER}})


def test_servers_of_a_setup_request_keep_everything_but_the_values() -> None:
    """C-148."""

    def params(env: str, header: str) -> dict[str, Any]:
        local = {"name": "l", "command": "c", "args": ["--token=t"], "env": [entry("A", env)]}
        remote = {"type": "http", "name": "r", "url": "u", "headers": [entry("H", header)]}
        return {"cwd": "/", "mcpServers": [local, remote]}

    text = json.dumps(params("secret", "secret"))
    assert redacted(text) == json.dumps(params(COVER, COVER))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('"A=secret"', '"[REDACTED]"'),
        ("12345", '"[REDACTED]"'),
        ("null", "null"),
        ("[]", "[]"),
        ("{}", "{}"),
        ('["A=secret", 5]', '["[REDACTED]", "[REDACTED]"]'),
        ('[["A", "secret"], null]', '["[REDACTED]", null]'),
        ('[{"name": {"name": "secret"}}]', '[{"name": "[REDACTED]"}]'),
        ('[{"name": "A", "more": [{"name": "secret"}]}]', '[{"name": "A", "more": "[REDACTED]"}]'),
        ('{"A": [1, {"env": "secret"}], "B": true}', '{"A": "[REDACTED]", "B": "[REDACTED]"}'),
    ],
)
def test_what_has_neither_form_is_covered_too(value: str, shown: str) -> None:
    """C-148."""
    assert redacted(f'{{"env": {value}, "b": [1]}}') == f'{{"env": {shown}, "b": [1]}}'


def test_a_key_that_is_written_with_escapes_is_the_same_key() -> None:
    """C-148."""
    assert redacted('{"\\u0065nv":["x"]}') == '{"\\u0065nv":["[REDACTED]"]}'
    assert redacted('{"env":[{"n\\u0061me":"A","value":"x"}]}') == (
        '{"env":[{"n\\u0061me":"A","value":"[REDACTED]"}]}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "5",
        '"env"',
        '["env", "secret"]',
        '{"environment": "x", "Env": "x", "name": "env"}',
        '{"text": "\\"env\\": {\\"A\\": \\"x\\"}", "n": 1.50, "big": 12345678901234567890123}',
        ' { "a" : [ 1 , "\\ud800" , "\\u0041" ] } ',
    ],
)
def test_everything_else_is_shown_letter_by_letter(text: str) -> None:
    """C-148."""
    assert redacted(text) == text
    around = '{"env":"x","other":%s}'
    assert redacted(around % text) == (around % text).replace('"x"', '"[REDACTED]"', 1)


def test_nesting_and_long_strings_take_no_stack() -> None:
    levels = 4 * sys.getrecursionlimit()
    deep = "[" * levels + '{"env":{"A":' + "[" * levels + "]" * levels + "}}" + "]" * levels
    assert redacted(deep) == "[" * levels + '{"env":{"A":"[REDACTED]"}}' + "]" * levels
    long = json.dumps({"text": '\\"\n' * 200_000, "env": {"A": '\\"' * 200_000}})
    assert json.loads(redacted(long)) == {"text": '\\"\n' * 200_000, "env": {"A": COVER}}


def covered(value: Any, around: str = "shown", key: str | None = None) -> Any:
    """The rule once more, on values instead of text."""
    if around == "entry" and key == "name" and isinstance(value, str):
        return value
    below = around == "shown" and key in ("env", "headers")
    if isinstance(value, dict) and (around in ("shown", "list")):
        inside = "entry" if around == "list" else "map" if below else "shown"
        return {name: covered(item, inside, name) for name, item in value.items()}
    if isinstance(value, list) and around == "shown":
        return [covered(item, "list" if below else "shown") for item in value]
    return value if value is None or (around == "shown" and not below) else COVER


KEYS = st.sampled_from(["env", "headers", "name", "value", "é", 'quote"', "back\\"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["env", '"', "\\"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_any_message_is_covered_by_that_rule(value: Any, ascii_only: bool, indent: Any) -> None:
    """C-148."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert json.loads(redacted(text)) == covered(value)
