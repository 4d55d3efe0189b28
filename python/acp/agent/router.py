"""The table of an agent's handlers, under the name of the official Python SDK.

No logic of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp._lazy import passing_on
from acp.meta import AGENT_METHODS
from acp.router import MessageRouter, Route, build_router
from acp.utils import model_to_kwargs, normalize_result

if TYPE_CHECKING:
    from acp.interfaces import Agent

__all__ = [
    "AGENT_METHODS",
    "MessageRouter",
    "Route",
    "build_agent_router",
    "model_to_kwargs",
    "normalize_result",
]

if not TYPE_CHECKING:
    __getattr__ = passing_on(__name__, "acp.schema", "acp.interfaces", "acp.exceptions")


def build_agent_router(agent: Agent, use_unstable_protocol: bool = False) -> MessageRouter:
    """The handlers of an agent as a table, for `acp.connection.Connection`.

    `acp.agent.connection.AgentSideConnection` needs none.
    """
    return build_router("agent", agent, use_unstable_protocol)
