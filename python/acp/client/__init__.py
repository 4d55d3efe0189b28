"""The client's side of a connection, under the name of the drop-in surface."""

from __future__ import annotations

from acp.client.connection import ClientSideConnection

__all__ = ["ClientSideConnection"]
