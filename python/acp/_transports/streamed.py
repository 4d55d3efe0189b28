"""A child process with streams of asyncio for its standard input and output.

Owns such a child from start to reaping, for programs that read and write its lines themselves. It
knows no message.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from subprocess import PIPE
from typing import TYPE_CHECKING, Any, cast

from anyio import CancelScope

from acp._given import require_asyncio
from acp._transports.environment import environment
from acp._transports.group import group_of
from acp._transports.process import Pipes, end_process
from acp._transports.spawning import start
from acp._transports.stderr import StderrPipe

if TYPE_CHECKING:
    import asyncio.subprocess as aio_subprocess
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

__all__ = ("spawn_stdio_transport",)


@asynccontextmanager
async def spawn_stdio_transport(
    command: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    stderr: int | None = PIPE,
    limit: int | None = None,
    shutdown_timeout: float = 2.0,
) -> AsyncGenerator[
    tuple[asyncio.StreamReader, asyncio.StreamWriter, aio_subprocess.Process], None
]:
    """Starts a command, for the length of an `async with`.

    Args:
        command: The program; it is looked up on PATH and no shell is involved.
        *args: Its arguments.
        env: Variables for it beside those of `acp.default_environment()`.
        cwd: Its working directory.
        stderr: As in `subprocess`; by default a pipe, of which `process.stderr` gives the last
            64 KiB that nobody read.
        limit: The reader's limit in bytes, which is the longest line; asyncio's, 64 KiB, when None.
        shutdown_timeout: Seconds to exit after its input ended, before its process group is
            terminated, and again before it is killed.

    Yields the reader of its output, the writer of its input, and the process. Raises OSError when
    the command cannot be started. A connection needs none of this: give it
    `acp.transports.process_transport(...)`.
    """
    require_asyncio("spawn_stdio_transport")
    streams: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "stderr": stderr}
    if limit is not None:
        streams["limit"] = limit
    pipes = Pipes()
    stderr_fd = -1
    try:
        if stderr == PIPE:
            # Ours, so that a child that writes much is never blocked.
            streams["stderr"], stderr_fd = pipes.from_child()
        process = await start((command, *args), env=environment(env), cwd=cwd, **streams)
    except BaseException:
        pipes.close_ours()
        raise
    finally:
        pipes.close_theirs()
    group = group_of(process)
    errors = None if stderr_fd < 0 else StderrPipe(stderr_fd, None)
    if errors is not None:
        process.stderr = cast("Any", errors.reader)
    reader, writer = process.stdout, process.stdin
    try:
        if reader is None or writer is None:
            message = "This event loop starts processes without streams: use process_transport()"
            raise RuntimeError(message)
        yield reader, writer, process
    finally:
        # Each step is bounded, and one left out would leave a child behind.
        with CancelScope(shield=True):
            if writer is not None:
                writer.close()
            if process.returncode is None:
                await end_process(process, group, shutdown_timeout)
            else:
                await group.end_orphans(shutdown_timeout)
            if writer is not None:
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
            group.close()
            if errors is not None:
                errors.close()
