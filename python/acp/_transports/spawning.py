"""Starting a child process on each event loop.

Owns what the loops differ in, and what a child is started with on each platform. It knows no pipe
and ends nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, cast

from acp._runtime import is_on_trio
from acp._transports.program import program_of, start_error

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ("group_options", "start")

_ON_WINDOWS = sys.platform == "win32"
_CREATE_NEW_PROCESS_GROUP = 0x0000_0200
_CREATE_NO_WINDOW = 0x0800_0000


def group_options(*, windows: bool) -> dict[str, Any]:
    """What makes a child a group of its own, which a Ctrl-C at our terminal does not reach.

    On Windows it gets no window either.
    """
    if windows:
        return {"creationflags": _CREATE_NEW_PROCESS_GROUP | _CREATE_NO_WINDOW}
    return {"start_new_session": True}


async def start(
    command: tuple[str, ...], *, env: Mapping[str, str], cwd: str | Path | None, **streams: Any
) -> Process:
    """Starts the command and returns its process: asyncio's, trio's, or one that has the same
    methods. `streams` are `stdin`, `stdout` and `stderr`.

    Raises OSError that names command, PATH and variables; on Windows also ValueError, for arguments
    that a batch file cannot be given.
    """
    options = {**streams, "env": env, "cwd": cwd, **group_options(windows=_ON_WINDOWS)}
    try:
        if _ON_WINDOWS:
            command = (program_of(command, env), *command[1:])
        return await _start(command, options)
    except OSError as exc:
        raise start_error(exc, command, env, cwd, windows=_ON_WINDOWS) from None


async def _start(command: tuple[str, ...], options: dict[str, Any]) -> Process:
    if is_on_trio():
        from trio.lowlevel import open_process

        return cast("Process", await open_process(command, **options))
    from asyncio import create_subprocess_exec, get_running_loop

    if type(get_running_loop()).__module__.startswith("uvloop"):
        # It hands on copies that it has made of the child's pipes, and whatever else is open.
        options["preexec_fn"] = _close_others_on_exec
    try:
        return await create_subprocess_exec(*command, **options)
    except NotImplementedError:
        # asyncio's selector loop on Windows.
        from acp._transports.popen import PopenProcess

        return cast("Process", PopenProcess(command, options))


def _close_others_on_exec() -> None:
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.set_inheritable(int(name), False)
