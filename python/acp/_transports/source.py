"""How people write down which agent to start.

Owns the forms of a command as text or list. It starts nothing.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from acp._transports.process import ProcessTransport, process_transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from acp._transports.process import ProcessOptions

__all__ = ("AgentSource", "agent_source", "agent_transport")


class AgentSource(NamedTuple):
    """A program, its arguments, and variables of its environment."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]


def agent_source(source: str | Sequence[str]) -> AgentSource:
    """Reads which agent to start. Nothing is looked up or expanded.

    Args:
        source: One of three forms:

            - a list: variables as `NAME=value`, the program, its arguments:
              `["RUST_LOG=debug", "my-agent", "--acp"]`
            - a str of the same, in words as a POSIX shell splits them, quotes and backslashes
              included: `"RUST_LOG=debug 'my agent' --acp"`
            - a str that holds a JSON object: `{"command": "my-agent", "args": ["--acp"], "env":
              {"RUST_LOG": "debug"}}`, of which `args` and `env` may be left out; other members are
              not looked at

    Raises ValueError when there is no command, or a form is not kept; its text holds nothing of the
    source, which may have secrets in it.
    """
    if not isinstance(source, str):
        return _from_words(source)
    text = source.strip()
    if text.startswith("{"):
        return _from_json(text)
    try:
        words = shlex.split(text)
    except ValueError as exc:
        # Its text tells of quotes and backslashes, and nothing that is in them.
        message = f"The command cannot be split into words: {exc}"
        raise ValueError(message) from None
    return _from_words(words)


def agent_transport(
    source: str | Sequence[str], **options: Unpack[ProcessOptions]
) -> ProcessTransport:
    """A transport to an agent that it starts, for a command that comes from a configuration or a
    command line.

    Args:
        source: What `agent_source` reads.
        **options: Those of `process_transport`; variables in `env` win over those of the source.

    Raises ValueError as `agent_source` does. Opening it raises what `process_transport` does.
    """
    command, args, env = agent_source(source)
    if env:
        options["env"] = {**env, **(options.get("env") or {})}
    return process_transport(command, *args, **options)


def _from_words(words: Sequence[str]) -> AgentSource:
    if any(not isinstance(cast("object", word), str) for word in words):
        message = "The command of an agent has to be a str or a sequence of them"
        raise ValueError(message)
    env: dict[str, str] = {}
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not equals or not _is_name(name):
            return _source(word, words[at + 1 :], env)
        env[name] = value
    return _source("", (), env)


def _from_json(text: str) -> AgentSource:
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError):
        message = "The command of an agent begins with { and is no JSON object"
        raise ValueError(message) from None
    command: Any = given.get("command", "")
    args: Any = given.get("args", [])
    env: Any = given.get("env", {})
    if not isinstance(command, str) or not _are_strings(args, list):
        message = "The command of an agent has to be a string, and its args a list of strings"
        raise ValueError(message)
    if not isinstance(env, dict) or not _are_strings(list(cast("Any", env).values()), list):
        message = "The env of an agent has to be an object whose values are strings"
        raise ValueError(message)
    return _source(command, cast("list[str]", args), cast("dict[str, str]", env))


def _source(command: str, args: Sequence[str], env: Mapping[str, str]) -> AgentSource:
    if not command.strip():
        message = "The source of an agent names no command: it is empty, or holds variables alone"
        raise ValueError(message)
    return AgentSource(command, tuple(args), dict(env))


def _are_strings(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and all(
        isinstance(each, str) for each in cast("list[object]", value)
    )


def _is_name(name: str) -> bool:
    return name.isidentifier() and name.isascii()
