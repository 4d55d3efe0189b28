"""What `include` and `exclude` name when a view is dumped.

Owns the reading of those choices: sets of names, and dicts of names and deeper choices. It knows
neither views nor messages.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, cast

__all__ = ("chosen_items", "chosen_names")

_ALL = "__all__"
_UNNAMED = object()

Chosen = tuple[Any, Any, Any]
"""A name or an item, and what `include` and `exclude` are within it."""


def chosen_names(names: Iterable[Any], include: Any, exclude: Any) -> list[Chosen]:
    """Those of `names` that are not left out, each with the choices within it.

    Raises TypeError for a choice that is no set or dict.
    """
    if include is None and exclude is None:
        return [(name, None, None) for name in names]
    return [
        (name, *within)
        for name in names
        if (within := _within(include, exclude, (name,))) is not None
    ]


def chosen_items(items: Sequence[Any], include: Any, exclude: Any) -> list[Chosen]:
    """Those of `items` that are not left out, each with the choices within it.

    Choices know an item by its index from the start or from the end. Raises TypeError for a choice
    that is no set or dict.
    """
    if include is None and exclude is None:
        return [(item, None, None) for item in items]
    return [
        (item, *within)
        for index, item in enumerate(items)
        if (within := _within(include, exclude, (index, index - len(items)))) is not None
    ]


def _within(include: Any, exclude: Any, keys: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """The choices within the member that goes by any of `keys`; None when it is left out."""
    left_out = _UNNAMED if exclude is None else _said(exclude, keys)
    if _is_whole(left_out):
        return None
    wanted = ... if include is None else _said(include, keys)
    if wanted is _UNNAMED:
        return None
    return None if _is_whole(wanted) else wanted, None if left_out is _UNNAMED else left_out


def _said(choice: Any, keys: tuple[Any, ...]) -> Any:
    """What a choice says of a member."""
    if not isinstance(choice, dict):
        names = _container(choice)
        return ... if any(key in names for key in (*keys, _ALL)) else _UNNAMED
    said = cast("dict[Any, Any]", choice)
    of_all = said.get(_ALL, _UNNAMED)
    for key in keys:
        if key in said:
            return _merged(said[key], of_all)
    return of_all


def _merged(own: Any, of_all: Any) -> Any:
    """What is said of one member, where something is said of all of them, too."""
    if of_all is _UNNAMED or _is_whole(own) or _is_whole(of_all):
        return own
    merged = _as_dict(of_all)
    for key, deeper in _as_dict(own).items():
        merged[key] = _merged(deeper, merged.get(key, _UNNAMED))
    return merged


def _as_dict(choice: Any) -> dict[Any, Any]:
    if isinstance(choice, dict):
        return dict(cast("dict[Any, Any]", choice))
    if isinstance(choice, Iterable) and not isinstance(choice, str):
        return dict.fromkeys(cast("Iterable[Any]", choice), ...)
    raise TypeError(_REFUSED)


def _container(choice: Any) -> Container[Any]:
    if isinstance(choice, Container):
        return cast("Container[Any]", choice)
    raise TypeError(_REFUSED)


def _is_whole(said: Any) -> bool:
    return said is True or said is ...


_REFUSED = "`include` and `exclude` have to be sets or dicts"
