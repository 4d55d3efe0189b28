"""Validators that give way, under the name of the official Python SDK.

Owns two functions for validators of pydantic that users write. The schema does not need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from acp._validation import validation_errors

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["salvage_on_error", "skip_invalid_items"]


def salvage_on_error(value: Any, handler: Callable[[Any], Any], fallback: Callable[[], Any]) -> Any:
    """What `handler` makes of a value, or, where that does not fit, what `fallback` returns."""
    try:
        return handler(value)
    except validation_errors():
        return fallback()


def skip_invalid_items(value: Any, handler: Callable[[Any], Any]) -> Any:
    """What `handler` makes of a list without the items that do not fit.

    `handler` is that of the list: it gets each item as a list of one. What is no list it gets as it
    is.
    """
    if not isinstance(value, list):
        return handler(value)
    items = cast("list[Any]", value)
    return [kept for item in items for kept in salvage_on_error([item], handler, list)]
