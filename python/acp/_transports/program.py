"""From a command to the program that is started, and what is told when that fails.

Owns where a program is looked for on Windows, what may be handed to a batch file there, and the
text of the error. It starts nothing.
"""

from __future__ import annotations

import errno
import ntpath
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ("check_arguments", "find_on_windows", "program_of", "search_path", "start_error")

_EXTENSIONS = ".COM;.EXE;.BAT;.CMD"
"""What PATHEXT is when it is not set."""
_BATCH = (".bat", ".cmd")
_READ_BY_CMD = frozenset('"%&|<>^\r\n')
"""Characters that cmd.exe takes for its own, in some places also within quotes."""


def search_path(env: Mapping[str, str], *, windows: bool) -> str:
    """Where a command without a directory is looked for: the PATH that the child gets.

    Without one: on Windows the host's, elsewhere what the system has for that.
    """
    if not windows:
        return os.pathsep.join(os.get_exec_path(env))
    return _variable(env, "PATH") or os.environ.get("PATH", "")


def program_of(command: Sequence[str], env: Mapping[str, str]) -> str:
    """On Windows, the file that the command stands for.

    The system itself would find `npx.exe` for `npx`, but not `npx.cmd`. Raises FileNotFoundError
    when there is none, and ValueError for arguments that no batch file can be given.
    """
    path = search_path(env, windows=True)
    extensions = _variable(env, "PATHEXT") or os.environ.get("PATHEXT", "")
    found = find_on_windows(command[0], path, extensions, os.path.isfile)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    check_arguments(found, command[1:])
    return found


def find_on_windows(
    command: str, path: str, extensions: str, is_file: Callable[[str], bool]
) -> str | None:
    """The file that a command stands for by the rules of Windows, or None.

    With a directory in the command only that is looked into, otherwise those of `path` and not the
    current one. A name gets each of the `extensions` (as in PATHEXT) in turn; as it is it counts
    when it has one of them, or stands with its directory.
    """
    endings = [part.lower() for part in (extensions or _EXTENSIONS).split(";") if part]
    has_directory = bool(ntpath.dirname(command))
    names = [command + ending for ending in endings]
    if has_directory or ntpath.splitext(command)[1].lower() in endings:
        names.insert(0, command)
    if has_directory:
        return next(filter(is_file, names), None)
    directories = [part.strip().strip('"') for part in path.split(";")]
    places = (ntpath.join(place, name) for place in directories if place for name in names)
    return next(filter(is_file, places), None)


def check_arguments(program: str, arguments: Sequence[str]) -> None:
    """Raises ValueError when the program is a batch file and an argument has what cmd.exe, which
    runs it, would read as its own: part of it would be lost, or run as another command.
    """
    if not program.lower().endswith(_BATCH):
        return
    for number, argument in enumerate(arguments, 1):
        if _READ_BY_CMD.intersection(argument):
            message = (
                f'Argument {number} of the batch file {program} has one of "%&|<>^ or a newline, '
                f"which cmd.exe would read as its own: start the program that it starts instead"
            )
            raise ValueError(message)


def start_error(
    exc: OSError, command: Sequence[str], env: Mapping[str, str], cwd: object, *, windows: bool
) -> OSError:
    """The same error, and what a reader needs to mend it: the command, or the directory that is
    not there; the PATH that was searched; the names of the variables that were passed.
    """
    if exc.errno is None:
        return exc
    # uvloop does not tell what it was that could not be found or run.
    in_directory = cwd is None or os.path.isdir(str(cwd))
    name = exc.filename or (command[0] if in_directory else cwd)
    facts: list[str] = []
    if name == command[0] and not (ntpath if windows else os.path).dirname(command[0]):
        facts.append(f"searched on PATH {search_path(env, windows=windows)}")
    facts.append(f"variables passed: {', '.join(sorted(env)) or 'none'}")
    text = f"{exc.strerror or os.strerror(exc.errno)} ({'; '.join(facts)})"
    return type(exc)(exc.errno, text, str(name))


def _variable(env: Mapping[str, str], name: str) -> str | None:
    """The variable, whatever the case of its name."""
    return next((value for key, value in env.items() if key.upper() == name), None)
