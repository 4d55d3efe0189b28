"""What views have in common: objects that tell a state, belong to who asked, and cannot be changed.

Owns their methods and the members of a tool call. It knows no message.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast

from acp.contrib._choices import chosen_items, chosen_names

# All names of annotations are there at run time: pydantic and others look them up.
from acp.schema import BaseModel, ToolCallLocation, ToolCallStatus, ToolKind

__all__ = ("CallView", "View", "shown")

_AnyView = TypeVar("_AnyView", bound="View")


class View:
    """Base of the views: dataclasses that have the methods which people know from models."""

    def model_copy(  # noqa: PYI019 - `Self` has no place to come from on Python 3.10
        self: _AnyView, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> _AnyView:
        """A copy, with the members of `update` in place of its own; those are not checked.

        With `deep` the members are copied, too.
        """
        members = self._members()
        if deep:
            members = copy.deepcopy(members)
        return type(self)(**{**members, **(update or {})})

    def model_dump(
        self,
        *,
        mode: Literal["python", "json"] = "python",
        include: Any = None,
        exclude: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The members as plain data. `options` are those of the schema objects within.

        In mode `json` there are only types that JSON has; `exclude_none=True` leaves out what is
        None here, too.

        `include` and `exclude` choose members: sets of names, or dicts whose values are True for
        the whole member or a set or dict for what is within. In lists the names are indexes, and
        `"__all__"` is each of them. Raises TypeError for a choice of any other form.
        """
        dumped: dict[str, Any] = _plain(self, mode, options, include, exclude)
        return dumped

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """The members as JSON text, with the options of `model_dump`.

        Raises what that does, and what `json.dumps` does where JSON has no form.
        """
        separators = (",", ":") if indent is None else None
        dumped = self.model_dump(mode="json", **options)
        return json.dumps(dumped, indent=indent, separators=separators, ensure_ascii=False)

    def _members(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _names(type(self))}


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]


def _plain(value: Any, mode: str, options: dict[str, Any], include: Any, exclude: Any) -> Any:
    if isinstance(value, BaseModel):
        dumped: dict[str, Any] = value.model_dump(
            mode=mode, include=include, exclude=exclude, **options
        )
        return dumped
    if isinstance(value, View):
        left_out = options.get("exclude_none", False)
        # A member is read, and with that copied, only when it is chosen.
        return {
            name: _plain(member, mode, options, wanted, unwanted)
            for name, wanted, unwanted in chosen_names(_names(type(value)), include, exclude)
            if (member := getattr(value, name)) is not None or not left_out
        }
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {
            key: _plain(members[key], mode, options, wanted, unwanted)
            for key, wanted, unwanted in chosen_names(members, include, exclude)
        }
    if isinstance(value, list | tuple):
        chosen = chosen_items(cast("list[Any]", value), include, exclude)
        items = [_plain(item, mode, options, wanted, unwanted) for item, wanted, unwanted in chosen]
        return tuple(items) if mode == "python" and isinstance(value, tuple) else items
    return value


@dataclass(frozen=True, kw_only=True)
class CallView(View):
    """The members of a tool call. What was never told is None; empty lists are None, too."""

    tool_call_id: str
    title: str | None
    kind: ToolKind | None
    status: ToolCallStatus | None
    content: tuple[Any, ...] | None
    locations: tuple[ToolCallLocation, ...] | None
    raw_input: Any
    raw_output: Any


def shown(items: Any) -> tuple[Any, ...] | None:
    """A list of a tool call as views tell it."""
    return tuple(items) if items else None
