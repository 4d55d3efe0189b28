"""Standard streams and child processes on asyncio, under the names of the drop-in surface.

Owns the context managers that start the other side as a process. Pipes and processes are
`acp._transports`'s.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from acp._given import require_asyncio
from acp._lazy import passing_on
from acp._transports.descriptors import is_watchable
from acp._transports.process import ProcessTransport
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.connection import Connection, MethodHandler, StreamObserver
from acp.transports import spawn_stdio_transport

if TYPE_CHECKING:
    import asyncio.subprocess as aio_subprocess
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
    from pathlib import Path

    from acp._transports.process import ProcessOptions
    from acp.interfaces import Agent, Client

__all__ = [
    "spawn_agent_process",
    "spawn_client_process",
    "spawn_stdio_connection",
    "spawn_stdio_transport",
    "stdio_streams",
]

if not TYPE_CHECKING:
    __getattr__ = passing_on(__name__, "acp.interfaces")

_DEFAULT_LIMIT = 64 * 1024


@asynccontextmanager
async def spawn_agent_process(
    to_client: Callable[[Agent], Client] | Client,
    command: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    inherit: bool | None = None,
    allow: Iterable[str] = (),
    cwd: str | Path | None = None,
    on_stderr: Callable[[str], object] | Literal["forward"] | None = None,
    start_timeout: float | None = None,
    transport_kwargs: Mapping[str, Any] | None = None,
    **connection_kwargs: Any,
) -> AsyncGenerator[tuple[ClientSideConnection, aio_subprocess.Process], None]:
    """Starts an agent and connects a client to it, for the length of an `async with`.

    Args:
        to_client: The client, or a function that makes it from the connection.
        command: The agent's program, looked up on PATH; no shell is involved.
        *args: Its arguments.
        env: Variables for it beside the inherited ones.
        inherit: Which of this process's variables it inherits: None for the few of
            `acp.default_environment()`, True for all, False for none.
        allow: Names of more to inherit, and patterns such as `"*_API_KEY"`.
        cwd: Its working directory.
        on_stderr: Gets each line that it writes to stderr, as a str, in the thread of the loop;
            `"forward"` for the stderr of this process.
        start_timeout: Seconds from the first message to it until it first writes anything, or the
            connection ends; None for no end.
        transport_kwargs: `stderr` (as in `subprocess`; by default a pipe, of which `process.stderr`
            gives the last 64 KiB that nobody read) and `shutdown_timeout` (seconds to exit after
            its input ended, default 2, before its process group is terminated, and again before it
            is killed). `limit` is taken and means nothing here.
        **connection_kwargs: Keywords of `ClientSideConnection`.

    Yields the connection and the process. Raises OSError when the command cannot be started: it
    names the command, the PATH that was searched and the variables that were passed.
    """
    require_asyncio("spawn_agent_process")
    options: ProcessOptions = {
        "env": env,
        "inherit": inherit,
        "allow": allow,
        "cwd": cwd,
        "on_stderr": on_stderr,
        "start_timeout": start_timeout,
    }
    async with _process(command, args, options, transport_kwargs) as transport:
        connection = ClientSideConnection(to_client, transport, **connection_kwargs)
        try:
            yield connection, transport.process
        finally:
            await connection.close()


@asynccontextmanager
async def spawn_client_process(
    to_agent: Callable[[Client], Agent] | Agent,
    command: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    inherit: bool | None = None,
    allow: Iterable[str] = (),
    cwd: str | Path | None = None,
    on_stderr: Callable[[str], object] | Literal["forward"] | None = None,
    start_timeout: float | None = None,
    transport_kwargs: Mapping[str, Any] | None = None,
    **connection_kwargs: Any,
) -> AsyncGenerator[tuple[AgentSideConnection, aio_subprocess.Process], None]:
    """Starts a client and connects an agent to it, for the length of an `async with`.

    The arguments are those of `spawn_agent_process`, with the sides exchanged.
    """
    require_asyncio("spawn_client_process")
    options: ProcessOptions = {
        "env": env,
        "inherit": inherit,
        "allow": allow,
        "cwd": cwd,
        "on_stderr": on_stderr,
        "start_timeout": start_timeout,
    }
    async with _process(command, args, options, transport_kwargs) as transport:
        connection = AgentSideConnection(to_agent, transport, **connection_kwargs)
        try:
            yield connection, transport.process
        finally:
            await connection.close()


@asynccontextmanager
async def spawn_stdio_connection(
    handler: MethodHandler,
    command: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    observers: list[StreamObserver] | None = None,
    **transport_kwargs: Any,
) -> AsyncGenerator[tuple[Connection, aio_subprocess.Process], None]:
    """Starts a command and connects one handler to it, for the length of an `async with`.

    Args:
        handler: As of `acp.connection.Connection`.
        command: The program, looked up on PATH; no shell is involved.
        *args: Its arguments.
        env: Variables for it beside the inherited ones.
        cwd: Its working directory.
        observers: As of `acp.connection.Connection`.
        **transport_kwargs: As those of `spawn_agent_process`.

    Yields the connection and the process. Raises OSError when the command cannot be started.
    """
    require_asyncio("spawn_stdio_connection")
    async with (
        _process(command, args, {"env": env, "cwd": cwd}, transport_kwargs) as transport,
        Connection(handler, transport, observers=observers) as connection,
    ):
        yield connection, transport.process


def _process(
    command: str,
    args: tuple[str, ...],
    options: ProcessOptions,
    more: Mapping[str, Any] | None,
) -> ProcessTransport:
    kept = {name: value for name, value in (more or {}).items() if name != "limit"}
    return ProcessTransport(command, *args, **options, **kept)


async def stdio_streams(
    limit: int | None = None,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Standard input and output of this process as asyncio streams.

    Args:
        limit: The reader's limit in bytes (asyncio's default when None). A connection has its own
            limit.

    Returns the reader of standard input and the writer of standard output. `acp.run_agent` without
    streams does more: it keeps both from everything else that this process prints.
    """
    require_asyncio("stdio_streams")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit or _DEFAULT_LIMIT, loop)
    if is_watchable(0):
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        await loop.connect_read_pipe(lambda: protocol, os.fdopen(os.dup(0), "rb", 0))
    else:
        threading.Thread(target=_feed, args=(loop, reader), name="acp_stdin", daemon=True).start()
    drain = asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), loop=loop)
    if is_watchable(1):
        pipe = os.fdopen(os.dup(1), "wb", 0)
        transport, _ = await loop.connect_write_pipe(lambda: drain, pipe)
    else:
        transport = _BlockingWrite(os.dup(1))
    return reader, asyncio.StreamWriter(transport, drain, reader, loop)


def _feed(loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader) -> None:
    try:
        while data := os.read(0, _DEFAULT_LIMIT):
            loop.call_soon_threadsafe(reader.feed_data, data)
        loop.call_soon_threadsafe(reader.feed_eof)
    except RuntimeError:
        # The loop has ended; nobody reads any more.
        return
    except OSError as exc:
        loop.call_soon_threadsafe(reader.set_exception, exc)


class _BlockingWrite(asyncio.WriteTransport):
    """Writes to a file or terminal, which no event loop can watch and which takes all at once."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd

    def write(self, data: bytes | bytearray | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def is_closing(self) -> bool:
        return self._fd < 0

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
