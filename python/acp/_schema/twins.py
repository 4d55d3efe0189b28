"""Models of pydantic that stand for schema classes, in programs that use pydantic.

A twin has the fields, types, aliases and rules of its class, and is made when pydantic first asks
for it. Objects stay objects of the class: values are read by the class itself, and the twin tells
what pydantic wants to know: the JSON Schema, the discriminators, and why a value does not fit.

Owns twins and the hooks that lead to them; imported only where pydantic is in use. Must not know:
users' classes with fields of their own, which are `acp._schema.extended`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import pydantic
import pydantic_core
from pydantic_core import core_schema as schemas

from acp._core import UNSET, Model, ValidationError, field_facts, field_rules
from acp._schema.base import BaseModel
from acp._schema.hints import descriptions, types, without_unset

__all__ = [
    "attribute",
    "class_json_schema",
    "core_schema",
    "json_schema",
    "refusal",
    "shown",
    "twin",
]

_making = threading.RLock()


class _Shown(type(pydantic.BaseModel)):
    """The class of twins: objects show it, and what it is called for are objects of the real one."""

    def __call__(cls, /, *arguments: Any, **members: Any) -> Any:
        real = cls.__dict__.get("_stands_for", super().__call__)
        return real(*arguments, **members)


class _Twin(pydantic.BaseModel, metaclass=_Shown):
    """Base of all twins."""

    model_config = pydantic.ConfigDict(populate_by_name=True, defer_build=True)

    @classmethod
    def model_validate(cls, *arguments: Any, **options: Any) -> Any:
        real = cls.__dict__.get("_stands_for", super())
        return real.model_validate(*arguments, **options)

    @classmethod
    def model_validate_json(cls, *arguments: Any, **options: Any) -> Any:
        real = cls.__dict__.get("_stands_for", super())
        return real.model_validate_json(*arguments, **options)

    @classmethod
    def model_construct(cls, *arguments: Any, **values: Any) -> Any:
        real = cls.__dict__.get("_stands_for", super())
        return real.model_construct(*arguments, **values)


def pair(owner: type[Model], made: type[pydantic.BaseModel]) -> None:
    """Has `made` stand for `owner` from now on."""
    type.__setattr__(made, "_stands_for", owner)
    type.__setattr__(owner, "_twin", made)


def twin(owner: type[Model]) -> type[pydantic.BaseModel]:
    """The model that stands for a schema class or for a user's class with fields of its own."""
    made = owner.__dict__.get("_twin")
    if made is not None:
        return cast("type[pydantic.BaseModel]", made)
    with _making:
        made = owner.__dict__.get("_twin")
        if made is None:
            made = _root(owner) if owner.__module__ == BaseModel.__module__ else _make(owner)
            pair(owner, made)
    return cast("type[pydantic.BaseModel]", made)


def shown(owner: type[Model]) -> type:
    """The class that objects of `owner` answer with when they are asked for `__class__`."""
    if (made := owner.__dict__.get("_twin")) is not None:
        return cast("type", made)
    with _making:
        # A default of a twin that is being made may be such an object.
        return owner if owner in _unfinished else twin(owner)


_unfinished: set[type[Model]] = set()


def _root(owner: type[Model]) -> type[pydantic.BaseModel]:
    """For the roots of all classes, which are no objects of the protocol."""
    return pydantic.create_model(owner.__name__, __base__=_Twin, __module__=owner.__module__)


def _make(owner: type[Model]) -> type[pydantic.BaseModel]:
    _unfinished.add(owner)
    try:
        facts, (rules, keeps) = field_facts(owner), field_rules(owner)
        kinds, said = types(owner), descriptions(owner)
        # Discriminators come last, and have to be there as in the models of the official SDK.
        tags = {name for name, *_ in facts[len(rules) :]}
        fields: dict[str, Any] = {}
        lenient: dict[str, Any] = {}
        skipping: list[str] = []
        for (name, wire, required, default), rule in zip_longest(facts, rules, fillvalue=_NO_RULES):
            least, greatest, falls_back, skips = rule
            if falls_back:
                lenient[name] = default
            if skips:
                skipping.append(name)
            options = {
                "description": said.get(name),
                "alias": None if wire == name else wire,
                "ge": least,
                "le": greatest,
            }
            if not (required or name in tags):
                options["default"] = None if default is UNSET else default
            kind = _discriminated(without_unset(kinds[name]))
            fields[name] = (kind, pydantic.Field(**_given(options, "default")))
        made = pydantic.create_model(
            owner.__name__,
            __base__=_Open if keeps else _Twin,
            __module__=owner.__module__,
            __validators__=_validators(lenient, skipping),
            **fields,
        )
        made.__qualname__ = owner.__qualname__
        # What there is to say is for readers of Python, and not for JSON Schemas.
        made.__doc__ = None
        return made
    finally:
        _unfinished.discard(owner)


_NO_RULES: Any = (None, None, False, False)


def _given(options: dict[str, Any], kept: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None or name == kept}


class _Open(_Twin):
    model_config = pydantic.ConfigDict(extra="allow")


def _discriminated(said: Any) -> Any:
    """An annotation in which unions of tagged classes name their discriminator."""
    origin, inner = get_origin(said), get_args(said)
    if not inner or origin is Literal:
        return said
    if origin is list:
        return list[_discriminated(inner[0])]  # type: ignore[misc]
    if origin is dict:
        return dict[inner[0], _discriminated(inner[1])]  # type: ignore[misc,valid-type]
    classes = tuple(a for a in inner if isinstance(a, type) and issubclass(a, Model))
    rest = tuple(_discriminated(a) for a in inner if a not in classes)
    if len(classes) > 1 and (name := _discriminator(classes)):
        told = Annotated[Union[classes], pydantic.Field(discriminator=name)]  # noqa: UP007
        return Union[(told, *rest)]
    return Union[(*classes, *rest)]


