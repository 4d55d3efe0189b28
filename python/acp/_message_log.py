"""The messages of all connections as lines of a file.

Owns the form of a line, the files and their bounds, and what becomes of a file that cannot be
written. What a line shows of a message is decided in `acp._wire_log`. Imported only once somebody
asks for such a log.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import sys
from datetime import datetime, timezone
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any, Literal, TextIO

from acp._messages import MESSAGES

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    StreamHandler = logging.StreamHandler[TextIO]
else:
    StreamHandler = logging.StreamHandler

__all__ = ("MessageLog", "log_from_environment", "log_to")

_log = logging.getLogger("acp")

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
# Whoever may write where the file is to be must not choose what is written to; and a pipe that
# nobody reads would stop everything. Not every system has these.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

Shown = Literal["messages", "heads"]


class MessageLog:
    """A log of messages that is written, until `close()` or the end of its block."""

    def __init__(self, handler: _Files | _Stream) -> None:
        self._handler = handler

    def close(self) -> None:
        """Writes no more and closes the file. Closing it again does nothing."""
        MESSAGES.remove(self._handler)
        self._handler.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Lines(logging.Formatter):
    """A message as one line of JSON."""

    def __init__(self, whole: bool, longest: int | None) -> None:
        super().__init__()
        self._in_full = whole
        self._longest = longest

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, timezone.utc)
        fields: dict[str, Any] = {
            "time": at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "pid": record.process,
            # Not of a handler that anybody else has added.
            **getattr(record, "head", {}),
        }
        line = json.dumps(fields)
        message = record.getMessage()
        if not self._in_full or not message:
            return line
        if self._longest is not None and len(_encoded(message)) > self._longest:
            return f'{line[:-1]}, "message": null}}'
        # It is JSON already, and stays as it was written.
        return f'{line[:-1]}, "message": {message}}}'


class _ToldOnce(logging.Handler):
    """A handler whose failures are told once, and break nothing."""

    _told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of logging's
        del record
        self._fail()

    def _fail(self) -> None:
        if not self._told:
            self._told = True
            _tell(sys.exc_info()[1])


class _Stream(_ToldOnce, StreamHandler):
    """Lines to a stream of the program's, which stays open."""

    def end(self) -> None:
        """Writes no more."""
        self.close()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


class _Files(_ToldOnce, RotatingFileHandler):
    """Lines to a file of this user's, and when that is full to the next."""

    _is_over = False

    def emit(self, record: logging.LogRecord) -> None:
        # Another thread may have been about to write when the log ended: the file would be opened
        # again, and stay open.
        if not self._is_over:
            super().emit(record)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            # It is closed all the same, at the end of the process too.
            self._fail()

    def close(self) -> None:
        # Also by a program that sets up its logging: the next line opens the file again.
        try:
            super().close()
        except OSError:
            self._fail()

    def end(self) -> None:
        """Closes the file for good."""
        self.acquire()
        self._is_over = True
        self.release()
        self.close()

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - as above
        # Of logging's own, the measure is characters, and an empty file can be too full.
        stream = self.stream or self._open()
        self.stream = stream
        size = os.fstat(stream.fileno()).st_size
        return size > 0 and size + len(_encoded(self.format(record))) >= self.maxBytes

    def _open(self) -> Any:
        descriptor = os.open(self.baseFilename, _FLAGS | _CAREFULLY, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "Not a regular file", self.baseFilename)
            if sys.platform != "win32":
                os.fchmod(descriptor, 0o600)
            return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")
        except BaseException:
            os.close(descriptor)
            raise


def log_to(
    target: str | os.PathLike[str] | TextIO,
    *,
    show: Shown = "messages",
    max_bytes: int = 10 * 1024 * 1024,
    files: int = 5,
) -> MessageLog:
    """Writes a line of JSON for each message of each connection of this process, from now on.

    Args:
        target: The path of a file, in which `{pid}` stands for the number of this process, and `~`
            for the home directory; or a stream of text, such as `sys.stderr`.
        show: `"messages"` shows them whole, but for the values below the keys `env` and `headers`;
            `"heads"` only kind, method, id, error code and size.
        max_bytes: A file that would get longer is renamed to `….1`, and that to `….2`. The message
            of a line is left out that is longer by itself.
        files: How many there are at most, two or more; the oldest is removed.

    The file is this user's alone (0600). When a line cannot be written later on, that is logged
    once and the line is lost: connections go on. Raises OSError for a path that cannot be opened,
    is a link, or no regular file; ValueError for bounds that are none; TypeError for a target that
    is neither a path nor a stream.
    """
    if max_bytes < 1 or files < 2:
        message = "max_bytes has to be 1 or more, and files 2 or more"
        raise ValueError(message)
    if show not in ("messages", "heads"):
        message = "show has to be 'messages' or 'heads'"
        raise ValueError(message)
    handler: _Files | _Stream
    whole = show == "messages"
    if isinstance(target, (str, os.PathLike)):
        named: str = os.fspath(target)
        path = os.path.expanduser(named).replace("{pid}", str(os.getpid()))
        handler = _Files(path, maxBytes=max_bytes, backupCount=files - 1, encoding="utf-8")
        handler.setFormatter(_Lines(whole, max_bytes))
    elif hasattr(target, "write"):
        handler = _Stream(target)
        handler.setFormatter(_Lines(whole, None))
    else:
        message = "target has to be a path or a stream of text"
        raise TypeError(message)
    MESSAGES.add(handler, whole=whole)
    return MessageLog(handler)


def log_from_environment() -> None:
    """Does what `ACP_LOG` and `ACP_LOG_SHOW` say; a fault in them is logged, and all it does."""
    given = os.environ.get("ACP_LOG")
    if not given:
        return
    show: Any = os.environ.get("ACP_LOG_SHOW", "messages")
    target = sys.stderr if given == "stderr" else given
    try:
        if target is not None:
            log_to(target, show=show)
    except (OSError, ValueError) as exc:
        _tell(exc)


def _tell(failure: BaseException | None) -> None:
    # The type tells what it is, and the number of the system why.
    number = getattr(failure, "errno", None)
    reason = type(failure).__name__ if number is None else os.strerror(number)
    _log.warning("The log of messages cannot be written: %s; this is told once", reason)
