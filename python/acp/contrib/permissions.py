"""Permission requests for tool calls.

Owns how such a request is put together. Who sends it is given, and so is what was told of the call.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

# Like the others, it is there at run time for who looks up annotations.
from acp.contrib.tool_calls import ToolCallTracker  # noqa: TC001
from acp.helpers import text_block, tool_content
from acp.schema import (
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ToolCallUpdate,
)

__all__ = ["PermissionBroker", "default_permission_options"]


class PermissionBrokerError(ValueError):
    """A permission request could not be put together."""


class MissingToolCallError(PermissionBrokerError):
    """There is neither a tool call nor a tracker that knows it."""

    def __init__(self) -> None:
        super().__init__("give tool_call=, or give the broker a tracker")


class MissingPermissionOptionsError(PermissionBrokerError):
    """There is no option to choose from.

    For programs that catch it; the broker does not raise it, since it falls back on its default.
    """

    def __init__(self) -> None:
        super().__init__("a permission request needs at least one option")


def default_permission_options() -> tuple[PermissionOption, PermissionOption, PermissionOption]:
    """Approve once, approve for the session, reject once; new objects each time."""
    return (
        PermissionOption(option_id="approve", name="Approve", kind="allow_once"),
        PermissionOption(
            option_id="approve_for_session", name="Approve for session", kind="allow_always"
        ),
        PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
    )


class PermissionBroker:
    """Asks for the permission of tool calls, with options that are the same each time.

    Args:
        session_id: The session of the calls.
        requester: Sends a request and returns the answer.
        tracker: Knows what was told of the calls; without it each request needs its `tool_call`.
        default_options: What can be chosen where a request gives none; by default, and when empty,
            `default_permission_options()`.
    """

    def __init__(
        self,
        session_id: str,
        requester: Callable[[RequestPermissionRequest], Awaitable[RequestPermissionResponse]],
        *,
        tracker: ToolCallTracker | None = None,
        default_options: Sequence[PermissionOption] | None = None,
    ) -> None:
        self._session_id = session_id
        self._requester = requester
        self._tracker = tracker
        self._default_options = copy.deepcopy(
            list(default_options or ()) or [*default_permission_options()]
        )

    async def request_for(
        self,
        external_id: str,
        *,
        description: str | None = None,
        options: Sequence[PermissionOption] | None = None,
        content: Sequence[Any] | None = None,
        tool_call: ToolCallUpdate | None = None,
    ) -> RequestPermissionResponse:
        """Asks for the permission of one call and returns the answer.

        Args:
            external_id: The call's name in the tracker; not looked at when `tool_call` is given.
            description: Text that is shown below the content.
            options: What can be chosen this time; None or empty for the default.
            content: What is shown in place of the call's content.
            tool_call: The call as it is to be told.

        What is given is copied; neither it nor what the tracker knows is changed. Raises
        MissingToolCallError, a ValueError, without call and tracker; KeyError for a call that the
        tracker does not know; what `requester` raises.
        """
        if tool_call is not None:
            asked = copy.deepcopy(tool_call)
        elif self._tracker is not None:
            asked = self._tracker.tool_call_model(external_id)
        else:
            raise MissingToolCallError
        if content is not None:
            asked.content = copy.deepcopy(list(content))
        if description:
            asked.content = [*(asked.content or ()), tool_content(text_block(description))]
        offered = list(options or ()) or self._default_options
        return await self._requester(
            RequestPermissionRequest(
                session_id=self._session_id, tool_call=asked, options=copy.deepcopy(offered)
            )
        )
