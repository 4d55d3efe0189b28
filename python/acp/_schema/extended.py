"""Users' subclasses of schema classes with fields, validators or options of pydantic's own.

An object of such a class keeps the members of the protocol where its parent has them, and its own
fields in its `__dict__`. Reading and dumping are the work of its twin, a model of pydantic below
the twin of the parent. Which of its own fields were set stands in the marks of the object, counted
from the top.

Owns what the methods of such classes do; imported only where pydantic is in use.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MemberDescriptorType
from typing import Any, cast

import pydantic

from acp._core import Model, field_facts
from acp._schema.twins import pair, twin

__all__ = ["extend"]

_KEPT = frozenset(("__annotations__", "__annotate__", "__annotate_func__", "__doc__", "__module__"))
_LAST_MARK = 63
# Past what twins do instead.
_construct: Callable[..., pydantic.BaseModel] = vars(pydantic.BaseModel)["model_construct"].__func__


def extend(owner: type[Model], options: Mapping[str, Any], frames: int) -> None:
    """Makes a class that was just derived an extended one, where it has anything of pydantic's.

    `frames` says how far above the class statement is, whose local names annotations may use.
    """
    below = hasattr(owner, "_fill_extended")
    if not (options or below or _is_extended(owner)):
        return
    frame = sys._getframe(frames + 1)
    names = {**frame.f_globals, **frame.f_locals}
    space = {
        name: value
        for name, value in vars(owner).items()
        if name in _KEPT or not (name.startswith("__") or isinstance(value, MemberDescriptorType))
    }
    space["__qualname__"] = owner.__qualname__
    parent = twin(cast("type[Model]", owner.__mro__[1]))
    derive: Any = type(parent)
    made: type[pydantic.BaseModel] = derive(owner.__name__, (parent,), space, **options)
    made.model_rebuild(raise_errors=False, _types_namespace=names)
    for name, value in list(vars(owner).items()):
        if hasattr(value, "wrapped") and type(value).__name__ == "PydanticDescriptorProxy":
            type.__setattr__(owner, name, value.wrapped)
        elif name in made.model_fields or name in made.__private_attributes__:
            type.__delattr__(owner, name)
    pair(owner, made)
    for name, method in _METHODS.items():
        if name not in vars(owner):
            type.__setattr__(owner, name, method)


def _is_extended(owner: type[Model]) -> bool:
    own = vars(owner)
    slots = own.get("__slots__", ())
    said = inspect.get_annotations(owner)
    return (
        "model_config" in own
        or any(type(value).__name__ == "PydanticDescriptorProxy" for value in own.values())
        or any(name not in slots and not _is_constant(kind) for name, kind in said.items())
    )


def _is_constant(kind: Any) -> bool:
    return "ClassVar" in (kind if isinstance(kind, str) else repr(kind))


def _class(self: object) -> type[Any]:
    return type(self)


def _own_fields(owner: type[Model]) -> list[str]:
    native = {name for name, *_ in field_facts(owner)}
    return [name for name in twin(owner).model_fields if name not in native]


def _fill(self: Any, members: Mapping[str, Any]) -> None:
    _take(self, twin(_class(self)).__pydantic_validator__.validate_python(dict(members)))


def _take(self: Any, read: pydantic.BaseModel) -> None:
    """Takes over what the twin has read, which needs no second look."""
    own = _own_fields(_class(self))
    set_now = read.model_fields_set
    native = {name: getattr(read, name) for name in set_now if name not in own}
    others = read.__pydantic_extra__ or {}
    self._fill_unchecked({**native, **others})
    if Model.__dict__["model_extra"].__get__(self) is None:
        self.__dict__.update(others)
    self.__dict__.update({name: getattr(read, name) for name in own})
    self.__dict__.update(read.__pydantic_private__ or {})
    marks = (1 << (_LAST_MARK - at) for at, name in enumerate(own) if name in set_now)
    self._marks |= sum(marks)


def _as_twin(self: Any) -> pydantic.BaseModel:
    values = dict(Model.__iter__(self))
    values.update((n, value) for n, value in self.__dict__.items() if not n.startswith("_"))
    return _construct(twin(_class(self)), _fields_set(self), **values)


def _fields_set(self: Any) -> set[str]:
    native: set[str] = Model.__dict__["model_fields_set"].__get__(self)
    own = enumerate(_own_fields(_class(self)))
    return native | {name for at, name in own if self._marks >> (_LAST_MARK - at) & 1}


def _extra(self: Any) -> dict[str, Any] | None:
    """Members of no field: those of a catch-all, or those that the user's class allows."""
    found: dict[str, Any] | None = Model.__dict__["model_extra"].__get__(self)
    if found is None and twin(_class(self)).model_config.get("extra") == "allow":
        own = _own_fields(_class(self))
        found = {
            name: value
            for name, value in self.__dict__.items()
            if not (name in own or name.startswith("_"))
        }
    return found


