"""The environment that a child process starts with.

Owns the list of inherited variables and the rules for what comes beside it.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = (
    "DEFAULT_INHERITED_ENV_VARS",
    "default_environment",
    "environment",
    "merged",
    "selected",
)

_WINDOWS = os.name == "nt"

DEFAULT_INHERITED_ENV_VARS: list[str] = (
    [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ]
    if _WINDOWS
    else ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]
)
"""Variables that a child process inherits. The others stay here: they often hold secrets."""


def default_environment() -> dict[str, str]:
    """The inherited variables that are set, without exported shell functions.

    Part of this library.
    """
    values = ((name, os.environ.get(name)) for name in DEFAULT_INHERITED_ENV_VARS)
    return {name: value for name, value in values if value is not None and not _is_code(value)}


def environment(
    given: Mapping[str, str] | None = None,
    *,
    inherit: bool | None = None,
    allow: Iterable[str] = (),
) -> dict[str, str]:
    """The variables for a child process, taken from those that this process has now.

    Args:
        given: Variables for it, whatever else it gets.
        inherit: None for the short list of `default_environment`, True for everything, False for
            nothing.
        allow: Names of further variables, and patterns such as `"*_API_KEY"` (`*`, `?`, `[abc]`).

    Raises TypeError when `allow` is one string, and ValueError when it stands beside
    `inherit=True`.
    """
    if isinstance(allow, str):
        message = f"allow= takes a list of names and patterns: allow=[{allow!r}]"
        raise TypeError(message)
    patterns = list(allow)
    if inherit and patterns:
        message = "allow= adds to what is inherited; with inherit=True that is everything already"
        raise ValueError(message)
    if inherit is None:
        inherited = default_environment()
    else:
        inherited = dict(os.environ) if inherit else {}
    return merged({**inherited, **selected(os.environ, patterns)}, given or {})


def selected(
    host: Mapping[str, str], patterns: Iterable[str], *, windows: bool = _WINDOWS
) -> dict[str, str]:
    """The variables whose name fits one of the patterns, without exported shell functions.

    On Windows, case means nothing in a name.
    """
    wanted = [pattern.upper() if windows else pattern for pattern in patterns]
    return {
        name: value
        for name, value in host.items()
        if any(fnmatchcase(name.upper() if windows else name, pattern) for pattern in wanted)
        and not _is_code(value)
    }


def merged(
    inherited: Mapping[str, str], given: Mapping[str, str], *, windows: bool = _WINDOWS
) -> dict[str, str]:
    """Both, where what is given takes the place of what is inherited.

    On Windows that is so whatever the case of the two names: a process has only one of them.
    """
    if not windows:
        return {**inherited, **given}
    replaced = {name.upper() for name in given}
    kept = {name: value for name, value in inherited.items() if name.upper() not in replaced}
    return {**kept, **given}


def _is_code(value: str) -> bool:
    """Whether it is a function that a shell has exported."""
    return value.startswith("()")
