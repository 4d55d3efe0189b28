"""Ready parts for client authors: files, terminals, permissions.

Owns the names; each part is a handler object of its own, for `Client.handle_with` or as handlers of
single methods. None of them is needed by a connection.
"""

from __future__ import annotations

from acp.kit.files import FileAccess
from acp.kit.permissions import PermissionPolicy, choose_option
from acp.kit.terminals import Terminals

__all__ = ("FileAccess", "PermissionPolicy", "Terminals", "choose_option")
