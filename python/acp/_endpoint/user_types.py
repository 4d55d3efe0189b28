"""Types of the user's in place of the schema's, for methods outside of the protocol.

Owns the way from JSON data to such a type and back: a dataclass, a model with `model_validate`,
what annotations say about plain data, or any function. Faults tell place and rule, never the value.
It knows no method and no handler.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from acp._core import Model, fault_kinds, validated
from acp.exceptions import RequestError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("of_user", "to_wire")

Place = tuple[Any, ...]
Faults = list[dict[str, Any]]

_BAD: Any = object()
"""Stands for a value with a fault."""

_PLAIN: Mapping[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "bool_type"),
    int: ((int,), "int_type"),
    float: ((int, float), "float_type"),
    str: ((str,), "string_type"),
    list: ((list,), "list_type"),
    dict: ((dict,), "object_type"),
}
"""Types of JSON data as they are, and the rule that another value breaks."""


def of_user(kind: Any, value: Any) -> Any:
    """JSON data as a type of the user's.

    A dataclass gets its fields as their annotations say, members that it does not know are left
    out; a class with `model_validate` gets the data; plain types, lists, dicts, unions and literals
    are checked; anything else is called with the data. Raises ValidationError when it does not fit,
    and RequestError where a function raises that.
    """
    faults: Faults = []
    made = _read(kind, value, (), faults)
    if faults:
        raise ValidationError(getattr(kind, "__name__", "params"), faults)
    return made


def to_wire(value: Any) -> Any:
    """What can be written, of a value of a user's type, or of a list of such."""
    if isinstance(value, (list, tuple)):
        return [to_wire(item) for item in cast("list[Any]", value)]
    if value is None or isinstance(value, (Model, dict)):
        # Plain data is as it is: nothing of the user's is looked for in it.
        return cast("Any", value)
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _inner_to_wire(getattr(value, name)) for name in names}
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json", by_alias=True)


def _inner_to_wire(value: Any) -> Any:
    """The same of a member of a dataclass."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: _inner_to_wire(item) for key, item in members.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_inner_to_wire(item) for item in cast("list[Any]", value)]
    return to_wire(value)


def _read(kind: Any, value: Any, at: Place, faults: Faults) -> Any:
    if kind is Any or kind is object:
        return value
    if kind is None or kind is types.NoneType:
        return None if value is None else _fault(faults, at, "no_fit")
    origin = get_origin(kind)
    if origin is not None:
        return _read_generic(kind, origin, value, at, faults)
    if kind in _PLAIN:
        allowed, rule = _PLAIN[kind]
        # True is an int in Python, and none in JSON.
        fits = isinstance(value, allowed) and (kind is bool or not isinstance(value, bool))
        if not fits:
            return _fault(faults, at, rule)
        return float(value) if kind is float else value
    if hasattr(kind, "model_validate"):
        return _read_model(kind, value, at, faults)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, value, at, faults)
    rule = "unknown_value" if isinstance(kind, type) and issubclass(kind, Enum) else "no_fit"
    return _call(lambda: kind(value), at, faults, rule)


def _read_generic(kind: Any, origin: Any, value: Any, at: Place, faults: Faults) -> Any:
    inner = get_args(kind)
    if origin in (Union, types.UnionType):
        for each in inner:
            tried: Faults = []
            made = _read(each, value, at, tried)
            if not tried:
                return made
        return _fault(faults, at, "no_fit")
    if origin is Literal:
        known = any(value == each and type(value) is type(each) for each in inner)
        return value if known else _fault(faults, at, "unknown_value")
    if origin in (list, Sequence) or (origin is tuple and inner[1:] == (...,)):
        if not isinstance(value, list):
            return _fault(faults, at, "list_type")
        items = enumerate(cast("list[Any]", value))
        made = [_read(inner[0], item, (*at, index), faults) for index, item in items]
        return tuple(made) if origin is tuple else made
    if origin in (dict, Mapping):
        if not isinstance(value, dict):
            return _fault(faults, at, "object_type")
        members = cast("dict[str, Any]", value)
        return {key: _read(inner[1], item, (*at, "*"), faults) for key, item in members.items()}
    # What other generic types mean for JSON is not known here.
    return _read(inner[0], value, at, faults) if origin is Annotated else value


def _read_dataclass(kind: Any, value: Any, at: Place, faults: Faults) -> Any:
    if not isinstance(value, dict):
        return _fault(faults, at, "object_type")
    members = cast("dict[str, Any]", value)
    before = len(faults)
    given: dict[str, Any] = {}
    for name, annotation, required in _fields(kind):
        if name in members:
            given[name] = _read(annotation, members[name], (*at, name), faults)
        elif required:
            _fault(faults, (*at, name), "missing")
    return _BAD if len(faults) > before else _call(lambda: kind(**given), at, faults, "no_fit")


@lru_cache(maxsize=256)
def _fields(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    """Name, type and whether it is required, of what the constructor of a dataclass takes."""
    try:
        hints = get_type_hints(kind)
    except (NameError, TypeError):
        # Annotations as strings that name what is local to a function cannot be read.
        hints = {}
    return tuple(
        (
            field.name,
            hints.get(field.name, Any),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
        if field.init
    )


def _read_model(kind: Any, value: Any, at: Place, faults: Faults) -> Any:
    try:
        if _is_ours(kind):
            return validated(kind, value)
        return kind.model_validate(value)
    except RequestError:
        raise
    except Exception as exc:
        errors = getattr(exc, "errors", None)
        if not callable(errors) or not isinstance(exc, ValueError):
            if isinstance(exc, _OF_A_VALUE):
                return _fault(faults, at, "no_fit")
            raise
        # What another library says about a fault, or calls its place, may hold values.
        own = isinstance(exc, ValidationError)
        for error in cast("list[dict[str, Any]]", errors()):
            place = [_place(kind, step, own=own) for step in error["loc"]]
            _fault(faults, (*at, *place), str(error["type"]))
        return _BAD


def _is_ours(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Model)


def _place(kind: Any, step: Any, *, own: bool) -> Any:
    return step if own or isinstance(step, int) or step in _names(kind) else "*"


@lru_cache(maxsize=256)
def _names(kind: Any) -> frozenset[str]:
    """The names of members that a model and those in it have: others are keys of the peer's."""
    found: set[str] = set()
    seen: set[int] = set()
    rest = [kind]
    while rest:
        each = rest.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        rest += get_args(each)
        fields: Any = getattr(each, "model_fields", None)
        if isinstance(fields, dict):
            for name, field in cast("dict[str, Any]", fields).items():
                found.update(n for n in (name, getattr(field, "alias", None)) if n)
                rest.append(getattr(field, "annotation", None))
    return frozenset(found)


_OF_A_VALUE = (TypeError, ValueError, LookupError, AttributeError)
"""What a function raises for a value that it does not want."""


def _call(function: Callable[[], Any], at: Place, faults: Faults, rule: str) -> Any:
    try:
        return function()
    except RequestError:
        raise
    except _OF_A_VALUE:
        return _fault(faults, at, rule)


@lru_cache(maxsize=1)
def _texts() -> Mapping[str, str]:
    return dict(fault_kinds())


def _fault(faults: Faults, at: Place, rule: str) -> Any:
    text = _texts().get(rule, "does not fit its type")
    faults.append({"loc": at, "type": rule, "message": text})
    return _BAD