def _setattr(self: Any, name: str, value: Any) -> None:
    Model.__setattr__(self, name, value)
    own = _own_fields(_class(self))
    if name in own:
        self._marks |= 1 << (_LAST_MARK - own.index(name))


def _validator(cls: type[Any]) -> Any:
    return twin(cls).__pydantic_validator__


def _made(cls: type[Any], read: pydantic.BaseModel) -> Any:
    made = cast("Any", cls).__new__(cls)
    _take(made, read)
    return made


def _model_validate(cls: type[Any], obj: Any, **options: Any) -> Any:
    if isinstance(obj, cls):
        return obj
    return _made(cls, _validator(cls).validate_python(obj, **options))


def _model_validate_json(cls: type[Any], json_data: str | bytes, **options: Any) -> Any:
    return _made(cls, _validator(cls).validate_json(json_data, **options))


def _model_construct(cls: type[Any], _fields_set: set[str] | None = None, **values: Any) -> Any:
    return _made(cls, _construct(twin(cls), _fields_set, **values))


def _model_copy(self: Any, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
    copy = Model.model_copy(self, update=update, deep=deep)
    for name in (update or {}).keys() & set(_own_fields(_class(self))):
        _setattr(copy, name, cast("Any", update)[name])
    return copy


def _model_dump(self: Any, **options: Any) -> dict[str, Any]:
    return _as_twin(self).model_dump(**options)


def _model_dump_json(self: Any, **options: Any) -> str:
    return _as_twin(self).model_dump_json(**options)


def _iter(self: Any) -> Iterator[tuple[str, Any]]:
    return iter(_as_twin(self))


def _repr(self: Any) -> str:
    return repr(_as_twin(self))


def _str(self: Any) -> str:
    return str(_as_twin(self))


def _reduce(self: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    values = dict(Model.__iter__(self)) | self.__dict__
    return _revived, (_class(self), values, self._marks)


def _revived(cls: type[Any], values: dict[str, Any], marks: int) -> Any:
    made = cast("Any", cls).__new__(cls)
    own = set(_own_fields(cls))
    made._fill_unchecked({name: value for name, value in values.items() if name not in own})
    made.__dict__.update((name, value) for name, value in values.items() if name in own)
    made._marks = marks
    return made


_METHODS: dict[str, Any] = {
    "_fill_extended": _fill,
    "model_validate": classmethod(_model_validate),
    "model_validate_json": classmethod(_model_validate_json),
    "model_construct": classmethod(_model_construct),
    "model_copy": _model_copy,
    "model_dump": _model_dump,
    "model_dump_json": _model_dump_json,
    "model_fields_set": property(_fields_set),
    "model_extra": property(_extra),
    "__iter__": _iter,
    "__repr__": _repr,
    "__str__": _str,
    "__setattr__": _setattr,
    "__reduce__": _reduce,
}