def _discriminator(classes: tuple[type[Model], ...]) -> str | None:
    """The attribute that has another constant in each of the classes."""
    constants: list[dict[str, Any]] = []
    for one in classes:
        rules, _ = field_rules(one)
        constants.append({name: value for name, _, _, value in field_facts(one)[len(rules) :]})
    for name in constants[0]:
        values = [found[name] for found in constants if name in found]
        if len(values) == len(set(values)) == len(classes):
            return name
    return None


def _validators(lenient: dict[str, Any], skipping: list[str]) -> dict[str, Any]:
    """What pydantic has to leave out of values instead of refusing them."""
    made: dict[str, Any] = {}

    def skip(value: Any, handler: Callable[[Any], Any]) -> Any:
        if not isinstance(value, list):
            return handler(value)
        return [kept for item in cast("list[Any]", value) for kept in _kept(item, handler)]

    def fall_back(value: Any, handler: Callable[[Any], Any], info: Any) -> Any:
        try:
            return handler(value)
        except pydantic.ValidationError:
            return lenient[info.field_name]

    if skipping:
        made["_skip_invalid_items"] = pydantic.field_validator(*skipping, mode="wrap")(skip)
    if lenient:
        made["_fall_back"] = pydantic.field_validator(*lenient, mode="wrap")(fall_back)
    return made


def _kept(item: Any, handler: Callable[[Any], Any]) -> Iterator[Any]:
    try:
        yield from handler([item])
    except pydantic.ValidationError:
        return


# What pydantic asks a class for.


def core_schema(owner: type[Model], handler: Any) -> Any:
    """How pydantic reads and writes objects of a class.

    To pydantic the class is a model with a constructor of its own: a dict goes to the class, whose
    exception is pydantic's.
    """
    fields = handler.resolve_ref_schema(handler.generate_schema(twin(owner)))
    return schemas.model_schema(
        owner,
        schemas.no_info_wrap_validator_function(_no_dict, fields["schema"]),
        custom_init=True,
        config=fields.get("config"),
        ref=f"{owner.__module__}.{owner.__qualname__}:{id(owner)}",
        serialization=schemas.plain_serializer_function_ser_schema(_dumped, info_arg=True),
    )


def _no_dict(value: Any, handler: Callable[[Any], Any]) -> Any:
    """What fits and is no dict, such as an object with the attributes, is for the class only."""
    handler(value)
    raise pydantic_core.PydanticCustomError("dict_type", "Input should be a dict or an object")


def class_json_schema(owner: type[Model], schema: Any, handler: Any) -> Any:
    """The JSON Schema of a class, without its docstring, which is for readers of Python."""
    made = handler(schema)
    told = handler.resolve_ref_schema(made)
    told.pop("description", None)
    # Older versions of pydantic have titles for their own models only.
    told.setdefault("title", owner.__name__)
    return made


def _dumped(value: Any, info: Any) -> Any:
    if not isinstance(value, Model):
        return value
    return value.model_dump(
        mode=info.mode,
        include=info.include,
        exclude=info.exclude,
        by_alias=info.by_alias,
        exclude_unset=info.exclude_unset,
        exclude_defaults=info.exclude_defaults,
        exclude_none=info.exclude_none,
    )


def attribute(owner: type[Model], name: str) -> Any:
    """An attribute that pydantic looks for on a model."""
    if name in ("__pydantic_validator__", "__pydantic_serializer__"):
        part = name.strip("_").removeprefix("pydantic_")
        return getattr(_adapter(owner), part)
    return getattr(twin(owner), name)


def _adapter(owner: type[Model]) -> pydantic.TypeAdapter[Any]:
    made = owner.__dict__.get("_adapter")
    if made is None:
        made = pydantic.TypeAdapter[Any](owner)
        type.__setattr__(owner, "_adapter", made)
    return cast("pydantic.TypeAdapter[Any]", made)


def json_schema(owner: type[Model], *arguments: Any, **options: Any) -> dict[str, Any]:
    """The JSON Schema of a class."""
    return twin(owner).model_json_schema(*arguments, **options)


# What does not fit.


def refusal(owner: type[Model], given: Any, json: bool, own: ValidationError) -> Exception:
    """The exception of pydantic for `given`, which the class has refused with `own`.

    `own` is its cause: there the connection finds what a peer may be told, which is less.
    """
    validator = twin(owner).__pydantic_validator__
    raised = _in_pydantic(owner, given, own)
    try:
        if json:
            validator.validate_json(given)
        else:
            validator.validate_python(given)
    except pydantic.ValidationError as exc:
        raised = exc.with_traceback(None)
    raised.__cause__ = own
    return raised


def _in_pydantic(owner: type[Model], given: Any, own: ValidationError) -> Exception:
    """The faults that only the class knows, as an exception of pydantic."""
    rows: list[Any] = [
        {
            "type": pydantic_core.PydanticCustomError(fault["type"], fault["message"]),
            "loc": fault["loc"],
            "input": _at(given, fault["loc"]),
        }
        for fault in own.errors()
    ]
    return pydantic_core.ValidationError.from_exception_data(owner.__name__, rows)


def _at(given: Any, loc: tuple[str | int, ...]) -> Any:
    """The value at a place; the last one on the way there that is found."""
    for step in loc:
        if not isinstance(given, (Mapping, list)):
            break
        try:
            given = cast("Any", given)[step]
        except (KeyError, IndexError, TypeError):
            break
    return cast("Any", given)
