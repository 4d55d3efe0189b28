"""Transports and the environment of child processes, under public names.

Re-exports; no logic of its own.
"""

from __future__ import annotations

from acp._transports.base import Transport
from acp._transports.environment import DEFAULT_INHERITED_ENV_VARS, default_environment
from acp._transports.memory import memory_pair
from acp._transports.messages import MessageTransport
from acp._transports.observed import LineObserver, observed
from acp._transports.process import process_transport
from acp._transports.source import AgentSource, agent_source, agent_transport
from acp._transports.stdio import stdio_transport
from acp._transports.streamed import spawn_stdio_transport

__all__ = [
    "DEFAULT_INHERITED_ENV_VARS",
    "AgentSource",
    "LineObserver",
    "MessageTransport",
    "Transport",
    "agent_source",
    "agent_transport",
    "default_environment",
    "memory_pair",
    "observed",
    "process_transport",
    "spawn_stdio_transport",
    "stdio_transport",
]
