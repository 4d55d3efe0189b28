"""The environment that a child process starts with.

Owns the list of inherited variables.
"""

from __future__ import annotations

import os

__all__ = ("DEFAULT_INHERITED_ENV_VARS", "default_environment")

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
    if os.name == "nt"
    else ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]
)
"""Variables that a child process inherits. The others stay here: they often hold secrets."""


def default_environment() -> dict[str, str]:
    """The inherited variables that are set, without exported shell functions.

    Part of this library.
    """
    values = ((name, os.environ.get(name)) for name in DEFAULT_INHERITED_ENV_VARS)
    return {name: value for name, value in values if value is not None and value[:2] != "()"}
