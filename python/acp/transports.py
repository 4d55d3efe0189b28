"""Transports and the environment of child processes, under public names.

Re-exports; no logic of its own.
"""

from __future__ import annotations

from acp._transports.base import Transport
from acp._transports.environment import DEFAULT_INHERITED_ENV_VARS, default_environment
from acp._transports.memory import memory_pair
from acp._transports.messages import MessageTransport
from acp._transports.process import process_transport
from acp._transports.stdio import stdio_transport

__all__ = [
    "DEFAULT_INHERITED_ENV_VARS",
    "MessageTransport",
    "Transport",
    "default_environment",
    "memory_pair",
    "process_transport",
    "stdio_transport",
]
