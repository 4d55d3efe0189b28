"""The contract of message transports, under the name that the official Python SDK has for it.

A re-export; no logic of its own.
"""

from __future__ import annotations

from acp._transports.messages import MessageTransport as Transport

__all__ = ["Transport"]
