"""Whether the environment asks for a log of messages.

Owns that it is asked once in a process, when the first connection is made. The log is
`acp._message_log`'s.
"""

from __future__ import annotations

import functools
import os

__all__ = ("heed_environment",)


@functools.cache
def heed_environment() -> None:
    """Begins the log that `ACP_LOG` names, if it does."""
    if os.environ.get("ACP_LOG"):
        from acp._message_log import log_from_environment

        log_from_environment()
