"""Users' subclasses of schema classes with fields, validators or options of pydantic's own.

An object of such a class keeps the members of the protocol where its parent has them, and its own
fields in its `__dict__`. Reading and dumping are the work of its twin, a model of pydantic below
the twin of the parent. Which of its own fields were set stands in the marks of the object, counted
from the top; below them, which members of the protocol are defaults of the user's class. Those count
as set where it is decided what to send, and nowhere else.

Owns what the methods of such classes do; imported only where pydantic is in use.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import pydantic

from acp._core import Model, field_facts, field_rules
from acp._schema.base import BaseModel
from acp._schema.hints import is_constant
from acp._schema.twins import pair, twin

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["extend"]

_KEPT = frozenset(("__annotations__", "__annotate__", "__annotate_func__", "__doc__", "__module__"))
_OF_PYDANTIC = ("PydanticDescriptorProxy", "ModelPrivateAttr", "FieldInfo")
_LAST_MARK = 63
_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
# The object whose members a twin is reading.
_being_read: ContextVar[Any] = ContextVar("_being_read", default=None)
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
    if cast("Any", owner).model_post_init is not BaseModel.model_post_init:
        space["model_post_init"] = _post_init
    above = next((base for base in owner.__mro__[1:] if _is_of_protocol(base)), None)
    if above is None:
        raise TypeError(
            f"{owner.__name__} is derived from no class of the protocol: "
            "derive what is your own from pydantic.BaseModel"
        )
    parent = twin(above)
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
    # A class with an `__eq__` has None there.
    if made.model_config.get("frozen") and vars(owner).get("__hash__") is None:
        type.__setattr__(owner, "__hash__", _hash)


def _is_of_protocol(base: type) -> TypeGuard[type[Model]]:
    return any(above.__module__.startswith("acp._schema.v") for above in base.__mro__)


def _is_extended(owner: type[Model]) -> bool:
    own = vars(owner)
    slots = own.get("__slots__", ())
    said = inspect.get_annotations(owner)
    return (
        "model_config" in own
        or cast("Any", owner).model_post_init is not BaseModel.model_post_init
        or any(type(value).__name__ in _OF_PYDANTIC for value in own.values())
        or any(name not in slots and not is_constant(kind) for name, kind in said.items())
    )


def _class(self: object) -> type[Any]:
    return type(self)


def _own_fields(owner: type[Model]) -> list[str]:
    native = {name for name, *_ in field_facts(owner)}
    return [name for name in twin(owner).model_fields if name not in native]


def _new_defaults(owner: type[Model]) -> dict[str, int]:
    """Fields of the protocol to which a user's class has given another default, and the mark that
    an object has for each that is there by default.
    """
    found: dict[str, int] | None = owner.__dict__.get("_redefaulted")
    if found is None:
        (above, *_) = (base for base in owner.__mro__ if base.__module__.startswith("acp._schema."))
        rules, _ = field_rules(above)
        before, now = twin(above).model_fields, twin(owner).model_fields
        names = [
            name
            for name, *_ in field_facts(above)[: len(rules)]
            if not now[name].is_required() and not _same_default(before[name], now[name])
        ]
        first = _LAST_MARK - len(_own_fields(owner))
        found = {name: 1 << (first - at) for at, name in enumerate(names)}
        type.__setattr__(owner, "_redefaulted", found)
    return found


def _same_default(before: FieldInfo, now: FieldInfo) -> bool:
    if now.default_factory is not None:
        return False
    return type(before.default) is type(now.default) and before.default == now.default


def _fill(self: Any, members: Mapping[str, Any]) -> None:
    with _reading(self):
        read = twin(_class(self)).__pydantic_validator__.validate_python(dict(members))
    _take(self, read)


@contextmanager
def _reading(made: Any) -> Generator[None]:
    """Has `made` be the object whose members are read; None where it is that of no object."""
    token = _being_read.set(made)
    try:
        yield
    finally:
        _being_read.reset(token)


def _post_init(self: Any, context: Any, /) -> None:
    """`model_post_init` of twins: calls that of the object, where one is made.

    pydantic calls it behind the validators of fields and before those of the whole, which then see
    what it has done.
    """
    # Older versions of pydantic leave this to who replaces their own.
    if not hasattr(self, "__pydantic_private__"):
        object.__setattr__(self, "__pydantic_private__", None)
    made = _being_read.get()
    if made is None or twin(_class(made)) is not _class(self):
        return
    with _reading(None):
        _take(made, self)
        made.model_post_init(context)
        done = _as_twin(made)
    for name in _STATE:
        object.__setattr__(self, name, getattr(done, name))


def _take(self: Any, read: pydantic.BaseModel) -> None:
    """Takes over what the twin has read, which needs no second look."""
    own = _own_fields(_class(self))
    set_now = read.model_fields_set
    native = {name: getattr(read, name) for name in set_now if name not in own}
    others = read.__pydantic_extra__ or {}
    defaults = _new_defaults(_class(self))
    unset = [name for name in defaults if name not in set_now and hasattr(read, name)]
    native.update((name, getattr(read, name)) for name in unset)
    self._fill_unchecked({**native, **others})
    if Model.__dict__["model_extra"].__get__(self) is None:
        self.__dict__.update(others)
    # Construction without validation may leave out what is required.
    self.__dict__.update({name: getattr(read, name) for name in own if hasattr(read, name)})
    self.__dict__.update(read.__pydantic_private__ or {})
    marks = (1 << (_LAST_MARK - at) for at, name in enumerate(own) if name in set_now)
    _mark(self, self._marks | sum(marks) | sum(defaults[name] for name in unset))


def _mark(self: Any, marks: int) -> None:
    Model.__setattr__(self, "_marks", marks)


def _as_twin(self: Any) -> pydantic.BaseModel:
    values = dict(Model.__iter__(self))
    values.update((n, value) for n, value in self.__dict__.items() if not n.startswith("_"))
    stands = twin(_class(self))
    with _reading(None):
        made = _construct(stands, _fields_set(self), **values)
    if (private := made.__pydantic_private__) is not None:
        names = stands.__private_attributes__.keys() & self.__dict__.keys()
        private.update((name, self.__dict__[name]) for name in names)
    return made


def _fields_set(self: Any) -> set[str]:
    native: set[str] = Model.__dict__["model_fields_set"].__get__(self)
    own = enumerate(_own_fields(_class(self)))
    unset = {name for name, mark in _new_defaults(_class(self)).items() if self._marks & mark}
    return native - unset | {name for at, name in own if self._marks >> (_LAST_MARK - at) & 1}


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


def _is_guarded(owner: type[Model]) -> bool:
    """Whether pydantic has a say in assignments."""
    stands = twin(owner)
    config = stands.model_config
    return bool(
        config.get("frozen")
        or config.get("validate_assignment")
        or any(field.frozen for field in stands.model_fields.values())
    )


def _setattr(self: Any, name: str, value: Any) -> None:
    if name.startswith("_") or not _is_guarded(_class(self)):
        Model.__setattr__(self, name, value)
        _mark_set(self, name)
        return
    read = _as_twin(self)
    setattr(read, name, value)
    _take(self, read)


def _delattr(self: Any, name: str) -> None:
    if _is_guarded(_class(self)):
        delattr(_as_twin(self), name)
    Model.__delattr__(self, name)


def _mark_set(self: Any, name: str) -> None:
    own = _own_fields(_class(self))
    if name in own:
        _mark(self, self._marks | 1 << (_LAST_MARK - own.index(name)))
    elif (mark := _new_defaults(_class(self)).get(name)) is not None:
        _mark(self, self._marks & ~mark)


def _hash(self: Any) -> int:
    """Of a frozen object, as pydantic has it: one that holds what has no hash has none either."""
    owner = _class(self)
    return hash((owner, *(getattr(self, name) for name in twin(owner).model_fields)))


def _validator(cls: type[Any]) -> Any:
    return twin(cls).__pydantic_validator__


def _made(cls: type[Any], read: Callable[[], pydantic.BaseModel]) -> Any:
    made = cast("Any", cls).__new__(cls)
    with _reading(made):
        found = read()
    _take(made, found)
    return made


def _model_validate(cls: type[Any], obj: Any, **options: Any) -> Any:
    if isinstance(obj, cls):
        return obj
    return _made(cls, lambda: _validator(cls).validate_python(obj, **options))


def _model_validate_json(cls: type[Any], json_data: str | bytes, **options: Any) -> Any:
    return _made(cls, lambda: _validator(cls).validate_json(json_data, **options))


def _model_construct(cls: type[Any], _fields_set: set[str] | None = None, **values: Any) -> Any:
    return _made(cls, lambda: _construct(twin(cls), _fields_set, **values))


def _model_copy(self: Any, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
    copy = Model.model_copy(self, update=update, deep=deep)
    own = _own_fields(_class(self))
    for name, value in (update or {}).items():
        if name in own:
            copy.__dict__[name] = value
        _mark_set(copy, name)
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
    return _revived, (_class(self), dict(Model.__iter__(self)), self.__dict__, self._marks)


def _revived(cls: type[Any], native: dict[str, Any], own: dict[str, Any], marks: int) -> Any:
    made = cast("Any", cls).__new__(cls)
    made._fill_unchecked(native)
    made.__dict__.update(own)
    _mark(made, marks)
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
    "__delattr__": _delattr,
    "__reduce__": _reduce,
}
