"""The table of a client's handlers, under the name of the official Python SDK.

No logic of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp._elicitation import mode_of as _mode_from_create_elicitation_request
from acp._lazy import passing_on
from acp.meta import CLIENT_METHODS
from acp.router import MessageRouter, Route, build_router
from acp.schema import CreateElicitationRequest
from acp.utils import normalize_result

if TYPE_CHECKING:
    from acp.interfaces import Client

__all__ = [
    "CLIENT_METHODS",
    "CreateElicitationRequest",
    "MessageRouter",
    "Route",
    "_mode_from_create_elicitation_request",
    "build_client_router",
    "normalize_result",
]

if not TYPE_CHECKING:
    __getattr__ = passing_on(__name__, "acp.schema", "acp.interfaces", "acp.exceptions")


def build_client_router(client: Client, use_unstable_protocol: bool = False) -> MessageRouter:
    """The handlers of a client as a table, for `acp.connection.Connection`.

    `acp.client.connection.ClientSideConnection` needs none.
    """
    return build_router("client", client, use_unstable_protocol)
