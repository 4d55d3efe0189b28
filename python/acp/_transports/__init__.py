"""Ways to move bytes between two processes, or within one.

Owns everything about descriptors, pipes, threads of input and output, and child processes. Nothing
in here knows a message or a method.
"""

from __future__ import annotations

from acp._transports.base import Transport

__all__ = ("Transport",)
