"""Choosing a protocol version once, and then stepping out.

Owns the names for endpoints that serve more than one version. Nothing here converts a message from
one version to another.
"""

from __future__ import annotations

from acp.negotiation.agent_router import AgentRouter, unsupported_protocol_version
from acp.negotiation.client_connector import ClientConnector

__all__ = ("AgentRouter", "ClientConnector", "unsupported_protocol_version")
