"""What an agent tells of its tool calls, and what it has told of each so far.

Owns the calls of one tracker, by names of the agent's own. It makes messages and sends none.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence
from typing import Any, cast

from acp._arguments import given
from acp._core import UNSET
from acp.contrib._views import CallView, shown
from acp.helpers import text_block, tool_content
from acp.schema import (
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
)

__all__ = ["UNSET", "ToolCallTracker", "TrackedToolCallView"]


class TrackedToolCallView(CallView):
    """What was told of a tool call so far.

    It cannot be changed and shares nothing with the tracker.

    Members:
        tool_call_id: The id on the wire.
        title: What the call does.
        kind: What sort of work it is.
        status: How far it is.
        content: What it shows, None for nothing.
        locations: The files it touches, None for none.
        raw_input: What the tool was given.
        raw_output: What the tool gave.
    """


class UnknownToolCallError(KeyError):
    """No tool call of that name is tracked: it was never started, or was forgotten."""

    def __init__(self, external_id: str) -> None:
        super().__init__(external_id)
        self.external_id = external_id

    def __str__(self) -> str:
        return f"no tool call {self.external_id!r} is tracked: start() comes first"


class _Call:
    """One tool call: its id, the members told so far, and the text that was streamed."""

    __slots__ = ("members", "text", "tool_call_id")

    def __init__(self, tool_call_id: str, told: ToolCallStart, names: dict[str, Any]) -> None:
        self.tool_call_id = tool_call_id
        self.members: dict[str, Any] = {}
        self.text = ""
        self.note(told, names)

    def note(self, told: ToolCallStart | ToolCallProgress, names: dict[str, Any]) -> None:
        """Keeps those members as the message has them, since that is what its receiver sees."""
        for name in names:
            value = copy.deepcopy(getattr(told, name))
            # None where it did not fit: then nothing was told.
            if value is not None:
                self.members[name] = value

    def progress(self, members: dict[str, Any]) -> ToolCallProgress:
        told = ToolCallProgress(tool_call_id=self.tool_call_id, **copy.deepcopy(members))
        self.note(told, members)
        return told


class ToolCallTracker:
    """Makes the messages about an agent's tool calls, and remembers what they told.

    An agent names its calls as it likes (`external_id`); their ids on the wire are made here. What
    is given is copied: changing it later changes neither the message nor what is remembered. What
    is told becomes known as the messages are made, so they are to be sent in that order.

    A call is kept until `forget`, or until another is started under its name.

    Args:
        id_factory: Makes the id of each call, a different one each time. By default it is random.
    """

    def __init__(self, *, id_factory: Callable[[], str] | None = None) -> None:
        self._make_id = id_factory or (lambda: uuid.uuid4().hex)
        self._calls: dict[str, _Call] = {}

    def start(
        self,
        external_id: str,
        *,
        title: str,
        kind: ToolKind | None = None,
        status: ToolCallStatus | None = "in_progress",
        content: Sequence[Any] | None = None,
        locations: Sequence[ToolCallLocation] | None = None,
        raw_input: Any = None,
        raw_output: Any = None,
    ) -> ToolCallStart:
        """Tracks a call and returns the update that announces it.

        A call that is tracked under this name already is forgotten. Raises ValidationError, a
        ValueError, for a title that is no string, and then tracks nothing new.
        """
        members = _told(
            title=title,
            kind=kind,
            status=status,
            content=content,
            locations=locations,
            raw_input=raw_input,
            raw_output=raw_output,
        )
        tool_call_id = self._make_id()
        told = ToolCallStart(tool_call_id=tool_call_id, **copy.deepcopy(members))
        self._calls[external_id] = _Call(tool_call_id, told, members)
        return told

    def progress(
        self,
        external_id: str,
        *,
        title: Any = UNSET,
        kind: Any = UNSET,
        status: Any = UNSET,
        content: Any = UNSET,
        locations: Any = UNSET,
        raw_input: Any = UNSET,
        raw_output: Any = UNSET,
    ) -> ToolCallProgress:
        """Remembers what is new of a call and returns the update that tells it.

        What is left out, or None, stays as it was told before, for the client as for the tracker;
        an empty list takes content or locations away. Values that do not fit are left out of the
        message, as version 1 does with optional members, and are not remembered. Raises KeyError
        for a call that is not tracked.
        """
        return self._call(external_id).progress(
            _told(
                title=title,
                kind=kind,
                status=status,
                content=content,
                locations=locations,
                raw_input=raw_input,
                raw_output=raw_output,
            )
        )

    def append_stream_text(
        self, external_id: str, text: str, *, title: Any = UNSET, status: Any = UNSET
    ) -> ToolCallProgress:
        """Appends to the text of a call and returns the update that tells it.

        The content of the call becomes one block with all text that was appended so far, whatever
        it was before: version 1 can only replace it. Each update is therefore as long as the whole
        text. Raises as `progress` does.
        """
        call = self._call(external_id)
        whole = call.text + text
        content = [tool_content(text_block(whole))]
        told = call.progress(_told(title=title, status=status, content=content))
        call.text = whole
        return told

    def forget(self, external_id: str) -> None:
        """Stops tracking a call, for instance when it is completed. Unknown names are ignored."""
        self._calls.pop(external_id, None)

    def view(self, external_id: str) -> TrackedToolCallView:
        """What was told of a call so far. Raises KeyError for one that is not tracked."""
        call = self._call(external_id)
        # A call tells of itself what the other has, under the same names.
        told = copy.deepcopy(call.members)
        return TrackedToolCallView(
            tool_call_id=call.tool_call_id,
            title=told.get("title"),
            kind=told.get("kind"),
            status=told.get("status"),
            content=shown(told.get("content")),
            locations=shown(told.get("locations")),
            raw_input=told.get("raw_input"),
            raw_output=told.get("raw_output"),
        )

    def tool_call_model(self, external_id: str) -> ToolCallUpdate:
        """What was told of a call so far, as the permission request for it wants it.

        Raises KeyError for a call that is not tracked.
        """
        call = self._call(external_id)
        return ToolCallUpdate(tool_call_id=call.tool_call_id, **copy.deepcopy(call.members))

    def _call(self, external_id: str) -> _Call:
        try:
            return self._calls[external_id]
        except KeyError:
            raise UnknownToolCallError(external_id) from None


def _told(**members: Any) -> dict[str, Any]:
    """The members that say something."""
    told = given(**{name: value for name, value in members.items() if value is not UNSET})
    for name in ("content", "locations"):
        if name in told:
            told[name] = list(cast("Sequence[Any]", told[name]))
    return told
