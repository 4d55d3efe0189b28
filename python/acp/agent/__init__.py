"""The agent's side of a connection, under the name of the drop-in surface."""

from __future__ import annotations

from acp.agent.connection import AgentSideConnection

__all__ = ["AgentSideConnection"]
