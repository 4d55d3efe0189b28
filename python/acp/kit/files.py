"""Files for agents, within folders.

Owns reading and writing text files that an agent asks for, and keeping it out of everything else.
Of protocol version 1, where the client has the files.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from acp.exceptions import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ("FileAccess",)

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class FileAccess:
    """Handlers of `fs/read_text_file` and `fs/write_text_file`.

    Paths count after all links are followed, so that no link leads out of the folders. Who can
    change the folders meanwhile, such as a command that the agent runs, is not kept out by this.

    Args:
        folders: One folder, some, or a function that gives those of a session's id.
        writable: Whether files may be written.
        max_bytes: Longest file that is read or written, in bytes.
    """

    def __init__(
        self,
        folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Callable[[str], Any],
        *,
        writable: bool = True,
        max_bytes: int = 16 * 1024 * 1024,
    ) -> None:
        self._folders = folders if callable(folders) else _fixed(folders)
        self._writable = writable
        self._max_bytes = max_bytes

    async def read_text_file(self, request: Any) -> dict[str, str]:
        """Reads a file, or `limit` lines of it from line `line` on, counted from 1."""
        return {"content": await to_thread.run_sync(self._read, request)}

    async def write_text_file(self, request: Any) -> dict[str, Any]:
        """Writes a file, and makes it when there is none; its folder has to be there."""
        if not self._writable:
            raise RequestError(-32603, "Files cannot be written here")
        await to_thread.run_sync(self._write, request)
        return {}

    def _read(self, request: Any) -> str:
        path = self._inside(request)
        try:
            # A pipe would block for ever, a device never end.
            if not path.is_file():
                raise FileNotFoundError
            with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINKS), "rb") as file:
                if request.line is None and request.limit is None:
                    text = file.read(self._max_bytes + 1)
                else:
                    text = self._lines(file, request)
        except OSError:
            raise RequestError.resource_not_found() from None
        if len(text) > self._max_bytes:
            raise RequestError(-32603, "The file is too long; ask for some of its lines")
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise RequestError(-32603, "The file is no UTF-8 text") from None

    def _lines(self, file: Any, request: Any) -> bytes:
        """Some lines, and no more of a file without lines than is allowed."""
        first = max(request.line or 1, 1) - 1
        last = None if request.limit is None else first + request.limit
        found = bytearray()
        lines = iter(lambda: file.readline(self._max_bytes + 1), b"")
        for line in islice(lines, first, last):
            found += line
            if len(found) > self._max_bytes:
                break
        return bytes(found)

    def _write(self, request: Any) -> None:
        data = request.content.encode()
        if len(data) > self._max_bytes:
            raise RequestError(-32603, "The text is too long")
        path = self._inside(request)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINKS
            with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
                file.write(data)
        except OSError as exc:
            raise RequestError(-32603, f"The file cannot be written ({exc.errno})") from None

    def _inside(self, request: Any) -> Path:
        path = Path(request.path)
        if not path.is_absolute():
            raise RequestError.invalid_params({"path": "has to be absolute"})
        try:
            path = path.resolve()
            folders = [Path(folder).resolve() for folder in self._folders(request.session_id)]
        except (OSError, RuntimeError, ValueError):
            raise RequestError.invalid_params({"path": "cannot be followed"}) from None
        if not any(path.is_relative_to(folder) for folder in folders):
            raise RequestError.invalid_params({"path": "is outside of the session's folders"})
        return path


def _fixed(folders: Any) -> Callable[[str], list[Any]]:
    found: list[Any] = [folders] if isinstance(folders, (str, os.PathLike)) else list(folders)

    def same(session_id: str) -> list[Any]:
        del session_id
        return found

    return same
